// Finds the numbers of an input at which a model decides, so that samples contain them.
#include <cmath>
#include <ranges>
#include <set>

#include "base/positions.h"
#include "model/functions.h"
#include "model/node.h"
#include "ops/bounds.h"
#include "ops/branches.h"
#include "ops/constants.h"
#include "ops/kernels/classical/tree_ensemble.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "ops/partial_dims.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/inputs/roles.h"

namespace relayout {

// A number carried back through arithmetic to the input that gives it.
namespace {

/// An operator between an input and a value downstream of it: one operand varies, the others are constants.
struct NumberStep {
  const Node* node = nullptr;
  std::size_t operand = 0;              ///< the operand that varies
  std::vector<double> constants;        ///< numbers of the other one, each once; none: the node has no other
  DataType type = DataType::undefined;  ///< of the result
};

/// The number as an element of this type; integers truncate.
double as_stored(DataType type, double number) {
  if (type == DataType::float32) return static_cast<float>(number);
  if (kHalfTypes.has(type)) return decode_small_float(type, encode_small_float(type, number, false));
  return kIntegerTypes.has(type) ? std::trunc(number) : number;
}

/// Whether each element of the result is an element of the operand, perhaps within limits, of another type, or the largest of several.
bool passes_on(const Node& node, std::size_t operand) {
  const Traits traits = traits_of(node);
  if (traits.moves_input(operand) || (operand == 0 && (traits.has(Trait::casts) || traits.has(Trait::identity)))) return true;
  return operand == 0 && (traits.has(Trait::clips) || traits.reduces() == Reduces::maximum || traits.reduces() == Reduces::minimum);
}

bool has_arithmetic(const Node& node) {
  using enum Arithmetic;
  constexpr std::array kCarried{add, subtract, multiply, divide, minimum, maximum};
  return node.inputs().size() == 2 && std::ranges::find(kCarried, arithmetic_of(node)) != kCarried.end();
}

/// The result of a step with this constant.
double result_of(const NumberStep& step, double constant, double number) {
  const double a = step.operand == 0 ? number : constant, b = step.operand == 0 ? constant : number;
  switch (arithmetic_of(*step.node)) {
    case Arithmetic::add:
      return a + b;
    case Arithmetic::subtract:
      return a - b;
    case Arithmetic::multiply:
      return a * b;
    case Arithmetic::divide:
      return a / b;
    case Arithmetic::minimum:
      return std::min(a, b);
    case Arithmetic::maximum:
      return std::max(a, b);
    default:
      break;
  }
  if (step.node->is("Pow")) return std::pow(a, b);
  if (step.node->is("Mod")) return kIntegerTypes.has(step.type) ? a - b * std::floor(a / b) : std::fmod(a, b);
  return number;
}

double apply(const NumberStep& step, double number) {
  const Invertible* const function = inverse_of(*step.node);
  const double constant = step.constants.empty() ? 0 : step.constants.front();
  return as_stored(step.type, function != nullptr ? function->result(number) : result_of(step, constant, number));
}

/// Numbers of the operand for which the step with this constant may give `result`.
void add_operands(const NumberStep& step, double constant, double result, std::vector<double>& out) {
  const bool is_first = step.operand == 0;
  switch (arithmetic_of(*step.node)) {
    case Arithmetic::add:
      return out.push_back(result - constant);
    case Arithmetic::subtract:
      return out.push_back(is_first ? result + constant : constant - result);
    case Arithmetic::multiply:
      return out.push_back(result / constant);
    case Arithmetic::divide:
      return out.push_back(is_first ? result * constant : constant / result);
    default:
      break;
  }
  if (step.node->is("Pow") && is_first) {
    out.push_back(std::pow(result, 1 / constant));
    out.push_back(-out.back());
    return;
  }
  out.push_back(result);
  if (step.node->is("Mod") && is_first) out.push_back(result + constant);
}

/// The number among these and their neighbours for which the steps give exactly `result`, if there is one; else the first.
double exact_among(const std::vector<const NumberStep*>& steps, DataType type, const std::vector<double>& near, double result) {
  const auto gives_it = [&](double number) {
    for (const NumberStep* const step : steps) number = apply(*step, number);
    return number == result;
  };
  const auto found = std::ranges::find_if(near, gives_it);
  return found == near.end() ? as_stored(type, near.front()) : *found;
}

/// A number of the input's type and its neighbours.
std::vector<double> neighbours_of(DataType type, double number) {
  if (kIntegerTypes.has(type)) return {std::floor(number), std::ceil(number)};
  std::vector<double> out{as_stored(type, number)};
  constexpr int kUlps = 2;
  float above = static_cast<float>(number), below = above;
  for (int i = 0; i < kUlps && type == DataType::float32; ++i) {
    above = std::nextafter(above, INFINITY), below = std::nextafter(below, -INFINITY);
    out.push_back(above), out.push_back(below);
  }
  return out;
}

/// Whether an operator may give other numbers than those of the operand, within limits.
bool changes_numbers(const Node& node) {
  return inverse_of(node) != nullptr || has_arithmetic(node) || node.is("Pow") || node.is("Mod");
}

/// Whether numbers can be carried back through an operator.
bool carries_numbers(const Node& node, std::size_t operand) {
  return node.domain().empty() && (passes_on(node, operand) || changes_numbers(node));
}

/// Numbers of the operand that may give this number.
std::vector<double> operands_for(const NumberStep& step, double result) {
  std::vector<double> out;
  if (const Invertible* const function = inverse_of(*step.node)) {
    out.push_back(function->operand(result));
    if (function->is_even) out.push_back(-result);
  } else if (step.constants.empty() || passes_on(*step.node, step.operand)) {
    out.push_back(result);
  } else {
    for (const double constant : step.constants) add_operands(step, constant, result, out);
  }
  std::erase_if(out, [](double number) { return !std::isfinite(number); });
  return out;
}

/// Numbers of an input of this type for which the steps, in order, give `result`: those that give it exactly, where rounding permits; else
/// those nearest to it. Integers: both neighbours of a number between.
std::vector<double> carry_back(const std::vector<const NumberStep*>& steps, DataType type, double result) {
  constexpr std::size_t kMost = 16;
  std::vector<double> numbers{result};
  for (const NumberStep* const step : std::views::reverse(steps)) {
    std::vector<double> before;
    for (const double number : numbers) {
      for (const double operand : operands_for(*step, number)) {
        if (before.size() < kMost) before.push_back(operand);
      }
    }
    numbers = std::move(before);
  }
  std::vector<double> out;
  for (const double number : numbers) {
    const std::vector<double> near = neighbours_of(type, number);
    if (kIntegerTypes.has(type)) {
      out.insert(out.end(), near.begin(), near.end());
    } else {
      out.push_back(exact_among(steps, type, near, result));
    }
  }
  return out;
}

/// Most numbers of one input, of one constant, most values that are followed, and most operators between the input and a value.
constexpr std::size_t kMostWords = 64, kMostOfConstant = 32, kMostValues = 4096, kMostSteps = 32;

/// A call of a function: inside, its inputs stand for the operands of `node`.
struct Call {
  const Node* node = nullptr;
  const Call* outer = nullptr;
};

class Vocabulary {
 public:
  explicit Vocabulary(const Value& input) : input_(&input), functions_(input.graph().model()) {
    const auto declared = input.declared();
    type_ = declared ? declared->type : DataType::undefined;
  }

