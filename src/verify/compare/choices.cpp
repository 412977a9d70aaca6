// Compares the numbers by which nodes of both models choose, as equal choices hide how far these numbers differ.
#include "verify/compare/choices.h"

#include <cmath>

#include "model/functions.h"
#include "model/node.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/compare_nodes.h"
#include "verify/compare/datum_pair.h"
#include "verify/compare/fed_runs.h"
#include "verify/compare/fed_values.h"
#include "verify/compare/layers.h"
#include "verify/compare/pairing.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/quantizer.h"
#include "verify/run/reference.h"
#include "verify/run/reference_output.h"
#include "verify/thresholds.h"

namespace relayout {
namespace {

/// How a node chooses.
enum class Choosing : uint8_t { not_at_all, steps, search, comparison, quantizer, boxes };

/// Whether a Cast of real numbers gives integers or conditions.
bool casts_to_steps(const Node& node) {
  if (!has_trait(node, Trait::casts)) return false;
  const DataTypeTraits* const to = find_traits(Attributes(node).integer("to", 0));
  return to != nullptr && !to->is_float;
}

Choosing choosing_of(const Node& node) {
  const Traits traits = traits_of(node);
  const bool has_steps = traits.rounds() != Rounds::none || node.is("Sign") || node.is("NonZero");
  if (has_steps || casts_to_steps(node)) return Choosing::steps;
  if (traits.has(Trait::searches)) return Choosing::search;
  if (compares(traits.predicate())) return Choosing::comparison;
  if (node.is("NonMaxSuppression")) return Choosing::boxes;
  return node.is("QuantizeLinear") ? Choosing::quantizer : Choosing::not_at_all;
}

/// Whether two nodes choose in the same way. Comparisons of one pair of numbers have one boundary, whichever side is true.
bool are_alike(const Node& a, const Node& b) {
  const Choosing how = choosing_of(a);
  if (how != choosing_of(b)) return false;
  if (how == Choosing::comparison) return (predicate_of(a) == Predicate::equal) == (predicate_of(b) == Predicate::equal);
  return a.op_type() == b.op_type() && Attributes(a).integer("to", 0) == Attributes(b).integer("to", 0);
}

using Nodes = std::vector<const Node*>;
using NodeSet = std::unordered_set<const Node*>;

/// Nodes with those in the graphs and functions that they run.
Nodes with_inner(const Nodes& nodes, const Functions& functions) {
  Nodes out;
  for (const Node* const node : nodes) {
    (void)any_node_run(*node, functions, [&](const Node& inner) {
      out.push_back(&inner);
      return false;
    });
  }
  return out;
}

/// Whether a larger operand always gives a larger result, the others being equal: a search finds the same in both.
bool increases(const Node& node, Constants& constants) {
  if (has_trait(node, Trait::increases) || traits_of(node).moves_input(0)) return true;
  const Arithmetic arithmetic = arithmetic_of(node);
  const bool shifts = arithmetic == Arithmetic::add || arithmetic == Arithmetic::subtract;
  const bool scales = arithmetic == Arithmetic::multiply || arithmetic == Arithmetic::divide;
  if ((!shifts && !scales) || node.inputs().size() != 2) return false;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto known = node.input(i) == nullptr ? std::nullopt : constants.value(*node.input(i));
    if (!known || known->element_count() != 1 || !kRealTypes.has(known->type())) continue;
    const bool is_second = i == 1;
    return shifts ? (is_second || arithmetic == Arithmetic::add)
                  : reals_of(*known).front() > 0 && (is_second || arithmetic == Arithmetic::multiply);
  }
  return false;
}

/// Whether nodes round to, or count from, the same steps, whatever the zero point that stands for the same ends.
bool have_same_steps(const Node& node, const Node& other, Constants& constants) {
  const auto one = Quantizer::of(node, constants), two = Quantizer::of(other, constants);
  if (!one || !two || !one->is_one_for_all() || !two->is_one_for_all()) return false;
  const auto scale_of = [&](const Node& of) { return reals_of(*constants.value(*of.input(1))).front(); };
  return scale_of(node) == scale_of(other) && one->range() == two->range();
}

/// The value that is rounded first to the steps of a quantizer: nodes upstream may have rounded, dequantized and moved its operand. Only
/// over `nodes`.
const Value* first_rounded(const Node& quantizer, const Value& operand, const NodeSet& nodes, Constants& constants) {
  const Value *rounded = &operand, *at = &operand;
  bool is_dequantized = false;
  while (at != nullptr && at->producer() != nullptr && nodes.contains(at->producer())) {
    const Node& maker = *at->producer();
    const bool is_next = has_trait(maker, Trait::quantizes) && has_trait(maker, Trait::chooses) == is_dequantized;
    const bool turns = is_next && have_same_steps(maker, quantizer, constants);
    if (!turns && !has_trait(maker, Trait::permutes)) break;
    at = maker.input(0);
    if (!turns) continue;
    if (is_dequantized && at != nullptr) rounded = at;
    is_dequantized = !is_dequantized;
  }
  return rounded;
}

/// The value upstream of nodes that leave a choice what it is: of further steps in front of steps, of increasing functions in front of a
/// search, of rounding to the same steps in front of a quantizer. Only over `nodes`.
const Value* basis_of(const Node& node, const Value& operand, const NodeSet& nodes, Constants& constants) {
  const Choosing how = choosing_of(node);
  if (how == Choosing::quantizer) return first_rounded(node, operand, nodes, constants);
  const Value* at = &operand;
  while (at->producer() != nullptr && nodes.contains(at->producer())) {
    const Node& maker = *at->producer();
    const bool is_passed =
        how == Choosing::steps ? choosing_of(maker) == Choosing::steps : how == Choosing::search && increases(maker, constants);
    if (!is_passed) break;
    const auto varies = [&](const Value* input) { return input != nullptr && !constants.is_constant(*input); };
    const auto next = std::ranges::find_if(maker.inputs(), varies);
    if (next == maker.inputs().end()) break;
    at = *next;
  }
  return at;
}

/// Two choosing nodes, and the values by which they choose: two for comparisons and boxes.
struct ChoicePair {
  const Node *a = nullptr, *b = nullptr;
  std::vector<const Value*> by_a, by_b;
  std::vector<std::size_t> entries;
};

/// Finds the choosing nodes that both models have around the values that a proof leaves open.
class ChoicePairs {
 public:
  ChoicePairs(const Pair& pair, const Layers& layers, const Suspects& suspects)
      : layers_(layers), functions_a_(*pair.a.model), functions_b_(*pair.b.model) {
    for (const Layer& layer : layers.all()) {
      const Nodes of_a = layers.region_in_a(layer), of_b = layers.region_in_b(layer);
      Nodes both = of_b;
      both.insert(both.end(), of_a.begin(), of_a.end());
      std::vector<std::size_t> entries = suspects.of(both);
      if (entries.empty()) entries = misread_entries(layers, layer, suspects);
      if (entries.empty() && !suspects.are_unreached(of_b)) continue;
      add(with_inner(of_a, functions_a_), with_inner(of_b, functions_b_), entries);
    }
  }

