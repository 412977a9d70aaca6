// Groups the rows of a profile by what they share, and splits the names of nodes into scopes.

#include "exec/program.h"
#include "relayout/profile.h"

namespace relayout {
namespace {

std::string joined(const std::vector<std::string_view>& parts, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < std::min(count, parts.size()); ++i) out += (out.empty() ? "" : "/") + std::string(parts[i]);
  return out;
}

std::string scope_of(const ProfileRow& row, std::size_t depth) {
  std::vector<std::string_view> parts = path_of(row);
  if (!parts.empty()) parts.pop_back();  // the node itself
  const std::string out = joined(parts, depth == 0 ? parts.size() : depth);
  return out.empty() ? "(top)" : out;
}

std::string key_of(const ProfileRow& row, Grouping by, std::size_t depth) {
  if (row.is_executor()) return row.node;
  switch (by) {
    case Grouping::node:
      return full_name(row);
    case Grouping::op:
      return row.op_type;
    case Grouping::layout:
      return row.layout;
    case Grouping::implementation:
      return row.implementation;
    case Grouping::scope:
      return scope_of(row, depth);
  }
  return row.node;
}

}  // namespace

std::vector<std::string_view> path_of(std::string_view node) {
  const char separator = node.find('/') != std::string_view::npos ? '/' : '.';
  std::vector<std::string_view> parts;
  while (!node.empty()) {
    const std::size_t end = node.find(separator);
    if (end != 0) parts.push_back(node.substr(0, end));
    if (end == std::string_view::npos) break;
    node.remove_prefix(end + 1);
  }
  return parts;
}

std::vector<std::string_view> path_of(const ProfileRow& row) {
  std::vector<std::string_view> parts;
  for (const std::string& caller : row.callers) std::ranges::copy(path_of(caller), std::back_inserter(parts));
  std::ranges::copy(path_of(row.node), std::back_inserter(parts));
  return parts;
}

std::string full_name(const ProfileRow& row) {
  return exec::full_name(row.callers, row.node);
}

std::string_view to_string(Grouping by) noexcept {
  constexpr auto kNames = std::to_array<std::string_view>({"node", "op", "layout", "impl", "scope"});
  return kNames[static_cast<std::size_t>(by)];
}

std::vector<ProfileGroup> group_rows(const Profile& profile, Grouping by, std::size_t depth) {
  std::vector<ProfileGroup> groups;
  std::unordered_map<std::string, std::size_t> numbers;
  for (const ProfileRow& row : profile.rows) {
    const std::string key = key_of(row, by, depth);
    const auto [entry, is_new] = numbers.try_emplace(key, groups.size());
    if (is_new) groups.push_back({.name = key});
    ProfileGroup& group = groups[entry->second];
    ++group.rows;
    group.bytes += row.bytes;
    group.macs += row.macs;
    group.us += row.us;
    group.share += row.share;
  }
  return groups;
}

}  // namespace relayout
