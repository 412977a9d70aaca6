#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

namespace relayout {

// ONNX counts in int64_t, containers in std::size_t. What is known not to be negative goes from one to the other here.

[[nodiscard]] constexpr std::size_t as_size(std::integral auto count) noexcept {
  return static_cast<std::size_t>(count);
}

/// The element at a position counted in int64_t: that of an axis, a channel …
template <class Elements>
[[nodiscard]] constexpr decltype(auto) element_at(Elements&& elements, int64_t position) {
  return std::forward<Elements>(elements)[as_size(position)];
}

/// The first place of a value; the number of elements for a value that is not there.
template <class Elements, class Value>
[[nodiscard]] constexpr std::size_t find_position(const Elements& elements, const Value& value) {
  return as_size(std::ranges::find(elements, value) - std::ranges::begin(elements));
}

}  // namespace relayout