  [[nodiscard]] const std::vector<ChoicePair>& all() const noexcept { return pairs_; }

 private:
  void add(const Nodes& of_a, const Nodes& of_b, const std::vector<std::size_t>& entries) {
    const NodeSet in_a(of_a.begin(), of_a.end()), in_b(of_b.begin(), of_b.end());
    for (const Node* const b : of_b) {
      if (choosing_of(*b) == Choosing::not_at_all || !seen_.insert(b).second) continue;
      const Node* const a = find_like(*b, of_a, of_b);
      if (a == nullptr) continue;
      ChoicePair found{a, b, {}, {}, entries};
      const Choosing how = choosing_of(*b);
      const std::size_t operands = how == Choosing::comparison || how == Choosing::boxes ? 2 : 1;
      for (std::size_t i = 0; i < operands && a->input(i) != nullptr && b->input(i) != nullptr; ++i) {
        found.by_a.push_back(basis_of(*a, *a->input(i), in_a, constants_));
        found.by_b.push_back(basis_of(*b, *b->input(i), in_b, constants_));
      }
      if (found.by_a.size() == operands) pairs_.push_back(std::move(found));
    }
  }

  /// The node of a that stands for one of b: of the same result, else the only one of its kind in both.
  [[nodiscard]] const Node* find_like(const Node& b, const Nodes& of_a, const Nodes& of_b) const {
    const Value* const made = first_output(b);
    const Layer* const layer = made == nullptr ? nullptr : layers_.of_b(*made);
    const Node* found = nullptr;
    for (const Node* const a : of_a) {
      if (!are_alike(*a, b)) continue;
      const Value* const result = first_output(*a);
      const bool is_same = result != nullptr && made != nullptr && (layer != nullptr ? layer->a == result : result->name() == made->name());
      if (is_same) return a;
      found = found == nullptr ? a : nullptr;
    }
    const auto is_like = [&](const Node* node) { return are_alike(*node, b); };
    return std::ranges::count_if(of_a, is_like) == 1 && std::ranges::count_if(of_b, is_like) == 1 ? found : nullptr;
  }

