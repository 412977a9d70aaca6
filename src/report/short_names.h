#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace relayout {

/// `name` in at most `width` columns: the middle of a longer one gives way to "…", because names of one scope differ at their ends.
[[nodiscard]] std::string shortened(std::string_view name, std::size_t width);

/// The names of one table, each in at most `width` columns: names that differ stay different. Where shortened() makes several names look
/// the same, they lose what they have in common first; as a last resort they are numbered.
[[nodiscard]] std::vector<std::string> shortened_apart(const std::vector<std::string>& names, std::size_t width);

}  // namespace relayout
