# SPDX-License-Identifier: Apache-2.0
# find_package(Wootz) gives Wootz::wootz: the C++ and C interfaces.
include(${CMAKE_CURRENT_LIST_DIR}/WootzTargets.cmake)
