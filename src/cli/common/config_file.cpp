// Reads files of options: the part of TOML that options can hold, other TOML is refused with its line.
#include "cli/common/config_file.h"

// Only the parser is needed: no formatters, and no shared library at run time.
#define TOML_ENABLE_FORMATTERS 0
#define TOML_HEADER_ONLY 1
#include <algorithm>
#include <toml++/toml.hpp>  // NOLINT(misc-include-cleaner)
#include <utility>

#include "base/numbers.h"
#include "base/text.h"
#include "relayout/error.h"

// NOLINTBEGIN(misc-include-cleaner): toml.hpp is the header to include, but it does not declare its parts as exported

namespace relayout::cli {
namespace {

std::string place_of(const std::string& path, const toml::source_region& source) {
  return escape(path) + ":" + std::to_string(source.begin.line);
}

/// A string, number or boolean as it would be written on the command line.
std::string word_of(const toml::node& node, const std::string& place) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return shortest(number->get());
  const bool has_parts = node.is_table() || node.is_array();
  fail(ErrorKind::usage, place + ": " + (has_parts ? "tables and nested arrays are" : "dates and times are") + " no values of options");
}

ConfigEntry entry_of(const std::string& section, const std::string& key, const toml::node& node, const std::string& place) {
  ConfigEntry entry{.section = section, .key = key, .place = place};
  if (const toml::array* const values = node.as_array()) {
    entry.kind = ConfigEntry::Kind::array;
    for (const toml::node& value : *values) entry.values.push_back(word_of(value, place));
  } else {
    if (node.is_boolean()) entry.kind = ConfigEntry::Kind::boolean;
    entry.values.push_back(word_of(node, place));
  }
  return entry;
}

void check_section(const std::string& name, const std::string& place, std::span<const std::string> commands) {
  if (std::ranges::find(commands, name) != commands.end()) return;
  const std::string advice = did_you_mean(name, {commands.begin(), commands.end()}, "; ");
  fail(ErrorKind::usage, place + ": unknown section " + quote(name) + (advice.empty() ? ": sections are named after commands" : advice));
}

/// The keys of a section, or those before the first section, in file order. A toml::table sorts them by name.
std::vector<ConfigEntry> entries_of(const toml::table& table, const std::string& section, const std::string& path) {
  std::vector<std::pair<toml::source_position, ConfigEntry>> found;
  for (const auto& [key, node] : table) {
    if (section.empty() && node.is_table()) continue;
    found.emplace_back(key.source().begin, entry_of(section, std::string(key.str()), node, place_of(path, key.source())));
  }
  std::ranges::sort(found, {}, [](const auto& entry) { return std::pair(entry.first.line, entry.first.column); });
  std::vector<ConfigEntry> out;
  for (auto& [position, entry] : found) out.push_back(std::move(entry));
  return out;
}

toml::table parse(std::string_view text, const std::string& path) {
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    const std::string what = escape(error.description());
    const std::string advice = what.ends_with("could not determine value type") ? "; text needs quotes" : "";
    fail(ErrorKind::usage, place_of(path, error.source()) + ": not TOML: " + what + advice);
  }
}

}  // namespace

std::vector<ConfigEntry> parse_config(std::string_view text, const std::string& path, std::span<const std::string> commands) {
  const toml::table root = parse(text, path);
  std::vector<ConfigEntry> out = entries_of(root, "", path);
  for (const auto& [name, node] : root) {
    const toml::table* const section = node.as_table();
    if (section == nullptr) continue;
    check_section(std::string(name.str()), place_of(path, name.source()), commands);
    const std::vector<ConfigEntry> entries = entries_of(*section, std::string(name.str()), path);
    out.insert(out.end(), entries.begin(), entries.end());
  }
  return out;
}

}  // namespace relayout::cli

// NOLINTEND(misc-include-cleaner)
