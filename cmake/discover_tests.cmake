# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# cmake -DPROGRAM=... -DPREFIX=... -DLABEL=... -DTIMEOUT=... -DLIST=out.cmake -P discover_tests.cmake
# Writes LIST, which CTest includes: one test for each test case of a doctest program.
file(REMOVE "${LIST}")
execute_process(
  COMMAND "${PROGRAM}" --list-test-cases --no-colors
  RESULT_VARIABLE status
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output
)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --list-test-cases ended with ${status}:\n${output}")
endif()

# Characters that mean something in CMake's lists are spelled out while the lines are a list.
string(REPLACE "[" "<open>" output "${output}")
string(REPLACE "]" "<close>" output "${output}")
string(REPLACE ";" "<semicolon>" output "${output}")
string(REPLACE "\n" ";" output "${output}")
set(script "")
foreach(line IN LISTS output)
  if(line STREQUAL "" OR line MATCHES "^(=+$|<open>doctest<close> )")
    continue()
  endif()
  string(REPLACE "<open>" "[" name "${line}")
  string(REPLACE "<close>" "]" name "${name}")
  string(REPLACE "<semicolon>" ";" name "${name}")
  string(REPLACE "," "\\," filter "${name}")  # doctest splits its filter at commas
  string(APPEND script "add_test([==[${PREFIX}: ${name}]==] [==[${PROGRAM}]==] [==[--test-case=${filter}]==])\n")
  # A filter that matched no case would pass.
  string(APPEND script "set_tests_properties([==[${PREFIX}: ${name}]==] PROPERTIES SKIP_RETURN_CODE 77")
  string(APPEND script " FAIL_REGULAR_EXPRESSION [==[test cases: +0 ]==]")
  if(LABEL)
    string(APPEND script " LABELS ${LABEL}")
  endif()
  if(LABEL MATCHES "gpu")  # several measure the free memory of the GPU, and time on it
    string(APPEND script " RESOURCE_LOCK gpu")
  endif()
  if(TIMEOUT)
    string(APPEND script " TIMEOUT ${TIMEOUT}")
  endif()
  string(APPEND script ")\n")
endforeach()
if(script STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} has no test case")
endif()
file(WRITE "${LIST}" "${script}")
