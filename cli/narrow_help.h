// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}

namespace wootz::cli {

/// Help texts of this command, and of subcommands that are added later, in lines of at most 80 columns.
void narrow_help(CLI::App& app);

}  // namespace wootz::cli
