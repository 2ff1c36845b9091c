# SPDX-License-Identifier: Apache-2.0

# zero_discover_tests(<target> PREFIX <of the names> [LABEL <label>] [TIMEOUT <seconds>])
# After each build of the target, makes each of its doctest cases a test. A target that does not build is a failed test.
# The function that comes with doctest 2.4.9 drops labels and breaks on names with brackets.
function(zero_discover_tests target)
  cmake_parse_arguments(arg "" "PREFIX;LABEL;TIMEOUT" "" ${ARGN})
  set(list "${CMAKE_CURRENT_BINARY_DIR}/${target}_tests.cmake")
  add_custom_command(
    TARGET ${target}
    POST_BUILD
    BYPRODUCTS "${list}"
    COMMAND
      "${CMAKE_COMMAND}" "-DPROGRAM=$<TARGET_FILE:${target}>" "-DPREFIX=${arg_PREFIX}" "-DLABEL=${arg_LABEL}"
      "-DTIMEOUT=${arg_TIMEOUT}" "-DLIST=${list}" -P "${PROJECT_SOURCE_DIR}/cmake/discover_tests.cmake"
    VERBATIM
  )
  file(
    CONFIGURE
    OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake"
    CONTENT
      "if(EXISTS \"@list@\")
  include(\"@list@\")
else()
  add_test(@target@_NOT_BUILT @target@_NOT_BUILT)
  set_tests_properties(@target@_NOT_BUILT PROPERTIES LABELS \"@arg_LABEL@\")
endif()
"
    @ONLY
  )
  set_property(
    DIRECTORY
    APPEND
    PROPERTY TEST_INCLUDE_FILES "${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake"
  )
endfunction()
