#include "relayout/verify.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/interrupt.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/threads.h"
#include "model/origin.h"
#include "ops/dtypes.h"
#include "passes/pass.h"
#include "relayout/error.h"
#include "verify/compare.h"
#include "verify/hints.h"
#include "verify/identical.h"
#include "verify/interface.h"
#include "verify/judge.h"
#include "verify/layers.h"
#include "verify/noise.h"
#include "verify/save_data.h"
#include "verify/session.h"
#include "verify/spill.h"
#include "verify/ties.h"

namespace relayout {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNoiseDraws = 3;
/// Where few elements carry the error (a saturated output), three draws may all miss them: a sample that exceeds its bound by less than
/// tenfold gets more before it is called different.
constexpr int kMoreDraws = 6;
constexpr double kNearBound = 10;
/// The double-precision reference runs plain loops: beyond this many multiply-accumulates per sample it takes too long.
constexpr int64_t kReferenceMacs = 2'000'000'000;
/// As written and reference must agree (research: neither exceeds the noise of moved weights by more than 3): beyond this the executor
/// is wrong, and its error must not pass for a floor.
constexpr double kReferenceFactor = 50, kReferenceMinimum = 5e4;

/// Samples that 16-bit models are compared over node by node: of the usual size, and reaching far.
constexpr std::size_t kNarrowSamples = 2;
/// Values of one name in both files that correlate less than this are not the same thing.
constexpr double kSameThing = 0.9;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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

/// An output of a, with everything known of it.
struct Tracked {
  ReferenceOutput reference;
  std::size_t index_a = 0;
  std::optional<std::size_t> index_b;
  std::vector<Spill::Stored> stored;             ///< per sample that ran
  std::vector<Yardstick> yardsticks;             ///< per sample that ran
  std::vector<Floor> floors;                     ///< per sample that ran, in units of its yardstick
  std::map<std::size_t, Spill::Stored> flipped;  ///< by sample: b's value of an exact type, where it differs

  [[nodiscard]] const Yardstick& yardstick(std::size_t s) const { return yardstick_of(yardsticks[s], reference.yardstick()); }
};

/// One sample that the reference could run.
struct Sample {
  int number = 0;
  FreeDims::Assignment assignment;
  int64_t macs = 0;
};

/// The whole comparison of two files, one step after the other.
class Verification {
 public:
  Verification(Side a, Side b, const VerifyOptions& options) : a_(std::move(a)), b_(std::move(b)), options_(&options) {}

