// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

namespace wootz {

std::string_view error_kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidModel: return "invalid model";
    case ErrorKind::kUnsupported: return "unsupported";
    case ErrorKind::kInvalidArgument: return "invalid argument";
    case ErrorKind::kInvalidEngine: return "invalid engine";
    case ErrorKind::kIo: return "file error";
    case ErrorKind::kOutOfMemory: return "out of memory";
    case ErrorKind::kVerification: return "verification failed";
    case ErrorKind::kDevice: return "device error";
    case ErrorKind::kCancelled: return "cancelled";
    case ErrorKind::kInternal: return "internal error";
  }
  return "error";
}

void throw_internal(const char* condition, const char* file, int line) {
  throw Error(ErrorKind::kInternal, std::string(file) + ":" + std::to_string(line) + ": expected " +
                                        condition +
                                        "; this is a bug in Wootz, please report it with the model");
}

}  // namespace wootz
