# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# cmake -DROOT=<repository> -P check_layers.cmake
# Data flows one way, and the includes prove it: a folder (or a file beside the folders) of include/zero includes only those
# that stand in its row, and what lies in a folder `detail` is included from the folder around it alone. The rows are
# the table of docs/architecture.md; each names only what stands above it, so that no circle is possible.
set(failed "")
set(known version.hpp)

# layer(<folder or file> <those it may include>...): every one may include version.hpp and itself.
macro(layer name)
  foreach(below IN ITEMS ${ARGN})
    if(NOT below IN_LIST known)
      list(APPEND failed "the row of ${name} names ${below}, which does not stand above it")
    endif()
  endforeach()
  list(APPEND known ${name})
  set(may_${name} ${name} version.hpp ${ARGN})
endmacro()

layer(core)
layer(fwd.hpp core)
layer(parameter_view.hpp core)
layer(model fwd.hpp core)
layer(policy fwd.hpp core model)
layer(plan fwd.hpp core model)
layer(optim fwd.hpp core policy plan)
layer(options.hpp core plan optim)
layer(device fwd.hpp core policy plan optim)
layer(comm fwd.hpp core policy device)
layer(trace core device)
layer(passes.hpp core plan)
layer(lease.hpp core model device)
layer(detail fwd.hpp core model policy plan optim device comm trace options.hpp parameter_view.hpp)
layer(training.hpp fwd.hpp core model plan optim device comm trace options.hpp parameter_view.hpp passes.hpp detail)
layer(
  engine.hpp
  fwd.hpp
  core
  model
  policy
  plan
  optim
  device
  comm
  trace
  options.hpp
  parameter_view.hpp
  passes.hpp
  lease.hpp
  detail
  training.hpp
)
layer(zero.hpp ${known})
layer(cuda.cuh ${known})

file(GLOB_RECURSE headers RELATIVE "${ROOT}/include/zero" "${ROOT}/include/zero/*.hpp" "${ROOT}/include/zero/*.cuh")
if(NOT headers)
  message(FATAL_ERROR "ROOT=${ROOT} has no headers; give the absolute path of the repository")
endif()
foreach(header IN LISTS headers)
  string(REGEX REPLACE "/.*" "" from "${header}")
  if(NOT from IN_LIST known AND NOT from STREQUAL "version.hpp")
    list(APPEND failed "${header}: its folder has no row")
    continue()
  endif()
  cmake_path(GET header PARENT_PATH folder)
  file(STRINGS "${ROOT}/include/zero/${header}" includes REGEX "^#[ ]*include <zero/")
  foreach(line IN LISTS includes)
    string(REGEX REPLACE "^#[ ]*include <zero/([^>]*)>.*" "\\1" target "${line}")
    string(REGEX REPLACE "/.*" "" to "${target}")
    if(NOT to IN_LIST may_${from})
      list(APPEND failed "${header} includes ${target}, which the row of ${from} does not allow")
    endif()
    # Sub-folders stand on the folder around them, and not the other way round.
    if(folder AND NOT folder MATCHES "(^|/)detail(/|$)" AND target MATCHES "^${folder}/(.+)/"
       AND NOT CMAKE_MATCH_1 MATCHES "^detail(/|$)")
      list(APPEND failed "${header} includes ${target}, of a folder that stands on ${folder}")
    endif()
    if(target MATCHES "^(.+)/detail/")
      set(owner "${CMAKE_MATCH_1}")
      cmake_path(IS_PREFIX owner "${folder}" NORMALIZE inside)
      if(NOT inside)
        list(APPEND failed "${header} includes ${target}, which is private to ${owner}")
      endif()
    endif()
  endforeach()
endforeach()

if(failed)
  list(JOIN failed "\n  " text)
  message(FATAL_ERROR "The layers of include/zero:\n  ${text}")
endif()
