# SPDX-License-Identifier: Apache-2.0
# NVIDIA's libraries lie beside the CUDA Toolkit, in the system's folders or in pip's packages: PyTorch brings cuDNN,
# cuBLAS, NVRTC and NCCL with headers, but without the names libNAME.so that linkers look for.

include(CheckCXXSourceCompiles)

# Sets ZERO_NVIDIA_FOLDERS, unless the user has: the folders with `include` and `lib` of the packages that pip has
# installed for python3.
function(zero_find_nvidia_folders)
  if(NOT DEFINED ZERO_NVIDIA_FOLDERS)
    find_program(ZERO_PYTHON NAMES python3 DOC "Python, asked for the folders of NVIDIA's pip packages")
    mark_as_advanced(ZERO_PYTHON)
    set(folders "")
    if(ZERO_PYTHON)
      execute_process(
        COMMAND "${ZERO_PYTHON}" -c "import nvidia; print(';'.join(nvidia.__path__))"
        OUTPUT_VARIABLE roots
        OUTPUT_STRIP_TRAILING_WHITESPACE
        ERROR_QUIET
      )
      foreach(root IN LISTS roots)
        file(GLOB packages LIST_DIRECTORIES TRUE "${root}/*")
        foreach(package IN LISTS packages)
          if(IS_DIRECTORY "${package}/lib")
            list(APPEND folders "${package}")
          endif()
        endforeach()
      endforeach()
    endif()
    set(
      ZERO_NVIDIA_FOLDERS
      "${folders}"
      CACHE STRING
      "Folders with include and lib in which NVIDIA's libraries are searched after the toolkit's and the system's"
    )
    mark_as_advanced(ZERO_NVIDIA_FOLDERS)
  endif()
endfunction()

# zero_find_nvidia_library(<prefix> HEADER <file> [NAMES <of the library>... [VERSIONS <n>...]] [HINTS <folder>...])
# Searches <prefix>_INCLUDE and <prefix>_LIBRARY under HINTS, then in the toolkit, the system and pip's packages; the
# library first beside the header, which it should fit. It may bear a version alone: libNAME.so.<n>. A header that does
# not compile with the toolkit's, of another version perhaps, counts as not found, and that is said.
function(zero_find_nvidia_library prefix)
  cmake_parse_arguments(arg "" "HEADER" "NAMES;VERSIONS;HINTS" ${ARGN})
  zero_find_nvidia_folders()
  set(hints ${arg_HINTS} ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI)
  find_path(
    ${prefix}_INCLUDE
    "${arg_HEADER}"
    HINTS ${hints}
    PATHS ${ZERO_NVIDIA_FOLDERS}
    PATH_SUFFIXES include
  )
  mark_as_advanced(${prefix}_INCLUDE)
  if(arg_NAMES)
    set(names ${arg_NAMES})
    foreach(name IN LISTS arg_NAMES)
      foreach(version IN LISTS arg_VERSIONS)
        list(APPEND names "lib${name}.so.${version}")
      endforeach()
    endforeach()
    find_library(
      ${prefix}_LIBRARY
      NAMES ${names}
      HINTS "${${prefix}_INCLUDE}/.." ${hints} ${CUDAToolkit_LIBRARY_DIR}
      PATHS ${ZERO_NVIDIA_FOLDERS}
      PATH_SUFFIXES lib lib64
    )
    mark_as_advanced(${prefix}_LIBRARY)
    if(${prefix}_INCLUDE)
      string(MD5 place "${${prefix}_INCLUDE}")
      set(CMAKE_REQUIRED_INCLUDES ${CUDAToolkit_INCLUDE_DIRS} "${${prefix}_INCLUDE}")
      set(CMAKE_REQUIRED_QUIET TRUE)
      check_cxx_source_compiles("#include <cuda_runtime_api.h>\n#include <${arg_HEADER}>\nint main() {}\n" ${prefix}_FITS_${place})
      if(NOT ${prefix}_FITS_${place})
        message(STATUS "zero: ${${prefix}_INCLUDE}/${arg_HEADER} does not compile with this toolkit and is left alone.")
        set(${prefix}_INCLUDE "" PARENT_SCOPE)
      endif()
    endif()
  endif()
endfunction()
