#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "relayout/diff.h"
#include "relayout/estimate.h"

namespace relayout {

struct StepSpan {
  int64_t number = 0;
  double begin = 0, end = 0;  ///< microseconds
};

/// Whether an event can have these times: when it begins, and how long it takes, at most a century.
[[nodiscard]] bool is_time(std::optional<double> begin, std::optional<double> us);

/// Where an event is in its file.
struct TracePlace {
  std::string_view unit;  ///< "byte", "line"
  int64_t number = 0;
};

/// Sums events by name and step.
class TraceSums {
 public:
  /// `file` is the prefix of messages.
  TraceSums(std::string file, const TraceOptions& options) : file_(std::move(file)), options_(&options) {}

  /// Sets the spans that count. With none, all events count. Error{usage} if the options select a step that does not exist.
  void set_steps(std::vector<StepSpan> spans);
  /// Whether an event has a time. One without is counted as skipped; Error{invalid} if the options are strict.
  [[nodiscard]] bool takes(const std::string& name, std::optional<double> begin, std::optional<double> us, TracePlace place);
  /// Adds `count` runs that took `us` in total. Error{unsupported} beyond 1,000,000 names.
  void add(const std::string& name, double begin, double us, int64_t count = 1);
  /// Adds a time measured as a whole, from a file without steps. A name has an interval if all of its summands have one.
  void add(const std::string& name, const Estimate& us);
  /// The sums, by name in the order of first appearance. Error{invalid} if all events were skipped.
  [[nodiscard]] Trace finish(std::string source);

 private:
  [[nodiscard]] const StepSpan* span_of(double begin) const;
  TraceOperation& operation_of(const std::string& name);
  std::string file_;
  const TraceOptions* options_;
  std::vector<StepSpan> spans_;
  bool has_steps_ = false;
  std::vector<TraceOperation> operations_;
  std::unordered_map<std::string, std::size_t> numbers_;
  int64_t outside_ = 0, skipped_ = 0;
  std::string first_skipped_;
};

/// Shortens names as HolisticTraceAnalysis does: drops template and call arguments and keeps the last word. Copies on devices keep their
/// names, also names of which nothing would be left.
[[nodiscard]] std::string short_name(std::string_view name);

/// Reads a JSON file: trace events as an object with "traceEvents" or as an array, a profile of TensorRT, a profile of relayout.
[[nodiscard]] Trace read_json_trace(const std::shared_ptr<File>& file, const TraceOptions& options);

/// read_trace() of an open file.
[[nodiscard]] Trace read_trace_file(const std::shared_ptr<File>& file, const TraceOptions& options);

}  // namespace relayout
