// Reads traces and profiles of several tools into sums by name and step, and tells them from models.
#include "profile/read_trace.h"

#include <cmath>

#include "base/file.h"
#include "base/numbers.h"
#include "base/text.h"
#include "model/diagnose.h"
#include "model/text_format.h"
#include "profile/json_stream.h"
#include "relayout/diff.h"
#include "relayout/error.h"
#include "relayout/estimate.h"
#include "relayout/model.h"

namespace relayout {

// JSON: which tool wrote it, and which of its events count. The file is read twice: first for the spans of steps, which may be anywhere in
// it, then for the events within them.
namespace {

using Token = JsonStream::Token;

constexpr std::size_t kMostSteps = 1'000'000;
constexpr std::string_view kStepMark = "ProfilerStep#", kKernelMark = "_kernel_time";

/// The relevant facts of one element of a trace, whichever tool wrote it.
struct Element {
  std::optional<std::string> phase, category, name;
  std::optional<double> begin, duration;  ///< microseconds
  std::string op, node, op_name;          ///< of "args": relayout's, ONNX Runtime's
  std::string kind;                       ///< relayout's profile
  std::optional<double> milliseconds, count, time_us;
  std::optional<double> median_us, low_us, high_us;  ///< as measured: `time_us` is on a different scale
  bool has_arguments = false;
  int64_t position = 0;  ///< in the file, in bytes

