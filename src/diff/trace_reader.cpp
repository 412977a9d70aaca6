// Tells JSON traces (read in trace_events.cpp) from OpenVINO's table of counters, which is read here: its columns, units, and layers that
// did not run (NOT_RUN, OPTIMIZED_OUT).
#include "diff/trace_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/numbers.h"
#include "base/text.h"
#include "diff/text_source.h"
#include "diff/trace_events.h"
#include "diff/trace_sums.h"
#include "relayout/diff.h"
#include "relayout/error.h"

namespace relayout {
namespace {

constexpr double kMicrosecondsPerMillisecond = 1000;
constexpr std::size_t kLongestLine = 65536;

/// The first byte that is not blank.
char first_sign(const std::shared_ptr<File>& file) {
  TextSource source(file);
  for (std::string_view piece = source.next(); !piece.empty(); piece = source.next()) {
    const std::size_t at = piece.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
    if (at != std::string_view::npos) return piece[at];
  }
  fail(ErrorKind::invalid, escape(file->name()) + ": neither a trace nor a profile: it is empty");
}

/// Splits a text of any length into lines.
class Lines {
 public:
  Lines(TextSource& source, const std::string& name) : source_(source), name_(name) {}

  bool next(std::string& line) {
    line.clear();
    while (true) {
      if (rest_.empty()) rest_ = source_.next();
      if (rest_.empty()) return !line.empty();
      const std::size_t end = rest_.find('\n');
      line += rest_.substr(0, end);
      if (line.size() > kLongestLine) fail(ErrorKind::invalid, escape(name_) + ": a line of more than 64 KiB");
      rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
      if (end != std::string_view::npos) return true;
    }
  }

 private:
  TextSource& source_;
  const std::string& name_;
  std::string_view rest_;
};

std::vector<std::string> fields_of(std::string_view line) {
  while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
  std::vector<std::string> out;
  while (true) {
    const std::size_t end = line.find(';');
    out.emplace_back(line.substr(0, end));
    if (end == std::string_view::npos) return out;
    line.remove_prefix(end + 1);
  }
}

std::size_t column(const std::vector<std::string>& head, std::string_view name, const std::string& file) {
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == name) return i;
  }
  fail(ErrorKind::invalid,
       escape(file) + ": neither a trace nor a profile: no JSON, and no column '" + std::string(name) + "' as OpenVINO writes it");
}

bool did_not_run(const std::string& status) {
  return status.find("NOT_RUN") != std::string::npos || status.find("OPTIMIZED_OUT") != std::string::npos;
}

/// Microseconds of a text in milliseconds; nothing for a text that is no number.
std::optional<double> microseconds_of(const std::string& text) {
  double milliseconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), milliseconds);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(milliseconds)) return std::nullopt;
  return milliseconds * kMicrosecondsPerMillisecond;
}

/// Reads detailed counters of OpenVINO's benchmark_app: a line per layer, with mean times of one inference. Skips layers that did not run.
Trace read_counters(const std::shared_ptr<File>& file, const TraceOptions& options) {
  TextSource source(file);
  Lines lines(source, file->name());
  std::string line;
  (void)lines.next(line);
  const std::vector<std::string> head = fields_of(line);
  const std::size_t layer = column(head, "layerName", file->name()), status = column(head, "execStatus", file->name()),
                    type = column(head, "layerType", file->name()), time = column(head, "realTime (ms)", file->name());
  TraceSums sums(file->name(), options);
  sums.set_steps({});
  for (int64_t number = 2; lines.next(line); ++number) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields.front().empty() || fields.front() == "Total" || fields.front() == head.front()) continue;
    const bool is_whole = fields.size() > std::max({layer, status, type, time});
    if (is_whole && did_not_run(fields[status])) continue;
    const std::optional<double> us = is_whole ? microseconds_of(fields[time]) : std::nullopt;
    if (!sums.takes(fields[is_whole ? layer : 0], 0.0, us, {"line", number})) continue;
    sums.add(fields[options.names_of_nodes ? layer : type], 0, *us);
  }
  Trace out = sums.finish("OpenVINO");
  if (out.operations.empty()) fail(ErrorKind::invalid, escape(file->name()) + ": no layer in it ran");
  return out;
}

}  // namespace

Trace read_trace(const std::filesystem::path& path, const TraceOptions& options) {
  return read_trace_file(File::open_or_standard_input(path), options);
}

Trace read_trace_file(const std::shared_ptr<File>& file, const TraceOptions& options) {
  const char first = first_sign(file);
  return first == '{' || first == '[' ? read_json_trace(file, options) : read_counters(file, options);
}

}  // namespace relayout
