// Runs both models on zeros, equal numbers and numbers far apart, and finds the node whose results are finite in one of them alone.
#include "verify/doubts/extreme_runs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "model/needed.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/data_structure.h"
#include "verify/elements.h"
#include "verify/inputs/inputs.h"
#include "verify/nodes/datum_pair.h"
#include "verify/nodes/layers.h"
#include "verify/pair.h"
#include "verify/reference.h"
#include "verify/session.h"

namespace relayout {
namespace {

/// A low and a high number: Exp of the low one is 0 in the type, of the high one it is finite, and 1 minus its Sigmoid is 0.
struct Ends {
  double low, high;
  bool is_narrow;
};
Ends ends_of(DataType type) {
  if (type == DataType::float16) return {-30, 10, true};
  return type == DataType::float64 ? Ends{-800, 40, false} : Ends{-130, 40, false};
}

/// 0, 1 or 2: the sum of the digits of a position to the base 3, which is constant along no axis of a tensor.
int kind_of(std::size_t position) {
  std::size_t sum = 0;
  for (; position > 0; position /= 3) sum += position % 3;
  return static_cast<int>(sum % 3);
}

double number_of(Extreme extreme, Ends ends, std::size_t position, std::size_t item) {
  constexpr std::array kEqual{0.1, 1.7, -2.3, 0.37}, kUsual{1000.0, 3.0, 50.0, 200.0};
  switch (extreme) {
    case Extreme::zeros:
      return 0;
    case Extreme::equal:
      return kEqual[(position / item) % kEqual.size()];
    case Extreme::low:
      return ends.low;
    case Extreme::usual:
      return (position % 2 == 0 ? 1 : -1) * kUsual[position / 2 % kUsual.size()] * (ends.is_narrow ? 0.3 : 1);
    case Extreme::apart:
      break;
  }
  const int kind = kind_of(position);
  return kind == 0 ? ends.high : kind == 1 ? ends.low : 0;
}

/// Whether all elements of a constant are small numbers of one sign: guards rather than biases.
bool is_like_guard(const Value& value, Constants& constants) {
  constexpr double kMost = 0.01;
  const auto known = constants.value(value);
  if (!known || !kRealTypes.has(known->type()) || known->element_count() == 0) return false;
  bool is_above = true, is_below = true;
  for_each_chunk(contiguous(*known), [&](int64_t, std::span<const double> numbers) {
    is_above = is_above && std::ranges::all_of(numbers, [](double number) { return number > 0 && number <= kMost; });
    is_below = is_below && std::ranges::all_of(numbers, [](double number) { return number < 0 && number >= -kMost; });
  });
  return is_above || is_below;
}

/// Whether some elements of a constant are so small that only an operand at 0 lets them count.
bool holds_guard(const Value& value, Constants& constants) {
  constexpr double kMost = 1e-6;
  const auto known = constants.value(value);
  if (!known || !kRealTypes.has(known->type())) return false;
  bool is_somewhere_small = false;
  for_each_chunk(contiguous(*known), [&](int64_t, std::span<const double> numbers) {
    const auto is_small = [](double number) { return number != 0 && std::abs(number) <= kMost; };
    is_somewhere_small = is_somewhere_small || std::ranges::any_of(numbers, is_small);
  });
  return is_somewhere_small || is_like_guard(value, constants);
}

/// The only operand of a node that is no constant; nullptr if there are several.
const Value* sole_varying(const Node& node, Constants& constants) {
  const Value* varying = nullptr;
  for (const Value* const input : node.inputs()) {
    if (input == nullptr || constants.is_constant(*input)) continue;
    if (varying != nullptr && varying != input) return nullptr;
    varying = input;
  }
  return varying;
}

/// Whether a node adds a guard to its only operand that varies.
bool adds_guard(const Node* producer, Constants& constants) {
  if (producer == nullptr) return false;
  const Node& node = *producer;
  const Arithmetic arithmetic = arithmetic_of(node);
  if (arithmetic != Arithmetic::add && arithmetic != Arithmetic::subtract) return false;
  const bool is_guard = std::ranges::any_of(node.inputs(), [&](const Value* input) {
    return input != nullptr && constants.is_constant(*input) && holds_guard(*input, constants);
  });
  return is_guard && sole_varying(node, constants) != nullptr;
}

/// Whether a value may be any number: a linear operator's result, or an input, shifted by constants that are no guards, with `scaled` also
/// scaled.
bool may_be_any_number(const Value& made, bool scaled, Constants& constants) {
  constexpr int kMostNodes = 8;
  const Value* value = &made;
  for (int step = 0; step < kMostNodes; ++step) {
    if (value->producer() == nullptr) return step > 0 && value->is_model_input();
    const Node& node = *value->producer();
    if (has_trait(node, Trait::multiplies)) return true;
    if (!has_trait(node, Trait::affine) || (!scaled && arithmetic_of(node) != Arithmetic::add)) return false;
    const Value* varying = nullptr;
    for (const Value* const input : node.inputs()) {
      if (input == nullptr) continue;
      if (!constants.is_constant(*input)) {
        if (varying != nullptr) return false;
        varying = input;
      } else if (is_like_guard(*input, constants)) {
        return false;
      }
    }
    if (varying == nullptr) return false;
    value = varying;
  }
  return false;
}

int64_t count_not_finite(const Datum& datum) {
  int64_t count = 0;
  for (const Tensor& tensor : leaves(datum)) {
    if (!tensor || !kRealTypes.has(tensor.type())) continue;
    for_each_chunk(contiguous(tensor), [&](int64_t, std::span<const double> numbers) {
      count += std::ranges::count_if(numbers, [](double number) { return !std::isfinite(number); });
    });
  }
  return count;
}

/// What a run of one model showed.
struct Shown {
  std::unordered_map<const Layer*, int64_t> not_finite;  ///< numbers of elements
  std::vector<const Node*> makers;                       ///< accepted nodes that made them of finite operands
};

class ExtremeRuns {
 public:
  ExtremeRuns(const Pair& pair, const Reference& reference, Extreme extreme, const std::function<bool(const Node&)>& may_make)
      : pair_(pair),
        reference_(reference),
        extreme_(extreme),
        may_make_(may_make),
        masks_(reference.inputs().ports().masks()),
        integers_(reference.inputs().ports().plain_integers()),
        layers_(pair.a.model->graph(), pair.b.model->graph()) {
    Constants constants;
    for (const Layer& layer : layers_.all()) {
      const bool is_guarded_once = adds_guard(layer.a->producer(), constants) != adds_guard(layer.b->producer(), constants);
      if (extreme != Extreme::usual && is_guarded_once) continue;
      if (!layer.leaks && may_be_any_number(*layer.a, extreme != Extreme::usual, constants)) replaced_.insert(&layer);
    }
    if (extreme == Extreme::usual) return;
    for (const Layer& layer : layers_.all()) {
      if (!replaced_.contains(&layer)) replace_upstream(*layer.a, *layer.b, constants);
    }
  }

