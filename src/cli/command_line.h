#pragma once

#include <span>
#include <string>

namespace relayout::cli {

/// The whole program: arguments without its name, the documented exit code back. Nothing is thrown; results go to standard
/// output, everything else to standard error.
[[nodiscard]] int run_program(std::span<const std::string> arguments) noexcept;

}  // namespace relayout::cli
