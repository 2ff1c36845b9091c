# SPDX-License-Identifier: Apache-2.0

# zero_add_header_tests(<target> LANGUAGE CXX|CUDA LIBRARIES <targets> HEADERS zero/a.hpp ...)
# Compiles one translation unit a header, which includes it twice, and links all objects twice over into one program,
# <target>: finds what a header forgot to include, a missing `#pragma once` and a function that is not inline.
function(zero_add_header_tests target)
  cmake_parse_arguments(arg "" "LANGUAGE" "LIBRARIES;HEADERS" ${ARGN})
  if(arg_LANGUAGE STREQUAL "CUDA")
    set(extension cu)
  else()
    set(extension cpp)
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}_sources")
  set(sources "")
  foreach(header IN LISTS arg_HEADERS)
    set(source "${folder}/${header}.${extension}")
    file(CONFIGURE OUTPUT "${source}" CONTENT "#include <${header}>\n#include <${header}>\n" @ONLY)
    list(APPEND sources "${source}")
  endforeach()
  file(CONFIGURE OUTPUT "${folder}/main.${extension}" CONTENT "int main() {}\n" @ONLY)

  add_library(${target}_objects OBJECT ${sources})
  target_link_libraries(${target}_objects PUBLIC ${arg_LIBRARIES})
  # The test programs' own units show clang-tidy every header once more, with templates that are used.
  set_target_properties(${target}_objects PROPERTIES CXX_CLANG_TIDY "")
  add_executable(${target} "${folder}/main.${extension}")
  target_link_libraries(${target} PRIVATE ${target}_objects $<TARGET_OBJECTS:${target}_objects>)
  add_test(NAME ${target} COMMAND ${target})
  if(arg_LANGUAGE STREQUAL "CUDA")
    set_tests_properties(${target} PROPERTIES LABELS cuda-build)
  else()
    set_tests_properties(${target} PROPERTIES LABELS headers)
  endif()
endfunction()
