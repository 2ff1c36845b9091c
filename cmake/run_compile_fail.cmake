# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# cmake -DCOMPILER=... "-DARGS=-std=c++20 -fsyntax-only -I..." -DSOURCE=... -P run_compile_fail.cmake
# The source must fail to compile, with the text of its `// expected-error: ` line, as the only error; with
# ZERO_CONTROL defined, it must compile.
file(STRINGS "${SOURCE}" mark REGEX "^// expected-error: ")
list(LENGTH mark marks)
if(NOT marks EQUAL 1)
  message(FATAL_ERROR "${SOURCE}: wants one '// expected-error: ' line, has ${marks}")
endif()
string(REPLACE "// expected-error: " "" want "${mark}")
separate_arguments(args UNIX_COMMAND "${ARGS}")

execute_process(
  COMMAND "${COMPILER}" ${args} "${SOURCE}"
  RESULT_VARIABLE status
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output
)
if(status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiled, and should not")
endif()
string(FIND "${output}" "${want}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "failed for another reason than '${want}':\n${output}")
endif()
string(REGEX MATCHALL ": error: " errors "${output}")
list(LENGTH errors count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "one mistake gave ${count} errors:\n${output}")
endif()

execute_process(
  COMMAND "${COMPILER}" ${args} -DZERO_CONTROL "${SOURCE}"
  RESULT_VARIABLE status
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output
)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the control of ${SOURCE} does not compile:\n${output}")
endif()
