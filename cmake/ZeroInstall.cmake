# SPDX-License-Identifier: Apache-2.0
# Installs the headers and a package that `find_package(zero [COMPONENTS cuda nccl])` finds. What is installed does not
# depend on the machine: the package looks for CUDA and NCCL where it is used, and only when asked for them.
foreach(library IN ITEMS zero_host zero_cuda zero_nccl)
  install(
    TARGETS ${library}
    EXPORT ${library}_targets
    FILE_SET HEADERS
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  )
  install(EXPORT ${library}_targets NAMESPACE zero:: DESTINATION "${zero_package_dir}")
endforeach()

install(
  FILES
    "${PROJECT_BINARY_DIR}/zero-config.cmake"
    "${PROJECT_BINARY_DIR}/zero-config-version.cmake"
    "${CMAKE_CURRENT_LIST_DIR}/FindNCCL.cmake"
  DESTINATION "${zero_package_dir}"
)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
