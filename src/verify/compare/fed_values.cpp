// Chooses the values fed to nodes that are compared one by one: the original's, or others where those hide what a node does.
#include "verify/compare/fed_values.h"

#include <cmath>

#include "base/positions.h"
#include "base/random.h"
#include "model/walk.h"
#include "ops/bounds.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/compare/datum_pair.h"
#include "verify/compare/layers.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/noise.h"
#include "verify/thresholds.h"

namespace relayout {

// Operators that treat some numbers apart, and so show differences only there.
namespace {

/// Whether the condition of a Where results from a test, or from a comparison of one of the values that the Where chooses from.
bool tests_its_choice(const Node& where) {
  constexpr std::size_t kMostNodes = 16;
  std::vector<const Value*> open{where.input(0)};
  std::unordered_set<const Node*> seen;
  while (!open.empty() && seen.size() < kMostNodes) {
    const Node* const node = open.back() == nullptr ? nullptr : open.back()->producer();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    if (has_trait(*node, Trait::tests)) return true;
    const auto is_chosen = [&](const Value* input) { return input != nullptr && (input == where.input(1) || input == where.input(2)); };
    if (compares(predicate_of(*node)) && std::ranges::any_of(node->inputs(), is_chosen)) return true;
    if (has_trait(*node, Trait::makes_boolean)) open.insert(open.end(), node->inputs().begin(), node->inputs().end());
  }
  return false;
}

}  // namespace

bool is_search(const Node& node) {
  return has_trait(node, Trait::searches);
}

namespace {

/// Whether a search reads a node's result, in another order or other dims perhaps.
bool leads_to_search(const Node& node, int passed = 0) {
  constexpr int kMostNodes = 4;
  const Value* const result = node.output(0);
  return result != nullptr && std::ranges::any_of(result->uses(), [&](const Use& use) {
           const bool is_passed = use.index == 0 && passed < kMostNodes && traits_of(*use.node).moves_input(0);
           return (use.index == 0 && is_search(*use.node)) || (is_passed && leads_to_search(*use.node, passed + 1));
         });
}

}  // namespace

bool may_treat_apart(const Node& node) {
  return limits(node) || compares(predicate_of(node)) || (treats_apart(node) && !is_search(node));
}

bool treats_apart(const Node& node) {
  return is_search(node) || has_trait(node, Trait::tests) || (node.is("Where") && tests_its_choice(node));
}

bool depends_on_sign(const Node& node) {
  const bool bends = has_trait(node, Trait::piecewise) && (has_trait(node, Trait::contracts) || limits(node));
  const bool saturates = has_trait(node, Trait::contracts) && is_bounded(node) && leads_to_search(node);
  return bends || saturates || node.is("MaxPool") || node.is("Pad");
}

bool follows_test(const Node& node) {
  constexpr int kMostNodes = 8;
  const Node* at = &node;
  for (int step = 0; step < kMostNodes; ++step) {
    const Node* made = nullptr;
    for (const Value* const input : at->inputs()) {
      if (input != nullptr && input->producer() != nullptr && !input->is_stored_constant())
        made = made == nullptr ? input->producer() : made;
    }
    if (made == nullptr) return false;
    if (has_trait(*made, Trait::tests)) return true;
    const Reduces reduced = reduces(*made);
    const bool sums_up = reduced == Reduces::maximum || reduced == Reduces::minimum || reduced == Reduces::sum;
    if (!sums_up && !has_trait(*made, Trait::casts) && !has_trait(*made, Trait::makes_boolean) && !traits_of(*made).moves_input(0))
      return false;
    at = made;
  }
  return false;
}

// The values.
// Values that may become NaN or infinite.
RealReach::RealReach(const Graph& graph) {
  OpSignatures signatures;
  const ElementTypes types(graph, signatures);
  // An unknown type may be real.
  const auto is_real = [&](const Value& value) {
    const DataType type = types.of(value);
    return type == DataType::undefined || kRealTypes.has(type);
  };
  for (const Value* const input : graph.inputs()) {
    if (input->initializer() == nullptr && is_real(*input)) values_.insert(input);
  }
  for (const Node& node : graph.nodes()) {
    // Values that a nested graph reads from outside are not among the inputs of its node.
    const bool is_reached = !node.subgraphs().empty() ||
                            std::ranges::any_of(node.inputs(), [&](const Value* input) { return input != nullptr && has(*input); });
    if (!is_reached) continue;
    for (const Value* const output : node.outputs()) {
      if (output != nullptr && is_real(*output)) values_.insert(output);
    }
  }
}

namespace {

/// Whether a linear operator computes a value, scaled and shifted by constants at most: its result may be any number.
bool is_made_by_linear(const Value& made) {
  constexpr int kMostNodes = 8;
  const Value* value = &made;
  for (int step = 0; step < kMostNodes && value != nullptr && value->producer() != nullptr; ++step) {
    const Node& node = *value->producer();
    if (has_trait(node, Trait::multiplies)) return true;
    const auto varies = [](const Value* input) { return input != nullptr && !input->is_stored_constant(); };
    if (!has_trait(node, Trait::affine) || std::ranges::count_if(node.inputs(), varies) != 1) return false;
    value = *std::ranges::find_if(node.inputs(), varies);
  }
  return false;
}

/// Whether a search for the largest or smallest of several numbers reads a value: it compares numbers of any type.
bool is_searched(const Value& value) {
  return std::ranges::any_of(value.uses(), [](const Use& use) { return use.index == 0 && is_search(*use.node); });
}

/// The magnitudes of a free feeding.
thresholds::Powers powers_of(Feeding feeding) {
  switch (feeding) {
    case Feeding::small:
      return thresholds::kSmallPowers;
    case Feeding::tiny:
      return thresholds::kTinyPowers;
    case Feeding::faint:
      return thresholds::kFaintPowers;
    case Feeding::faintest:
      return thresholds::kFaintestPowers;
    case Feeding::near:
      return thresholds::kNearPowers;
    case Feeding::middle:
      return thresholds::kMiddlePowers;
    default:
      return thresholds::kFarPowers;
  }
}

/// 2 to the power of the exponent of a normal number.
double power_of_two(int exponent) {
  constexpr int kBias = 1023, kMantissa = 52;
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + kBias) << kMantissa);
}

}  // namespace

