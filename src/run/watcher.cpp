// Looks at each value of a run once: names it, measures and saves it if chosen, and finds the first that is not finite.

#include "run/watcher.h"

#include <cmath>

#include "base/half.h"
#include "base/text.h"
#include "exec/program.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/run.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "run/array_files.h"
#include "verify/run/elements.h"

namespace relayout {

namespace {

std::string type_words(const Datum& datum) {
  switch (datum.kind) {
    case Datum::Kind::tensor:
      return datum.tensor ? std::string(name_of(datum.tensor.type())) + to_string(datum.tensor.dims()) : "nothing";
    case Datum::Kind::sequence:
      return "sequence of " + std::to_string(datum.elements.size());
    case Datum::Kind::optional:
      return datum.elements.empty() ? "empty optional" : "optional " + type_words(datum.elements.front());
    case Datum::Kind::map:
      return "map of " + std::to_string(datum.elements.front().tensor.element_count());
  }
  return {};
}

RunTensor described(const std::string& name, const Datum& datum) {
  RunTensor out;
  out.name = name;
  out.type = type_words(datum);
  if (datum.kind == Datum::Kind::tensor && datum.tensor) out.dims = datum.tensor.dims();
  return out;
}

bool is_there(const Datum& datum) {
  return datum.kind != Datum::Kind::tensor || datum.tensor;
}

bool holds_floats(const Datum& datum) {
  if (datum.kind != Datum::Kind::tensor) return std::ranges::any_of(datum.elements, holds_floats);
  return datum.tensor && (is_float(datum.tensor.type()) || kComplexTypes.has(datum.tensor.type()));
}

template <class T>
void round_all(T* values, int64_t count, DataType type) {
  for (int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(values[i]);
    values[i] =
        static_cast<T>(type == DataType::float16 ? half_to_float(double_to_half(value)) : bfloat16_to_float(double_to_bfloat16(value)));
  }
}

/// Softmaxes, and operators that take the largest of several numbers.
bool takes_masks(const Node& node, std::size_t input) {
  constexpr std::size_t kAttentionMask = 3;
  if (node.is("Attention")) return input == kAttentionMask;
  const Traits traits = traits_of(node);
  return traits.has(Trait::softmax) || traits.reduces() == Reduces::log_sum_exp || traits.reduces() == Reduces::maximum ||
         node.is("MaxPool") || node.is("ArgMax");
}

bool carries_masks(const Node& node, std::size_t input) {
  constexpr auto kCarrying = std::to_array({Arithmetic::add, Arithmetic::minimum, Arithmetic::maximum});
  const Traits traits = traits_of(node);
  return traits.moves_input(input) || traits.has(Trait::identity) || traits.has(Trait::casts) || traits.has(Trait::permutes) ||
         std::ranges::find(kCarrying, traits.arithmetic()) != kCarrying.end();
}

/// Whether −∞ in this value hides an element from a Softmax or a maximum, and from nothing else: readers move it there, add to it, or take
/// the smaller or larger of two numbers.
bool only_hides(const Value& value) {
  std::unordered_set<const Value*> seen{&value};
  std::vector<const Value*> open{&value};
  while (!open.empty()) {
    const Value& at = *open.back();
    open.pop_back();
    if (at.is_output() || at.uses().empty()) return false;
    for (const Use& use : at.uses()) {
      const Node& node = *use.node;
      const auto input = static_cast<std::size_t>(use.index);
      if (takes_masks(node, input)) continue;
      if (!carries_masks(node, input)) return false;
      for (const Value* const output : node.outputs()) {
        if (output != nullptr && seen.insert(output).second) open.push_back(output);
      }
    }
  }
  return true;
}

}  // namespace

void Watcher::round(const Datum& datum, DataType type) {
  for (const Datum& element : datum.elements) round(element, type);
  if (datum.kind != Datum::Kind::tensor || !datum.tensor || !datum.tensor.is_contiguous()) return;
  const Tensor& tensor = datum.tensor;
  if (tensor.type() == DataType::float32) round_all(tensor.data<float>(), tensor.element_count(), type);
  if (tensor.type() == DataType::float64) round_all(tensor.data<double>(), tensor.element_count(), type);
}

Watcher::Watcher(const Graph& graph, const RunOptions& options, ArrayFiles* files) : graph_(&graph), options_(&options), files_(files) {}

void Watcher::look_at_inputs(const Inputs& inputs) {
  for (const auto& [name, datum] : inputs) {
    if (const Value* const value = graph_->find(name)) look_at(*value, value, datum, {});
  }
}

void Watcher::look_at(const Computed& computed) {
  const bool is_nested = computed.graph->owner() != nullptr;
  Place place{computed.node, computed.callers, {}, computed.operands};
  if (is_nested) {
    int64_t& iteration = iterations_.try_emplace(computed.graph, -1).first->second;
    if (computed.node == nullptr) ++iteration;
    place.iteration = "#" + std::to_string(iteration);
  }
  for (std::size_t k = 0; k < computed.data.size(); ++k) {
    const Value* const value = computed.node == nullptr ? computed.values[k] : computed.node->output(k);
    if (value != nullptr && is_there(computed.data[k])) look_at(*value, computed.values[k], computed.data[k], place);
  }
}

void Watcher::look_at_outputs(const Outputs& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Value* const value = graph_->outputs()[i];
    if (!seen_.contains(value)) look_at(*value, value, outputs[i], {value->producer(), {}, {}, {}});
  }
}

