#pragma once

#include <span>
#include <string_view>

namespace relayout {

/// The candidate nearest to `word` by edit distance, or empty when none is near enough to be meant.
[[nodiscard]] std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace relayout