  std::vector<double> find() {
    if (!kNumericTypes.has(type_)) return {};
    visit({input_, nullptr, {}, type_});
    for (std::size_t i = 0; i < places_.size() && i < kMostValues; ++i) {
      const Place& place = places_[i];
      for (const Use& use : place.value->uses()) read(*use.node, as_size(use.index), place);
      leave(place);
    }
    std::vector<double> out = std::move(equal_);
    out.insert(out.end(), beside_.begin(), beside_.end());
    std::set<double> seen;
    std::erase_if(out, [&](double word) { return !seen.insert(word).second; });
    out.resize(std::min(out.size(), kMostWords));
    return out;
  }

 private:
  /// A value downstream of the input, and the steps to it.
  struct Place {
    const Value* value = nullptr;
    const Call* call = nullptr;
    std::vector<const NumberStep*> steps;
    DataType type = DataType::undefined;
  };

  void visit(Place place) {
    if (place.value != nullptr && seen_.emplace(place.value, place.call).second) places_.push_back(std::move(place));
  }

  void read(const Node& node, std::size_t index, const Place& place) {
    if (const Value* const inner = receiver_of(node, index, functions_)) {
      const bool calls = functions_.called_by(node) != nullptr;
      return visit({inner, calls ? &calls_.emplace_back(&node, place.call) : place.call, place.steps, place.type});
    }
    if (node.domain() == kMlDomain && index == 0) note_compared(node, place);
    if (!node.domain().empty() || traits_of(node).reads(index) != Reads::elements) return;
    note_decision(node, index, place);
    if (!carries_numbers(node, index)) return;
    NumberStep step{&node, index, {}, place.type};
    if (node.is("Cast")) step.type = type_cast_to(node);
    if (!kNumericTypes.has(step.type)) return;
    const bool is_arithmetic = arithmetic_of(node) != Arithmetic::none || node.is("Pow") || node.is("Mod");
    if (is_arithmetic && node.inputs().size() == 2)
      step.constants = numbers_of(node.input(1 - std::min<std::size_t>(index, 1)), place.call);
    if (is_arithmetic && node.inputs().size() == 2 && step.constants.empty()) return;
    std::vector<const NumberStep*> steps = place.steps;
    const DataType type = step.type;
    if (changes_numbers(node) || type != place.type) steps.push_back(&steps_.emplace_back(std::move(step)));
    if (steps.size() > kMostSteps) return;
    for (const Value* const output : node.outputs()) visit({output, place.call, steps, type});
  }

