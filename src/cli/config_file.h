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

/// Reads TOML as far as options need it: tables that are named after `commands`, and strings, decimal numbers, booleans and arrays of
/// these as values. Error{usage} "FILE:LINE: …" for everything else, for what is not TOML, and for keys and tables that are there twice.
[[nodiscard]] std::vector<ConfigEntry> parse_config(std::string_view text, const std::string& path, std::span<const std::string> commands);

}  // namespace relayout::cli
