// Runs a model on the inputs stored beside it, and compares with the stored outputs.

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/numbers.h"
#include "base/text.h"
#include "base/times.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "report/json.h"
#include "verify/finding.h"
#include "verify/inputs/data_file.h"
#include "verify/inputs/port.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/noise.h"
#include "verify/run/quantizer.h"
#include "verify/run/session.h"
#include "verify/run/spill.h"
#include "verify/stored/official.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;

/// The files prefix_0.pb, prefix_1.pb … (or .npy) of a folder, up to the first missing number.
std::vector<fs::path> numbered_files(const fs::path& directory, const std::string& prefix) {
  std::vector<fs::path> files;
  for (;;) {
    const fs::path stem = directory / (prefix + "_" + std::to_string(files.size()));
    bool found = false;
    for (const char* const extension : {".pb", ".npy"}) {
      const fs::path path = stem.string() + extension;
      if (found || !fs::exists(path)) continue;
      files.push_back(path);
      found = true;
    }
    if (!found) return files;
  }
}

bool holds_data(const fs::path& directory) {
  return !numbered_files(directory, "output").empty() || !numbered_files(directory, "input").empty();
}

/// The outputs of a "light" model are next to it, X_output_0.pb for X.onnx. Its inputs are not stored: they are ramps.
bool has_light_outputs(const fs::path& directory, const fs::path& model) {
  return !numbered_files(directory, model.stem().string() + "_output").empty();
}

/// Elements i / n: with these the runner of the ONNX backend test fills the inputs of light models.
Datum ramp(const Port& port) {
  Tensor out(DataType::float32, port.dims);
  const int64_t count = out.element_count();
  for (int64_t i = 0; i < count; ++i) out.data<float>()[i] = static_cast<float>(static_cast<double>(i) / static_cast<double>(count));
  return out;
}

/// numpy has no bfloat16: the ONNX 1.17 test data hold its bits as u16.
Datum as_declared(Datum datum, DataType type) {
  if (datum.kind != Datum::Kind::tensor || type != DataType::bfloat16 || datum.tensor.type() != DataType::uint16) return datum;
  const Tensor bits = contiguous(datum.tensor);
  return Tensor({type, bits.dims(), bits.strides()}, bits.bytes(), bits.owner());
}

/// The folders test_data_set_N of a folder by N, or the folder itself.
std::vector<fs::path> find_data_sets(const fs::path& directory) {
  std::vector<std::pair<int64_t, fs::path>> numbered;
  for (const fs::directory_entry& entry : entries_of(directory)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kDataSetPrefix)) continue;
    if (const auto number = whole_number(std::string_view(name).substr(kDataSetPrefix.size())))
      numbered.emplace_back(*number, entry.path());
  }
  std::ranges::sort(numbered);
  std::vector<fs::path> sets;
  for (auto& [number, path] : numbered) sets.push_back(std::move(path));
  if (sets.empty() && holds_data(directory)) sets.push_back(directory);
  if (sets.empty()) fail(ErrorKind::invalid, escape(directory.string()) + ": no test_data_set_N and no output_0.pb in it");
  return sets;
}

/// The user's tolerance, or a case's own, which the test format stores next to the data or the model.
Tolerance find_tolerance(const fs::path& directory, const fs::path& model, const VerifyOptions& options) {
  constexpr int64_t kMaxSize = int64_t{1} << 20;
  Tolerance tolerance;
  for (const fs::path& folder : {directory, directory.parent_path(), model.parent_path()}) {
    const fs::path path = folder / "data.json";
    if (!fs::exists(path)) continue;
    const Json json = Json::parse(read_text(*File::open(path), kMaxSize, "a list of tolerances"), path.string());
    const auto number = [&](const char* key, double otherwise) {
      return json.find(key) ? json.find(key)->number().value_or(otherwise) : otherwise;
    };
    tolerance = {number("rtol", tolerance.rtol), number("atol", tolerance.atol)};
    break;
  }
  if (!options.rtol && !options.atol) return tolerance;
  // The user's tolerances decide alone; one of the two that is not given is 0.
  return {options.rtol.value_or(0), options.atol.value_or(0), true};
}

/// One folder of inputs and expected outputs.
struct DataSet {
  fs::path path;
  std::string name;
  std::vector<fs::path> inputs, outputs;
  bool is_light = false;
};

/// One run of one set.
struct Attempt {
  std::size_t set = 0;
  Mode mode = Mode::as_written;
  DataCase result;
  std::vector<StoredComparison> outputs;
  std::vector<bool> official;  ///< verdict of the official rule on each output
  VerifyFindings findings;     ///< why it did not run, or what differs
};