  /// Continues where an output of a nested graph or function becomes a value outside.
  void leave(const Place& place) {
    const Graph& graph = place.value->graph();
    if (!place.value->is_own_output() || (graph.owner() == nullptr && place.call == nullptr)) return;
    const Node* const holder = graph.owner() != nullptr ? graph.owner() : place.call->node;
    const Call* const outside = graph.owner() != nullptr ? place.call : place.call->outer;
    const std::size_t skipped = outputs_before_results(*holder);
    for (std::size_t i = skipped; i < graph.outputs().size(); ++i) {
      if (graph.outputs()[i] == place.value) visit({holder->output(i - skipped), outside, place.steps, place.type});
    }
  }

  void note_decision(const Node& node, std::size_t index, const Place& place) {
    const Predicate predicate = predicate_of(node);
    if (compares(predicate) && node.inputs().size() == 2) {
      for (const double number : numbers_of(node.input(1 - index), place.call)) {
        note(place, number, equal_);
        if (predicate != Predicate::equal) note_beside(place, number);
      }
    } else if (node.is("Cast") && type_cast_to(node) == DataType::boolean) {
      for (const double number : {0, 1}) note(place, number, equal_);
    } else if ((node.is("Mod") || (arithmetic_of(node) == Arithmetic::divide && kIntegerTypes.has(place.type))) && index == 0) {
      for (const double number : numbers_of(node.input(1), place.call)) {
        for (const double word : {number, number - 1}) note(place, word, beside_);
      }
    } else if (const auto rows = place.steps.empty() ? std::nullopt : indexed_rows(node, index, place.call)) {
      for (const double row : {static_cast<double>(*rows - 1), 0.0}) note(place, row, beside_);
    }
  }

  void note_compared(const Node& node, const Place& place) {
    for (const double number : some_of(compared_numbers(node))) {
      note(place, number, equal_);
      note_beside(place, number);
    }
  }

  void note(const Place& place, double number, std::vector<double>& words) const {
    const std::vector<double> found = carry_back(place.steps, type_, number);
    words.insert(words.end(), found.begin(), found.end());
  }

