// Runs both models on zeros, equal numbers and numbers far apart, and finds the node whose results are finite in one of them alone.
#include "verify/compare/extreme_runs.h"

#include <cmath>

#include "base/positions.h"
#include "model/node.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/compare/datum_pair.h"
#include "verify/compare/guarded_ways.h"
#include "verify/compare/layers.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/reference.h"
#include "verify/run/session.h"

namespace relayout {
namespace {

constexpr const char* kExtremeStep = "extreme numbers";

/// A low and a high number: Exp of the low one is 0 in the type, of the high one it is finite, and 1 minus its Sigmoid is 0. And a small
/// distance of two numbers of some hundreds (in float16, tens).
struct Ends {
  double low, high, step;
  bool is_narrow;
};
Ends ends_of(DataType type) {
  if (type == DataType::float16) return {-30, 10, 0.125, true};
  return type == DataType::float64 ? Ends{-800, 40, 1e-7, false} : Ends{-130, 40, 1e-3, false};
}

/// Kinds of numbers that are far apart.
constexpr std::size_t kKinds = 3;

/// The centres of numbers that hardly vary: whether rounding brings a variance below 0 depends on them.
constexpr std::array kCentres{97.3, 211.7, 389.1, 151.9, 301.3, 61.7, 173.1, 347.9};

/// The sum of the digits of a position to the base kKinds, which is constant along no axis of a tensor.
std::size_t digit_sum(std::size_t position) {
  std::size_t sum = 0;
  for (; position > 0; position /= kKinds) sum += position % kKinds;
  return sum;
}

/// Whether an element is the only one of its kind on each line along the longest axis, and on no line one of several.
bool is_alone(std::size_t position, std::span<const int64_t> dims) {
  std::size_t sum = 0;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    sum += position % as_size(dims[axis]);
    position /= as_size(dims[axis]);
  }
  return dims.empty() || sum % as_size(*std::ranges::max_element(dims)) == 0;
}

double number_of(Extreme extreme, Ends ends, std::size_t position, std::size_t item, std::size_t shift) {
  constexpr std::array kEqual{0.1, 1.7, -2.3, 0.37};
  constexpr std::array kUsual{1000.0, 3.0, 50.0, 200.0, 0.01};
  switch (extreme) {
    case Extreme::zeros:
      return 0;
    case Extreme::equal:
      return kEqual[(position / item) % kEqual.size()];
    case Extreme::low:
    case Extreme::alone:
      return ends.low;
    case Extreme::usual:
      return (position % 2 == 0 ? 1 : -1) * kUsual[(position / 2 + shift) % kUsual.size()] * (ends.is_narrow ? 0.3 : 1);
    case Extreme::close:
      return kCentres[(position / item + shift) % kCentres.size()] * (ends.is_narrow ? 0.3 : 1) +
             ends.step * static_cast<double>(digit_sum(position));
    case Extreme::large:
      return ends.is_narrow ? 64 : kUsual.front();
    case Extreme::apart:
    case Extreme::drawn:
      break;
  }
  const std::size_t kind = (digit_sum(position) + shift) % kKinds;
  return kind == 0 ? ends.high : kind == 1 ? ends.low : 0;
}

bool is_of_usual_size(Extreme extreme) {
  return extreme == Extreme::usual || extreme == Extreme::large;
}

int64_t count_not_finite(const Datum& datum) {
  int64_t count = 0;
  for_each_real(datum, [&](double number) { count += std::isfinite(number) ? 0 : 1; });
  return count;
}

/// Whether a value changes without limit at 0, but does not leave the finite numbers there.
bool is_root(const Value& value) {
  return value.producer() != nullptr && (value.producer()->is("Sqrt") || value.producer()->is("Pow"));
}

/// A value that both models compute by a root, and its largest magnitude in either.
struct Root {
  const Value *a = nullptr, *b = nullptr;
  double of_a = 0, of_b = 0;
};

/// What a run of one model showed.
struct Shown {
  std::unordered_map<const Layer*, int64_t> not_finite;  ///< numbers of elements
  std::unordered_map<const Layer*, double> peaks;        ///< of roots: the largest magnitude of a finite element
  std::vector<const Node*> makers;                       ///< accepted nodes that made them of finite operands
};

/// What a run draws from: the sample whose inputs stay where they are no real numbers, and the first number of the extreme.
struct Drawn {
  std::size_t sample = 0, shift = 0;
};

class ExtremeRuns {
 public:
  ExtremeRuns(const ExtremeTask& task, Drawn from, Extreme extreme, std::function<bool(const Node&)> may_make, const Guarded& guarded)
      : pair_(task.pair),
        reference_(task.reference),
        layers_(task.layers),
        from_(from),
        extreme_(extreme),
        may_make_(std::move(may_make)),
        guarded_(guarded),
        masks_(task.reference.inputs().ports().masks()),
        integers_(task.reference.inputs().ports().plain_integers()) {
    // A proof covers all shifts and factors of folds, which lie on either side of a value: the inputs alone are replaced.
    if (extreme == Extreme::drawn || (pair_.proved && !is_of_usual_size(extreme))) return;
    Constants constants;
    if (guarded.a != nullptr) read_ways(*guarded.a, *guarded.b, constants);
    for (const Layer& layer : layers_.all()) {
      if (layer.leaks || natural_.contains(layer.a) || natural_.contains(layer.b)) continue;
      if (may_be_any_number(*layer.a, !is_of_usual_size(extreme), constants)) replaced_.insert(&layer);
    }
  }

