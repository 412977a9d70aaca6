#include "cli/terminal.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/text_file.h"
#include "relayout/error.h"

namespace relayout::cli {
namespace {

ColorChoice g_color = ColorChoice::automatic;

}  // namespace

void write_output(std::string_view text) {
  if (const int error = write_all(STDOUT_FILENO, text)) {
    fail(ErrorKind::io, "cannot write to standard output: " + std::string(std::strerror(error)));
  }
}

void write_error(std::string_view text) noexcept {
  (void)write_all(STDERR_FILENO, text);
}

bool output_is_terminal() {
  return isatty(STDOUT_FILENO) == 1;
}
bool error_is_terminal() {
  return isatty(STDERR_FILENO) == 1;
}

void set_color(ColorChoice choice) {
  g_color = choice;
}

bool output_has_colors() {
  if (g_color != ColorChoice::automatic) return g_color == ColorChoice::always;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') return false;
  return output_is_terminal() && (term == nullptr || std::string_view(term) != "dumb");
}

std::string printable(std::string_view message) {
  std::string out;
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) {
      out += c;
      continue;
    }
    std::array<char, 5> hex{};
    std::snprintf(hex.data(), hex.size(), "\\x%02x", byte);
    out += hex.data();
  }
  return out;
}

}  // namespace relayout::cli
