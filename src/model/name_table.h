#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace relayout {

/// Hash table of a graph's values, or other objects, by `name()`, which must not change while they are in the table. Open addressing with
/// the hash next to the pointer: a lookup touches one slot and the named object. A node-based map touches four places, and loading large
/// models is mostly lookups.
template <class Named>
class NameTable {
 public:
  void reserve(std::size_t names) {
    const std::size_t capacity = std::bit_ceil(std::max<std::size_t>(names * 8 / 7 + 1, kFewest));
    if (capacity > slots_.size()) rehash(capacity);
  }

  /// The object with the name, or nullptr.
  [[nodiscard]] Named* find(std::string_view name) const noexcept { return slots_.empty() ? nullptr : slots_[place_of(name)].named; }

  /// Inserts `named` and returns nullptr, or returns the object that already has its name.
  Named* insert(Named& named) {
    if ((count_ + 1) * 8 > slots_.size() * 7) rehash(std::max(slots_.size() * 2, kFewest));
    Slot& slot = slots_[place_of(named.name())];
    if (slot.named != nullptr) return slot.named;
    slot = {hash_of(named.name()), &named};
    ++count_;
    return nullptr;
  }

  void erase(std::string_view name) noexcept {
    if (slots_.empty()) return;
    std::size_t gap = place_of(name);
    if (slots_[gap].named == nullptr) return;
    --count_;
    // Following entries without a gap move up, unless that would put an entry before its home slot.
    for (std::size_t at = next(gap); slots_[at].named != nullptr; at = next(at)) {
      const std::size_t from_home = (at - slots_[at].hash) & mask(), from_gap = (at - gap) & mask();
      if (from_home >= from_gap) slots_[std::exchange(gap, at)] = slots_[at];
    }
    slots_[gap] = {};
  }

 private:
  static constexpr std::size_t kFewest = 16;
  struct Slot {
    std::size_t hash = 0;
    Named* named = nullptr;  ///< null: free
  };

  static std::size_t hash_of(std::string_view name) noexcept { return std::hash<std::string_view>()(name); }
  [[nodiscard]] std::size_t mask() const noexcept { return slots_.size() - 1; }
  [[nodiscard]] std::size_t next(std::size_t place) const noexcept { return (place + 1) & mask(); }

  /// The slot with the name, or the free slot for it.
  [[nodiscard]] std::size_t place_of(std::string_view name) const noexcept {
    const std::size_t hash = hash_of(name);
    std::size_t place = hash & mask();
    while (slots_[place].named != nullptr && (slots_[place].hash != hash || slots_[place].named->name() != name)) place = next(place);
    return place;
  }

  void rehash(std::size_t capacity) {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(capacity));
    for (const Slot& slot : old) {
      if (slot.named == nullptr) continue;
      std::size_t place = slot.hash & mask();
      while (slots_[place].named != nullptr) place = next(place);
      slots_[place] = slot;
    }
  }

  std::vector<Slot> slots_;  ///< their number is a power of two or 0; at most seven eighths are taken
  std::size_t count_ = 0;
};

}  // namespace relayout
