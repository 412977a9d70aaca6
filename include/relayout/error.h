#pragma once

#include <stdexcept>
#include <string>

namespace relayout {

/// Why a run cannot go on. Each kind maps to one exit code of the program, see exit_code().
enum class ErrorKind {
  usage,        ///< the request itself is invalid
  invalid,      ///< the given model or data is invalid
  unsupported,  ///< valid, but not supported
  io,           ///< reading, writing or resources failed
  defect,       ///< a defect in relayout itself
  interrupted,  ///< SIGINT
  terminated,   ///< SIGTERM
};

/// The documented exit code: usage 2, invalid 3, unsupported 4, io 5, defect 70, interrupted 130, terminated 143.
[[nodiscard]] int exit_code(ErrorKind kind) noexcept;

/// The more severe of two exit codes, in the order 130, 143, 70, 5, 3, 4, 2, 1, 0: that of a run with several models or failures.
[[nodiscard]] int worse_code(int a, int b) noexcept;

/// The only exception type of the library. `what()` is one line in the user's terms, without the program's name: file, place, and fault.
/// `hint()` suggests a next step; it may be empty.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::string hint = {})
      : std::runtime_error(message), kind_(kind), hint_(std::move(hint)) {}

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
  [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

 private:
  ErrorKind kind_;
  std::string hint_;
};

/// Throws Error.
[[noreturn]] void fail(ErrorKind kind, const std::string& message, std::string hint = {});

}  // namespace relayout
