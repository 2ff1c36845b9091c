# SPDX-License-Identifier: Apache-2.0
# Sets ZERO_VERSION from include/zero/version.hpp, the one place that states it.
set(zero_version_header "${CMAKE_CURRENT_LIST_DIR}/../include/zero/version.hpp")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${zero_version_header}")
set(ZERO_VERSION "")
foreach(part IN ITEMS MAJOR MINOR PATCH)
  file(STRINGS "${zero_version_header}" line REGEX "^#define ZERO_VERSION_${part} [0-9]+$")
  if(NOT line MATCHES "([0-9]+)$")
    message(FATAL_ERROR "zero: version.hpp has no line '#define ZERO_VERSION_${part} <number>'.")
  endif()
  list(APPEND ZERO_VERSION "${CMAKE_MATCH_1}")
endforeach()
list(JOIN ZERO_VERSION "." ZERO_VERSION)
