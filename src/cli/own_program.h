#pragma once

#include <string>

namespace relayout::cli {

/// The path with which a child process starts this program: its file, or the launcher that started it. Error{io} when neither is known.
[[nodiscard]] std::string own_program();

}  // namespace relayout::cli
