# SPDX-License-Identifier: Apache-2.0
# Finds NCCL under NCCL_ROOT, beside the CUDA toolkit, where the system keeps libraries, or in one of the folders
# ZERO_NVIDIA_FOLDERS. Defines NCCL::NCCL.
find_path(
  NCCL_INCLUDE_DIR
  nccl.h
  HINTS ${CUDAToolkit_INCLUDE_DIRS}
  PATHS ${ZERO_NVIDIA_FOLDERS}
  PATH_SUFFIXES include
)
# The library beside the header is the one that fits. pip's package has no libnccl.so.
find_library(
  NCCL_LIBRARY
  NAMES nccl libnccl.so.2
  HINTS "${NCCL_INCLUDE_DIR}/.." ${CUDAToolkit_LIBRARY_DIR}
  PATHS ${ZERO_NVIDIA_FOLDERS}
  PATH_SUFFIXES lib lib64
)

set(NCCL_VERSION "")
if(NCCL_INCLUDE_DIR)
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    file(STRINGS "${NCCL_INCLUDE_DIR}/nccl.h" line REGEX "^#define NCCL_${part} +[0-9]+")
    string(REGEX MATCH "[0-9]+" number "${line}")
    list(APPEND NCCL_VERSION "${number}")
  endforeach()
  list(JOIN NCCL_VERSION "." NCCL_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  NCCL
  REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR
  VERSION_VAR NCCL_VERSION
)
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)

if(NCCL_FOUND AND NOT TARGET NCCL::NCCL)
  add_library(NCCL::NCCL UNKNOWN IMPORTED)
  set_target_properties(
    NCCL::NCCL
    PROPERTIES IMPORTED_LOCATION "${NCCL_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${NCCL_INCLUDE_DIR}"
  )
endif()
