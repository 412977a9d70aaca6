#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace relayout {

/// `name` in at most `width` columns. "…" replaces the middle of a longer name, because names of one scope differ at their ends.
[[nodiscard]] std::string shortened(std::string_view name, std::size_t width);

/// The names of one table, each in at most `width` columns; different names stay different. If shortened() gives several names the same
/// form, their common parts are cut first; as a last resort they are numbered.
[[nodiscard]] std::vector<std::string> shortened_apart(const std::vector<std::string>& names, std::size_t width);

}  // namespace relayout