FedValues::FedValues(const LayerTask& task) : task_(&task) {
  if (is_edge(task.feeding) && task.feeding != Feeding::tied) reach_ = RealReach(task.a->model->graph());
}

void FedValues::move(const Value& value, const Datum& datum, int draw) const {
  for (const Tensor& tensor : leaves(datum)) {
    if (!tensor || unit_roundoff(tensor.type()) == 0 || unit_roundoff(tensor.type()) > coarsest_) continue;
    const Tensor moved = moved_by_one_ulp(tensor, task_->options->seed, "value " + value.name(), draw, task_->grain);
    if (moved.bytes() != tensor.bytes()) overwrite(tensor, moved);
  }
}

void FedValues::feed(const Layer& layer, const Datum& datum, const Datum& reference) const {
  if (&datum != &reference) overwrite(datum, reference);
  if (layer.leaks) return;  // other numbers would reach only part of its consumers in one of the models
  if (task_->feeding == Feeding::shaken) {
    const RandomStream random(task_->options->seed, "shaken " + layer.a->name(), 0);
    const double deviation = thresholds::kShakenDeviations * layer.yardstick.sigma();
    edit(datum, kRealTypes, [&](std::size_t i, double& value) { value += deviation * random.nearly_normal(i); });
  } else if (is_free(task_->feeding) && is_made_by_linear(*layer.a)) {
    fill(layer.a->name(), datum);
  } else if (task_->feeding == Feeding::tied) {
    if (kRealTypes.has(type_of(datum)) || is_searched(*layer.a) || is_searched(*layer.b)) tie(layer.a->name(), datum);
  } else if (is_edge(task_->feeding) && reach_.has(*layer.a) && is_made_by_linear(*layer.a)) {
    sprinkle(layer.a->name(), datum);
  }
}

