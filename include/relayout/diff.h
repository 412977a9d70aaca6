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
  std::vector<int64_t> steps;   ///< numbers of "ProfilerStep#N" that count; empty: all
  bool names_of_nodes = false;  ///< operations are nodes where the file tells them, not operators
  bool short_names = false;     ///< without template and call arguments, the last word alone, as TraceDiff's use_short_name
};

/// The events of one name.
struct TraceOperation {
  std::string name;
  int64_t count = 0;
  double us = 0;                       ///< in all
  std::vector<double> step_us{};       ///< in each of Trace::steps; empty where the file has no steps
  std::optional<Interval> interval{};  ///< of `us`, where a profile tells it of all that it sums up
};

/// A trace of operations that ran, summed by name.
struct Trace {
  std::string path;
  std::string source;          ///< "relayout", "PyTorch", "ONNX Runtime", "OpenVINO", "TensorRT", "trace events"
  std::vector<int64_t> steps;  ///< that were counted, in the order of time
  std::vector<TraceOperation> operations;
  int64_t outside = 0;  ///< events outside of every step, which do not count
  std::string machine;  ///< processor, instruction set and threads, where the file tells them
};

/// Reads trace events (JSON object or array, .gz too: relayout's, PyTorch's, ONNX Runtime's), OpenVINO's detailed counters (CSV),
/// TensorRT's `--exportProfile`, and relayout's profiles; recognised by content. Memory grows with names and steps, not with events.
/// Error{invalid} says where the file is wrong, Error{unsupported} which limit it exceeds.
[[nodiscard]] Trace read_trace(const std::filesystem::path& path, const TraceOptions& options = {});

/// Whether a file holds a model; else it is to be one that read_trace() reads. By content, of text that could be either by extension.
[[nodiscard]] bool holds_model(const std::filesystem::path& path);

/// TraceDiff's five classes, by counts alone.
enum class CountClass : uint8_t { added, removed, increased, decreased, unchanged };
[[nodiscard]] std::string_view to_string(CountClass kind) noexcept;

/// One row of TraceDiff's compare_traces.
struct OperationDifference {
  std::string name;
  int64_t control_count = 0, test_count = 0;
  double control_us = 0, test_us = 0;
  CountClass counts = CountClass::unchanged;
  Estimate ratio;  ///< of the times per step, or of those of profiles; no interval of fewer than six steps
  TimeClass time = TimeClass::unknown;
  [[nodiscard]] int64_t count_difference() const noexcept { return test_count - control_count; }
  [[nodiscard]] double difference_us() const noexcept { return test_us - control_us; }
};

/// Every name of either trace, the largest difference of time first; names decide between equal ones.
[[nodiscard]] std::vector<OperationDifference> diff_traces(const Trace& control, const Trace& test);

}  // namespace relayout
