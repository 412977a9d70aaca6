#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/estimate.h"

namespace relayout {

struct TraceOptions {
  std::vector<int64_t> steps{};  ///< numbers N of the "ProfilerStep#N" spans to count; empty: all
  bool names_of_nodes = false;   ///< name operations by node rather than by operator, where the file contains node names
  bool short_names = false;      ///< shorten names as TraceDiff's use_short_name: no template or call arguments, last word only
  bool strict = false;           ///< Error{invalid} for a time that cannot be, instead of skipping its event
};

/// All events of one name.
struct TraceOperation {
  std::string name;
  int64_t count = 0;
  double us = 0;                       ///< total duration in microseconds
  std::vector<double> step_us{};       ///< duration in each of Trace::steps; empty if the file has no steps
  std::optional<Interval> interval{};  ///< of `us`, if the file is a profile with an interval for every summand
};

/// A trace of operations that ran, summed by name.
struct Trace {
  std::string path;
  std::string source;          ///< "relayout", "PyTorch", "ONNX Runtime", "OpenVINO", "TensorRT", "trace events"
  std::vector<int64_t> steps;  ///< numbers of the counted steps, in order of time
  std::vector<TraceOperation> operations;
  int64_t outside = 0;        ///< number of events outside of all steps; they are not counted
  int64_t skipped = 0;        ///< number of events without a possible time (missing, no number, negative, beyond a century)
  std::string first_skipped;  ///< the first of them, its fault and its place: "'conv' took -2 µs (byte 1,234)"
  std::string machine;        ///< processor, instruction set and threads, if the file contains them
};

/// Reads trace events (JSON object or array, .gz too: relayout's, PyTorch's, ONNX Runtime's), OpenVINO's detailed counters (CSV),
/// TensorRT's `--exportProfile`, and relayout's profiles. The format is recognised by content. Memory grows with names and steps, not with
/// events. Error{invalid} gives the place of the fault in the file, Error{unsupported} the limit that it exceeds.
[[nodiscard]] Trace read_trace(const std::filesystem::path& path, const TraceOptions& options = {});

/// Whether a file holds a model, as opposed to a trace for read_trace(). Decided by content; for ambiguous text, by extension.
[[nodiscard]] bool holds_model(const std::filesystem::path& path);

/// TraceDiff's five classes of operations, by their counts only.
enum class CountClass : uint8_t { added, removed, increased, decreased, unchanged };
[[nodiscard]] std::string_view to_string(CountClass kind) noexcept;

/// One row of TraceDiff's compare_traces.
struct OperationDifference {
  std::string name;
  int64_t control_count = 0, test_count = 0;
  double control_us = 0, test_us = 0;
  CountClass counts = CountClass::unchanged;
  Estimate ratio;  ///< test over control, of times per step or of profiles; no interval for fewer than six steps
  TimeClass time = TimeClass::unknown;
  [[nodiscard]] int64_t count_difference() const noexcept { return test_count - control_count; }
  [[nodiscard]] double difference_us() const noexcept { return test_us - control_us; }
};

/// One row for each name in either trace, sorted by decreasing absolute difference of time, then by name.
[[nodiscard]] std::vector<OperationDifference> diff_traces(const Trace& control, const Trace& test);

}  // namespace relayout
