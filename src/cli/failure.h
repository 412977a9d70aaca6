#pragma once

#include <string>

#include "report/json.h"

namespace relayout::cli {

/// An exception as the user sees it.
struct Failure {
  int code = 70;        ///< exit code
  std::string message;  ///< one line without "relayout: "
  std::string hint;

  /// Whether a signal stopped the program, so that nothing else is to be begun.
  [[nodiscard]] bool is_interruption() const;
};

/// What is being handled right now; call it inside a catch block.
[[nodiscard]] Failure current_failure();

/// Something that is wrong in relayout itself: exit code 70, and its line says how to report it.
[[nodiscard]] Failure defect_failure(const std::string& message);

/// "relayout: …", and the hint below it on a terminal or with -v.
void print_failure(const Failure& failure, bool verbose);

/// {"exit": 5, "message": "…"}
[[nodiscard]] Json error_json(const Failure& failure);

/// Of two exit codes the one that says more: 130 and 143, 70, 5, 3, 4, 2, 1, 0 in this order.
[[nodiscard]] int worse_code(int a, int b);

}  // namespace relayout::cli