  const Layers& layers_;
  Functions functions_a_, functions_b_;
  Constants constants_;
  std::unordered_set<const Node*> seen_;
  std::vector<ChoicePair> pairs_;
};

/// The numbers of values in exact runs, and how far further runs move them; a value in a loop has them several times.
class SeenNumbers {
 public:
  explicit SeenNumbers(const std::vector<ChoicePair>& pairs) {
    for (const ChoicePair& pair : pairs) {
      for (const Value* const value : pair.by_a) seen_[value];
      for (const Value* const value : pair.by_b) seen_[value];
    }
  }

  /// `is_exact`: the next run is one whose numbers are kept.
  void start(bool is_exact) {
    is_exact_ = is_exact;
    for (auto& [value, seen] : seen_) seen.next = 0;
  }
  void watch(const Value& value, const Datum& datum) {
    constexpr std::size_t kMostTimes = 64;
    const auto found = seen_.find(&value);
    if (found == seen_.end() || datum.kind != Datum::Kind::tensor || !datum.tensor) return;
    Seen& seen = found->second;
    const std::size_t at = seen.next++;
    if (at >= kMostTimes) return;
    if (is_exact_) {
      seen.numbers.resize(std::max(seen.numbers.size(), at + 1));
      seen.numbers[at] = copy_of(datum);
    } else if (at < seen.numbers.size() && structural_difference(seen.numbers[at], datum).empty()) {
      seen.moved = std::max(seen.moved, distance(seen.numbers[at], datum).max_abs);
    }
  }

  /// In the order of the runs; of a constant, its only one.
  [[nodiscard]] std::vector<Datum> of(const Value& value) {
    const auto known = constants_.value(value);
    return known ? std::vector<Datum>{Datum(contiguous(*known))} : seen_.at(&value).numbers;
  }
  [[nodiscard]] double moved(const Value& value) const { return seen_.at(&value).moved; }

