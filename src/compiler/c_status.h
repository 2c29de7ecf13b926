// SPDX-License-Identifier: Apache-2.0
// How failures cross the C interface.
#pragma once
#include <exception>
#include <new>
#include <string>

#include <wootz/c_api.h>
#include <wootz/error.h>

namespace wootz {

inline thread_local std::string last_error;

wootz_status status_of(ErrorKind kind);
ErrorKind kind_of(wootz_status status);

/// Runs f; an exception becomes a status and this thread's last error.
template <class F>
wootz_status guarded(F&& f) {
  try {
    f();
    return WOOTZ_OK;
  } catch (const Error& e) {
    last_error = e.what();
    return status_of(e.kind());
  } catch (const std::bad_alloc&) {
    last_error = "out of memory";
    return WOOTZ_OUT_OF_MEMORY;
  } catch (const std::exception& e) {
    last_error = e.what();
    return WOOTZ_INTERNAL;
  }
}

}  // namespace wootz
