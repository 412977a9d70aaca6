#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace relayout::cli {

/// `key = value` of a configuration file.
struct ConfigEntry {
  enum class Kind : uint8_t { word, boolean, array };
  std::string section = {};  ///< empty before the first section
  std::string key = {};
  Kind kind = Kind::word;
  std::vector<std::string> values = {};  ///< all elements of an array, else one value
  std::string place = {};                ///< "FILE:LINE"
};

/// Reads TOML: tables named after `commands`, with strings, numbers, booleans and arrays of these as values. Entries for all commands come
/// first. Error{usage} "FILE:LINE: …" for other values and for invalid TOML.
[[nodiscard]] std::vector<ConfigEntry> parse_config(std::string_view text, const std::string& path, std::span<const std::string> commands);

}  // namespace relayout::cli