  [[nodiscard]] std::optional<EdgeMismatch> compare() {
    make();
    const Shown &a = *of_a_, &b = *of_b_;
    for (const Layer& layer : layers_.all()) {
      const auto of_a = a.not_finite.find(&layer), of_b = b.not_finite.find(&layer);
      if (of_a == a.not_finite.end() || of_b == b.not_finite.end() || of_a->second == of_b->second || !may_differ(layer)) continue;
      const bool is_of_a = of_a->second > of_b->second;
      const Node* const maker = maker_of(is_of_a ? *layer.a : *layer.b, is_of_a ? a : b);
      if (maker != nullptr) return EdgeMismatch{extreme_, layer.b, maker, is_of_a, 0, std::nullopt};
    }
    return std::nullopt;
  }

  /// The roots that both models have and that are not replaced.
  [[nodiscard]] std::vector<Root> roots() {
    make();
    const Shown &a = *of_a_, &b = *of_b_;
    std::vector<Root> out;
    for (const Layer& layer : layers_.all()) {
      const auto of_a = a.peaks.find(&layer), of_b = b.peaks.find(&layer);
      if (of_a == a.peaks.end() || of_b == b.peaks.end() || replaced_.contains(&layer) || !may_differ(layer)) continue;
      out.push_back({layer.a, layer.b, of_a->second, of_b->second});
    }
    return out;
  }

 private:
  void make() {
    if (!of_a_) of_a_ = run(pair_.a);
    if (!of_b_) of_b_ = run(pair_.b);
  }

  [[nodiscard]] bool may_differ(const Layer& layer) const { return !guarded_.may_differ || guarded_.may_differ(*layer.b->producer()); }

  /// Finds values that are to be computed, since one model alone has a guard on the way to them, and what is replaced upstream.
  void read_ways(const GuardedWays& of_a, const GuardedWays& of_b, Constants& constants) {
    for (const Layer& layer : layers_.all()) {
      const GuardedWay *const a = of_a.of(layer.a->producer()), *const b = of_b.of(layer.b->producer());
      if (a == nullptr || b == nullptr || a->guards.is_like(b->guards, rough_tolerance)) continue;
      const Bases bases = bases_of(*a, *b, constants);
      if (bases.a == nullptr) continue;
      const auto compute = [&](const GuardedWay& way, const Value* base) {
        natural_.insert(way.values.begin(), std::ranges::find(way.values, base));
        if (bases.are_held) natural_.insert(base);
        if (extreme_ == Extreme::zeros && !bases.are_held) bases_.insert(base);
      };
      compute(*a, bases.a);
      compute(*b, bases.b);
    }
    for (const Value* const base : bases_) natural_.erase(base);
  }

