# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# cmake -DNM=<nm> -DLIBRARIES=<two> -P symbols.cmake: fails where both libraries define a symbol with a name of zero's.
foreach(library IN LISTS LIBRARIES)
  execute_process(
    COMMAND "${NM}" --dynamic --defined-only --format=posix "${library}"
    OUTPUT_VARIABLE lines
    COMMAND_ERROR_IS_FATAL ANY
  )
  string(REGEX MATCHALL "[A-Za-z0-9_.]*4zero[A-Za-z0-9_.]*" symbols "${lines}")
  list(REMOVE_DUPLICATES symbols)
  list(LENGTH symbols count)
  if(count LESS 100)
    message(FATAL_ERROR "${library} shows ${count} symbols of zero: this check sees nothing")
  endif()
  list(APPEND all ${symbols})
endforeach()
list(LENGTH all count)
set(distinct ${all})
list(REMOVE_DUPLICATES distinct)
list(LENGTH distinct distinct_count)
if(NOT count EQUAL distinct_count)
  math(EXPR shared "${count} - ${distinct_count}")
  foreach(symbol IN LISTS distinct)
    list(REMOVE_AT all 0)
    if(symbol IN_LIST all)
      message(STATUS "${symbol}")
      break()
    endif()
  endforeach()
  message(FATAL_ERROR "both libraries define ${shared} symbols of zero")
endif()