void Watcher::look_at(const Value& value, const Value* identity, const Datum& datum, const Place& place) {
  ++values_;
  if (&value.graph() == graph_) seen_.insert(&value);
  const std::string name = exec::full_name(place.callers, value.name()) + place.iteration;
  std::optional<TensorStatistics> statistics;
  const bool is_checked = options_->require_finite && !not_finite_, is_chosen = this->is_chosen(value, place, name);
  const bool is_rounded = options_->as != DataType::undefined;
  const auto describe = [&] {
    RunTensor out = described(name, datum);
    if (place.node != nullptr) out.node = exec::full_name(place.callers, reported_name(*place.node));
    if (place.node != nullptr) out.op_type = place.node->op_type();
    out.statistics = statistics;
    return out;
  };
  if (is_checked || (is_chosen && options_->statistics)) statistics = statistics_of(datum);
  if (is_checked && statistics) {
    bool leaves_range = false;
    if (is_rounded && holds_floats(datum)) {
      const double most = std::max(std::fabs(statistics->least), std::fabs(statistics->greatest));
      leaves_range =
          statistics->finite() > 0 &&
          std::isinf(options_->as == DataType::float16 ? half_to_float(double_to_half(most)) : bfloat16_to_float(double_to_bfloat16(most)));
    }
    known_[identity != nullptr ? identity : &value] = *statistics;
    if (holds_floats(datum) && (leaves_range || is_faulty(value, *statistics))) note_fault(describe(), place);
  }
  if (is_rounded) round(datum, options_->as);
  if (!is_chosen) return;
  if (is_rounded && options_->statistics) statistics = statistics_of(datum);
  RunTensor tensor = describe();
  if (!options_->statistics) tensor.statistics.reset();
  if (!options_->statistics && value.is_own_output() && holds_floats(datum)) {
    const auto facts = statistics_of(datum);
    if (facts && facts->finite() < facts->elements) tensor.faults = facts;
  }
  tensor.name = unique(name);
  if (files_ != nullptr) tensor.saved = files_->add(tensor.name, datum);
  tensors_.push_back(std::move(tensor));
}

bool Watcher::is_chosen(const Value& value, const Place& place, const std::string& name) {
  if (options_->tensors.empty()) return &value.graph() == graph_ && value.is_own_output();
  bool found = false;
  const std::string plain = exec::full_name(place.callers, value.name());
  for (const std::string& glob : options_->tensors) {
    if (!glob_match(glob, value.name()) && !glob_match(glob, plain) && !glob_match(glob, name)) continue;
    matched_.insert(glob);
    found = true;
  }
  return found;
}

/// Nodes of one name in a file make values of one name.
std::string Watcher::unique(std::string name) {
  const std::string base = name;
  for (int number = 2; !names_.insert(name).second; ++number) name = base + " (" + std::to_string(number) + ")";
  return name;
}

bool Watcher::is_faulty(const Value& value, const TensorStatistics& statistics) const {
  if (statistics.nans > 0 || statistics.above > 0) return true;
  return statistics.below > 0 && !only_hides(value);
}