  /// Numbers on both sides of a number, not far from it.
  void note_beside(const Place& place, double number) {
    constexpr double kApart = 8;
    const double step = kIntegerTypes.has(place.type) ? 1 : std::max(std::fabs(number), 1.0) / kApart;
    for (const double word : {number + step, number - step}) note(place, word, beside_);
  }

  /// Number of positions among which operand `index` chooses, if the node tells. (Ids without arithmetic in front cover all of them.)
  [[nodiscard]] std::optional<int64_t> indexed_rows(const Node& node, std::size_t index, const Call* call) {
    if (node.is("OneHot") && index == 0) {
      const std::vector<double> depth = numbers_of(node.input(1), call);
      return depth.size() == 1 ? std::optional(static_cast<int64_t>(depth.front())) : std::nullopt;
    }
    const Traits traits = traits_of(node);
    if (!traits.has(Trait::indexes) || traits.along() != Along::axis || index != 1 || node.input(0) == nullptr) return std::nullopt;
    const PartialDims dims = constants_.dims(*resolved(node.input(0), call).first);
    if (!dims) return std::nullopt;
    const auto axis = checked_axis(Attributes(node).integer("axis", 0), dims->size());
    if (!axis || (*dims)[*axis] <= 0) return std::nullopt;
    return (*dims)[*axis];
  }

  /// The value that a function's input stands for, or the first value of a loop's; and where that is.
  [[nodiscard]] std::pair<const Value*, const Call*> resolved(const Value* value, const Call* call) const {
    while (value->is_input()) {
      const Graph& graph = value->graph();
      const Node* const holder = graph.owner() != nullptr ? graph.owner() : graph.is_function() && call != nullptr ? call->node : nullptr;
      if (holder == nullptr) break;
      const auto at = std::ranges::find(graph.inputs(), value) - graph.inputs().begin();
      const Value* const operand = holder->input(as_size(at));
      if (operand == nullptr || receiver_of(*holder, as_size(at), functions_) != value) break;
      if (graph.owner() == nullptr) call = call->outer;
      value = operand;
    }
    return {value, call};
  }

  /// The numbers of a constant, each once; a part of them if there are many, with the smallest and the largest. None: no constant.
  [[nodiscard]] std::vector<double> numbers_of(const Value* value, const Call* call) {
    if (value == nullptr) return {};
    const Value& constant = *resolved(value, call).first;
    const auto known = constants_.value(constant);
    const Tensor tensor = known ? *known : constant.initializer() != nullptr && constant.is_overridable() ? default_of(constant) : Tensor();
    if (!tensor || !kNumericTypes.has(tensor.type())) return {};
    std::vector<double> all = reals_of(tensor);
    std::erase_if(all, [](double number) { return !std::isfinite(number); });
    return some_of(std::move(all));
  }

  /// Each number once; of many a part, with the smallest and the largest.
  [[nodiscard]] static std::vector<double> some_of(std::vector<double> all) {
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    if (all.size() <= kMostOfConstant) return all;
    std::vector<double> part;
    for (std::size_t i = 0; i < kMostOfConstant; ++i) part.push_back(all[i * (all.size() - 1) / (kMostOfConstant - 1)]);
    return part;
  }

  /// The contents of an input with a default, with which samples run; an empty Tensor if they are many.
  [[nodiscard]] static Tensor default_of(const Value& value) {
    constexpr int64_t kMostElements = 1024;
    const Initializer& initializer = *value.initializer();
    const bool is_small = initializer.data != nullptr && element_count(initializer.data->dims()) <= kMostElements;
    return is_small ? initializer.load() : Tensor();
  }

  [[nodiscard]] static DataType type_cast_to(const Node& node) { return type_of_number(Attributes(node).integer("to", 0)); }

  const Value* input_;
  DataType type_;
  Functions functions_;
  Constants constants_;
  std::deque<Place> places_;
  std::deque<NumberStep> steps_;
  std::deque<Call> calls_;
  std::set<std::pair<const Value*, const Call*>> seen_;
  std::vector<double> equal_, beside_;
};

}  // namespace

std::vector<double> vocabulary_of(const Value& input) {
  return Vocabulary(input).find();
}

}  // namespace relayout
