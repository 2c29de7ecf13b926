// SPDX-License-Identifier: Apache-2.0
#include "compiler/c_status.h"

namespace wootz {

wootz_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidModel: return WOOTZ_INVALID_MODEL;
    case ErrorKind::kUnsupported: return WOOTZ_UNSUPPORTED;
    case ErrorKind::kInvalidArgument: return WOOTZ_INVALID_ARGUMENT;
    case ErrorKind::kInvalidEngine: return WOOTZ_INVALID_ENGINE;
    case ErrorKind::kIo: return WOOTZ_IO;
    case ErrorKind::kOutOfMemory: return WOOTZ_OUT_OF_MEMORY;
    case ErrorKind::kVerification: return WOOTZ_VERIFICATION;
    case ErrorKind::kDevice: return WOOTZ_DEVICE;
    case ErrorKind::kCancelled: return WOOTZ_CANCELLED;
    case ErrorKind::kInternal: break;
  }
  return WOOTZ_INTERNAL;
}

ErrorKind kind_of(wootz_status status) {
  switch (status) {
    case WOOTZ_INVALID_MODEL: return ErrorKind::kInvalidModel;
    case WOOTZ_UNSUPPORTED: return ErrorKind::kUnsupported;
    case WOOTZ_INVALID_ARGUMENT: return ErrorKind::kInvalidArgument;
    case WOOTZ_INVALID_ENGINE: return ErrorKind::kInvalidEngine;
    case WOOTZ_IO: return ErrorKind::kIo;
    case WOOTZ_OUT_OF_MEMORY: return ErrorKind::kOutOfMemory;
    case WOOTZ_VERIFICATION: return ErrorKind::kVerification;
    case WOOTZ_DEVICE: return ErrorKind::kDevice;
    case WOOTZ_CANCELLED: return ErrorKind::kCancelled;
    case WOOTZ_OK:
    case WOOTZ_INTERNAL: break;
  }
  return ErrorKind::kInternal;
}

}  // namespace wootz
