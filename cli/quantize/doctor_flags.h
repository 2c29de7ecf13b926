// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include <wootz/doctor.h>

namespace CLI {
class App;
}

namespace wootz::cli {

/// What `wootz doctor` takes.
struct DoctorFlags {
  std::string model, output;
  std::vector<std::string> samples;
  DoctorOptions options;
  bool apply = false, json = false;
};

CLI::App* add_doctor(CLI::App& app, DoctorFlags& flags);
int run_doctor(const DoctorFlags& flags);

}  // namespace wootz::cli
