// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "corpus.hpp"
#include "options.hpp"
#include "report.hpp"

#include <string>
#include <vector>

namespace train_gpt {

/// Trains with one engine type; see train() in trainer.hpp.
using train_function = run_report (*)(options const& chosen, corpus const& text);

/// The engine types in this program, by variant_name(). The table is written by CMakeLists.txt,
/// with a translation unit for each.
[[nodiscard]] std::vector<std::string> built_variants();

/// @return null where the program was built without that type
[[nodiscard]] train_function find_variant(std::string const& name);

}  // namespace train_gpt
