// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <wootz/tensor.h>

#include "ir/dtype.h"
