# SPDX-License-Identifier: Apache-2.0
# What our own translation units are compiled with. Linked PRIVATE; users get none of it.
set(CMAKE_CXX_EXTENSIONS OFF)

add_library(zero_dev_flags INTERFACE)

target_compile_options(
  zero_dev_flags
  INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra>"
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fconcepts-diagnostics-depth=2>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>
    # nvcc 13.0 finds fault with every lambda that has template parameters of its own (445), and with members of a local
    # class that a concept asks for and nobody calls (177); g++ finds functions that are really unused.
    "$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-diag-suppress=445$<COMMA>177>"
)
if(ZERO_WERROR)
  target_compile_options(
    zero_dev_flags
    INTERFACE
      $<$<COMPILE_LANGUAGE:CXX>:-Werror>
      $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Werror>
      $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>
  )
endif()
