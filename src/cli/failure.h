#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/json.h"

namespace relayout::cli {

/// An exception as the user sees it.
struct Failure {
  int code = 70;        ///< exit code
  std::string message;  ///< one line without "relayout: "
  std::string hint;

  /// The message with the hint behind it, "x.onnx: compressed by gzip (unpack it first: gunzip)": for what has one line only.
  [[nodiscard]] std::string line() const;
  /// Whether a signal stopped the program, so that nothing else is to be begun.
  [[nodiscard]] bool is_interruption() const;
};

/// The exception that is being handled; call it inside a catch block.
[[nodiscard]] Failure current_failure();

/// Something that is wrong in relayout itself: exit code 70, and its line says how to report it.
[[nodiscard]] Failure defect_failure(const std::string& message);

/// "relayout: …" in one line; on a terminal or with -v the hint has a line of its own below.
void print_failure(const Failure& failure, bool verbose);

/// Failures of several models: a line each as they come, and each hint once behind the last.
class Failures {
 public:
  /// Of one model alone, a failure is printed with its hint at once.
  Failures(std::size_t models, bool verbose) : is_alone_(models == 1), verbose_(verbose) {}
  void print(const Failure& failure);
  void print_hints() const;

 private:
  bool is_alone_, verbose_;
  std::vector<std::string> hints_;
};

/// {"exit": 5, "message": "…"}
[[nodiscard]] Json error_json(const Failure& failure);

/// Of two exit codes the one that says more: 130 and 143, 70, 5, 3, 4, 2, 1, 0 in this order.
[[nodiscard]] int worse_code(int a, int b);

}  // namespace relayout::cli
