#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "relayout/diff.h"
#include "relayout/estimate.h"

namespace relayout {

/// A span of one step.
struct StepSpan {
  int64_t number = 0;
  double begin = 0, end = 0;  ///< microseconds
};

/// Sums events by name and step.
class TraceSums {
 public:
  /// `file` begins the messages.
  TraceSums(std::string file, const TraceOptions& options) : file_(std::move(file)), options_(&options) {}

  /// The spans that count, in the order of time; with none, all events count. Error{usage} when the options want a step that is not there.
  void set_steps(std::vector<StepSpan> spans);
  /// `count` runs that took `us` in all. Error{invalid} where the time is negative or beyond a century, Error{unsupported} beyond
  /// 1,000,000 names.
  void add(const std::string& name, double begin, double us, int64_t count = 1);
  /// Sums measured as a whole, of a file without steps. A name has an interval where all that it sums up has one.
  void add(const std::string& name, const Estimate& us);
  /// The sums, by name in the order of first appearance.
  [[nodiscard]] Trace finish(std::string source);

 private:
  [[nodiscard]] const StepSpan* span_of(double begin) const;
  TraceOperation& operation_of(const std::string& name);
  void check(const std::string& name, double us) const;
  std::string file_;
  const TraceOptions* options_;
  std::vector<StepSpan> spans_;
  bool has_steps_ = false;
  std::vector<TraceOperation> operations_;
  std::unordered_map<std::string, std::size_t> numbers_;
  int64_t outside_ = 0;
};

/// As HolisticTraceAnalysis shortens names: template and call arguments go, the last word alone stays; copies on devices keep theirs.
[[nodiscard]] std::string short_name(std::string_view name);

}  // namespace relayout
