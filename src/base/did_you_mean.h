#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace relayout {

/// "did you mean 'x'?", behind `before`, of the known word that is fewest edits away from `word`; empty where none is near enough to be
/// meant.
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string>& known, std::string_view before = "");

}  // namespace relayout
