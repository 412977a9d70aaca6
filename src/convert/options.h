#pragma once

#include <string_view>
#include <vector>

#include "model/save.h"
#include "passes/pass.h"
#include "relayout/convert.h"

namespace relayout {

// ConvertOptions speak the user's words; these read them. Unknown words are Error{usage} with the nearest known one.

/// The passes to run, in running order.
[[nodiscard]] std::vector<const Pass*> selected_passes(const ConvertOptions& options);
[[nodiscard]] PassOptions pass_options(const ConvertOptions& options, int threads);
/// "auto", "always", "never", each with optional ":THRESHOLD" in bytes.
void read_external_data(std::string_view text, SaveOptions& options);

}  // namespace relayout
