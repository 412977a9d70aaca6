#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

namespace relayout {

/// A vector that stores up to `kFew` elements inline; only longer lists allocate memory. Large models have millions of these lists. Behaves
/// like std::vector otherwise, but cannot be copied.
template <class T, std::size_t kFew>
  requires std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>
class ShortList {
 public:
  ShortList() noexcept : many_(nullptr) {}
  ShortList(const ShortList&) = delete;
  ShortList& operator=(const ShortList&) = delete;
  ~ShortList() {
    if (is_long()) std::allocator<T>().deallocate(many_, capacity_);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] T* data() noexcept { return is_long() ? many_ : few_; }
  [[nodiscard]] const T* data() const noexcept { return is_long() ? many_ : few_; }
  [[nodiscard]] T* begin() noexcept { return data(); }
  [[nodiscard]] T* end() noexcept { return data() + size_; }
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  [[nodiscard]] const T* end() const noexcept { return data() + size_; }
  [[nodiscard]] T& operator[](std::size_t index) noexcept { return data()[index]; }
  [[nodiscard]] const T& operator[](std::size_t index) const noexcept { return data()[index]; }
  [[nodiscard]] T& front() noexcept { return data()[0]; }
  [[nodiscard]] T& back() noexcept { return data()[size_ - 1]; }

  void push_back(const T& element) {
    const T added = element;  // may be an element of the list
    if (size_ == capacity_) reserve(2 * std::size_t{capacity_});
    std::construct_at(data() + size_, added);
    ++size_;
  }
  void pop_back() noexcept { --size_; }
  void clear() noexcept { size_ = 0; }
  /// Clears the list and frees its memory.
  void reset() noexcept {
    if (is_long()) std::allocator<T>().deallocate(many_, capacity_);
    size_ = 0;
    capacity_ = kFew;
  }
  void assign(std::size_t count, const T& element) {
    const T added = element;
    reserve(count);
    std::uninitialized_fill_n(data(), count, added);
    size_ = static_cast<uint32_t>(count);
  }
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    T* const more = std::allocator<T>().allocate(capacity);
    std::uninitialized_copy_n(data(), size_, more);
    if (is_long()) std::allocator<T>().deallocate(many_, capacity_);
    many_ = more;
    capacity_ = static_cast<uint32_t>(capacity);
  }

 private:
  [[nodiscard]] bool is_long() const noexcept { return capacity_ > kFew; }

  union {
    T few_[kFew];
    T* many_;
  };
  uint32_t size_ = 0;
  uint32_t capacity_ = kFew;
};

}  // namespace relayout
