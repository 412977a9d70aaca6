#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <string>

#include "base/numbers.h"

namespace relayout {

/// Lists cut in messages, "a, b and 3 more": `text` of each of the first `most` items, and the number of the others.
template <class Items, class Text>
[[nodiscard]] std::string some_of(const Items& items, std::ptrdiff_t most, Text text) {
  std::string out;
  std::ptrdiff_t shown = 0;
  for (const auto& item : items) {
    if (shown++ == most) return out + " and " + format_count(std::ssize(items) - most) + " more";
    out += (shown == 1 ? "" : ", ") + std::invoke(text, item);
  }
  return out;
}

}  // namespace relayout