  [[nodiscard]] TracePlace place() const { return {"byte", position}; }
};

/// The form of a file, and the marks of the tool that wrote it.
struct Document {
  bool is_array = false;
  std::string schema, relayout, machine;
  bool has_profiler_marks = false;  ///< that PyTorch writes: deviceProperties, with_stack, record_shapes
};

void read_arguments(JsonStream& json, Element& element) {
  element.has_arguments = true;
  for (Token token = json.next(); token != Token::end_object; token = json.next()) {
    const std::string key = json.text();
    const bool is_wanted = key == "op" || key == "node" || key == "op_name";
    if (!is_wanted) {
      json.skip_value();
      continue;
    }
    token = json.next();
    if (token == Token::string) {
      (key == "op" ? element.op : key == "node" ? element.node : element.op_name) = json.text();
    } else if (token == Token::begin_object || token == Token::begin_array) {
      const std::size_t level = json.depth();
      while (json.depth() >= level) (void)json.next();
    }
  }
}

void take_text(Element& element, const std::string& key, const std::string& text) {
  if (key == "ph") element.phase = text;
  if (key == "cat") element.category = text;
  if (key == "name") element.name = text;
  if (key == "op") element.op = text;
  if (key == "node") element.node = text;
  if (key == "kind") element.kind = text;
}

void take_number(Element& element, const std::string& key, double number) {
  if (key == "ts") element.begin = number;
  if (key == "dur") element.duration = number;
  if (key == "averageMs") element.milliseconds = number;
  if (key == "count") element.count = number;
  if (key == "time_us") element.time_us = number;
  if (key == "median_us") element.median_us = number;
  if (key == "low_us") element.low_us = number;
  if (key == "high_us") element.high_us = number;
}

/// Reads one object after its opening brace.
Element read_element(JsonStream& json) {
  Element element;
  element.position = json.position() - 1;
  for (Token token = json.next(); token != Token::end_object; token = json.next()) {
    const std::string key = json.text();
    token = json.next();
    const std::size_t level = json.depth();
    if (token == Token::string) take_text(element, key, json.text());
    if (token == Token::number) take_number(element, key, json.number());
    if (token == Token::begin_object && key == "args") {
      read_arguments(json, element);
    } else if (token == Token::begin_object || token == Token::begin_array) {
      while (json.depth() >= level) (void)json.next();
    }
  }
  return element;
}

/// Visits the elements of an array after its opening bracket.
void read_elements(JsonStream& json, const std::function<void(const Element&)>& visit) {
  for (Token token = json.next(); token != Token::end_array; token = json.next()) {
    const std::size_t level = json.depth();
    if (token == Token::begin_object) {
      visit(read_element(json));
    } else if (token == Token::begin_array) {
      while (json.depth() >= level) (void)json.next();
    }
  }
}

/// "cpu, isa, 2 threads" from relayout's files.
std::string read_machine(JsonStream& json) {
  std::string cpu, isa, threads;
  for (Token token = json.next(); token != Token::end_object; token = json.next()) {
    const std::string key = json.text();
    if (key != "cpu" && key != "isa" && key != "threads") {
      json.skip_value();
      continue;
    }
    token = json.next();
    const std::size_t level = json.depth();
    if (token == Token::string) (key == "cpu" ? cpu : key == "isa" ? isa : threads) = json.text();
    if (token == Token::number) threads = std::to_string(static_cast<int64_t>(std::min(std::max(json.number(), 0.0), 1e9)));
    if (token == Token::begin_object || token == Token::begin_array) {
      while (json.depth() >= level) (void)json.next();
    }
  }
  return cpu + ", " + isa + ", " + threads + (threads == "1" ? " thread" : " threads");
}

/// Reads the file once.
Document read_document(const std::shared_ptr<File>& file, const std::function<void(const Element&)>& visit) {
  TextSource source(file);
  JsonStream json(source, file->name(), true);
  Document document;
  Token token = json.next();
  if (token == Token::begin_array) {
    document.is_array = true;
    read_elements(json, visit);
    (void)json.next();
    return document;
  }
  if (token != Token::begin_object) fail(ErrorKind::invalid, escape(file->name()) + ": neither a trace nor a profile");
  for (token = json.next(); token != Token::end_object; token = json.next()) {
    const std::string key = json.text();
    if (key == "deviceProperties" || key == "with_stack" || key == "record_shapes") document.has_profiler_marks = true;
    token = json.next();
    const std::size_t level = json.depth();
    if (token == Token::string && key == "schema") document.schema = json.text();
    if (token == Token::begin_array && (key == "traceEvents" || key == "rows")) {
      read_elements(json, visit);
    } else if (token == Token::begin_object && (key == "relayout" || key == "context")) {
      document.machine = read_machine(json);
      if (key == "relayout") document.relayout = key;
    } else if (token == Token::begin_object || token == Token::begin_array) {
      while (json.depth() >= level) (void)json.next();
    }
  }
  (void)json.next();
  return document;
}

/// The number after "ProfilerStep#"; empty for another name.
std::optional<int64_t> step_number(std::string_view name) {
  if (!name.starts_with(kStepMark)) return std::nullopt;
  return whole_number(name.substr(kStepMark.size()));
}

/// Whether an element is a complete event, as TraceDiff counts them. Its times may be impossible.
bool is_event(const Element& element) {
  return element.phase == "X" && element.name && element.category && *element.category != "Trace";
}

bool is_runtime_node(const Element& element) {
  return element.category == "Node" && element.name && !element.op_name.empty();
}

/// The results of the first pass.
struct Survey {
  std::vector<StepSpan> spans;
  int64_t events = 0, runtime_nodes = 0, layers = 0, rows = 0;

