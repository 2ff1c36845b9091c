# SPDX-License-Identifier: Apache-2.0
include(CMakeFindDependencyMacro)
find_dependency(zero)
include("${CMAKE_CURRENT_LIST_DIR}/trainer_targets.cmake")