void Watcher::note_fault(RunTensor tensor, const Place& place) {
  NotFinite& out = not_finite_.emplace();
  out.value = std::move(tensor);
  if (place.node == nullptr) return;
  for (std::size_t i = 0; i < place.node->inputs().size() && i < place.operands.size(); ++i) {
    if (place.operands[i] == nullptr) continue;
    RunTensor operand;
    operand.name = place.node->input(i)->name();
    operand.statistics = statistics_of_operand(*place.operands[i]);
    if (operand.statistics) out.operands.push_back(std::move(operand));
  }
}

std::optional<TensorStatistics> Watcher::statistics_of_operand(const Value& operand) {
  if (const auto known = known_.find(&operand); known != known_.end()) return known->second;
  const auto found = constants_.find(operand);
  const auto* const constant = std::get_if<Constant>(&found);
  return constant == nullptr ? std::nullopt : statistics_of(constant->load());
}

void Watcher::report(RunResult& result) {
  for (const std::string& glob : options_->tensors) {
    if (matched_.contains(glob) || not_finite_) continue;
    bool exists = false;
    std::vector<std::string> names;
    for_each_node(graph_->model(), [&](const Node& node) {
      for (const Value* const value : node.outputs()) {
        if (value == nullptr) continue;
        exists = exists || glob_match(glob, value->name());
        names.push_back(value->name());
      }
    });
    if (exists) {
      fail(ErrorKind::usage, "--tensors " + quote(glob) + ": this run does not make that value",
           "no output depends on it, it is stored in the model, its graph did not run, or a fused step has it inside");
    }
    fail(ErrorKind::usage, "--tensors " + quote(glob) + ": no value has a name like that" + did_you_mean(glob, names, "; "));
  }
  result.tensors = std::move(tensors_);
  result.values = values_;
  result.not_finite = std::move(not_finite_);
}

// Counts zeros, infinities and NaN of a value, and computes the range, mean and deviation of its finite numbers.
namespace {

/// From here on, numbers round to infinity in f16 (ties to even).
constexpr double kInfiniteInF16 = 65520;

/// Moments of a part, merged with those of others (Chan, Golub, LeVeque: Updating Formulae for Computing Sample Variances).
struct Moments {
  double count = 0, mean = 0, squares = 0;
  void merge(const Moments& other) {
    if (other.count == 0) return;
    const double all = count + other.count, apart = other.mean - mean;
    squares += other.squares + apart * apart * count * other.count / all;
    mean += apart * other.count / all;
    count = all;
  }
};

class Counter {
 public:
  void add(const Datum& datum) {
    for (const Datum& element : datum.elements) add(element);
    if (datum.kind != Datum::Kind::tensor || !datum.tensor || datum.tensor.type() == DataType::string) return;
    is_numeric_ = true;
    const Tensor tensor = real_parts(datum.tensor);
    out_.elements += tensor.element_count();
    for_each_chunk(tensor, [this](int64_t, std::span<const double> values) { add(values); });
  }

  [[nodiscard]] std::optional<TensorStatistics> result() {
    if (!is_numeric_) return std::nullopt;
    out_.mean = all_.mean;
    out_.deviation = all_.count > 0 ? std::sqrt(all_.squares / all_.count) : 0;
    return out_;
  }

 private:
  void add(std::span<const double> values) {
    Moments part;
    double sum = 0;
    const auto is_first = [this] { return all_.count == 0; };
    double least = is_first() ? HUGE_VAL : out_.least, greatest = is_first() ? -HUGE_VAL : out_.greatest;
    for (const double value : values) {
      if (!std::isfinite(value)) {
        ++(std::isnan(value) ? out_.nans : value > 0 ? out_.above : out_.below);
        continue;
      }
      part.count += 1;
      sum += value;
      out_.zeros += value == 0 ? 1 : 0;
      out_.beyond_f16 += std::fabs(value) >= kInfiniteInF16 ? 1 : 0;
      least = std::min(least, value);
      greatest = std::max(greatest, value);
    }
    if (part.count == 0) return;
    part.mean = sum / part.count;
    for (const double value : values) {
      if (std::isfinite(value)) part.squares += (value - part.mean) * (value - part.mean);
    }
    out_.least = least;
    out_.greatest = greatest;
    all_.merge(part);
  }

  TensorStatistics out_;
  Moments all_;
  bool is_numeric_ = false;
};

}  // namespace

std::optional<TensorStatistics> statistics_of(const Datum& datum) {
  Counter counter;
  counter.add(datum);
  return counter.result();
}

}  // namespace relayout
