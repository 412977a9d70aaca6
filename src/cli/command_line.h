#pragma once

#include <span>
#include <string>

namespace relayout::cli {

/// Runs the whole program on arguments without the program name and returns the documented exit code. Nothing is thrown. Results go to
/// standard output, everything else to standard error.
[[nodiscard]] int run_program(std::span<const std::string> arguments) noexcept;

}  // namespace relayout::cli