 private:
  struct Seen {
    std::vector<Datum> numbers;
    std::size_t next = 0;
    double moved = 0;
  };
  std::unordered_map<const Value*, Seen> seen_;
  Constants constants_;
  bool is_exact_ = true;
};

/// Numbers by which both models choose, and how far rounding may move those.
struct Numbers {
  std::vector<double> a, b;
  DataType type = DataType::undefined;  ///< of A's, the coarser of two
  double moved = 0;
};

double step_of(const Node& node, double number) {
  if (const Rounds how = rounds(node); how != Rounds::none) return rounded(how, number);
  const bool is_integer = has_trait(node, Trait::casts) && Attributes(node).integer("to", 0) != static_cast<int64_t>(DataType::boolean);
  return is_integer ? std::trunc(number) : number > 0 ? 1 : number < 0 ? -1 : 0;
}

/// Elements that come to lie on other steps have been tried: the nodes downstream make up for them.
void leave_out_tried(const Node& node, Numbers& numbers) {
  for (std::size_t i = 0; i < numbers.a.size(); ++i) {
    if (step_of(node, numbers.a[i]) != step_of(node, numbers.b[i])) numbers.b[i] = numbers.a[i];
  }
}

/// Quantizers of different scales choose by places between the ends of their grids.
void limit_to_grid(const ChoicePair& pair, Numbers& numbers) {
  Constants constants;
  const auto a = Quantizer::of(*pair.a, constants), b = Quantizer::of(*pair.b, constants);
  if (!a || !b || !a->is_one_for_all() || !b->is_one_for_all()) return;
  const auto place = [](std::vector<double>& of, const Bounds& ends) {
    for (double& number : of) number = (std::clamp(number, ends.lowest, ends.highest) - ends.lowest) / (ends.highest - ends.lowest);
  };
  numbers.moved /= a->range().highest - a->range().lowest;
  place(numbers.a, a->range());
  place(numbers.b, b->range());
}

/// The distances of two operands; empty if they do not fit.
std::vector<double> differences(const std::vector<double>& left, const std::vector<double>& right) {
  if (left.size() != right.size() && left.size() != 1 && right.size() != 1) return {};
  std::vector<double> out(std::max(left.size(), right.size()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = left[left.size() == 1 ? 0 : i] - right[right.size() == 1 ? 0 : i];
  return out;
}

/// A search finds the same in numbers that are all scaled and shifted alike: takes B's to A's scale.
void take_to_scale(Numbers& numbers) {
  double mean_a = 0, mean_b = 0, products = 0, squares = 0, count = 0;
  const auto visit = [&](const auto& add) {
    for (std::size_t i = 0; i < numbers.a.size(); ++i) {
      if (std::isfinite(numbers.a[i]) && std::isfinite(numbers.b[i])) add(numbers.a[i], numbers.b[i]);
    }
  };
  visit([&](double a, double b) { mean_a += a, mean_b += b, ++count; });
  if (count < 3) return;
  mean_a /= count, mean_b /= count;
  visit([&](double a, double b) { products += (a - mean_a) * (b - mean_b), squares += (a - mean_a) * (a - mean_a); });
  if (!(products > 0)) return;
  const double scale = products / squares;
  for (double& number : numbers.b) number = mean_a + (number - mean_b) / scale;
}

/// Keeps the distances nearest to the boundary of a comparison, those of B in A's scale: what is far from it does not decide.
/// `scale`: B's over A's, for a single distance.
void keep_nearest(Numbers& numbers, double scale) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < numbers.a.size(); ++i) {
    if (std::isfinite(numbers.a[i])) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::fabs(numbers.a[i]); });
  order.resize(std::min(order.size(), std::max<std::size_t>(2, order.size() / 8)));
  double products = 0, squares = 0;
  std::vector<bool> is_near(numbers.a.size());
  for (const std::size_t i : order) {
    is_near[i] = true;
    products += numbers.a[i] * numbers.b[i];
    squares += numbers.a[i] * numbers.a[i];
  }
  if (order.size() > 1 && products != 0 && squares != 0) scale = products / squares;
  for (std::size_t i = 0; i < numbers.b.size(); ++i) {
    numbers.b[i] = is_near[i] ? numbers.b[i] / scale : numbers.a[i];
  }
}

/// The error of numbers that chose alike, and its bound, both relative to their range; nullopt: within rounding.
std::optional<std::pair<double, double>> beyond_rounding(const Numbers& numbers, const Pair& pair) {
  const Tensor tensor(DataType::float64, {static_cast<int64_t>(numbers.a.size())});
  std::ranges::copy(numbers.a, tensor.data<double>());
  const Yardstick yardstick(tensor);
  double error = 0;
  for (std::size_t i = 0; i < numbers.a.size(); ++i) {
    const double apart = std::fabs(numbers.a[i] - numbers.b[i]);
    if (std::isfinite(apart)) error = std::max(error, apart);
  }
  const DataType type = pair.type_of_floor(numbers.type);
  Floor floor = least_floor(type, yardstick);
  widen(floor, {numbers.moved / yardstick.range(), 0});
  double bound = std::max(kFloorFactor * floor.max, dtype_minimum(type));
  if (yardstick.count() < thresholds::kFewestElements) bound *= thresholds::kBoundsForFewElements;
  error /= yardstick.range();
  return error > bound ? std::optional(std::pair(error, bound)) : std::nullopt;
}

/// Whether elements that are each chosen for alone lie in another order: what reads them decides about that.
bool are_moved(const Datum& a, const Datum& b) {
  if (a.tensor.element_count() != b.tensor.element_count()) return false;
  return a.tensor.dims() != b.tensor.dims() || agreement(a, b).correlation < thresholds::kSameThingCorrelation;
}

/// Whether a node rounds numbers of either sign alike and B's are A's with the other one, which steps other than 0 show to be intended.
bool are_mirrored(const Node& node, const Datum& a, const Datum& b) {
  const bool is_odd = rounds(node) == Rounds::to_nearest || node.is("Sign") || has_trait(node, Trait::casts);
  if (!is_odd || !structural_difference(a, b).empty() || agreement(a, b).correlation > -thresholds::kSameThingCorrelation) return false;
  const std::vector<double> of_a = reals_of(a.tensor), of_b = reals_of(b.tensor);
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    if (step_of(node, of_a[i]) != 0 && step_of(node, of_a[i]) == -step_of(node, of_b[i])) return true;
  }
  return false;
}

