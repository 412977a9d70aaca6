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
  std::string section = {};  ///< empty before the first
  std::string key = {};
  Kind kind = Kind::word;
  std::vector<std::string> values = {};  ///< of an array all, else one
  std::string place = {};                ///< "FILE:LINE"
};

/// Reads TOML: tables that are named after `commands`, and strings, numbers, booleans and arrays of these as values; those of all commands
/// first. Error{usage} "FILE:LINE: …" for other values and for what is not TOML.
[[nodiscard]] std::vector<ConfigEntry> parse_config(std::string_view text, const std::string& path, std::span<const std::string> commands);

}  // namespace relayout::cli