  [[nodiscard]] Shown run(const Side& side) {
    const bool is_a = &side == &pair_.a;
    Shown out;
    std::unordered_set<const Value*> not_finite;
    ExecuteOptions options = pair_.execute_options(Mode::as_written);
    options.observe = [&](const Node& node, const std::vector<Datum>& outputs) {
      const bool from_finite = std::ranges::none_of(node.inputs(), [&](const Value* input) { return not_finite.contains(input); });
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        if (node.output(k) == nullptr) continue;
        const Value& value = *node.output(k);
        const Layer* const layer = is_a ? layers_.of_a(value) : layers_.of_b(value);
        const bool is_replaced = (layer != nullptr && replaced_.contains(layer)) || bases_.contains(&value);
        const int64_t count = count_not_finite(outputs[k]);
        if (count > 0 && !is_replaced) not_finite.insert(&value);
        if (count > 0 && from_finite && may_make_(node)) out.makers.push_back(&node);
        if (layer != nullptr) out.not_finite[layer] = count;
        if (layer != nullptr && (is_root(*layer->a) || is_root(*layer->b))) out.peaks[layer] = peak_of(outputs[k]);
        if (is_replaced) replace(outputs[k], false, 0);
      }
    };
    pair_.steps->next(kExtremeStep);
    const std::unique_ptr<Session> session = pair_.open(side, std::move(options));
    Inputs copies = reference_.inputs_of(from_.sample);
    std::size_t place = 0;  // where one input is large, another one is small
    for (auto& [name, datum] : copies) {
      datum = copy_of(datum);
      const bool any_type = extreme_ == Extreme::zeros && (masks_.contains(name) || integers_.contains(name));
      if (extreme_ != Extreme::drawn) replace(datum, any_type, extreme_ == Extreme::usual ? place++ : 0);
    }
    (void)session->run(copies);
    return out;
  }

  /// Overwrites a tensor of real numbers, or with `any_type` of any others, by numbers of this extreme, from a `place` of their list on.
  void replace(const Datum& datum, bool any_type, std::size_t place) const {
    const Tensor& tensor = datum.tensor;
    const std::size_t item = tensor.rank() == 0 ? 1 : as_size(tensor.element_count() / std::max<int64_t>(1, tensor.dims().front()));
    const Ends ends = ends_of(pair_.narrow == DataType::float16 ? pair_.narrow : tensor.type());
    edit(datum, any_type ? kNumericTypes | kBooleanTypes : kRealTypes, [&](std::size_t i, double& number) {
      const bool is_high = extreme_ == Extreme::alone && is_alone(i, tensor.dims());
      number = is_high ? ends.high : number_of(extreme_, ends, i, item, from_.shift + place);
    });
  }

  [[nodiscard]] static const Node* maker_of(const Value& value, const Shown& shown) {
    const auto upstream = needed_nodes({&value});
    const auto found = std::ranges::find_if(shown.makers, [&](const Node* node) { return upstream.contains(node); });
    return found == shown.makers.end() ? nullptr : *found;
  }

  const Pair& pair_;
  const Reference& reference_;
  const Layers& layers_;
  Drawn from_;
  Extreme extreme_;
  std::function<bool(const Node&)> may_make_;
  const Guarded& guarded_;
  std::set<std::string> masks_, integers_;
  std::unordered_set<const Layer*> replaced_;
  std::unordered_set<const Value*> bases_;    ///< of both models: replaced too
  std::unordered_set<const Value*> natural_;  ///< of both models: not replaced
  std::optional<Shown> of_a_, of_b_;          ///< by the runs, once made
};

