#pragma once

#include <string>

namespace relayout::cli {

/// This very program, as a child process starts it again: its file, or the launcher that started it. Error{io} when neither is known.
[[nodiscard]] std::string own_program();

}  // namespace relayout::cli
