// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <wootz/builder.h>
#include <wootz/check.h>
#include <wootz/doctor.h>
#include <wootz/engine.h>
#include <wootz/error.h>
#include <wootz/inspect.h>
#include <wootz/logger.h>
#include <wootz/mixed.h>
#include <wootz/op.h>
#include <wootz/quantize.h>
#include <wootz/reduce.h>
#include <wootz/tensor.h>
#include <wootz/verify.h>
#include <wootz/version.h>
