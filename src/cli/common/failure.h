#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "relayout/execute.h"
#include "relayout/verify.h"
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

/// A line per reason, "a.onnx, b.onnx: cannot run com.acme:Foo × 5 (unknown domain)"; files with the same nodes share it. `verbose`: every
/// node below it.
[[nodiscard]] std::string unsupported_lines(const VerifyResult& result, bool verbose);
/// The nodes of one model ("a", "b", "model").
[[nodiscard]] Json unsupported_json(const std::vector<Unsupported>& nodes, const char* side);

/// The message on standard error for a verification: a defect, or nodes that cannot run. Nothing for a plain verdict,
/// where the report on standard output is enough.
[[nodiscard]] std::optional<Failure> failure_of(const VerifyResult& result);
[[nodiscard]] std::optional<Failure> failure_of(const DataResult& result);

}  // namespace relayout::cli
