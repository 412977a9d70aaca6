#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace relayout {

/// `before` followed by "did you mean 'x'?" for the known word with the fewest edits from `word`; empty if no known word is near enough.
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string>& known, std::string_view before = "");

}  // namespace relayout
