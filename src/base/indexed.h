// Declares typed indices, and the ranges, vectors and lists that only indices of one kind can index.
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace relayout {

/// A type for the indices of one kind of element, `enum class StepId : int { none = -1 }`. Elements count from 0; `none` is no element. Ids
/// of one kind cannot index containers of a different kind.
template <class Id>
concept ElementId = std::is_enum_v<Id> && !std::is_convertible_v<Id, int> && std::same_as<std::underlying_type_t<Id>, int> && requires {
  { Id::none } -> std::same_as<Id>;
} && static_cast<int>(Id::none) == -1;

/// The position of an element, which must not be `none`.
template <ElementId Id>
[[nodiscard]] constexpr std::size_t index_of(Id id) noexcept {
  return static_cast<std::size_t>(id);
}

template <ElementId Id>
[[nodiscard]] constexpr Id id_at(std::size_t index) noexcept {
  return static_cast<Id>(index);
}

[[nodiscard]] constexpr auto next_of(ElementId auto id) noexcept {
  return id_at<decltype(id)>(index_of(id) + 1);
}

/// The ids in [first, end).
template <ElementId Id>
class IdRange {
 public:
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Id;
    using difference_type = std::ptrdiff_t;
    using pointer = const Id*;
    using reference = Id;
    constexpr iterator() = default;
    constexpr explicit iterator(std::size_t index) noexcept : index_(index) {}
    constexpr Id operator*() const noexcept { return id_at<Id>(index_); }
    constexpr iterator& operator++() noexcept {
      ++index_;
      return *this;
    }
    constexpr iterator operator++(int) noexcept { return iterator(index_++); }
    constexpr bool operator==(const iterator& other) const noexcept = default;

   private:
    std::size_t index_ = 0;
  };
  constexpr IdRange(Id first, Id end) noexcept : first_(index_of(first)), end_(index_of(end)) {}
  [[nodiscard]] constexpr iterator begin() const noexcept { return iterator(first_); }
  [[nodiscard]] constexpr iterator end() const noexcept { return iterator(end_); }

 private:
  std::size_t first_, end_;
};

/// A vector indexed by ids.
template <ElementId Id, class T>
class IdVector {
 public:
  using Elements = std::vector<T>;
  using value_type = T;
  using iterator = typename Elements::iterator;
  using const_iterator = typename Elements::const_iterator;
  IdVector() = default;
  explicit IdVector(std::size_t size) : elements_(size) {}
  IdVector(std::size_t size, const T& value) : elements_(size, value) {}

  [[nodiscard]] typename Elements::reference operator[](Id id) { return elements_[index_of(id)]; }
  [[nodiscard]] typename Elements::const_reference operator[](Id id) const { return elements_[index_of(id)]; }
  [[nodiscard]] std::size_t size() const noexcept { return elements_.size(); }
  [[nodiscard]] bool empty() const noexcept { return elements_.empty(); }
  /// The id after the last one, which the next element gets.
  [[nodiscard]] Id end_id() const noexcept { return id_at<Id>(elements_.size()); }
  [[nodiscard]] IdRange<Id> ids() const noexcept { return {Id{}, end_id()}; }
  [[nodiscard]] iterator begin() noexcept { return elements_.begin(); }
  [[nodiscard]] iterator end() noexcept { return elements_.end(); }
  [[nodiscard]] const_iterator begin() const noexcept { return elements_.begin(); }
  [[nodiscard]] const_iterator end() const noexcept { return elements_.end(); }
  [[nodiscard]] typename Elements::reference back() { return elements_.back(); }
  /// Appends an element and returns its id.
  template <class... Arguments>
  Id add(Arguments&&... arguments) {
    elements_.emplace_back(std::forward<Arguments>(arguments)...);
    return id_at<Id>(elements_.size() - 1);
  }
  void resize(std::size_t size) { elements_.resize(size); }
  void assign(std::size_t size, const T& value) { elements_.assign(size, value); }

 private:
  Elements elements_;
};

/// A list of elements per id; all lists are stored in one block of memory.
template <ElementId Id, class T>
class IdLists {
 public:
  IdLists() = default;
  /// visit(add) calls add(id, element) for every element. It runs twice, to count and to fill, and must make the same calls both times.
  /// Elements of a list keep the order of the calls.
  template <class Visit>
  IdLists(std::size_t size, const Visit& visit) : begin_(size + 1) {
    visit([this](Id id, const T&) { ++begin_[index_of(id) + 1]; });
    for (std::size_t i = 0; i < size; ++i) begin_[i + 1] += begin_[i];
    elements_.resize(begin_.back());
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    visit([&](Id id, const T& element) { elements_[next[index_of(id)]++] = element; });
  }
  [[nodiscard]] std::span<const T> operator[](Id id) const {
    const std::size_t begin = begin_[index_of(id)];
    return {elements_.data() + begin, begin_[index_of(id) + 1] - begin};
  }

 private:
  std::vector<std::size_t> begin_{0};
  std::vector<T> elements_;
};

}  // namespace relayout