  [[nodiscard]] std::optional<FiniteMismatch> compare() {
    const Shown a = run(pair_.a), b = run(pair_.b);
    for (const Layer& layer : layers_.all()) {
      const auto of_a = a.not_finite.find(&layer), of_b = b.not_finite.find(&layer);
      if (of_a == a.not_finite.end() || of_b == b.not_finite.end() || of_a->second == of_b->second) continue;
      const bool is_of_a = of_a->second > of_b->second;
      const Node* const maker = maker_of(is_of_a ? *layer.a : *layer.b, is_of_a ? a : b);
      if (maker != nullptr) return FiniteMismatch{layer.b, maker, is_of_a};
    }
    return std::nullopt;
  }

 private:
  /// Replaces what stands upstream of the same nodes in both models and of guards that one of them alone may add.
  void replace_upstream(const Value& of_a, const Value& of_b, Constants& constants) {
    constexpr int kMostNodes = 8;
    const Value *a = &of_a, *b = &of_b;
    bool has_guard = false;
    for (int step = 0; step < kMostNodes && a->producer() != nullptr && b->producer() != nullptr; ++step) {
      const Node &node_a = *a->producer(), &node_b = *b->producer();
      const bool guards_a = adds_guard(&node_a, constants), guards_b = adds_guard(&node_b, constants);
      has_guard = has_guard || guards_a || guards_b;
      const bool is_any =
          has_guard && !guards_a && !guards_b && may_be_any_number(*a, true, constants) && may_be_any_number(*b, true, constants);
      if (is_any) {
        bases_.insert(a);
        bases_.insert(b);
        return;
      }
      const bool is_same = node_a.op_type() == node_b.op_type() && node_a.domain() == node_b.domain();
      if (!guards_a && !guards_b && !is_same) return;
      if (guards_a || !guards_b) a = sole_varying(node_a, constants);
      if (guards_b || !guards_a) b = sole_varying(node_b, constants);
      // A value with a partner is looked at by itself.
      if (a == nullptr || b == nullptr || (!guards_a && !guards_b && (layers_.of_a(*a) != nullptr || layers_.of_b(*b) != nullptr))) return;
    }
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
        if (is_replaced) replace(outputs[k], false);
      }
    };
    pair_.steps->next("extreme numbers");
    const std::unique_ptr<Session> session = pair_.open(side, std::move(options));
    Inputs copies = reference_.inputs_of(0);
    for (auto& [name, datum] : copies) {
      datum = copy_of(datum);
      replace(datum, extreme_ == Extreme::zeros && (masks_.contains(name) || integers_.contains(name)));
    }
    (void)session->run(copies);
    return out;
  }

