// Prepares one model to be timed: its inputs and sizes, the times of loading, planning and the first run, and the machine.
#include "profile/subject.h"

#include <stdlib.h>

#include <fstream>
#include <thread>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/machine.h"
#include "base/text.h"
#include "base/times.h"
#include "model/tensor_data.h"
#include "profile/trace.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/profile.h"
#include "relayout/types.h"
#include "relayout/version.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/inputs.h"

namespace relayout {

// The machine on which a profile is measured.
namespace {

/// The name of the first processor as Linux reports it, or "unknown".
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

double load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

}  // namespace

ProfileContext current_context(int threads) {
  const LibraryInfo library = onednn_info();
  ProfileContext context;
  context.cpu = processor_name();
  context.isa = library.isa;
  context.relayout = kVersion;
  context.onednn = library.version;
  context.threads = threads;
  context.processors = static_cast<int>(std::thread::hardware_concurrency());
  context.affinity = affinity_cpus();
  context.quota = quota_cpus();
  context.load = load_average();
  return context;
}

namespace {

double microseconds_since(int64_t begin) {
  return static_cast<double>(steady_nanoseconds() - begin) / kNanosecondsPerMicrosecond;
}

[[noreturn]] void fail_of_random_values(const std::string& name) {
  fail(ErrorKind::unsupported, escape(name) + ": each run takes other steps: its nodes depend on random values");
}

/// Types of the floating-point weights, most bytes first.
std::string precision_of(const Graph& graph) {
  std::map<DataType, int64_t> bytes;
  for (const Initializer& initializer : graph.initializers()) {
    if (initializer.data && is_float(initializer.data->type())) bytes[initializer.data->type()] += initializer.data->byte_size();
  }
  std::set<std::pair<int64_t, std::string_view>> order;
  for (const auto& [type, count] : bytes) order.emplace(-count, name_of(type));
  std::string out;
  for (const auto& [count, name] : order) out += (out.empty() ? "" : " + ") + std::string(name);
  return out;
}

}  // namespace

Subject::Subject(const std::filesystem::path& path, const ProfileOptions& options) : name_(path.string()), options_(&options) {
  const int64_t begin = steady_nanoseconds();
  model_ = Model::load(path, options.load);
  load_us_ = microseconds_since(begin);
  context_ = current_context(threads_or_all(options.threads));
  named(name_, [&] { find_inputs(); });
}

void Subject::find_inputs() {
  const InputMaker maker(model_->graph(), *options_);
  const FreeDims::Assignment assignment = maker.first_accepted([this](Inputs inputs) {
    inputs_ = std::move(inputs);
    open();
  });
  for (const auto& [name, size] : assignment.dims) {
    if (!options_->dims.contains(name)) assumed_.emplace(name, size);
  }
}

/// Creates the executor, its plan, and the recorder for its steps.
void Subject::open() {
  executor_.reset();
  ExecuteOptions execute;
  execute.mode = options_->mode;
  execute.threads = options_->threads;
  execute.seed = options_->seed;
  const int64_t begin = steady_nanoseconds();
  executor_ = std::make_unique<Executor>(model_->graph(), execute);
  (void)executor_->run(inputs_, &times_);
  const double all = microseconds_since(begin);
  if (recorder_ != nullptr) return note_inner();
  int64_t steps = 0;
  for (std::size_t i = 0; i < times_.begins.size(); ++i) steps += times_.ends[i] - times_.begins[i];
  first_us_ = static_cast<double>(steps) / kNanosecondsPerMicrosecond;
  plan_us_ = all - first_us_;
  plan_ = executor_->plan_info();
  recorder_ = std::make_unique<Recorder>(times_.begins.size(), options_->traced_runs);
}

/// Adds the inner steps of the runs since then. They are identified by number: executors must meet them in the same order.
void Subject::note_inner() {
  const std::vector<InnerStep>& inner = executor_->plan_info().inner;
  const auto is_same = [](const InnerStep& a, const InnerStep& b) {
    return a.info.node == b.info.node && a.info.callers == b.info.callers && a.within == b.within;
  };
  const std::size_t common = std::min(inner.size(), plan_.inner.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (!is_same(inner[i], plan_.inner[i])) fail_of_random_values(name_);
  }
  if (inner.size() > common) plan_.inner = inner;
}

void Subject::renew() {
  named(name_, [&] { open(); });
}

int64_t Subject::warm_up() {
  const int64_t begin = steady_nanoseconds();
  (void)executor_->run(inputs_);
  return steady_nanoseconds() - begin;
}

Subject::Time Subject::measure(Noting noting) {
  check_interrupt();
  const int64_t processor = processor_nanoseconds(), begin = steady_nanoseconds();
  const Outputs outputs = executor_->run(inputs_, noting == Noting::steps ? &times_ : nullptr);
  const int64_t end = steady_nanoseconds();
  const Time time{end - begin, processor_nanoseconds() - processor};
  if (noting == Noting::nothing) return time;
  if (times_.begins.size() != recorder_->kept().steps()) fail_of_random_values(name_);
  recorder_->add(begin, end, time.processor, times_);
  return time;
}

Profile Subject::result(TimeKind clock) {
  note_inner();
  Profile out;
  out.clock = clock;
  out.model = name_;
  out.file_bytes = model_->file_size();
  out.mode = options_->mode;
  out.precision = precision_of(model_->graph());
  for (const auto& [name, datum] : inputs_) {
    if (datum.kind == Datum::Kind::tensor) out.inputs.emplace(name, datum.tensor.dims());
  }
  for (const auto& [name, size] : assumed_) out.assumed.push_back(name + " = " + std::to_string(size));
  out.context = context_;
  out.latency.load_us = load_us_;
  out.latency.plan_us = plan_us_;
  out.latency.first_us = first_us_;
  fill_profile(out, plan_, *recorder_);
  return out;
}

}  // namespace relayout