/// NaN last.
void sort_numbers(std::vector<double>& numbers) {
  std::ranges::sort(numbers, [](double left, double right) { return std::isnan(right) ? !std::isnan(left) : left < right; });
}

/// Compares the numbers of two nodes, each time that they choose.
class ChoiceComparison {
 public:
  ChoiceComparison(const Pair& pair, SeenNumbers& seen) : pair_(pair), seen_(seen) {}

  /// The largest error beyond rounding, and its bound.
  [[nodiscard]] std::optional<std::pair<double, double>> compare(const ChoicePair& choice) const {
    std::vector<std::vector<Datum>> of_a, of_b;
    for (const Value* const value : choice.by_a) of_a.push_back(seen_.of(*value));
    for (const Value* const value : choice.by_b) of_b.push_back(seen_.of(*value));
    std::optional<std::pair<double, double>> found;
    for (std::size_t time = 0; has(of_a, time) && has(of_b, time); ++time) {
      for (const Numbers& numbers : numbers_at(choice, of_a, of_b, time)) {
        const auto beyond = beyond_rounding(numbers, pair_);
        if (beyond && (!found || beyond->first > found->first)) found = beyond;
      }
    }
    return found;
  }

  /// Whether both models had numbers to choose by.
  [[nodiscard]] bool has_seen(const ChoicePair& choice) const {
    const auto is_seen = [&](const Value* value) { return !seen_.of(*value).empty(); };
    return std::ranges::all_of(choice.by_a, is_seen) && std::ranges::all_of(choice.by_b, is_seen);
  }

 private:
  /// Whether an operand has numbers for this time; a constant has the same always.
  [[nodiscard]] static bool has(const std::vector<std::vector<Datum>>& operands, std::size_t time) {
    const auto has_it = [&](const std::vector<Datum>& times) { return time < times.size() || (times.size() == 1 && operands.size() > 1); };
    const auto varies = [&](const std::vector<Datum>& times) { return time < times.size(); };
    return std::ranges::all_of(operands, has_it) && std::ranges::any_of(operands, varies);
  }
  [[nodiscard]] static const Datum& at(const std::vector<Datum>& times, std::size_t time) {
    return times[std::min(time, times.size() - 1)];
  }

  /// What counts of each operand, of the distance between two for a comparison; nothing that has another structure or is no real number.
  [[nodiscard]] std::vector<Numbers> numbers_at(const ChoicePair& choice, const std::vector<std::vector<Datum>>& of_a,
                                                const std::vector<std::vector<Datum>>& of_b, std::size_t time) const {
    const Choosing how = choosing_of(*choice.b);
    std::vector<Numbers> operands;
    for (std::size_t i = 0; i < of_a.size(); ++i) {
      const auto [a, b] = comparable(at(of_a[i], time), at(of_b[i], time));
      if (!is_measured(type_of(a)) || type_of(a) != type_of(b)) return {};
      const bool may_broadcast = how == Choosing::comparison;
      const bool is_mirrored = how == Choosing::steps && are_mirrored(*choice.b, a, b);
      const bool is_sorted = (how == Choosing::quantizer || how == Choosing::steps) && !is_mirrored && are_moved(a, b);
      if (!may_broadcast && !is_sorted && !structural_difference(a, b).empty()) return {};
      const double moved = std::max(seen_.moved(*choice.by_a[i]), seen_.moved(*choice.by_b[i]));
      operands.push_back({reals_of(a.tensor), reals_of(b.tensor), type_of(at(of_a[i], time)), moved});
      if (is_mirrored) std::ranges::transform(operands.back().b, operands.back().b.begin(), std::negate<>());
      if (!is_sorted) continue;
      sort_numbers(operands.back().a);
      sort_numbers(operands.back().b);
    }
    switch (how) {
      case Choosing::steps:
        leave_out_tried(*choice.b, operands.front());
        break;
      case Choosing::quantizer:
        limit_to_grid(choice, operands.front());
        break;
      case Choosing::search:
        take_to_scale(operands.front());
        break;
      case Choosing::comparison:
        return distances_of(operands);
      default:
        break;
    }
    return operands;
  }

  /// B's distance over A's if the second operands are to be equal, or A's second and B's first, whichever fits better.
  [[nodiscard]] static double scale_of(const std::vector<Numbers>& operands, const Numbers& distances) {
    const double right = operands[1].a.front();
    const auto error_by = [&](double by) { return std::fabs(distances.b.front() / by - distances.a.front()); };
    double best = 1;
    for (const double scale : {-1.0, operands[1].b.front() / right, -operands[0].b.front() / right}) {
      if (std::isfinite(scale) && scale != 0 && error_by(scale) < error_by(best)) best = scale;
    }
    return best;
  }

