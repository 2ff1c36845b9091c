# SPDX-License-Identifier: Apache-2.0
# Makes the build folder a package, the same as the installed one: a project that contains this one can export its own
# libraries from its build folder, and `find_package(zero)` finds this folder in zero_DIR.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(zero_package_dir "${CMAKE_INSTALL_DATADIR}/cmake/zero")

foreach(library IN ITEMS zero_host zero_cuda zero_nccl)
  export(TARGETS ${library} NAMESPACE zero:: FILE "${PROJECT_BINARY_DIR}/${library}_targets.cmake")
endforeach()
configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/zero-config.cmake.in"
  "${PROJECT_BINARY_DIR}/zero-config.cmake"
  INSTALL_DESTINATION "${zero_package_dir}"
  NO_SET_AND_CHECK_MACRO
)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/zero-config-version.cmake"
  COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT
)
configure_file("${CMAKE_CURRENT_LIST_DIR}/FindNCCL.cmake" "${PROJECT_BINARY_DIR}/FindNCCL.cmake" COPYONLY)
