// Records the times of runs and of a selection of their steps in bounded memory, and writes profiles as traces.

#include "profile/trace.h"

#include <zlib.h>

#include <cmath>
#include <cstdlib>

#include "base/positions.h"
#include "base/text.h"
#include "base/times.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/profile.h"
#include "report/json.h"

namespace relayout {

namespace {

/// 32 MiB of durations, but at least 64 runs (an interval of ±12 % of ranks), and at most 512, because an interval needs no more.
constexpr std::size_t kMostDurations = std::size_t{1} << 22, kLeastRuns = 64, kMostRuns = 512;

}  // namespace

ThinnedRuns::ThinnedRuns(std::size_t steps)
    : steps_(steps), width_(steps), most_(std::clamp(kMostDurations / std::max<std::size_t>(steps, 1), kLeastRuns, kMostRuns)) {}

void ThinnedRuns::add(int64_t wall, const StepTimes& times) {
  const std::size_t number = count_++;
  if (number % stride_ == 0 && size() == most_) thin_out();
  if (number % stride_ != 0) return;
  latest_inner_ = times.inner;
  widen(steps_ + times.inner.size());
  for (std::size_t i = 0; i < steps_; ++i) durations_.push_back(times.ends[i] - times.begins[i]);
  for (const InnerTime& time : times.inner) durations_.push_back(time.nanoseconds);
  walls_.push_back(wall);
  durations_.resize(size() * width_);
}

/// Makes room for inner steps that no earlier run has met.
void ThinnedRuns::widen(std::size_t width) {
  if (width <= width_) return;
  std::vector<int64_t> wider(size() * width);
  for (std::size_t run = 0; run < size(); ++run) {
    const auto from = durations_.begin() + static_cast<std::ptrdiff_t>(run * width_);
    std::copy_n(from, width_, wider.begin() + static_cast<std::ptrdiff_t>(run * width));
  }
  durations_ = std::move(wider);
  width_ = width;
}

/// Drops every second of the kept runs.
void ThinnedRuns::thin_out() {
  std::size_t to = 0;
  for (std::size_t run = 0; run < size(); run += 2, ++to) {
    const auto from = durations_.begin() + static_cast<std::ptrdiff_t>(run * width_);
    std::copy_n(from, width_, durations_.begin() + static_cast<std::ptrdiff_t>(to * width_));
    walls_[to] = walls_[run];
  }
  walls_.resize(to);
  durations_.resize(to * width_);
  stride_ *= 2;
}

Recorder::Recorder(std::size_t steps, int traced) : kept_(steps), most_traced_(as_size(std::max(traced, 0))) {}

void Recorder::add(int64_t begin, int64_t end, int64_t processor, const StepTimes& times) {
  if (traced_.size() < most_traced_) trace(begin, end, times);
  kept_.add(end - begin, times);
  walls_.push_back(static_cast<double>(end - begin));
  wall_total_ += walls_.back();
  processors_.push_back(static_cast<double>(processor));
  processor_total_ += processors_.back();
}

void Recorder::trace(int64_t begin, int64_t end, const StepTimes& times) {
  if (traced_.empty()) origin_ = begin;
  TracedRun& run = traced_.emplace_back(TracedRun{runs(), begin - origin_, end - origin_, {}, {}});
  for (const int64_t time : times.begins) run.begins.push_back(time - origin_);
  for (const int64_t time : times.ends) run.ends.push_back(time - origin_);
}

// Writes a profile as a Chrome trace, and as collapsed stacks from which flame graphs are drawn.
namespace {

/// Nanoseconds as microseconds, exact: "12.345".
std::string microseconds(int64_t nanoseconds) {
  const int64_t size = std::abs(nanoseconds);
  std::string fraction = std::to_string(size % 1000);
  fraction.insert(0, 3 - fraction.size(), '0');
  return (nanoseconds < 0 ? "-" : "") + std::to_string(size / 1000) + "." + fraction;
}

std::string json_string(std::string_view text) {
  return Json(escape(text)).dump(-1);
}

std::vector<std::string> escaped(std::vector<std::string> names) {
  for (std::string& name : names) name = escape(name);
  return names;
}

/// Text that all events of one step share.
struct StepText {
  std::string head;   ///< text before the time
  std::string tail;   ///< arguments after "External id"
  std::string bytes;  ///< number of bytes in use
};

StepText text_of(const StepInfo& step, bool names_of_nodes) {
  const std::string op = step.kind == StepKind::node && !step.operators.empty() ? step.operators.front() : step.op_type;
  Json arguments = Json::object();
  arguments.set("node", escape(step.node)).set("op", op).set("kind", to_string(step.kind));
  if (!step.callers.empty()) arguments.set("callers", escaped(step.callers));
  std::vector<std::string> fused;
  for (std::size_t i = 1; i < step.operators.size(); ++i) fused.push_back(step.operators[i] + " " + escape(step.absorbed[i - 1]));
  arguments.set("fused", fused).set("layout", step.layout).set("implementation", step.implementation).set("dims", step.dims);
  arguments.set("bytes", step.bytes).set("flop", 2 * step.macs);
  const std::string members = arguments.dump(-1);
  return {R"({"ph": "X", "cat": "cpu_op", "name": )" + json_string(names_of_nodes ? step.node : op) + R"(, "pid": 1, "tid": 1, "ts": )",
          "," + members.substr(1), std::to_string(step.live_bytes)};
}

std::string metadata(std::string_view what, const std::string& name) {
  return R"({"ph": "M", "name": ")" + std::string(what) + R"(", "pid": 1, "tid": 1, "ts": 0, "args": {"name": )" + json_string(name) + "}}";
}

/// Writes one event per line.
class Events {
 public:
  explicit Events(std::string& out) : out_(out) {}
  void add(const std::string& event) {
    out_ += is_first_ ? "\n" : ",\n";
    out_ += event;
    is_first_ = false;
  }

