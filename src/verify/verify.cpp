#include "relayout/verify.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "base/text.h"
#include "base/threads.h"
#include "model/origin.h"
#include "passes/pass.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "verify/compare.h"
#include "verify/free_dims.h"
#include "verify/identical.h"
#include "verify/interface.h"
#include "verify/layers.h"
#include "verify/port.h"
#include "verify/session.h"
#include "verify/verification.h"

namespace relayout {
namespace {

/// Beyond so many multiply-accumulates per sample, three times as many samples take too long for a doubt.
constexpr int64_t kMacsToLookFurther = 2'000'000'000;

/// Takes out what `convert --io nhwc` put behind inputs and in front of outputs (exact pairs of dims and a Transpose, see
/// passes/export_io.cpp), so that both models are asked the same way.
void take_images_contiguous(Model& model) {
  PassContext context;
  context.options.layout = WeightsLayout::contiguous;
  const Pass* const pass = find_pass("export-io");
  run_passes(model, std::span(&pass, 1), context);
}

Side load_side(const std::filesystem::path& path, const LoadOptions& options, bool images_last) {
  Side side;
  side.name = path.string();
  side.model = Model::load(path, options);
  if (images_last) take_images_contiguous(*side.model);
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
    result_.reason = "identical files (sha256 " + sha256_of(*a_.model->origin().file) + ")";
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
  inputs_.emplace(a_.model->graph(), *options_, has_unexplained_constants() ? &b_.model->graph() : nullptr);
  track_outputs();
  note_random_nodes();
  note_precision();
  planned_samples_ = inputs_->samples();
  run_reference(0);  // a's values lie in the spill file, their yardsticks are complete
  if (samples_.empty()) return;
  if (!options_->save_data.empty()) save_samples();
  measure_floors(0);  // no Session of a is left
  run_candidate(Mode::as_written, 0);
  settle(Mode::as_written);
  if (!is_different() && has_unexplained_constants()) look_further();
  compare_layers();
  const auto is_remark = [](const InterfaceDifference& difference) { return difference.remark; };
  if (!is_different() && std::ranges::all_of(result_.interface, is_remark)) {
    run_candidate(Mode::optimized, 0);
    settle(Mode::optimized);
  }
}

bool Verification::has_unexplained_constants() const {
  using Kind = Unexplained::Kind;
  const auto is_constant = [](const Unexplained& entry) {
    return entry.kind == Kind::weight || entry.kind == Kind::bias || entry.kind == Kind::tensor;
  };
  return result_.proof && std::ranges::any_of(result_.proof->unexplained, is_constant);
}

void Verification::look_further() {
  constexpr int kTimes = 3;
  const std::size_t first = samples_.size();
  const int number = planned_samples_;
  if (inputs_->samples() > 1 && samples_.front().macs <= kMacsToLookFurther) {
    planned_samples_ *= kTimes;
    run_reference(number);
  }
  if (samples_.size() > first) {
    measure_floors(first);
    run_candidate(Mode::as_written, first);
    settle(Mode::as_written);
  }
  if (!is_different()) note_unreached();
}

void Verification::note_unreached() {
  const auto is_untouched = [](const OutputComparison& output) {
    return std::ranges::all_of(output.samples,
                               [](const SampleMetrics& metrics) { return metrics.max_abs == 0 && metrics.mismatches == 0; });
  };
  if (!std::ranges::all_of(result_.outputs, is_untouched)) return;
  result_.remarks.emplace_back("What nothing explains changes no bit of any output in " + std::to_string(result_.samples) +
                               " samples: they may not reach it (--samples N makes more, --input gives your own)");
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
  const auto note = [&](const std::vector<std::string>& labels, const std::string& where, const std::string& then) {
    if (labels.empty()) return;
    result_.remarks.push_back(std::to_string(labels.size()) + (labels.size() == 1 ? " random node in " : " random nodes in ") + where +
                              " (" + labels.front() + (labels.size() > 1 ? " …" : "") + "): " + then);
  };
  constexpr const char* kPinned = "seeds are pinned by node name";
  if (random_a == random_b) return note(random_a, "both files", kPinned);
  note(random_a, a_.name, a_.name + " is not deterministic; " + kPinned);
  note(random_b, b_.name, b_.name + " is not deterministic; " + kPinned);
}

void Verification::note_precision() {
  const NarrowFloats a = narrow_floats(a_.model->graph()), b = narrow_floats(b_.model->graph());
  const bool is_coarser = unit_roundoff(b.coarsest) > unit_roundoff(a.coarsest);
  if (!is_coarser && (b.coarsest != a.coarsest || b.values <= a.values)) return;
  grain_ = b.coarsest;
  result_.remarks.push_back("b computes in " + std::string(name_of(grain_)) + " where a does not: floors and bounds are those of " +
                            std::string(name_of(grain_)));
}

DataType Verification::type_of_floor(DataType type) const {
  return is_measured(type) && unit_roundoff(grain_) > unit_roundoff(type) ? grain_ : type;
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
  Side side_a = load_side(a, options.load, /*images_last=*/false);
  Side side_b = load_side(b, options.load, options.images_last);
  return Verification(std::move(side_a), std::move(side_b), options).run();
}

}  // namespace relayout