void FedValues::feed_input(const std::string& name, const Datum& datum) const {
  const bool is_given = task_->options->inputs.contains(name);
  if (is_free(task_->feeding) && !is_given) fill(name, datum);
  if (task_->feeding == Feeding::odd && !is_given && task_->plain_integers.contains(name)) make_odd(name, datum);
  if (!is_edge(task_->feeding) || (is_given && is_of_one_sign(task_->feeding))) return;
  const Value *const in_a = task_->a->model->graph().find(name), *const in_b = task_->b->model->graph().find(name);
  if (task_->feeding != Feeding::tied) {
    sprinkle(name, datum);
    const double mask = task_->feeding == Feeding::infinite ? 1 : 0;
    if (task_->masks.contains(name)) edit(datum, kIntegerTypes | kBooleanTypes, [&](std::size_t, double& value) { value = mask; });
  } else if (kRealTypes.has(type_of(datum)) || (in_a != nullptr && is_searched(*in_a)) || (in_b != nullptr && is_searched(*in_b))) {
    tie(name, datum);
  }
}

void FedValues::make_odd(const std::string& name, const Datum& datum) const {
  const Tensor& tensor = datum.tensor;
  if (datum.kind != Datum::Kind::tensor || !tensor || !tensor.is_contiguous() || !kIntegerTypes.has(tensor.type())) return;
  constexpr uint64_t kNeighbours = 4;
  // Exponents of powers of two from which bfloat16, float16, float32 and float64, or only the type that B computes in, round the
  // neighbours.
  std::vector<int> held;
  for (const DataType real : {DataType::bfloat16, DataType::float16, DataType::float32, DataType::float64}) {
    const int bits = std::ilogb(kNeighbours * 2 / unit_roundoff(real));
    const bool is_wanted = task_->grain == DataType::undefined || task_->grain == real;
    if (is_wanted && bits < traits(tensor.type()).bits - 1) held.push_back(bits);
  }
  if (held.empty()) return;
  // Of two inputs, some elements are less in one, others in the other; the first of a row is neither the largest nor the smallest.
  constexpr std::array<std::array<int64_t, kNeighbours>, 2> kOrders{{{1, 0, 3, 2}, {2, 3, 0, 1}}};
  const auto place = std::distance(task_->plain_integers.begin(), task_->plain_integers.find(name));
  const std::size_t length = tensor.dims().empty() ? 1 : std::max<std::size_t>(1, as_size(tensor.dims().back()));
  std::vector<int64_t> numbers(as_size(tensor.element_count()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t row = i / length, last = held.size() - 1;
    const int bits = held[last - std::min(last, row % 2)];
    // Rounded, all of a row are equal. A row of two begins with the second of them.
    const std::size_t order = (as_size(place) + (length == 1 ? row / 2 : 0)) % 2;
    numbers[i] = (int64_t{1} << bits) + kOrders[order][(i % length + (length == 2 ? 1 : 0)) % kNeighbours];
  }
  store(tensor.type(), tensor.bytes(), 1, tensor.element_count(), numbers.data());
}

void FedValues::tie(const std::string& name, const Datum& datum) const {
  const RandomStream random(task_->options->seed, "tied " + name, 0);
  // All of few elements become equal: of several numbers, none might occur twice in a row of the tensor.
  constexpr uint64_t kNumbers = 3;
  constexpr int64_t kFew = 16;
  const bool is_few = datum.tensor && datum.tensor.element_count() <= kFew;
  std::vector<double> numbers;
  edit(datum, kNumericTypes | kBooleanTypes, [&](std::size_t i, double& value) {
    if (numbers.size() < (is_few ? 1 : kNumbers)) numbers.push_back(value);
    value = numbers[random.below(i, numbers.size())];
  });
}

void FedValues::fill_of_one_sign(const std::string& name, const Datum& datum) const {
  const RandomStream random(task_->options->seed, "sign " + name, 0);
  const double least = is_narrow(task_->grain) ? thresholds::kLeastBeyondPaddingNarrow : thresholds::kLeastBeyondPadding;
  edit(datum, task_->plain_integers.contains(name) ? kNumericTypes : kRealTypes, [&](std::size_t i, double& value) {
    const double size = least * (1 + 0.125 * static_cast<double>(random.below(i, 8)));
    value = task_->feeding == Feeding::negative ? -size : size;
  });
}

void FedValues::sprinkle(const std::string& name, const Datum& datum) const {
  if (is_of_one_sign(task_->feeding)) return fill_of_one_sign(name, datum);
  if (datum.kind != Datum::Kind::tensor || !datum.tensor || datum.tensor.element_count() == 0) return;
  const RandomStream random(task_->options->seed, "edge " + name, 0);
  const double infinity = std::numeric_limits<double>::infinity();
  const double special = task_->feeding == Feeding::not_a_number ? std::numeric_limits<double>::quiet_NaN()
                         : task_->feeding == Feeding::infinite   ? infinity
                                                                 : -infinity;
  // Rows along the last axis repeat in fours: one special element, none, the whole row, one in kOneOf elements.
  constexpr std::size_t kKinds = 4;
  constexpr uint64_t kOneOf = 8;
  const std::size_t length = datum.tensor.dims().empty() ? 1 : as_size(datum.tensor.dims().back());
  edit(datum, kRealTypes, [&](std::size_t i, double& value) {
    const std::size_t row = i / length, at = i % length, kind = row % kKinds;
    const bool is_the_one = kind == 0 && at == random.below(row, length);
    if (is_the_one || kind == 2 || (kind == 3 && random.below(i, kOneOf) == 0)) value = special;
  });
}

void FedValues::fill(const std::string& name, const Datum& datum) const {
  const RandomStream random(task_->options->seed, "free " + name, 0);
  const bool is_near = task_->feeding == Feeding::near;
  const auto [lowest, highest] = powers_of(task_->feeding);
  edit(datum, task_->plain_integers.contains(name) ? kNumericTypes : kRealTypes, [&](std::size_t i, double& value) {
    // A power of two times 1, 1.25, 1.5 or 1.75: exact in every floating-point type. For integers the number is truncated and saturates.
    const auto exponent = static_cast<int>(std::floor(lowest + (highest - lowest) * random.uniform(2 * i)));
    const double power = power_of_two(exponent);
    const uint64_t bits = random.bits(2 * i + 1);
    value = ((bits & 4U) != 0 ? -power : power) * (1 + 0.25 * static_cast<double>(bits & 3U));
    if (is_near && (bits >> 3) % thresholds::kNumbersPerZero == 0) value = 0;
  });
}

void FedValues::hold(const Layer& layer, const Datum& datum) const {
  const double held = unit_roundoff(layer.held);
  const bool rounds = held > unit_roundoff(type_of(datum)) && held <= unit_roundoff(task_->grain);
  if (rounds && datum.kind == Datum::Kind::tensor) overwrite(datum, through(datum, layer.held));
}

std::function<void(const std::string&, Tensor&)> FedValues::holding_constants() const {
  std::unordered_map<std::string, DataType> held;
  OpSignatures signatures;
  const Graph& graph = task_->b->model->graph();
  const ElementTypes types(graph, signatures);
  const auto note = [&](const Value& value) {
    const DataType type = types.of(value);
    if (unit_roundoff(type) > 0 && unit_roundoff(type) <= unit_roundoff(task_->grain)) held.emplace(value.name(), type);
  };
  const auto note_constant = [&](const Node& node) {
    if (node.is("Constant") && node.output(0) != nullptr) note(*node.output(0));
  };
  for_each_node(graph, note_constant, [&](const Graph& entered) {
    for (const Initializer& initializer : entered.initializers()) note(*initializer.value);
  });
  return [held = std::move(held)](const std::string& name, Tensor& tensor) {
    const auto found = held.find(name);
    if (found == held.end() || unit_roundoff(found->second) <= unit_roundoff(tensor.type())) return;
    tensor = through(Datum(tensor), found->second).tensor;
  };
}

}  // namespace relayout
