// Runs both models on numbers exactly between two steps, and finds values that they round to different ones.

#include <cmath>

#include "base/numbers.h"
#include "base/positions.h"
#include "model/node.h"
#include "ops/bounds.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/changes.h"
#include "verify/compare/datum_pair.h"
#include "verify/compare/layers.h"
#include "verify/compare/tried_pieces.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/session.h"
#include "verify/thresholds.h"

namespace relayout {
namespace {

// The nodes that round, and the numbers upstream of them that come to lie between two of their steps.

/// A node in front of one that rounds: the number that it makes of another one and of a constant's element.
struct Passed {
  enum class Kind : uint8_t { add, subtract, subtract_from, multiply, divide, negate, magnitude } kind = Kind::add;
  Tensor constant = {};
  std::optional<int64_t> axis = {};  ///< of a quantizer's scales; nothing: the constant is broadcast

  /// The operand of which the node makes `number`.
  [[nodiscard]] double undone(double number, double by) const {
    switch (kind) {
      case Kind::add:
        return number - by;
      case Kind::subtract:
        return number + by;
      case Kind::subtract_from:
        return by - number;
      case Kind::multiply:
        return number / by;
      case Kind::divide:
        return number * by;
      case Kind::negate:
        return -number;
      case Kind::magnitude:
        break;
    }
    return std::fabs(number);
  }
};

/// The elements of a node's constant for all positions of a tensor; nothing where it does not fit in. Of none: zeros.
std::optional<std::vector<double>> spread(const Passed& passed, const Dims& dims) {
  std::vector<double> out(as_size(element_count(dims)), 0);
  if (!passed.constant) return out;
  Dims inner = passed.constant.dims();
  if (passed.axis && passed.constant.element_count() > 1) {
    const auto axis = checked_axis(*passed.axis, dims.size());
    if (!axis || inner.size() != 1) return std::nullopt;
    inner.resize(dims.size() - *axis, 1);
  }
  if (inner.size() > dims.size()) return std::nullopt;
  const std::span<const int64_t> outer(dims.end() - static_cast<std::ptrdiff_t>(inner.size()), dims.end());
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] != 1 && inner[i] != outer[i]) return std::nullopt;
  }
  const std::vector<double> numbers = reals_of(passed.constant);
  const Dims strides = contiguous_strides(inner);
  for (std::size_t position = 0; position < out.size(); ++position) {
    std::size_t rest = position, at = 0;
    for (std::size_t i = inner.size(); i-- > 0;) {
      if (inner[i] != 1) at += rest % as_size(outer[i]) * as_size(strides[i]);
      rest /= as_size(outer[i]);
    }
    out[position] = numbers[at];
  }
  return out;
}

/// A node of either model that gives one of two neighbouring steps, and where they meet.
struct Rounding {
  const Node* node = nullptr;
  double tie = 0;                    ///< all whole numbers and this; `is_limit`: this number alone
  bool is_limit = false;             ///< a comparison with a constant
  std::optional<Passed> scale = {};  ///< of a quantizer
};

constexpr double kHalf = 0.5;

std::optional<Rounding> rounding_of(const Node& node, const ElementTypes& types, Constants& constants) {
  if (node.input(0) == nullptr || !node.domain().empty()) return std::nullopt;
  if (const Rounds how = rounds(node); how != Rounds::none) return Rounding{&node, how == Rounds::to_nearest ? kHalf : 0};
  const auto number_of = [&](std::size_t i) { return node.input(i) == nullptr ? std::nullopt : constants.value(*node.input(i)); };
  if (node.is("QuantizeLinear")) {
    const auto scale = number_of(1);
    if (!scale || !kRealTypes.has(scale->type())) return std::nullopt;
    return Rounding{&node, kHalf, false, Passed{Passed::Kind::divide, *scale, Attributes(node).integer("axis", 1)}};
  }
  const bool has_real = kRealTypes.has(types.of(*node.input(0)));
  if (has_trait(node, Trait::casts) && has_real && node.output(0) != nullptr && kIntegerTypes.has(types.of(*node.output(0)))) {
    return Rounding{&node, 0};
  }
  const auto limit = has_real && compares(predicate_of(node)) ? number_of(1) : std::nullopt;
  if (!limit || limit->element_count() != 1) return std::nullopt;
  return Rounding{&node, reals_of(*limit).front(), true};
}

/// What a node in front of a rounding one makes of an operand; nothing: it is another function.
struct PassedNode {
  const Value* operand = nullptr;
  std::optional<Passed> passed = {};  ///< nothing: what it is given
};

