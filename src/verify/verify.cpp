#include "relayout/verify.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "base/text.h"
#include "base/threads.h"
#include "model/origin.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "verify/free_dims.h"
#include "verify/identical.h"
#include "verify/interface.h"
#include "verify/port.h"
#include "verify/session.h"
#include "verify/verification.h"

namespace relayout {
namespace {

Side load_side(const std::filesystem::path& path, const LoadOptions& options) {
  Side side;
  side.name = path.string();
  side.model = Model::load(path, options);
  side.outputs = output_ports(side.model->graph());
  return side;
}

}  // namespace

VerifyResult Verification::run() {
  const auto start = Clock::now();
  describe_run();
  result_.interface = compare_interfaces(a_.model->graph(), b_.model->graph());
  result_.unsupported_a = Executor::unsupported(a_.model->graph());
  result_.unsupported_b = Executor::unsupported(b_.model->graph());
  // From here on both files are known to be valid; nothing has run.
  result_.identical = are_identical(*a_.model, *b_.model);
  if (!result_.identical) result_.proof = prove(*a_.model, *b_.model, {.digests = false, .threads = options_->threads});
  if (!result_.unsupported_a.empty() || !result_.unsupported_b.empty()) {
    result_.outcome = Outcome::inconclusive;
    result_.reason = "nodes that cannot run: nothing was executed";
  } else if (result_.identical && !options_->run_identical) {
    result_.reason = "identical files";
  } else {
    execute();
  }
  conclude();
  result_.seconds = seconds_since(start);
  return std::move(result_);
}

void Verification::describe_run() {
  result_.a = a_.name;
  result_.b = b_.name;
  result_.seed = options_->seed;
  result_.threads = options_->threads > 0 ? options_->threads : available_cpus();
  if (!options_->digests) return;
  if (a_.model->origin().file) result_.sha256_a = sha256_of(*a_.model->origin().file);
  if (b_.model->origin().file) result_.sha256_b = sha256_of(*b_.model->origin().file);
}

void Verification::execute() {
  if (!inputs_fit(result_.interface)) {
    result_.reason = "b cannot be given a's inputs: nothing was run";
    return;
  }
  const LibraryInfo library = onednn_info();
  result_.onednn = library.version;
  result_.isa = library.isa;
  inputs_.emplace(a_.model->graph(), *options_);
  track_outputs();
  note_random_nodes();
  planned_samples_ = inputs_->samples();
  run_reference();  // a's values lie in the spill file, their yardsticks are complete
  if (samples_.empty()) return;
  if (!options_->save_data.empty()) save_samples();
  measure_floors();  // no Session of a is left
  run_candidate(Mode::as_written);
  settle(Mode::as_written);
  compare_layers();
  const auto is_remark = [](const InterfaceDifference& difference) { return difference.remark; };
  if (!is_different() && std::ranges::all_of(result_.interface, is_remark)) {
    run_candidate(Mode::optimized);
    settle(Mode::optimized);
  }
}

bool Verification::is_different() const {
  const auto differs = [](const OutputComparison& output) { return output.outcome == Outcome::different; };
  return result_.outcome == Outcome::different || std::ranges::any_of(result_.outputs, differs);
}

void Verification::track_outputs() {
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < b_.outputs.size(); ++i) places.emplace(b_.outputs[i].name, i);
  for (std::size_t i = 0; i < a_.outputs.size(); ++i) {
    const Port& port = a_.outputs[i];
    Tracked tracked{ReferenceOutput(port.name, may_saturate(*a_.model->graph().outputs()[i])), i, std::nullopt, {}, {}, {}, {}};
    if (const auto place = places.find(port.name); place != places.end()) tracked.index_b = place->second;
    OutputComparison output;
    output.name = port.name;
    output.type = tensor_port(port).type;
    output.shape = port.kind == Datum::Kind::tensor ? shape_text(port) : type_text(port);
    tracked_.push_back(std::move(tracked));
    result_.outputs.push_back(std::move(output));
  }
}

bool Verification::may_saturate(const Value& output) {
  constexpr int kMaxSteps = 32;
  const Node* node = output.producer();
  for (int step = 0; node != nullptr && step < kMaxSteps; ++step) {
    if (node->is("Cast") || node->is("CastLike") || node->is("OneHot") || node->is("EyeLike") || node->is("Sign")) return false;
    const bool moves = node->is("Identity") || node->is("Reshape") || node->is("Transpose") || node->is("Squeeze") || node->is("Unsqueeze");
    node = moves && node->input(0) != nullptr ? node->input(0)->producer() : nullptr;
  }
  return true;
}

void Verification::note_random_nodes() {
  const auto random_a = random_nodes(a_.model->graph()), random_b = random_nodes(b_.model->graph());
  const auto note = [&](const std::vector<std::string>& labels, const std::string& where) {
    if (labels.empty()) return;
    result_.remarks.push_back(std::to_string(labels.size()) + (labels.size() == 1 ? " random node in " : " random nodes in ") + where +
                              " (" + labels.front() + (labels.size() > 1 ? " …" : "") + "); seeds are pinned by node name");
  };
  if (random_a == random_b) return note(random_a, "both files");
  note(random_a, a_.name);
  note(random_b, b_.name);
}

ExecuteOptions Verification::execute_options(Mode mode) const {
  ExecuteOptions options;
  options.mode = mode;
  options.threads = options_->threads;
  options.seed = options_->seed;
  return options;
}

Inputs Verification::inputs_of(const Sample& sample) const {
  return inputs_->make(sample.assignment, sample.number);
}

void Verification::progress(std::string_view what) {
  const int64_t runs = int64_t{planned_samples_} * (1 + kNoiseDraws + 1 + 2) + layer_runs_;
  if (options_->progress) options_->progress(what, std::min(done_++, runs), runs);
}

void Verification::set_defect(const std::string& what) {
  if (result_.defect.empty()) result_.defect = what;
}

void Verification::conclude() {
  for (const InterfaceDifference& difference : result_.interface) {
    if (!difference.remark) result_.outcome = Outcome::different;
    if (difference.side == "output" && !difference.remark) mark_missing(difference);
  }
  for (OutputComparison& output : result_.outputs) {
    if (output.samples.empty() && output.outcome == Outcome::same) {
      output.outcome = Outcome::inconclusive;
      output.reason = "not compared";
    }
    if (output.outcome == Outcome::different) result_.outcome = Outcome::different;
    if (output.outcome == Outcome::inconclusive && result_.outcome == Outcome::same) result_.outcome = Outcome::inconclusive;
  }
}

void Verification::mark_missing(const InterfaceDifference& difference) {
  if (difference.field != "missing" && difference.field != "renamed") return;
  for (OutputComparison& output : result_.outputs) {
    if (output.name != difference.name) continue;
    output.outcome = Outcome::different;
    output.reason =
        difference.field == "missing" ? "missing in " + escape(b_.name) : "named " + quote(difference.b) + " in " + escape(b_.name);
  }
}

VerifyResult verify(const std::filesystem::path& a, const std::filesystem::path& b, const VerifyOptions& options) {
  // Without their payloads: weights are read by one Session at a time.
  Side side_a = load_side(a, options.load);
  Side side_b = load_side(b, options.load);
  return Verification(std::move(side_a), std::move(side_b), options).run();
}

}  // namespace relayout