class StoredVerification {
 public:
  StoredVerification(Side side, const fs::path& path, const fs::path& directory, const VerifyOptions& options)
      : side_(std::move(side)), options_(&options), tolerance_(find_tolerance(directory, path, options)) {
    if (has_light_outputs(directory, path)) {
      const std::string stem = path.stem().string();
      sets_.push_back({directory, stem, {}, numbered_files(directory, stem + "_output"), true});
      return;
    }
    for (const fs::path& set : find_data_sets(directory)) {
      std::string name = set.filename().string();
      if (name.empty()) name = set.parent_path().filename().string();
      sets_.push_back({set, name, numbered_files(set, "input"), numbered_files(set, "output"), false});
    }
  }

  DataResult run() {
    const std::vector<Mode> modes = options_->mode ? std::vector{*options_->mode} : std::vector{Mode::as_written, Mode::optimized};
    const std::vector<Unsupported> unsupported = Executor::unsupported(side_.model->graph());
    total_ = static_cast<int64_t>(modes.size() * sets_.size());
    for (const Mode mode : modes) {
      if (unsupported.empty()) {
        run_mode(mode);
      } else {
        refuse_mode(mode, unsupported);
      }
    }
    std::ranges::stable_sort(attempts_, {}, &Attempt::set);
    DataResult result;
    result.model = side_.name;
    result.unsupported = unsupported;
    for (Attempt& attempt : attempts_) {
      compare(attempt);
      const bool official = !attempt.official.empty() && std::ranges::all_of(attempt.official, [](bool passes) { return passes; });
      result.cases.push_back(decide(std::move(attempt.result), attempt.findings, official));
    }
    return result;
  }

 private:
  Attempt& add_attempt(std::size_t set, Mode mode) {
    Attempt& attempt = attempts_.emplace_back();
    attempt.set = set;
    attempt.mode = mode;
    attempt.result.name = escape(sets_[set].name) + " (" + std::string(to_string(mode)) + ")";
    return attempt;
  }

  void refuse_mode(Mode mode, const std::vector<Unsupported>& unsupported) {
    for (std::size_t set = 0; set < sets_.size(); ++set) {
      add_attempt(set, mode).findings.push_back({.text = cannot_run_text(unsupported)});
    }
  }

