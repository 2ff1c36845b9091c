# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# cmake -DROOT=<repository> -P check_mirror.cmake
# A header and its test bear the same path, and the umbrellas know every public header.
set(failed "")

# Headers without a test of the same path, each with the reason.
set(
  without_test
  zero/zero.hpp     # umbrella: the second translation unit of each test program
  zero/cuda.cuh     # umbrella: the same for the tests on GPUs
  zero/fwd.hpp      # declarations alone; the policies' tests see the defaults
  zero/version.hpp  # read by the build; the package test sees the version
  # The engine is tested as a whole, by the laws in tests/engine.
  zero/engine.hpp
  zero/lease.hpp
  zero/options.hpp
  zero/parameter_view.hpp
  zero/passes.hpp
  zero/training.hpp
  zero/detail/captured_steps.hpp
  zero/detail/engine_core.hpp
  zero/detail/engine_passes.hpp
  zero/detail/engine_setup.hpp
  zero/detail/engine_state.hpp
  zero/detail/engine_steps.hpp
  zero/detail/engine_types.hpp
  zero/detail/executor.hpp
  zero/detail/fill.hpp
  zero/detail/full_access.hpp
  zero/detail/open_gradients.hpp
  zero/detail/operation_context.hpp
  zero/detail/operations.hpp
  zero/detail/reduce_bodies.hpp
  zero/detail/registered_pools.hpp
  zero/detail/step_bodies.hpp
  zero/detail/step_memory.hpp
  zero/detail/transfer_bodies.hpp
  zero/detail/typed_ranges.hpp
)

cmake_path(ABSOLUTE_PATH ROOT)  # file(GLOB) finds nothing below a relative one
# Public headers that no umbrella includes, each with the reason.
set(
  without_umbrella
  zero/comm/rendezvous_mpi.hpp  # who includes everything does not ask for <mpi.h>
)

file(GLOB_RECURSE headers RELATIVE "${ROOT}/include" "${ROOT}/include/zero/*.hpp" "${ROOT}/include/zero/*.cuh")
set(expected_tests "")
foreach(header IN LISTS headers)
  string(REGEX REPLACE "^zero/(.*)\\.(hpp|cuh)$" "\\1" path "${header}")
  # A header that needs CUDA has its test among those for GPUs; one that plain C++ can read may have it on either side.
  if(header MATCHES "\\.cuh$")
    set(candidates tests/gpu/${path}.cu)
  elseif(header MATCHES "/gpu/|^zero/comm/nccl/")
    set(candidates tests/gpu/${path}.cu tests/unit/${path}.cpp)
  else()
    set(candidates tests/unit/${path}.cpp)
  endif()
  list(APPEND expected_tests ${candidates})
  if(header IN_LIST without_test)
    continue()
  endif()
  set(found FALSE)
  foreach(candidate IN LISTS candidates)
    if(EXISTS "${ROOT}/${candidate}")
      set(found TRUE)
    endif()
  endforeach()
  if(NOT found)
    list(JOIN candidates " or " candidates)
    list(APPEND failed "include/${header} has no test ${candidates}")
  endif()
endforeach()

file(GLOB_RECURSE tests RELATIVE "${ROOT}" "${ROOT}/tests/unit/*.cpp" "${ROOT}/tests/gpu/*/*.cu")
foreach(test IN LISTS tests)
  string(REGEX REPLACE "^tests/(unit|gpu)/(.*)\\.(cpp|cu)$" "\\2" path "${test}")
  # Host and device run the same cases for arithmetic that is shared: `a/b.hpp` may have a test on both sides.
  if(NOT test IN_LIST expected_tests AND NOT EXISTS "${ROOT}/include/zero/${path}.hpp")
    list(APPEND failed "${test} mirrors no header of include/zero")
    continue()
  endif()
  file(STRINGS "${ROOT}/${test}" includes REGEX "^#include ")
  list(GET includes 0 first)
  if(NOT first MATCHES "^#include <zero/${path}\\.(hpp|cuh)>")
    list(APPEND failed "${test} does not include its header, zero/${path}, first")
  endif()
endforeach()

# zero.hpp reaches what plain C++ can read, cuda.cuh the rest.
file(STRINGS "${ROOT}/include/zero/zero.hpp" host_umbrella REGEX "# *include <zero/")
file(STRINGS "${ROOT}/include/zero/cuda.cuh" cuda_umbrella REGEX "# *include <zero/")
foreach(header IN LISTS headers)
  if(header MATCHES "/detail/" OR header MATCHES "^zero/(zero\\.hpp|cuda\\.cuh)$" OR header IN_LIST without_umbrella)
    continue()
  endif()
  if(header MATCHES "\\.cuh$|/gpu/|^zero/comm/nccl/")
    set(umbrella cuda.cuh)
    set(includes "${cuda_umbrella}")
  else()
    set(umbrella zero.hpp)
    set(includes "${host_umbrella}")
  endif()
  string(FIND "${includes}" "<${header}>" at)
  if(at EQUAL -1)
    list(APPEND failed "zero/${umbrella} does not include <${header}>")
  endif()
endforeach()

if(failed)
  list(JOIN failed "\n  " failed)
  message(FATAL_ERROR "the mirror is broken:\n  ${failed}")
endif()
