#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/json.h"

namespace relayout::cli {

/// An exception in the form that users see.
struct Failure {
  int code = 70;        ///< exit code
  std::string message;  ///< one line, without the prefix "relayout: "
  std::string hint;

  /// The message followed by the hint, for outputs of one line: "x.onnx: compressed by gzip (unpack it first: gunzip)".
  [[nodiscard]] std::string line() const;
  /// Whether a signal stopped the program, so that no further work may start.
  [[nodiscard]] bool is_interruption() const;
};

/// The exception that is being handled; to be called inside a catch block.
[[nodiscard]] Failure current_failure();

/// A defect in relayout itself: exit code 70, and a line that explains how to report it.
[[nodiscard]] Failure defect_failure(const std::string& message);

/// Prints "relayout: …" in one line. On a terminal or with -v, the hint follows on its own line.
void print_failure(const Failure& failure, bool verbose);

/// Failures of several models: a line for each when it occurs, and each distinct hint once at the end.
class Failures {
 public:
  /// With a single model, a failure is printed together with its hint.
  Failures(std::size_t models, bool verbose) : is_alone_(models == 1), verbose_(verbose) {}
  void print(const Failure& failure);
  void print_hints() const;

 private:
  bool is_alone_, verbose_;
  std::vector<std::string> hints_;
};

/// {"exit": 5, "message": "…"}
[[nodiscard]] Json error_json(const Failure& failure);

}  // namespace relayout::cli