 private:
  std::string& out_;
  bool is_first_ = true;
};

/// The text of the executor's own time.
StepText executor_text() {
  const std::string name = json_string(kExecutor);
  return {R"({"ph": "X", "cat": "cpu_op", "name": )" + name + R"(, "pid": 1, "tid": 1, "ts": )", R"(, "node": )" + name + "}", ""};
}

/// Calls visit(step, begin, end) for the steps of a run in their order, and visit(nothing, begin, end) for the time between them, before
/// the first and after the last: together they are the run.
template <class Visit>
void for_each_part(const TracedRun& run, const Visit& visit) {
  int64_t now = run.begin;
  const auto pause_until = [&](int64_t end) {
    if (now < end) visit(std::optional<std::size_t>(), now, end);
  };
  for (std::size_t i = 0; i < run.begins.size(); ++i) {
    pause_until(run.begins[i]);
    visit(std::optional(i), run.begins[i], run.ends[i]);
    now = run.ends[i];
  }
  pause_until(run.end);
}

void add_run(Events& events, const TracedRun& run, const std::vector<StepText>& texts, int64_t& id) {
  static const StepText kBetween = executor_text();
  events.add(R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#)" + std::to_string(run.number) +
             R"(", "pid": 1, "tid": 1, "ts": )" + microseconds(run.begin) + R"(, "dur": )" + microseconds(run.end - run.begin) +
             R"(, "args": {"External id": )" + std::to_string(++id) + "}}");
  for_each_part(run, [&](std::optional<std::size_t> step, int64_t begin, int64_t end) {
    const StepText& text = step ? texts[*step] : kBetween;
    events.add(text.head + microseconds(begin) + R"(, "dur": )" + microseconds(end - begin) + R"(, "args": {"External id": )" +
               std::to_string(++id) + text.tail + "}");
    if (!step) return;
    events.add(R"({"ph": "C", "name": "activations", "pid": 1, "ts": )" + microseconds(begin) + R"(, "args": {"bytes": )" + text.bytes +
               "}}");
  });
}

/// Number of runs that fit below the limit.
std::size_t runs_within(const Profile& profile, int64_t most_events) {
  int64_t events = 0;
  std::size_t runs = 0;
  for (const TracedRun& run : profile.traced) {
    ++events;
    for_each_part(run, [&](std::optional<std::size_t> step, int64_t, int64_t) { events += step ? 2 : 1; });  // the memory in use, too
    if (events > most_events) break;
    ++runs;
  }
  return runs;
}

}  // namespace

TraceText trace_text(const Profile& profile, bool names_of_nodes, int64_t most_events) {
  const std::size_t runs = runs_within(profile, most_events);
  const auto steps = static_cast<int64_t>(profile.timed_steps.size());
  TraceText out;
  out.runs = static_cast<int64_t>(runs);
  out.left_out = profile.untraced_steps + static_cast<int64_t>(profile.traced.size() - runs) * steps;
  std::vector<StepText> texts;
  for (const StepInfo& step : profile.timed_steps) texts.push_back(text_of(step, names_of_nodes));
  out.text = "{\n\"schemaVersion\": 1,\n\"displayTimeUnit\": \"ns\",\n\"distributedInfo\": {\"rank\": 0},\n\"relayout\": " +
             Json::object()
                 .set("version", profile.context.relayout)
                 .set("model", escape(profile.model))
                 .set("mode", to_string(profile.mode))
                 .set("threads", profile.context.threads)
                 .set("cpu", profile.context.cpu)
                 .set("isa", profile.context.isa)
                 .set("steps_left_out", out.left_out)
                 .dump(-1) +
             ",\n\"traceEvents\": [";
  Events events(out.text);
  events.add(metadata("process_name", "relayout profile " + profile.model));
  events.add(metadata("thread_name", "steps"));
  int64_t id = 0;
  for (std::size_t run = 0; run < runs; ++run) add_run(events, profile.traced[run], texts, id);
  out.text += "\n]\n}\n";
  return out;
}

std::string gzip_text(std::string_view text) {
  constexpr int kGzip = 16;  ///< added to the window's bits: gzip's header instead of zlib's
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
    fail(ErrorKind::io, "out of memory: compressing a trace");
  }
  std::string out;
  std::array<char, 1 << 16> piece{};
  // The interface counts in 32 bits.
  constexpr std::size_t kMostInput = std::size_t{1} << 30;
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      const std::string_view next = text.substr(0, kMostInput);
      text.remove_prefix(next.size());
      // zlib's older interface has no const; it only reads.
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(next.data()));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
      stream.avail_in = static_cast<uInt>(next.size());
    }
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    state = deflate(&stream, text.empty() ? Z_FINISH : Z_NO_FLUSH);
    out.append(piece.data(), piece.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return out;
}

// Collapsed stacks, one line per row.
namespace {

/// Replaces semicolons, which would begin another frame.
std::string frame(std::string_view name) {
  std::string out = escape(name);
  for (char& c : out) {
    if (c == ';') c = ':';
  }
  return out;
}

}  // namespace

std::string collapsed_stacks(const Profile& profile) {
  std::string out;
  for (const ProfileRow& row : profile.rows) {
    out += frame(profile.model);
    for (const std::string_view part : path_of(row)) out += ";" + frame(part);
    if (!row.op_type.empty()) out += ";" + frame(row.op_type);
    out += " " + std::to_string(std::llround(row.us * kNanosecondsPerMicrosecond)) + "\n";
  }
  return out;
}

}  // namespace relayout