std::optional<PassedNode> passed_of(const Node& node, const ElementTypes& types, Constants& constants) {
  const Value *const first = node.input(0), *const second = node.input(1);
  if (first == nullptr || !kRealTypes.has(types.of(*first))) return std::nullopt;
  if (has_trait(node, Trait::identity) || has_trait(node, Trait::casts) || limits(node)) return PassedNode{first};
  if (arithmetic_of(node) == Arithmetic::negate) return PassedNode{first, Passed{Passed::Kind::negate}};
  if (node.is("Abs") || node.is("Relu")) return PassedNode{first, Passed{Passed::Kind::magnitude}};
  if (second == nullptr) return std::nullopt;
  const auto by_first = constants.value(*first), by_second = constants.value(*second);
  const auto& by = by_second ? by_second : by_first;
  if (!by || (by_first && by_second)) return std::nullopt;
  const auto with = [&](Passed::Kind kind) { return PassedNode{by_second ? first : second, Passed{kind, *by}}; };
  switch (arithmetic_of(node)) {
    case Arithmetic::add:
      return with(Passed::Kind::add);
    case Arithmetic::subtract:
      return with(by_second ? Passed::Kind::subtract : Passed::Kind::subtract_from);
    case Arithmetic::multiply:
      return with(Passed::Kind::multiply);
    case Arithmetic::divide:
      return by_second ? std::optional(with(Passed::Kind::divide)) : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// The way from a value that both models have to a node that rounds it.
struct TieWay {
  double tie = 0;
  std::vector<Passed> passed;  ///< from that node upstream
};

/// Numbers between two steps, counted from `tie`: of either sign, next to even and odd steps.
constexpr auto kTies = std::to_array<double>({0, -1, 1, -2, 2, -3});

// The runs.

/// A change whose value both models round.
struct TiedChange {
  const Change* change = nullptr;
  std::vector<Rounding> of_a, of_b;
};

/// What a run of one model shows of a change.
struct TiedResult {
  Datum made;
  std::unordered_map<const Node*, std::pair<Dims, std::vector<bool>>> at_ties;  ///< by rounding node: its elements between two steps
};

class TieRuns {
 public:
  explicit TieRuns(Evidence& evidence)
      : pair_(evidence.pair()),
        evidence_(evidence),
        layers_(evidence.layers()),
        in_a_(pair_.a.model->graph(), evidence.reference().inputs().ports().masks(), evidence.reference().inputs().ports().kept_integers()),
        types_b_(pair_.b.model->graph(), signatures_) {
    for (const Change& change : evidence.changes().all()) {
      TiedChange tied{&change, roundings_of(change.of_a, *change.a, in_a_.types()), roundings_of(change.of_b, *change.b, types_b_)};
      if (!tied.of_a.empty() && !tied.of_b.empty()) changes_.push_back(std::move(tied));
    }
    for (const TiedChange& tied : changes_) {
      for (const Rounding& rounding : tied.of_a) add_way(rounding, true);
      for (const Rounding& rounding : tied.of_b) add_way(rounding, false);
    }
  }

  [[nodiscard]] bool are_wanted() const { return !changes_.empty() && (!of_inputs_.empty() || !of_layers_.empty()); }

  /// Changes whose values differ between two steps; each once.
  [[nodiscard]] VerifyFindings compare() {
    VerifyFindings out;
    std::unordered_set<const Change*> found, seen;
    for (std::size_t run = 0; run < kTies.size() && (run == 0 || run * fewest_ < numbers_wanted() || seen.size() < changes_.size());
         ++run) {
      if (!pair_.steps->affords(kStep, 2)) break;
      fewest_ = std::numeric_limits<std::size_t>::max();
      const auto of_a = run_side(pair_.a, run), of_b = run_side(pair_.b, run);
      for (const TiedChange& tied : changes_) {
        const auto a = of_a.find(tied.change), b = of_b.find(tied.change);
        if (a == of_a.end() || b == of_b.end() || !a->second.made.tensor || !b->second.made.tensor) continue;
        seen.insert(tied.change);
        const auto apart = difference(a->second, b->second);
        if (apart && found.insert(tied.change).second) out.push_back(describe(tied, *apart));
      }
    }
    return out;
  }

 private:
  static constexpr const char* kStep = "numbers between two steps";

  std::vector<Rounding> roundings_of(std::vector<const Node*> nodes, const Value& result, const ElementTypes& types) {
    if (std::ranges::find(nodes, result.producer()) == nodes.end()) nodes.push_back(result.producer());
    std::vector<Rounding> out;
    for (const Node* const node : nodes) {
      if (const auto rounding = rounding_of(*node, types, constants_)) out.push_back(*rounding);
    }
    const auto rounds = [](const Rounding& rounding) { return !rounding.is_limit; };
    return std::ranges::any_of(out, rounds) ? out : std::vector<Rounding>();
  }

  void add_way(const Rounding& rounding, bool is_of_a) {
    if (rounding.is_limit) return;
    constexpr int kMostNodes = 8;
    TieWay way{rounding.tie, {}};
    if (rounding.scale) way.passed.push_back(*rounding.scale);
    const Value* value = rounding.node->input(0);
    for (int step = 0; step < kMostNodes && value != nullptr; ++step) {
      if (value->is_model_input()) {
        if (!pair_.options->inputs.contains(value->name())) of_inputs_[value->name()].push_back(std::move(way));
        return;
      }
      const Layer* const layer = is_of_a ? layers_.of_a(*value) : layers_.of_b(*value);
      const bool is_shared = layer != nullptr && !layer->leaks && !layer->channels_last;
      if (is_shared && evidence_.changes().of_b(layer->b->name()) == nullptr) {  // else a name may be that of another value
        of_layers_[layer].push_back(std::move(way));
        return;
      }
      const auto passed =
          value->producer() == nullptr ? std::nullopt : passed_of(*value->producer(), is_of_a ? in_a_.types() : types_b_, constants_);
      if (!passed) return;
      if (passed->passed) way.passed.push_back(*passed->passed);
      value = passed->operand;
    }
  }

  [[nodiscard]] std::size_t numbers_wanted() const {
    std::size_t most = 1;
    for (const auto& [name, ways] : of_inputs_) most = std::max(most, ways.size());
    for (const auto& [layer, ways] : of_layers_) most = std::max(most, ways.size());
    return most * kTies.size();
  }

  /// Overwrites a tensor by numbers that come to lie between two steps at the end of its ways, taking turns.
  void replace(const Datum& datum, const std::vector<TieWay>& ways, const Bounds& bounds, std::size_t run) {
    const Tensor& tensor = datum.tensor;
    if (datum.kind != Datum::Kind::tensor || !tensor || !kRealTypes.has(tensor.type()) || !tensor.is_contiguous()) return;
    std::vector<double> numbers = reals_of(tensor);
    fewest_ = std::min(fewest_, numbers.size());
    for (std::size_t w = 0; w < ways.size(); ++w) {
      const auto is_of_way = [&](std::size_t i) { return (i + run * numbers.size()) % ways.size() == w; };
      std::vector<double> on_way(numbers.size());
      for (std::size_t i = 0; i < numbers.size(); ++i)
        on_way[i] = ways[w].tie + kTies[(i + run * numbers.size()) / ways.size() % kTies.size()];
      bool fits = true;
      for (const Passed& passed : ways[w].passed) {
        const auto by = spread(passed, tensor.dims());
        fits = fits && by;
        for (std::size_t i = 0; fits && i < on_way.size(); ++i) on_way[i] = passed.undone(on_way[i], (*by)[i]);
      }
      for (std::size_t i = 0; fits && i < numbers.size(); ++i) {
        if (is_of_way(i) && on_way[i] >= bounds.lowest && on_way[i] <= bounds.highest) numbers[i] = on_way[i];
      }
    }
    store(tensor.type(), tensor.bytes(), 1, tensor.element_count(), numbers.data());
  }

  /// Notes which elements of an operand are between two steps.
  static void note(TiedResult& result, const Rounding& rounding, const Datum& operand) {
    if (operand.kind != Datum::Kind::tensor || !operand.tensor || !kRealTypes.has(operand.tensor.type())) return;
    std::vector<double> numbers = reals_of(operand.tensor);
    if (rounding.scale) {
      const auto by = spread(*rounding.scale, operand.tensor.dims());
      if (!by) return;
      // A quantizer divides in the type of its operand; in f16 and bf16, as f32 at least.
      const bool is_double = operand.tensor.type() == DataType::float64;
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = is_double ? numbers[i] / (*by)[i] : static_cast<double>(static_cast<float>(numbers[i]) / static_cast<float>((*by)[i]));
      }
    }
    auto& [dims, at_ties] = result.at_ties[rounding.node];
    if (dims != operand.tensor.dims() || at_ties.size() != numbers.size()) at_ties.assign(numbers.size(), false);
    dims = operand.tensor.dims();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double from = numbers[i] - rounding.tie;
      at_ties[i] = at_ties[i] || from == 0 || (!rounding.is_limit && from == std::floor(from));
    }
  }

  using Results = std::unordered_map<const Change*, TiedResult>;

  [[nodiscard]] Results run_side(const Side& side, std::size_t run) {
    const bool is_a = &side == &pair_.a;
    Results out;
    const auto see = [&](const Value& value, const Datum& datum) {
      for (const TiedChange& tied : changes_) {
        if (&value == (is_a ? tied.change->a : tied.change->b)) out[tied.change].made = copy_of(datum);
      }
      const Layer* const layer = is_a ? layers_.of_a(value) : layers_.of_b(value);
      const auto found = of_layers_.find(layer);
      if (layer != nullptr && found != of_layers_.end()) replace(datum, found->second, in_a_.of(*layer->a), run);
      for (const TiedChange& tied : changes_) {
        for (const Rounding& rounding : is_a ? tied.of_a : tied.of_b) {
          if (rounding.node->input(0) == &value) note(out[tied.change], rounding, datum);
        }
      }
    };
    ExecuteOptions options = pair_.execute_options(Mode::as_written);
    options.observe = [&](const Node& node, const std::vector<Datum>& outputs) {
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        if (node.output(k) != nullptr) see(*node.output(k), outputs[k]);
      }
    };
    pair_.steps->next(kStep);
    const std::unique_ptr<Session> session = pair_.open(side, std::move(options));
    Inputs copies = evidence_.reference().inputs_of(run % evidence_.reference().samples().size());
    for (auto& [name, datum] : copies) {
      datum = copy_of(datum);
      const auto found = of_inputs_.find(name);
      if (found != of_inputs_.end()) replace(datum, found->second, {}, run);
      const Value* const input = side.model->graph().find(name);
      if (input != nullptr) see(*input, datum);
    }
    (void)session->run(copies);
    return out;
  }

  /// The first element that is between two steps in both models, and differs.
  struct Apart {
    double a = 0, b = 0;
  };
  [[nodiscard]] std::optional<Apart> difference(const TiedResult& of_a, const TiedResult& of_b) const {
    const auto [a, b] = comparable(of_a.made, of_b.made);
    if (!structural_difference(a, b).empty() || !(kNumericTypes | kBooleanTypes).has(a.tensor.type())) return std::nullopt;
    const auto are_all_at_ties = [](const TiedResult& result) {
      return std::ranges::all_of(result.at_ties,
                                 [](const auto& node) { return std::ranges::find(node.second.second, false) == node.second.second.end(); });
    };
    // Where results are in another form, as those of a Loop, all elements are.
    const bool are_all = are_all_at_ties(of_a) && are_all_at_ties(of_b);
    const auto is_at_tie = [&](const TiedResult& result, std::size_t i) {
      return are_all || std::ranges::any_of(result.at_ties, [&](const auto& node) {
               return node.second.first == a.tensor.dims() && node.second.second[i];
             });
    };
    const std::vector<double> x = reals_of(a.tensor), y = reals_of(b.tensor);
    double range = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (is_at_tie(of_a, i) && is_at_tie(of_b, i) && std::isfinite(x[i])) range = std::max(range, std::fabs(x[i]));
    }
    const DataType type = pair_.type_of_floor(a.tensor.type());
    const double rounding = (is_narrow(type) ? kFloorFactor : thresholds::kAloneLeastBounds) * dtype_minimum(type) * range;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::fabs(x[i] - y[i]) > rounding && is_at_tie(of_a, i) && is_at_tie(of_b, i)) return Apart{x[i], y[i]};
    }
    return std::nullopt;
  }

  [[nodiscard]] VerifyFinding describe(const TiedChange& tied, const Apart& apart) const {
    const Node& node = *tied.of_b.front().node;
    const std::vector<std::size_t>& entries = tied.change->entries;
    const std::string what = entries.empty() ? "" : evidence_.unexplained()[entries.front()].text + ", ";
    return {.text = what + "node " + node.label() + " of B rounds a number between two steps to " + significant(apart.b, 3) +
                    ", where A has " + significant(apart.a, 3) + ", and no sample holds such numbers (--input gives your own)",
            .node = reported_name(node)};
  }

  const Pair& pair_;
  Evidence& evidence_;
  const Layers& layers_;
  Constants constants_;
  OpSignatures signatures_;
  ValueBounds in_a_;
  ElementTypes types_b_;
  std::vector<TiedChange> changes_;
  std::unordered_map<std::string, std::vector<TieWay>> of_inputs_;
  std::unordered_map<const Layer*, std::vector<TieWay>> of_layers_;
  std::size_t fewest_ = 0;  ///< elements of a tensor replaced in the current run
};

}  // namespace

/// Samples of random numbers hold none that is exactly between two steps, where rules of rounding differ. Only numbers that are so in both
/// models count: computed in another order, they may fall to either side.
VerifyFindings find_rounding_ties(Evidence& evidence) {
  TieRuns runs(evidence);
  return runs.are_wanted() ? runs.compare() : VerifyFindings();
}

}  // namespace relayout