  void run_mode(Mode mode) {
    std::optional<Session> session;
    for (std::size_t set = 0; set < sets_.size(); ++set) {
      check_interrupt();
      if (options_->progress) options_->progress(to_string(mode), done_, total_);
      ++done_;
      Attempt& attempt = add_attempt(set, mode);
      const Stopwatch watch;
      try {
        if (!session) session.emplace(side_, execute_options(*options_, mode));
        run_set(*session, attempt);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::unsupported) throw;
        attempt.findings.push_back({.text = error.what()});
      }
      attempt.result.seconds = watch.seconds();
    }
  }

  /// Files belong to inputs by position: to inputs without initializer if there are equally many, otherwise to all (IR 3 also lists
  /// initializers, which already have values).
  Inputs read_inputs(const DataSet& set) const {
    const std::vector<Port> ports = required_inputs(side_.model->graph());
    if (set.is_light) return light_inputs(ports);
    const auto& values = side_.model->graph().inputs();
    std::vector<const Value*> targets;
    for (const Value* const value : values) {
      if (value->initializer() == nullptr) targets.push_back(value);
    }
    if (set.inputs.size() != targets.size()) targets.assign(values.begin(), values.end());
    if (set.inputs.size() > targets.size()) {
      fail(ErrorKind::invalid, escape(set.path.string()) + ": " + std::to_string(set.inputs.size()) + " inputs for a model with " +
                                   std::to_string(values.size()));
    }
    Inputs inputs;
    for (std::size_t i = 0; i < set.inputs.size(); ++i) {
      const auto port = std::ranges::find(ports, targets[i]->name(), &Port::name);
      if (port == ports.end()) continue;
      Datum datum = as_declared(read_data_file(set.inputs[i], port->kind), port->type);
      check_fits(datum, *port, escape(set.inputs[i].string()) + ": input " + quote(port->name));
      inputs.emplace(port->name, std::move(datum));
    }
    return inputs;
  }

  [[nodiscard]] Inputs light_inputs(const std::vector<Port>& ports) const {
    Inputs inputs;
    for (const Port& port : ports) {
      const bool fixed = port.kind == Datum::Kind::tensor && port.type == DataType::float32 && port.has_shape &&
                         std::ranges::all_of(port.dims, [](int64_t dim) { return dim >= 0; });
      if (!fixed) fail(ErrorKind::invalid, side_.name + ": input " + quote(port.name) + " is no f32 of fixed dims, as light models have");
      inputs.emplace(port.name, ramp(port));
    }
    return inputs;
  }

  void run_set(Session& session, Attempt& attempt) {
    const DataSet& set = sets_[attempt.set];
    const Session::Run run = session.run(read_inputs(set));
    if (!run.rejected.empty()) {
      attempt.findings.push_back({.severity = Severity::difference, .text = run.rejected});
      return;
    }
    if (set.outputs.size() != run.outputs.size()) {
      attempt.findings.push_back({.severity = Severity::difference,
                                  .text = "outputs: the model has " + std::to_string(run.outputs.size()) + ", the folder has " +
                                          std::to_string(set.outputs.size())});
      return;
    }
    for (std::size_t i = 0; i < run.outputs.size(); ++i) {
      const Datum stored = as_declared(read_data_file(set.outputs[i], side_.outputs[i].kind), side_.outputs[i].type);
      attempt.outputs.push_back(compare_stored(run.outputs[i], stored, tolerance_));
      attempt.official.push_back(official_rule_passes(run.outputs[i], stored, tolerance_));
    }
  }

  /// Distance between correct evaluations of this model on one set.
  struct Spread {
    std::vector<double> floors;  ///< by output, over the range of the stored values
    std::vector<int64_t> flips;  ///< by output: elements of a quantized output on a different step
    Flips inside;                ///< of all quantized tensors
  };

  const Spread& spread_of(const Attempt& attempt) {
    const auto [found, is_new] = spreads_.try_emplace(attempt.set);
    Spread& spread = found->second;
    if (!is_new) return spread;
    spread.floors.assign(side_.outputs.size(), 0);
    spread.flips.assign(side_.outputs.size(), 0);
    const Inputs inputs = read_inputs(sets_[attempt.set]);
    const WeightNoise noise(side_.model->graph());
    ExecuteOptions options = execute_options(*options_, Mode::as_written);
    if (noise.is_quantized()) spread.inside.keep(options);
    const Session::Run base = Session(side_, std::move(options)).run(inputs);
    if (!base.rejected.empty()) return spread;
    Spill spill;
    std::vector<Spill::Stored> unmoved;
    for (const Datum& output : base.outputs) unmoved.push_back(spill.write(output));
    const int draws = stored_draws(noise.is_quantized());
    for (int draw = 0; draw < draws; ++draw) {
      options = execute_options(*options_, Mode::as_written);
      if (noise.is_quantized()) spread.inside.count(options);
      noise.apply(options, draw);
      const Session::Run run = Session(side_, std::move(options)).run(noise.inputs(inputs, options_->seed, draw));
      if (!run.rejected.empty()) return spread;
      for (std::size_t i = 0; i < unmoved.size(); ++i) widen(spread, i, spill.read(unmoved[i]), run.outputs[i], attempt.outputs[i].range);
    }
    return spread;
  }

  static void widen(Spread& spread, std::size_t output, const Datum& unmoved, const Datum& moved, double range) {
    if (!structural_difference(unmoved, moved).empty()) return;
    spread.floors[output] = std::max(spread.floors[output], distance(unmoved, moved).max_abs / range);
    spread.flips[output] = std::max(spread.flips[output], count_mismatches(unmoved, moved));
  }

  /// Accepts an output within its floor, and a quantized output if its elements on the neighbouring step are few enough to be at a
  /// boundary.
  void allow_rounding(Attempt& attempt, std::size_t i) {
    StoredComparison& output = attempt.outputs[i];
    if (output.exact_part) {
      output.bound = std::max(output.bound, kFloorFactor * spread_of(attempt).floors[i]);
    } else if (output.neighbours > 0 && holds_steps(*side_.model->graph().outputs()[i])) {
      const int64_t allowed = kFloorFactor * spread_of(attempt).flips[i];
      output.exact_part = output.neighbours <= allowed;
    }
    const Flips& inside = spread_of(attempt).inside;
    attempt.result.flips = inside.most();
    attempt.result.flips_node = inside.node();
  }

  /// Finds what differs from the stored outputs by more than rounding.
  void compare(Attempt& attempt) {
    if (!attempt.findings.empty()) return;
    DataCase& result = attempt.result;
    result.rtol = tolerance_.rtol;
    result.atol = tolerance_.atol;
    for (std::size_t i = 0; i < attempt.outputs.size(); ++i) {
      StoredComparison& output = attempt.outputs[i];
      if (!output.passed() && output.same_structure) allow_rounding(attempt, i);
      if (output.error >= result.error) {
        result.error = output.error;
        result.bound = output.bound;
        result.by_tolerance = output.tolerance_alone || (output.within_tolerance && output.error > output.bound);
      }
      if (output.passed()) continue;
      const std::string what = "output " + quote(side_.outputs[i].name) + ": " + output.message;
      attempt.findings.push_back({.severity = Severity::difference, .text = what, .output = i});
    }
  }

  Side side_;
  const VerifyOptions* options_;
  Tolerance tolerance_;
  std::vector<DataSet> sets_;
  std::vector<Attempt> attempts_;
  std::map<std::size_t, Spread> spreads_;  ///< by set
  int64_t done_ = 0, total_ = 0;
};

}  // namespace

DataResult verify_data(const fs::path& model, const fs::path& directory, const VerifyOptions& options) {
  Side side{model.string(), Model::load(model, options.load), {}};
  side.outputs = output_ports(side.model->graph());
  return StoredVerification(std::move(side), model, directory, options).run();
}

}  // namespace relayout