  VerifyResult run() {
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

 private:
  void describe_run() {
    result_.a = a_.name;
    result_.b = b_.name;
    result_.seed = options_->seed;
    result_.threads = options_->threads > 0 ? options_->threads : available_cpus();
    if (!options_->digests) return;
    if (a_.model->origin().file) result_.sha256_a = sha256_of(*a_.model->origin().file);
    if (b_.model->origin().file) result_.sha256_b = sha256_of(*b_.model->origin().file);
  }

  void execute() {
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

  bool is_different() const {
    const auto differs = [](const OutputComparison& output) { return output.outcome == Outcome::different; };
    return result_.outcome == Outcome::different || std::ranges::any_of(result_.outputs, differs);
  }

  /// The samples to look at node by node: of a difference the first that shows it.
  std::vector<std::size_t> samples_for_layers(bool narrow) const {
    for (const OutputComparison& output : result_.outputs) {
      for (const SampleMetrics& metrics : output.samples) {
        if (metrics.outcome != Outcome::different) continue;
        const auto found = std::ranges::find(samples_, metrics.sample, &Sample::number);
        return {static_cast<std::size_t>(found - samples_.begin())};
      }
    }
    if (is_different() || (!narrow && !options_->layers)) return {};
    const std::size_t most = narrow ? kNarrowSamples : 1;
    std::vector<std::size_t> all;
    for (std::size_t s = 0; s < std::min(most, samples_.size()); ++s) all.push_back(s);
    return all;
  }

  /// Finds the nodes behind a difference; in 16-bit models also those whose error the outputs' floor hides. No Session is left.
  void compare_layers() {
    const bool narrow = has_narrow_floats(a_.model->graph());
    const std::vector<std::size_t> chosen = samples_for_layers(narrow);
    if (chosen.empty()) return;
    const bool hidden = !is_different();
    layer_runs_ = static_cast<int64_t>(chosen.size()) * LayerComparison::runs(options_->layers);
    LayerComparison layers(a_, b_, *options_, [this] { progress("node by node"); });
    for (const std::size_t s : chosen) {
      const bool all = options_->layers && s == chosen.front();
      for (LayerResult& layer : layers.run([&] { return inputs_of(samples_[s]); }, samples_[s].number, all)) {
        if (layer.outcome == Outcome::different) look_inside(layer);
        if (hidden && layer.outcome == Outcome::different) judge_hidden(layer);
        if (all || (layer.outcome == Outcome::different && s == chosen.front())) result_.layers.push_back(std::move(layer));
      }
    }
  }

  /// Of a node that holds graphs (If, Loop, Scan): what the files alone say of the inside.
  void look_inside(LayerResult& layer) const {
    const Value* const made = b_.model->graph().find(layer.tensor);
    if (made == nullptr || made->producer() == nullptr || !result_.proof) return;
    for (const auto& nested : made->producer()->subgraphs()) {
      for (const Unexplained& entry : result_.proof->unexplained) {
        const Value* const value = nested->find(entry.name);
        const bool by_value = value != nullptr && &value->graph() == nested.get();
        const auto is_it = [&](const Node& node) { return node.name() == entry.name; };
        if (entry.in_first || (!by_value && std::ranges::none_of(nested->nodes(), is_it))) continue;
        layer.reason += "; inside: " + entry.text;
        return;
      }
    }
  }

  /// A node that differs though the outputs are the same. Only in 16 bits does that count, where their floor may hide anything; and only
  /// of values that are the same thing in both files, which a name alone does not make sure.
  void judge_hidden(LayerResult& layer) {
    const bool narrow = layer.type == DataType::float16 || layer.type == DataType::bfloat16;
    if (!narrow || layer.by_structure || !(layer.correlation >= kSameThing)) {
      if (!options_->layers) layer.outcome = Outcome::same;
      return;
    }
    if (result_.outcome == Outcome::different) return;
    result_.outcome = Outcome::different;
    result_.reason = "node " + quote(layer.node) + " (" + escape(layer.op_type) +
                     "): given a's values, it makes others than a; at the outputs that drowns in the floor of 16-bit numbers";
  }

  void track_outputs() {
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

  /// Two values are the nature of what is cast from bool or one-hot, not a sign of saturation.
  static bool may_saturate(const Value& output) {
    constexpr int kMaxSteps = 32;
    const Node* node = output.producer();
    for (int step = 0; node != nullptr && step < kMaxSteps; ++step) {
      if (node->is("Cast") || node->is("CastLike") || node->is("OneHot") || node->is("EyeLike") || node->is("Sign")) return false;
      const bool moves =
          node->is("Identity") || node->is("Reshape") || node->is("Transpose") || node->is("Squeeze") || node->is("Unsqueeze");
      node = moves && node->input(0) != nullptr ? node->input(0)->producer() : nullptr;
    }
    return true;
  }

  void note_random_nodes() {
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

  ExecuteOptions execute_options(Mode mode) const {
    ExecuteOptions options;
    options.mode = mode;
    options.threads = options_->threads;
    options.seed = options_->seed;
    return options;
  }

  Inputs inputs_of(const Sample& sample) const { return inputs_->make(sample.assignment, sample.number); }

  void progress(std::string_view what) {
    const int64_t runs = int64_t{planned_samples_} * (1 + kNoiseDraws + 1 + 2) + layer_runs_;
    if (options_->progress) options_->progress(what, std::min(done_++, runs), runs);
  }

  void run_reference() {
    const auto start = Clock::now();
    Session session(a_, execute_options(Mode::as_written));
    int attempt = 0;
    for (int number = 0; number < planned_samples_; ++number) {
      progress("reference");
      Sample sample{number, {}, 0};
      Session::Run run;
      // The first sample finds sizes that the model takes; the others keep to them.
      do {
        sample.assignment = inputs_->dims().assign(number, planned_samples_, attempt);
        run = session.run(inputs_of(sample));
      } while (!run.rejected.empty() && samples_.empty() && ++attempt < inputs_->dims().attempts());
      if (samples_.empty() && !run.rejected.empty()) attempt = 0;
      result_.inputs.push_back({number, sample.assignment.shapes, sample.assignment.dims, run.rejected});
      if (!run.rejected.empty()) {
        if (number == 0) first_rejection_ = run.rejected;
        continue;
      }
      sample.macs = session.macs();
      if (samples_.empty()) check_repeatable(session, sample, run.outputs);
      for (Tracked& tracked : tracked_) {
        const Datum& value = run.outputs.at(tracked.index_a);
        tracked.reference.add(value);
        tracked.yardsticks.emplace_back().add(value);
        tracked.stored.push_back(spill_.write(value));
      }
      samples_.push_back(std::move(sample));
    }
    if (samples_.empty()) report_rejection();
    result_.samples = static_cast<int>(samples_.size());
    result_.seconds_a = seconds_since(start);
  }

  /// Inputs and a's outputs, as --data reads them.
  void save_samples() {
    std::vector<std::string> input_names, output_names;
    for (const Port& port : required_inputs(a_.model->graph())) input_names.push_back(port.name);
    for (const Port& port : a_.outputs) output_names.push_back(port.name);
    for (std::size_t s = 0; s < samples_.size(); ++s) {
      const Inputs made = inputs_of(samples_[s]);
      std::vector<Datum> inputs, outputs;
      for (const std::string& name : input_names) inputs.push_back(made.at(name));
      for (const Tracked& tracked : tracked_) outputs.push_back(spill_.read(tracked.stored[s]));
      save_data_set(options_->save_data, samples_[s].number, inputs, outputs, input_names, output_names);
    }
  }

  /// The reference ran nothing: what that means depends on where the inputs come from.
  void report_rejection() {
    const std::string why = escape(a_.name) + ": " + first_rejection_;
    if (inputs_->any_from_files()) fail(ErrorKind::invalid, why);
    const auto guessed = inputs_->dims().guessed();
    if (!guessed.empty()) {
      fail(ErrorKind::usage, "no size for dimension " + quote(guessed.front()) + " was found that the model takes; " + why,
           "--dim NAME=… or --shape INPUT=… gives it");
    }
    result_.outcome = Outcome::inconclusive;
    result_.reason = "the reference cannot run: " + why;
  }

  void check_repeatable(Session& session, const Sample& sample, const Outputs& first) {
    const Session::Run again = session.run(inputs_of(sample));
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (again.rejected.empty() && bit_equal(first[i], again.outputs.at(i))) continue;
      const auto random = random_nodes(a_.model->graph());
      const std::string what = "output " + quote(a_.outputs[i].name) + " of " + escape(a_.name) + " differs between two runs";
      if (random.empty()) {
        result_.defect = "not deterministic: " + what;
      } else {
        result_.remarks.push_back(what + ", as its random nodes explain");
      }
      return;
    }
  }

  void measure_floors() {
    const auto start = Clock::now();
    for (Tracked& tracked : tracked_) {
      for (std::size_t s = 0; s < samples_.size(); ++s) {
        tracked.floors.push_back(least_floor(tracked.reference.type(), tracked.yardsticks[s], tracked.yardstick(s)));
      }
    }
    draw_noise(0, kNoiseDraws);
    const bool any = std::ranges::any_of(samples_, [](const Sample& sample) { return sample.macs <= kReferenceMacs; });
    reference_runs_.assign(samples_.size(), false);
    if (any) widen_floors(execute_options(Mode::reference), "reference in double precision", /*is_reference=*/true);
    result_.reference_run = std::ranges::all_of(reference_runs_, [](bool ran) { return ran; });
    for (Tracked& tracked : tracked_) pool_floors(tracked);
    result_.seconds_floor = seconds_since(start);
  }

  void draw_noise(int first, int count) {
    const WeightNoise noise(a_.model->graph());
    for (int draw = first; draw < first + count; ++draw) {
      ExecuteOptions options = execute_options(Mode::as_written);
      options.edit_constant = noise.draw(options_->seed, draw);
      widen_floors(std::move(options), "noise floor", /*is_reference=*/false);
    }
  }

  /// Three runs of one or two numbers may agree by chance: of an output with few elements, the floors of all samples count, each relative
  /// to the magnitude of its sample.
  static void pool_floors(Tracked& tracked) {
    const auto count = [](const Yardstick& sample) { return sample.count(); };
    if (tracked.yardsticks.empty() || std::ranges::max(tracked.yardsticks, {}, count).count() >= kFewElements) return;
    Floor relative;
    for (std::size_t s = 0; s < tracked.floors.size(); ++s) {
      const double magnitude = tracked.yardsticks[s].largest();
      if (magnitude == 0) continue;
      relative.max = std::max(relative.max, tracked.floors[s].max / magnitude);
      relative.rms = std::max(relative.rms, tracked.floors[s].rms / magnitude);
    }
    for (std::size_t s = 0; s < tracked.floors.size(); ++s) {
      const double magnitude = tracked.yardsticks[s].largest();
      tracked.floors[s] = {std::max(tracked.floors[s].max, relative.max * magnitude),
                           std::max(tracked.floors[s].rms, relative.rms * magnitude)};
    }
  }

  /// Runs a once more, in another way, and takes its distance from the reference into the floor.
  void widen_floors(ExecuteOptions options, std::string_view what, bool is_reference) {
    Session session(a_, std::move(options));
    for (std::size_t s = 0; s < samples_.size(); ++s) {
      progress(what);
      if (is_reference && samples_[s].macs > kReferenceMacs) continue;
      const Session::Run run = session.run(inputs_of(samples_[s]));
      if (!run.rejected.empty()) continue;
      if (is_reference) reference_runs_[s] = true;
      for (Tracked& tracked : tracked_) {
        const Datum reference = spill_.read(tracked.stored[s]);
        const Datum& other = run.outputs.at(tracked.index_a);
        // Another number of boxes or so: this run says nothing of the distance.
        if (!structural_difference(reference, other).empty()) continue;
        const Distance apart = distance(reference, other);
        const Floor floor{apart.max_abs / tracked.yardstick(s).range(), apart.rms / tracked.yardstick(s).sigma()};
        if (is_reference) check_reference(tracked, s, floor);
        tracked.floors[s].max = std::max(tracked.floors[s].max, floor.max);
        tracked.floors[s].rms = std::max(tracked.floors[s].rms, floor.rms);
      }
    }
  }

  void check_reference(const Tracked& tracked, std::size_t s, const Floor& floor) {
    const double most = std::max(kReferenceFactor * tracked.floors[s].max, kReferenceMinimum * dtype_minimum(tracked.reference.type()));
    if (floor.max <= most || !result_.defect.empty()) return;
    result_.defect = "as written and double-precision reference disagree on output " + quote(tracked.reference.name()) + " of " +
                     escape(a_.name) + " by " + short_number(floor.max) + " of its range, more than any rounding explains";
  }

  void run_candidate(Mode mode) {
    const auto start = Clock::now();
    const bool optimized = mode == Mode::optimized;
    Session session(b_, execute_options(mode));
    optimized_.assign(tracked_.size(), {});
    for (Tracked& tracked : tracked_) tracked.flipped.clear();
    for (std::size_t s = 0; s < samples_.size(); ++s) {
      progress(optimized ? "candidate, optimized" : "candidate");
      const Session::Run run = session.run(inputs_of(samples_[s]));
      if (!run.rejected.empty()) {
        reject_candidate(samples_[s], run.rejected, optimized);
        break;
      }
      for (std::size_t i = 0; i < tracked_.size(); ++i) {
        if (!tracked_[i].index_b) continue;
        const Datum reference = spill_.read(tracked_[i].stored[s]);
        const Datum& candidate = run.outputs.at(*tracked_[i].index_b);
        keep_flipped(tracked_[i], s, reference, candidate);
        if (optimized) {
          optimized_[i].push_back(metrics_of(tracked_[i], s, reference, candidate, /*optimized=*/true));
        } else {
          compare_sample(i, s, reference, candidate);
        }
      }
      if (!optimized) look_for_renames(s, run.outputs);
    }
    result_.seconds_b += seconds_since(start);
  }

  /// An exact output that differs is looked at again when no Session is left: whether a tie explains it.
  void keep_flipped(Tracked& tracked, std::size_t s, const Datum& reference, const Datum& candidate) {
    const bool exact = candidate.kind == Datum::Kind::tensor && reference.kind == Datum::Kind::tensor && candidate.tensor &&
                       kNumericTypes.has(tracked.reference.type()) && !is_measured(tracked.reference.type());
    if (exact && candidate.tensor.type() == tracked.reference.type() && !bit_equal(reference, candidate)) {
      tracked.flipped.emplace(s, spill_.write(candidate));
    }
  }

  /// Choices among numbers that are nearly equal, like an ArgMax, may fall either way.
  void explain_flipped(std::size_t i, Mode mode) {
    Tracked& tracked = tracked_[i];
    if (tracked.flipped.empty()) return;
    const auto decider = decider_of(*a_.model->graph().outputs()[tracked.index_a]);
    if (!decider) return;
    for (const auto& [s, stored] : tracked.flipped) {
      const auto inputs = [&, s = s] { return inputs_of(samples_[s]); };
      const auto operands = decider_operands(a_, *decider, inputs, execute_options(Mode::as_written), kNoiseDraws);
      const TieVerdict verdict = explain_ties(*decider, operands, spill_.read(tracked.stored[s]).tensor, spill_.read(stored).tensor);
      for (SampleMetrics& metrics : figures(i, mode)) {
        if (metrics.sample != samples_[s].number) continue;
        if (verdict.explained) {
          metrics.outcome = Outcome::same;
          metrics.ties = verdict.ties;
          metrics.reason = verdict.text;
        } else if (!verdict.text.empty()) {
          metrics.reason += ", which no tie explains: " + verdict.text;
        }
      }
    }
  }

  /// Figures of output `i` in a mode; those of the optimized run serve the verdict alone.
  std::vector<SampleMetrics>& figures(std::size_t i, Mode mode) {
    return mode == Mode::optimized ? optimized_[i] : result_.outputs[i].samples;
  }

  static bool is_near_bound(const SampleMetrics& metrics) {
    const bool above = metrics.max_error > metrics.bound_max || metrics.rms_error > metrics.bound_rms;
    const bool by_numbers = above && metrics.bound_max > 0 && metrics.nan_a + metrics.nan_b + metrics.infinite_mismatches == 0;
    return metrics.outcome == Outcome::different && by_numbers && metrics.max_error < kNearBound * metrics.bound_max &&
           metrics.rms_error < kNearBound * metrics.bound_rms;
  }

  /// No Session is left: borderline figures get a firmer floor, then the outcomes stand.
  void settle(Mode mode) {
    bool near = false;
    for (std::size_t i = 0; i < tracked_.size(); ++i) near = near || std::ranges::any_of(figures(i, mode), is_near_bound);
    if (near && !refined_) {
      const auto start = Clock::now();
      refined_ = true;
      draw_noise(kNoiseDraws, kMoreDraws);
      for (Tracked& tracked : tracked_) pool_floors(tracked);
      result_.seconds_floor += seconds_since(start);
    }
    const bool varied = !inputs_->all_from_files() && !a_.model->graph().inputs().empty();
    for (std::size_t i = 0; i < tracked_.size(); ++i) {
      explain_flipped(i, mode);
      for (SampleMetrics& metrics : figures(i, mode)) {
        if (near && is_near_bound(metrics)) decide_again(tracked_[i], metrics);
        if (mode == Mode::optimized && metrics.outcome == Outcome::different) report_optimized(i, metrics);
      }
      if (mode != Mode::optimized) sum_up(result_.outputs[i], tracked_[i].reference, varied);
    }
  }

  void decide_again(const Tracked& tracked, SampleMetrics& metrics) {
    for (std::size_t s = 0; s < samples_.size(); ++s) {
      if (samples_[s].number == metrics.sample) decide(metrics, tracked.reference.type(), tracked.floors[s]);
    }
  }

  void report_optimized(std::size_t i, const SampleMetrics& metrics) {
    if (is_error_of_the_file(i, metrics)) return;
    set_defect(escape(b_.name) + " is right as written, but not optimized: output " + quote(result_.outputs[i].name) + ", sample " +
               std::to_string(metrics.sample) + ": " + metrics.reason);
  }

  /// Whether an optimized run is within the bound of what the file gives as written: how far that is from the reference is not the
  /// executor's doing.
  bool is_error_of_the_file(std::size_t i, const SampleMetrics& optimized) const {
    if (optimized.nan_b > 0 || optimized.infinite_mismatches > 0 || !(optimized.bound_max > 0)) return false;
    for (const SampleMetrics& written : result_.outputs[i].samples) {
      if (written.sample != optimized.sample) continue;
      return optimized.max_error <= optimized.bound_max + written.max_error &&
             optimized.rms_error <= optimized.bound_rms + written.rms_error;
    }
    return false;
  }

  void reject_candidate(const Sample& sample, const std::string& why, bool optimized) {
    std::string where = " (sample " + std::to_string(sample.number);
    for (const auto& [name, value] : sample.assignment.dims) where += ", " + escape(name) + " = " + std::to_string(value);
    const std::string what = escape(b_.name) + ": " + why + where + ")";
    if (optimized) {
      set_defect("right as written, cannot run optimized: " + what);
    } else {
      result_.outcome = Outcome::different;
      result_.reason = "the reference runs, the candidate does not: " + what;
    }
  }

  SampleMetrics metrics_of(const Tracked& tracked, std::size_t s, const Datum& reference, const Datum& candidate, bool optimized) const {
    SampleMetrics metrics;
    const std::string structural = structural_difference(reference, candidate);
    metrics.sample = samples_[s].number;
    if (!structural.empty()) {
      metrics.outcome = Outcome::different;
      metrics.reason = structural;
      return metrics;
    }
    metrics = measure(reference, candidate, tracked.yardstick(s));
    metrics.sample = samples_[s].number;
    metrics.reference_run = reference_runs_[s];
    // A fused Relu or Clip may turn a NaN that arises inside the node into 0 (documented; as written is the authority), and what
    // overflows between two nodes need not when they are one.
    if (optimized) {
      metrics.nan_a = 0;
      metrics.infinite_mismatches -= metrics.infinite_a;
    }
    const bool asked = options_->rtol || options_->atol;
    if (asked && !optimized)
      metrics.beyond_tolerance = count_beyond(reference, candidate, options_->rtol.value_or(0), options_->atol.value_or(0));
    decide(metrics, tracked.reference.type(), tracked.floors[s]);
    return metrics;
  }

  void compare_sample(std::size_t i, std::size_t s, const Datum& reference, const Datum& candidate) {
    SampleMetrics metrics = metrics_of(tracked_[i], s, reference, candidate, /*optimized=*/false);
    OutputComparison& output = result_.outputs[i];
    if (metrics.outcome == Outcome::different && output.hint.empty()) {
      output.hint = hint(reference, candidate, metrics.bound_max * tracked_[i].yardstick(s).range());
    }
    check_declared(i, reference, candidate);
    output.samples.push_back(std::move(metrics));
  }

  /// What b yields must be what b declares, unless a breaks its own word in the same way.
  void check_declared(std::size_t i, const Datum& reference, const Datum& candidate) {
    if (contradicts(a_.outputs[tracked_[i].index_a], reference)) return;
    const Port& port = b_.outputs[*tracked_[i].index_b];
    OutputComparison& output = result_.outputs[i];
    if (!contradicts(port, candidate) || output.outcome == Outcome::different) return;
    output.outcome = Outcome::different;
    output.reason = "declared " + type_text(port) + ", yields " + describe(candidate);
  }

  static bool contradicts(const Port& port, const Datum& value) {
    if (port.kind != Datum::Kind::tensor || value.kind != Datum::Kind::tensor || !value.tensor) return port.kind != value.kind;
    if (port.type != DataType::undefined && port.type != value.tensor.type()) return true;
    if (!port.has_shape) return false;
    if (port.dims.size() != value.tensor.dims().size()) return true;
    for (std::size_t axis = 0; axis < port.dims.size(); ++axis) {
      if (port.dims[axis] >= 0 && port.dims[axis] != value.tensor.dims()[axis]) return true;
    }
    return false;
  }

  void set_defect(const std::string& what) {
    if (result_.defect.empty()) result_.defect = what;
  }

  bool agree(const Tracked& tracked, std::size_t s, const Datum& candidate) const {
    const Datum reference = spill_.read(tracked.stored[s]);
    return metrics_of(tracked, s, reference, candidate, /*optimized=*/false).outcome == Outcome::same;
  }

  /// Names that were changed or exchanged: said, never matched silently. Looked for in the first sample, among few.
  void look_for_renames(std::size_t s, const Outputs& outputs) {
    constexpr std::size_t kMost = 16;
    if (s != 0 || tracked_.size() > kMost || outputs.size() > kMost) return;
    std::vector<bool> taken(outputs.size(), false);
    for (const Tracked& tracked : tracked_) {
      if (tracked.index_b) taken[*tracked.index_b] = true;
    }
    for (std::size_t i = 0; i < tracked_.size(); ++i) {
      if (!tracked_[i].index_b) hint_rename(i, s, outputs, taken);
      for (std::size_t k = 0; k < i; ++k) hint_exchange(i, k, s, outputs);
    }
  }

  void hint_rename(std::size_t i, std::size_t s, const Outputs& outputs, const std::vector<bool>& taken) {
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (taken[k] || !agree(tracked_[i], s, outputs[k])) continue;
      result_.outputs[i].hint = escape(b_.name) + " has " + quote(b_.outputs[k].name) + ", and its values agree under this renaming";
      return;
    }
  }

  void hint_exchange(std::size_t i, std::size_t k, std::size_t s, const Outputs& outputs) {
    const auto differs = [&](std::size_t n) {
      return tracked_[n].index_b && !result_.outputs[n].samples.empty() && result_.outputs[n].samples.front().outcome == Outcome::different;
    };
    if (!differs(i) || !differs(k)) return;
    if (!agree(tracked_[i], s, outputs[*tracked_[k].index_b]) || !agree(tracked_[k], s, outputs[*tracked_[i].index_b])) return;
    for (const auto& [one, other] : {std::pair{i, k}, std::pair{k, i}}) {
      result_.outputs[one].hint = "its values agree with those of " + quote(result_.outputs[other].name) + ": the two are exchanged";
    }
  }

  /// The verdict over everything.
  void conclude() {
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

  void mark_missing(const InterfaceDifference& difference) {
    if (difference.field != "missing" && difference.field != "renamed") return;
    for (OutputComparison& output : result_.outputs) {
      if (output.name != difference.name) continue;
      output.outcome = Outcome::different;
      output.reason =
          difference.field == "missing" ? "missing in " + escape(b_.name) : "named " + quote(difference.b) + " in " + escape(b_.name);
    }
  }

  Side a_, b_;
  const VerifyOptions* options_;
  VerifyResult result_;
  std::optional<InputMaker> inputs_;
  std::vector<Tracked> tracked_;
  std::vector<Sample> samples_;
  std::vector<bool> reference_runs_;                   ///< by sample
  std::vector<std::vector<SampleMetrics>> optimized_;  ///< by output
  bool refined_ = false;                               ///< the floor has its additional draws
  Spill spill_;
  std::string first_rejection_;
  int planned_samples_ = 0;
  int64_t done_ = 0, layer_runs_ = 0;
};

}  // namespace

VerifyResult verify(const std::filesystem::path& a, const std::filesystem::path& b, const VerifyOptions& options) {
  // Without their payloads: weights are read by one Session at a time.
  Side side_a = load_side(a, options.load, false);
  Side side_b = load_side(b, options.load, options.images_last);
  return Verification(std::move(side_a), std::move(side_b), options).run();
}

}  // namespace relayout