  void note(const Element& element, const std::string& file) {
    rows += element.kind.empty() ? 0 : 1;
    layers += element.milliseconds && element.name ? 1 : 0;
    if (!is_event(element)) return;
    ++events;
    runtime_nodes += is_runtime_node(element) ? 1 : 0;
    auto number = step_number(*element.name);
    if (!number && element.category == "Session" && element.name == "model_run") number = static_cast<int64_t>(spans.size());
    if (!number || !is_time(element.begin, element.duration)) return;
    if (spans.size() == kMostSteps) fail(ErrorKind::unsupported, escape(file) + ": more than 1,000,000 steps");
    spans.push_back({*number, *element.begin, *element.begin + *element.duration});
  }
};

/// Adds an event of ONNX Runtime. Kernels are named "NODE_kernel_time"; all other events are within or around them.
void add_runtime_event(TraceSums& sums, const Element& element, bool by_node) {
  const std::string& name = *element.name;
  if (!is_runtime_node(element) || !name.ends_with(kKernelMark)) return;
  sums.add(by_node ? name.substr(0, name.size() - kKernelMark.size()) : element.op_name, *element.begin, *element.duration);
}

void add_event(TraceSums& sums, const Element& element, bool by_node) {
  if (step_number(*element.name)) return;
  const std::string& name = by_node ? element.node : element.op;
  sums.add(name.empty() ? *element.name : name, *element.begin, *element.duration);
}

/// Adds a row of relayout's profile: its share of one run.
void add_row(TraceSums& sums, const Element& element, bool by_node) {
  if (element.kind.empty() || !sums.takes(element.node, 0.0, element.time_us, element.place())) return;
  Estimate us{*element.time_us, std::nullopt};
  const bool has_interval = element.median_us && element.low_us && element.high_us && *element.median_us > 0 && *element.low_us >= 0 &&
                            *element.low_us <= *element.high_us;
  if (has_interval)
    us.interval = Interval{us.median * *element.low_us / *element.median_us, us.median * *element.high_us / *element.median_us};
  sums.add(by_node || element.op.empty() ? element.node : element.op, us);
}

/// Adds a layer of TensorRT's profile: its average in one inference.
void add_layer(TraceSums& sums, const Element& element) {
  constexpr double kMicrosecondsPerMillisecond = 1000;
  if (!element.name) return;
  std::optional<double> us = element.milliseconds;
  if (us) *us *= kMicrosecondsPerMillisecond;
  if (sums.takes(*element.name, 0.0, us, element.place())) sums.add(*element.name, 0, *us);
}

}  // namespace

Trace read_json_trace(const std::shared_ptr<File>& file, const TraceOptions& options) {
  Survey survey;
  const Document document = read_document(file, [&](const Element& element) { survey.note(element, file->name()); });
  const bool is_profile = document.schema.starts_with("relayout.profile/");
  if (survey.events == 0 && !(is_profile && survey.rows > 0) && !(document.is_array && survey.layers > 0)) {
    fail(ErrorKind::invalid, escape(file->name()) + ": neither a trace nor a profile: it has no complete events (\"ph\": \"X\")");
  }
  TraceSums sums(file->name(), options);
  const bool is_runtime = survey.runtime_nodes > 0, by_node = options.names_of_nodes;
  const std::string source = is_profile                    ? "relayout profile"
                             : survey.events == 0          ? "TensorRT"
                             : is_runtime                  ? "ONNX Runtime"
                             : !document.relayout.empty()  ? "relayout"
                             : document.has_profiler_marks ? "PyTorch"
                                                           : "trace events";
  sums.set_steps(std::move(survey.spans));
  (void)read_document(file, [&](const Element& element) {
    if (is_profile) return add_row(sums, element, by_node);
    if (source == "TensorRT") return add_layer(sums, element);
    if (!is_event(element) || !sums.takes(*element.name, element.begin, element.duration, element.place())) return;
    is_runtime ? add_runtime_event(sums, element, by_node) : add_event(sums, element, by_node);
  });
  file->check_unchanged();
  Trace out = sums.finish(source);
  out.machine = document.machine;
  return out;
}

// OpenVINO's table of counters, and the choice among the forms.
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

// Models beside traces.
namespace {

constexpr std::size_t kHead = 4096;

/// The first bytes of the decompressed file.
std::string head_of(const std::shared_ptr<File>& file) {
  TextSource source(file);
  std::string out;
  for (std::string_view piece = source.next(); !piece.empty() && out.size() < kHead; piece = source.next()) out += piece.substr(0, kHead);
  return out;
}

/// Traces are JSON or, from OpenVINO, tables.
bool is_of_models_alone(FileFormat format) {
  return format == FileFormat::onnx_text || format == FileFormat::proto_text;
}

}  // namespace

bool holds_model(const std::filesystem::path& path) {
  if (is_stream(path)) return false;
  if (is_of_models_alone(text_format::format_of(path))) return true;
  const std::shared_ptr<File> file = File::open(path);
  const std::string head = head_of(file);
  if (!is_text(head) || is_of_models_alone(text_format::format_of(*file))) return true;
  // The JSON form of a protobuf model begins with its lowest field.
  return head.find("\"irVersion\"") != std::string::npos || head.find("\"ir_version\"") != std::string::npos;
}

}  // namespace relayout