/// Compares roots on zeros with those of the same sample, on which they agree: beyond rounding, next to their size there.
std::optional<EdgeMismatch> compare_roots(ExtremeRuns& at_zero, ExtremeRuns& drawn, const Pair& pair) {
  constexpr double kAlike = 0.01;
  const std::vector<Root> low = at_zero.roots();
  if (std::ranges::none_of(low, [](const Root& root) { return root.of_a != root.of_b; })) return std::nullopt;
  const std::vector<Root> usual = drawn.roots();
  OpSignatures signatures;
  const ElementTypes types(pair.b.model->graph(), signatures);
  for (const Root& root : low) {
    const auto same = std::ranges::find(usual, root.b, &Root::b);
    if (same == usual.end() || std::abs(same->of_a - same->of_b) > kAlike * same->of_a) continue;
    const DataType type = pair.narrow != DataType::undefined ? pair.narrow : types.of(*root.b);
    if (std::abs(root.of_a - root.of_b) <= dtype_minimum(type) * same->of_a) continue;
    const bool is_of_a = root.of_a < root.of_b;
    return EdgeMismatch{Extreme::zeros,
                        root.b,
                        (is_of_a ? root.a : root.b)->producer(),
                        is_of_a,
                        std::min(root.of_a, root.of_b),
                        std::max(root.of_a, root.of_b)};
  }
  return std::nullopt;
}

/// What runs of an extreme draw from: numbers that hardly vary are close to each centre. Where integers choose among numbers far apart,
/// each sample chooses others, and what the first one chooses is each kind of number in turn.
std::vector<Drawn> all_drawn(const ExtremeTask& task, Extreme extreme) {
  std::vector<Drawn> out;
  if (extreme == Extreme::apart && task.reference.inputs().ports().has_integers()) {
    for (std::size_t i = 0; i < task.reference.samples().size(); ++i) out.push_back({i});
    for (std::size_t shift = 1; shift < kKinds; ++shift) out.push_back({0, shift});
    return out;
  }
  const std::size_t shifts = extreme == Extreme::close ? kCentres.size() : 1;
  for (const std::size_t sample : task.samples) {
    for (std::size_t shift = 0; shift < shifts; ++shift) out.push_back({sample, shift});
  }
  return out;
}

}  // namespace

std::optional<EdgeMismatch> compare_finite(const ExtremeTask& task, Extreme extreme, const std::function<bool(const Node&)>& may_make) {
  const Guarded guarded;
  for (const std::size_t sample : task.samples) {
    if (!task.pair.steps->affords(kExtremeStep, 2)) break;
    auto found = ExtremeRuns(task, {sample}, extreme, may_make, guarded).compare();
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<EdgeMismatch> compare_edges(const ExtremeTask& task, std::span<const Extreme> extremes, bool with_roots,
                                          const Guarded& guarded) {
  std::map<std::size_t, ExtremeRuns> at_zero;
  for (const Extreme extreme : extremes) {
    for (const Drawn from : all_drawn(task, extreme)) {
      if (!task.pair.steps->affords(kExtremeStep, 2)) break;
      ExtremeRuns runs(task, from, extreme, has_edge, guarded);
      if (auto found = runs.compare()) return found;
      if (with_roots && extreme == Extreme::zeros) at_zero.emplace(from.sample, std::move(runs));
    }
  }
  for (auto& [sample, runs] : at_zero) {
    if (!task.pair.steps->affords(kExtremeStep, 2)) break;
    ExtremeRuns drawn(task, {sample}, Extreme::drawn, has_edge, guarded);
    if (auto found = compare_roots(runs, drawn, task.pair)) return found;
  }
  return std::nullopt;
}

}  // namespace relayout
