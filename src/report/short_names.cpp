// Shortens names to the width of a column, and keeps different names of one table different.
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/table.h"

namespace relayout {
namespace {

constexpr std::string_view kCut = "…";

/// Columns of `width` that remain after `cuts` cuts and `others` other columns; 0 if there are none.
std::size_t columns_left(std::size_t width, std::size_t cuts, std::size_t others) {
  const std::size_t taken = cuts * display_width(kCut) + others;
  return width > taken ? width - taken : 0;
}

/// The first or last `count` columns of a name.
std::string part(std::string_view name, std::size_t count, bool is_last) {
  std::vector<std::string_view> characters;
  while (!name.empty()) {
    const std::size_t length = std::max<std::size_t>(first_character(name).length, 1);
    characters.push_back(name.substr(0, length));
    name.remove_prefix(length);
  }
  if (is_last) std::ranges::reverse(characters);
  std::vector<std::string_view> taken;
  std::size_t width = 0;
  for (const std::string_view character : characters) {
    width += display_width(character);
    if (width > count) break;
    taken.push_back(character);
  }
  if (is_last) std::ranges::reverse(taken);
  std::string out;
  for (const std::string_view character : taken) out += character;
  return out;
}

/// A name as its first `before` columns and its end.
std::string cut_once(std::string_view name, std::size_t width, std::size_t before) {
  return part(name, before, false) + std::string(kCut) + part(name, columns_left(width, 1, before), true);
}

/// A name as `middle` columns starting at byte `at`, and its end.
std::string cut_twice(std::string_view name, std::size_t width, std::size_t at, std::size_t middle) {
  return std::string(kCut) + part(name.substr(at), middle, false) + std::string(kCut) + part(name, columns_left(width, 2, middle), true);
}

/// Length in bytes of the common prefix of all names, in whole characters.
std::size_t common_prefix(const std::vector<std::string_view>& names) {
  std::size_t length = names.front().size();
  for (const std::string_view name : names) {
    const auto end = std::ranges::mismatch(names.front().substr(0, length), name).in1;
    length = static_cast<std::size_t>(end - names.front().begin());
  }
  const auto is_inside = [&](std::size_t at) {
    return at < names.front().size() && (static_cast<unsigned char>(names.front()[at]) & 0xC0U) == 0x80U;
  };
  while (length > 0 && is_inside(length)) --length;
  return length;
}

/// The beginning of the word that ends before `at`, or of its last 8 characters: "nseblock" in "/features/denseblock3".
std::size_t word_begin(std::string_view name, std::size_t at) {
  constexpr std::size_t kLongest = 8;
  const auto is_part = [&](std::size_t i) { return name[i] != '/' && name[i] != '.' && static_cast<unsigned char>(name[i]) < 0x80U; };
  std::size_t begin = at;
  while (begin > 0 && at - begin < kLongest && is_part(begin - 1)) --begin;
  return begin;
}

/// Finds different forms for names that are equal when shortened.
class Group {
 public:
  Group(std::vector<std::string_view> names, std::size_t width) : names_(std::move(names)), width_(width) {}

  /// Forms that differ from each other and from `taken`.
  [[nodiscard]] std::vector<std::string> forms(const std::unordered_set<std::string>& taken) const {
    for (std::size_t before = (width_ - 1) / 2 + 1; before-- > 0;) {
      if (auto out = all([&](std::string_view name) { return cut_once(name, width_, before); }, taken)) return *out;
    }
    const std::size_t differ = common_prefix(names_);
    for (std::size_t at = word_begin(names_.front(), differ); at <= differ; ++at) {
      for (std::size_t middle = differ - at + 1; middle + 2 <= width_; ++middle) {
        if (auto out = all([&](std::string_view name) { return cut_twice(name, width_, at, middle); }, taken)) return *out;
      }
    }
    return numbered(taken);
  }

 private:
  template <typename Form>
  [[nodiscard]] std::optional<std::vector<std::string>> all(const Form& form, const std::unordered_set<std::string>& taken) const {
    std::vector<std::string> out;
    std::unordered_set<std::string> seen;
    for (const std::string_view name : names_) {
      out.push_back(form(name));
      if (taken.contains(out.back()) || !seen.insert(out.back()).second) return std::nullopt;
    }
    return out;
  }

  [[nodiscard]] std::vector<std::string> numbered(const std::unordered_set<std::string>& taken) const {
    std::vector<std::string> out;
    for (std::size_t number = 1; out.size() < names_.size(); ++number) {
      const std::string mark = "#" + std::to_string(number);
      const std::string form = shortened(names_[out.size()], width_ - std::min(width_, mark.size())) + mark;
      if (!taken.contains(form)) out.push_back(form);
    }
    return out;
  }

  std::vector<std::string_view> names_;
  std::size_t width_;
};

}  // namespace

std::string shortened(std::string_view name, std::size_t width) {
  if (display_width(name) <= width) return std::string(name);
  if (width < 2) return std::string(kCut);
  // The end distinguishes names better than the beginning, and gets the larger half.
  return cut_once(name, width, (width - 1) / 2);
}

std::vector<std::string> shortened_apart(const std::vector<std::string>& names, std::size_t width) {
  std::unordered_map<std::string_view, std::string> forms;
  std::map<std::string, std::vector<std::string_view>> alike;
  for (const std::string& name : names) {
    if (const auto [form, is_new] = forms.try_emplace(name, shortened(name, width)); is_new) alike[form->second].push_back(name);
  }
  std::unordered_set<std::string> taken;
  for (const auto& [form, group] : alike) {
    if (group.size() == 1) taken.insert(form);
  }
  for (const auto& [form, group] : alike) {
    if (group.size() == 1) continue;
    const std::vector<std::string> apart = Group(group, width).forms(taken);
    for (std::size_t i = 0; i < group.size(); ++i) forms[group[i]] = apart[i];
    taken.insert(apart.begin(), apart.end());
  }
  std::vector<std::string> out;
  out.reserve(names.size());
  for (const std::string& name : names) out.push_back(forms.at(name));
  return out;
}

}  // namespace relayout