  /// Overwrites a tensor of real numbers, or with `any_type` of any others, by numbers of this extreme.
  void replace(const Datum& datum, bool any_type) const {
    const Tensor& tensor = datum.tensor;
    const TypeSet types = any_type ? kNumericTypes | kBooleanTypes : kRealTypes;
    if (datum.kind != Datum::Kind::tensor || !tensor || !types.has(tensor.type()) || !tensor.is_contiguous()) return;
    const int64_t count = tensor.element_count();
    const std::size_t item = tensor.rank() == 0 ? 1 : as_size(count / std::max<int64_t>(1, tensor.dims().front()));
    std::vector<double> numbers(as_size(count));
    const Ends ends = ends_of(pair_.narrow == DataType::float16 ? pair_.narrow : tensor.type());
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = number_of(extreme_, ends, i, item);
    store(tensor.type(), tensor.bytes(), 1, count, numbers.data());
  }

  [[nodiscard]] static const Node* maker_of(const Value& value, const Shown& shown) {
    const auto upstream = needed_nodes({&value});
    const auto found = std::ranges::find_if(shown.makers, [&](const Node* node) { return upstream.contains(node); });
    return found == shown.makers.end() ? nullptr : *found;
  }

  const Pair& pair_;
  const Reference& reference_;
  Extreme extreme_;
  const std::function<bool(const Node&)>& may_make_;
  std::set<std::string> masks_, integers_;
  Layers layers_;
  std::unordered_set<const Layer*> replaced_;
  std::unordered_set<const Value*> bases_;  ///< of both models: replaced too
};

}  // namespace

bool has_edge(const Node& node) {
  const auto divides = arithmetic_of(node) == Arithmetic::divide || has_trait(node, Trait::normalizes) || !node.domain().empty();
  constexpr auto kOthers = std::to_array<std::string_view>(
      {"Log", "LpNormalization", "Pow", "RMSNormalization", "Reciprocal", "ReduceLogSum", "ReduceLogSumExp", "Sqrt"});
  return divides || std::ranges::any_of(kOthers, [&](std::string_view op) { return node.is(op); });
}

std::optional<FiniteMismatch> compare_finite(const Pair& pair, const Reference& reference, Extreme extreme,
                                             const std::function<bool(const Node&)>& may_make) {
  return ExtremeRuns(pair, reference, extreme, may_make).compare();
}

}  // namespace relayout
