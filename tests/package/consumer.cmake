# SPDX-License-Identifier: Apache-2.0
# The programs of both consumers.
if(CMAKE_CXX_FLAGS MATCHES "-W")
  message(FATAL_ERROR "zero set warnings for the project that uses it")
endif()
add_executable(consumer "${CMAKE_CURRENT_LIST_DIR}/main.cpp")
target_link_libraries(consumer PRIVATE zero::zero)

if("cuda" IN_LIST components)
  set(CMAKE_CUDA_COMPILER "${CUDAToolkit_NVCC_EXECUTABLE}")
  enable_language(CUDA)
  add_executable(cuda_consumer "${CMAKE_CURRENT_LIST_DIR}/main.cu")
  target_link_libraries(cuda_consumer PRIVATE zero::cuda)
  if("nccl" IN_LIST components)
    target_link_libraries(cuda_consumer PRIVATE zero::nccl)
  endif()
elseif(TARGET zero::cuda)
  message(FATAL_ERROR "zero::cuda came without being asked for")
endif()
