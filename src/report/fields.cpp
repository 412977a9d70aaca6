// Fields of exported tables: CSV quoting (with an apostrophe before formulas), code in cells of Markdown, and bars made of ten text
// characters.
#include "report/fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/positions.h"

namespace relayout {

std::string csv_field(std::string_view text) {
  std::string out(text);
  if (!out.empty() && std::string_view("=+-@\t\r").find(out.front()) != std::string_view::npos) out.insert(0, 1, '\'');
  if (out.find_first_of(",\"\r\n") == std::string::npos) return out;
  std::string quoted = "\"";
  for (const char c : out) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_record(std::span<const std::string> fields) {
  std::string out;
  for (std::size_t i = 0; i < fields.size(); ++i) out += (i > 0 ? "," : "") + fields[i];
  return out + "\r\n";
}

std::string markdown_code(std::string_view text) {
  if (text.empty()) return "";
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : c == '`' ? "'" : std::string(1, c);
  return "`" + out + "`";
}

std::string text_bar(double part, double most) {
  constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  constexpr std::size_t kSigns = 10;  // length of the largest bar
  const auto eighths = as_size(std::llround(8 * kSigns * std::clamp(most > 0 ? part / most : 0, 0.0, 1.0)));
  std::string out;
  for (std::size_t i = 0; i < eighths / 8; ++i) out += "█";
  return out + std::string(kEighths[eighths % 8]);
}

}  // namespace relayout