  [[nodiscard]] static std::vector<Numbers> distances_of(const std::vector<Numbers>& operands) {
    Numbers out{differences(operands[0].a, operands[1].a), differences(operands[0].b, operands[1].b), operands[0].type,
                operands[0].moved + operands[1].moved};
    if (out.a.size() != out.b.size() || out.a.empty()) return {};
    keep_nearest(out, scale_of(operands, out));
    return {out};
  }

  const Pair& pair_;
  SeenNumbers& seen_;
};

/// The layers, with those marked that follow from dims.
Layers seen_layers(const Pair& pair, Layers layers) {
  const auto known_a = values_known_by_dims(pair.a.model->graph()), known_b = values_known_by_dims(pair.b.model->graph());
  for (Layer& layer : layers.all()) layer.unseen = known_a.contains(layer.a) || known_b.contains(layer.b);
  return layers;
}

/// The choosing nodes of both models around values that the proof leaves open.
class Choices {
 public:
  Choices(const Pair& pair, const Reference& reference, const Paired& paired)
      : pair_(pair),
        reference_(reference),
        layers_(seen_layers(pair, paired.layers)),
        suspects_(*paired.suspects),
        pairs_(pair, layers_, suspects_),
        open_(pairs_.all()) {}

  /// Nodes in graphs that not every sample enters are compared over the first samples that do.
  [[nodiscard]] std::vector<OtherChoice> compare() {
    const bool has_inner = std::ranges::any_of(open_, [&](const ChoicePair& choice) { return is_inner(choice); });
    const std::size_t samples = reference_.samples().size();
    for (std::size_t s = 0; s < samples && !open_.empty(); ++s) {
      if (s >= thresholds::kLayerSamples) std::erase_if(open_, [&](const ChoicePair& choice) { return !is_inner(choice); });
      if (!open_.empty() && !pair_.steps->affords("choices", thresholds::kRunsByNode)) break;
      if (!open_.empty()) compare(s, has_inner);
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool is_inner(const ChoicePair& choice) const {
    return &choice.a->graph() != &pair_.a.model->graph() || &choice.b->graph() != &pair_.b.model->graph();
  }

  void compare(std::size_t sample, bool has_inner) {
    for (Layer& layer : layers_.all()) layer.apart = layer.before_jump;
    SeenNumbers seen(open_);
    LayerTask task = task_of(pair_, pair_.a, pair_.b, reference_, sample, "choices");
    task.grain = pair_.grain;
    task.watch = [&](const Value& value, const Datum& datum) { seen.watch(value, datum); };
    const std::optional<Excerpt> excerpt = has_inner ? std::nullopt : Excerpt::of(layers_, suspects_);
    FedRuns runs(task, layers_, excerpt ? &*excerpt : nullptr);
    runs.capture();
    seen.start(true);
    runs.feed_candidate();
    if (runs.has_misfed()) return;
    for (int draw = 0; draw < thresholds::kNoiseDraws; ++draw) {
      seen.start(false);
      runs.measure_floors(draw, 1);
    }
    const ChoiceComparison comparison(pair_, seen);
    const auto differs = [&](const ChoicePair& choice) { return comparison.compare(choice).has_value(); };
    if (std::ranges::any_of(open_, differs)) {
      for (int draw = 0; draw < thresholds::kNoiseDraws; ++draw) {
        seen.start(false);
        runs.widen_by_candidate(draw);
      }
    }
    std::erase_if(open_, [&](const ChoicePair& choice) {
      const auto beyond = comparison.compare(choice);
      if (beyond) found_.push_back({choice.a, choice.b, choice.entries, beyond->first, beyond->second});
      return beyond.has_value() || (is_inner(choice) && comparison.has_seen(choice) && sample >= thresholds::kLayerSamples);
    });
  }

  const Pair& pair_;
  const Reference& reference_;
  Layers layers_;
  const Suspects& suspects_;
  ChoicePairs pairs_;
  std::vector<ChoicePair> open_;
  std::vector<OtherChoice> found_;
};

}  // namespace

std::vector<OtherChoice> compare_choices(const Pair& pair, const Reference& reference, const Paired& paired) {
  return Choices(pair, reference, paired).compare();
}

}  // namespace relayout
