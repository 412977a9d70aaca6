// Counts axes and positions from either end, checks them against a rank, and converts between signed and unsigned sizes.

#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

namespace relayout {

// Conversions between int64_t, in which ONNX counts, and std::size_t, in which containers count, for numbers known not to be negative.

[[nodiscard]] constexpr std::size_t as_size(std::integral auto count) noexcept {
  return static_cast<std::size_t>(count);
}

/// The element at a position in int64_t: that of an axis, a channel …
template <class Elements>
[[nodiscard]] constexpr decltype(auto) element_at(Elements&& elements, int64_t position) {
  return std::forward<Elements>(elements)[as_size(position)];
}

/// A position counted from the front: a negative one counts from the back (−1 is the last). It may be out of range.
[[nodiscard]] constexpr int64_t from_front(int64_t position, int64_t count) noexcept {
  return position < 0 ? position + count : position;
}

/// An axis of that rank counted from the front; nothing unless −rank ≤ axis < rank.
[[nodiscard]] constexpr std::optional<std::size_t> checked_axis(int64_t axis, std::size_t rank) noexcept {
  const int64_t place = from_front(axis, static_cast<int64_t>(rank));
  return place >= 0 && place < static_cast<int64_t>(rank) ? std::optional(as_size(place)) : std::nullopt;
}

/// The index of the first element equal to a value; the number of elements when there is none.
template <class Elements, class Value>
[[nodiscard]] constexpr std::size_t find_position(const Elements& elements, const Value& value) {
  return as_size(std::ranges::find(elements, value) - std::ranges::begin(elements));
}

/// a · b, or nothing when it does not fit.
template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_mul(T a, T b) noexcept {
  T out{};
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

/// a + b, or nothing when it does not fit.
template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_add(T a, T b) noexcept {
  T out{};
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

}  // namespace relayout
