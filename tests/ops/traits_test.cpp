// Tests the traits of the op table against other sources: ONNX's schemas, and the kernels' results on the operands of the op cases.

#include <gtest/gtest.h>
#include <onnx/defs/data_type_utils.h>
#include <onnx/defs/schema.h>

#include <cmath>
#include <iterator>
#include <set>

#include "model/check.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/evaluate.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

using Names = std::set<std::string_view>;

/// Names of the table's operators for which `is_so` holds.
Names names_where(const std::function<bool(const Op&)>& is_so) {
  Names out;
  for (const Op& op : op_table()) {
    if (is_so(op)) out.insert(op.name);
  }
  return out;
}

Names with(Trait trait) {
  return names_where([trait](const Op& op) { return op.traits.has(trait); });
}

Names without(Names names, const Names& others) {
  std::erase_if(names, [&](std::string_view name) { return others.contains(name); });
  return names;
}

TEST(Traits, FollowFromEachOther) {
  for (const Op& op : op_table()) {
    SCOPED_TRACE(op.name);
    const Traits traits = op.traits;
    const auto implies = [&](Trait a, bool b) { return !traits.has(a) || b; };
    EXPECT_TRUE(implies(Trait::keeps_order, traits.has(Trait::permutes)));
    EXPECT_TRUE(implies(Trait::permutes, traits.moves_input(0) && traits.has(Trait::same_type)));
    EXPECT_TRUE(implies(Trait::broadcasts, !traits.has(Trait::same_dims)));
    EXPECT_TRUE(implies(Trait::casts, traits.has(Trait::same_dims)));
    EXPECT_TRUE(implies(Trait::chooses, traits.has(Trait::jumps)));
    EXPECT_TRUE(implies(Trait::multiplies, traits.has(Trait::costly)));
    EXPECT_TRUE(implies(Trait::makes_boolean, !traits.has(Trait::makes_int64)));
    EXPECT_TRUE(implies(Trait::quantizes, !traits.has(Trait::quantized)));
    EXPECT_TRUE(implies(Trait::fills, traits.moves_input(0)));
    EXPECT_TRUE(implies(Trait::pools, traits.has(Trait::batched)));
    EXPECT_TRUE(implies(Trait::softmax, traits.along() == Along::axis));
    EXPECT_EQ(traits.has(Trait::control_flow), op.compute == nullptr);
  }
}

TEST(Traits, OfInputsHoldForTheirInputsOnly) {
  constexpr Traits kTraits = Traits::moves(0) | Traits::moves(2) | Traits::reads_dims(1) | Traits::reads_type(3);
  EXPECT_TRUE(kTraits.moves_input(0) && !kTraits.moves_input(1) && kTraits.moves_input(2) && !kTraits.moves_input(100));
  EXPECT_TRUE(Traits::moves_all().moves_input(0) && Traits::moves_all().moves_input(100));
  EXPECT_EQ(kTraits.reads(0), Reads::elements);
  EXPECT_EQ(kTraits.reads(1), Reads::dims);
  EXPECT_EQ(kTraits.reads(3), Reads::type);
}

TEST(Traits, OfNodesNeedTheDefaultDomain) {
  const auto model = Model::from_text(
      "<ir_version: 8, opset_import: [\"\": 17, \"own\": 1]>\n"
      "g (float[2] x) => (y) { a = RandomNormalLike (x)  b = own.RandomNormalLike (x)  c = ai.onnx.Quux (x)  y = Sum (a, b, c) }");
  std::vector<bool> random;
  for (const Node& node : model->graph().nodes()) random.push_back(has_trait(node, Trait::random));
  EXPECT_EQ(random, (std::vector<bool>{true, false, false, false}));
}

TEST(Traits, LimitsAreGivenAndAxesAloneAreMoved) {
  const auto names = [](bool (*is_so)(const Node&)) {
    Names out;
    for (const OpCase& op_case : op_cases()) {
      const auto model = model_of(op_case);
      if (is_so(model->graph().nodes().front())) out.insert(op_case.op);
    }
    return out;
  };
  EXPECT_EQ(names(limits), (Names{"Clip", "Max", "Min"}));
  EXPECT_EQ(names(only_moves_axes), (Names{"Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}));
}

// --- ONNX's schemas ----------------------------------------------------------------------------------------------------------------

/// All versions of the default domain's operators, by name.
std::map<std::string, std::vector<onnx::OpSchema>> schemas() {
  std::map<std::string, std::vector<onnx::OpSchema>> out;
  for (const auto& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (schema.domain().empty() && !schema.deprecated() && find_op(schema.Name()) != nullptr) out[schema.Name()].push_back(schema);
  }
  return out;
}

/// Operators for which `holds` is true of the schemas of all versions.
Names names_by_schema(const std::function<bool(const onnx::OpSchema&)>& holds) {
  Names out;
  for (const auto& [name, versions] : schemas()) {
    if (std::ranges::all_of(versions, holds)) out.insert(find_op(name)->name);
  }
  return out;
}

/// Names that the linked library knows.
Names known_to_onnx(const Names& names) {
  Names out;
  const auto known = schemas();
  for (const std::string_view name : names) {
    if (known.contains(std::string(name))) out.insert(name);
  }
  return out;
}

bool is_always(const onnx::OpSchema& schema, const std::string& type) {
  if (schema.outputs().empty()) return false;
  const auto& types = schema.outputs().front().GetTypes();
  return types.size() == 1 && **types.begin() == type;
}

TEST(Traits, TypesOfResultsAreThoseOfTheSchemas) {
  const Names same = names_by_schema([](const onnx::OpSchema& schema) {
    return !schema.inputs().empty() && !schema.outputs().empty() &&
           schema.inputs().front().GetTypeStr() == schema.outputs().front().GetTypeStr();
  });
  // The element type of a sequence is that of its tensors; types of control flow are the nested graph's.
  const Names sequences{"ConcatFromSequence", "SequenceAt", "SequenceConstruct", "SplitToSequence"};
  EXPECT_EQ(without(known_to_onnx(with(Trait::same_type)), sequences), without(same, with(Trait::control_flow)));
  EXPECT_EQ(without(sequences, with(Trait::same_type)), Names{});
  const Names boolean = names_by_schema([](const onnx::OpSchema& schema) { return is_always(schema, "tensor(bool)"); });
  EXPECT_EQ(known_to_onnx(with(Trait::makes_boolean)), boolean);
  const Names int64 = names_by_schema([](const onnx::OpSchema& schema) { return is_always(schema, "tensor(int64)"); });
  EXPECT_EQ(known_to_onnx(with(Trait::makes_int64)), int64);
}

TEST(Traits, TypeOfAnRmsNormalizationIsThatOfItsScale) {
  EXPECT_FALSE(find_op("RMSNormalization")->traits.has(Trait::same_type));  // ONNX 1.19: X is of type T, scale and Y of type V
}

TEST(Traits, SeedsBelongToRandomOperators) {
  const Names seeded = names_by_schema([](const onnx::OpSchema& schema) { return schema.attributes().contains("seed"); });
  EXPECT_EQ(with(Trait::random), seeded);
}

TEST(Traits, GraphsBelongToControlFlow) {
  const Names nested = names_by_schema([](const onnx::OpSchema& schema) {
    return std::ranges::any_of(schema.attributes(), [](const auto& entry) { return entry.second.type == onnx::AttributeProto::GRAPH; });
  });
  EXPECT_EQ(with(Trait::control_flow), nested);
}

// --- the kernels on the op cases ---------------------------------------------------------------------------------------------------

std::vector<Datum> run_on(const OpCase& op_case, const std::vector<Tensor>& data) {
  const auto model = model_of(op_case);
  const std::vector<Datum> inputs(data.begin(), data.end());
  std::vector<const Datum*> pointers;
  for (const Datum& input : inputs) pointers.push_back(input.tensor ? &input : nullptr);
  return run_node(model->graph().nodes().front(), pointers);
}

/// Operators for which `holds` is true of all cases; operators whose first output is no tensor are left out.
Names names_by_case(const std::function<bool(const OpCase&, const std::vector<Tensor>&, const Tensor&)>& holds) {
  std::map<std::string_view, bool> out;
  for (const OpCase& op_case : op_cases()) {
    const std::vector<Tensor> data = data_of(op_case);
    const Datum first = run_on(op_case, data).front();
    if (first.kind != Datum::Kind::tensor || data.empty()) continue;
    bool& all = out.try_emplace(op_case.op, true).first->second;
    all = all && holds(op_case, data, first.tensor);
  }
  Names names;
  for (const auto& [name, all] : out) {
    if (all) names.insert(name);
  }
  return names;
}

Names in_cases(const Names& names) {
  Names out;
  for (const OpCase& op_case : op_cases()) {
    if (names.contains(op_case.op)) out.insert(op_case.op);
  }
  return out;
}

std::optional<Dims> broadcast(const std::vector<Tensor>& data) {
  Dims out;
  for (const Tensor& tensor : data) {
    if (!tensor) continue;
    Dims dims = tensor.dims();
    if (dims.size() < out.size()) dims.insert(dims.begin(), out.size() - dims.size(), 1);
    if (out.size() < dims.size()) out.insert(out.begin(), dims.size() - out.size(), 1);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] != out[i] && dims[i] != 1 && out[i] != 1) return std::nullopt;
      out[i] = out[i] == 1 ? dims[i] : out[i];
    }
  }
  return out;
}

TEST(Traits, SameDimsAreThoseOfTheFirstOperand) {
  const Names same = names_by_case(
      [](const OpCase&, const std::vector<Tensor>& data, const Tensor& result) { return data[0] && data[0].dims() == result.dims(); });
  EXPECT_EQ(in_cases(with(Trait::same_dims)), without(same, with(Trait::broadcasts)));
}

TEST(Traits, BroadcastDimsAreThoseOfNumpy) {
  const Names same = names_by_case([](const OpCase& op_case, const std::vector<Tensor>& data, const Tensor& result) {
    if (op_case.opset < 7) return data[0].dims() == result.dims();
    const auto dims = broadcast(data);
    return dims && *dims == result.dims() && data.size() > 1;
  });
  // Their other operands are parameters that do not enlarge the result.
  EXPECT_EQ(without(in_cases(with(Trait::broadcasts)), same), Names{});
  const Names further = without(same, with(Trait::broadcasts));
  EXPECT_EQ(without(further, with(Trait::same_dims)), Names{});
}

TEST(Traits, SameTypeHoldsInEveryCase) {
  const Names same = names_by_case(
      [](const OpCase&, const std::vector<Tensor>& data, const Tensor& result) { return data[0] && data[0].type() == result.type(); });
  EXPECT_EQ(without(in_cases(with(Trait::same_type)), same), Names{"SplitToSequence"});  // a sequence
  const auto made = [](DataType type) {
    return names_by_case([type](const OpCase&, const std::vector<Tensor>&, const Tensor& result) { return result.type() == type; });
  };
  EXPECT_EQ(without(in_cases(with(Trait::makes_boolean)), made(DataType::boolean)), Names{});
  EXPECT_EQ(without(in_cases(with(Trait::makes_int64)), made(DataType::int64)), Names{});
}

/// Maps each number but 0 to a different one. This is neither linear nor monotonic, so that only operators that move elements without
/// reading them commute with it.
double relabelled(double x) {
  if (x == 0) return 0;
  const uint64_t mixed = std::bit_cast<uint64_t>(x) * 0x9E3779B97F4A7C15ULL;
  return 0.5 + static_cast<double>((mixed ^ (mixed >> 29U)) >> 44U) / (1U << 20U);
}

Tensor relabelled(const Tensor& tensor) {
  std::vector<double> numbers = numbers_of(tensor);
  std::ranges::transform(numbers, numbers.begin(), [](double x) { return relabelled(static_cast<double>(static_cast<float>(x))); });
  return tensor_of_values(tensor.type(), tensor.dims(), numbers);
}

bool is_float32(const Tensor& tensor) {
  return tensor && tensor.type() == DataType::float32;
}

/// Whether renaming the numbers of these inputs renames those of the results; nothing if there is nothing to rename.
std::optional<bool> commutes(const OpCase& op_case, const std::function<bool(std::size_t)>& is_renamed) {
  std::vector<Tensor> data = data_of(op_case);
  const Datum before = run_on(op_case, data).front();
  bool any = false;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (!is_float32(data[i]) || !is_renamed(i)) continue;
    data[i] = relabelled(data[i]);
    any = true;
  }
  if (!any) return std::nullopt;
  try {
    const Datum after = run_on(op_case, data).front();
    if (before.kind != Datum::Kind::tensor) {
      for (std::size_t i = 0; i < before.elements.size(); ++i) {
        if (numbers_of(after.elements.at(i).tensor) != numbers_of(relabelled(before.elements[i].tensor))) return false;
      }
      return true;
    }
    return is_float32(before.tensor) && after.tensor.dims() == before.tensor.dims() &&
           numbers_of(after.tensor) == numbers_of(relabelled(before.tensor));
  } catch (const Error&) {
    return false;
  }
}

TEST(Traits, OperatorsThatMoveElementsDoNotReadThem) {
  std::map<std::string_view, bool> moves;  // by operator: whether all cases with something to rename commute
  for (const OpCase& op_case : op_cases()) {
    const Traits traits = find_op(op_case.op)->traits;
    const bool claims = [&] {
      for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
        if (traits.moves_input(i)) return true;
      }
      return false;
    }();
    const auto result = commutes(op_case, [&](std::size_t i) { return claims ? traits.moves_input(i) : i == 0; });
    if (!result) continue;
    EXPECT_TRUE(*result || !claims) << op_case.name;
    if (!claims) moves[op_case.op] = *result && (!moves.contains(op_case.op) || moves[op_case.op]);
  }
  Names unclaimed;
  for (const auto& [name, all] : moves) {
    if (all) unclaimed.insert(name);
  }
  EXPECT_EQ(unclaimed, Names{"Upsample"});  // interpolates in modes that its cases do not have
}

TEST(Traits, WhatOnlySelectsHasNoOtherElements) {
  int found = 0;
  for (const OpCase& op_case : op_cases()) {
    const auto model = model_of(op_case);
    const Value* const result = model->graph().nodes().front().output(0);
    const std::vector<Tensor> data = data_of(op_case);
    if (result == nullptr || !only_selects(*result) || data.empty() || !data[0] || data[0].type() == DataType::string) continue;
    const Datum first = run_on(op_case, data).front();
    if (first.kind != Datum::Kind::tensor) continue;
    ++found;
    const std::vector<double> from = numbers_of(data[0]);
    const auto is_there = [&](double number) { return std::ranges::find(from, number) != from.end(); };
    EXPECT_TRUE(std::ranges::all_of(numbers_of(first.tensor), is_there)) << op_case.name;
  }
  EXPECT_GT(found, 20);
}

std::vector<double> sorted(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

TEST(Traits, PermutingOperatorsKeepEachElementOnce) {
  const auto are_numbers = [](const std::vector<Tensor>& data, const Tensor& result) {
    return data[0] && data[0].type() != DataType::string && data[0].type() == result.type();
  };
  const Names kept = names_by_case([&](const OpCase&, const std::vector<Tensor>& data, const Tensor& result) {
    return are_numbers(data, result) ? numbers_of(data[0]) == numbers_of(result) : result.type() == DataType::string;
  });
  const Names permuted = names_by_case([&](const OpCase&, const std::vector<Tensor>& data, const Tensor& result) {
    return are_numbers(data, result) ? sorted(numbers_of(data[0])) == sorted(numbers_of(result)) : result.type() == DataType::string;
  });
  // Dropout permutes in inference only; the others have only strings or truth values in their cases.
  const Names otherwise{"Dropout", "Not", "StringConcat", "StringNormalizer", "StringSplit", "Xor"};
  EXPECT_EQ(in_cases(with(Trait::keeps_order)), without(kept, otherwise));
  EXPECT_EQ(in_cases(with(Trait::permutes)), without(permuted, otherwise));
}

TEST(Traits, AnIdentityReturnsItsOperand) {
  const Names unchanged = names_by_case([&](const OpCase&, const std::vector<Tensor>& data, const Tensor& result) {
    if (!data[0] || data[0].type() != result.type() || data[0].dims() != result.dims()) return false;
    return data[0].type() == DataType::string || numbers_of(data[0]) == numbers_of(result);
  });
  EXPECT_EQ(in_cases(with(Trait::identity)), without(unchanged, {"StringNormalizer"}));  // only strings in its cases
}

TEST(Traits, OneOperandOfManyIsTheResult) {
  const Tensor x = data_of({"x", "Identity", "", {{DataType::float32, {2, 3}, Fill::normal, {}, false}}}).front();
  const Names variadic = names_by_schema([](const onnx::OpSchema& schema) {
    return !schema.inputs().empty() && schema.inputs().front().GetOption() == onnx::OpSchema::Variadic && schema.min_input() <= 1;
  });
  // Einsum computes its equation; a sequence is no tensor; control flow has no kernel.
  const Names otherwise{"Einsum", "SequenceConstruct"};
  const Names expected = without(without(variadic, otherwise), with(Trait::control_flow));
  EXPECT_EQ(with(Trait::one_is_itself), expected);
  for (const std::string_view name : expected) {
    const std::string op = std::string(name) + (name == "Concat" ? " <axis = 0>" : "");
    EXPECT_EQ(numbers_of(run_one(op, {x})), numbers_of(x)) << name;
  }
}

/// The elements of a tensor rotated by one place, in row-major order.
Tensor rotated(const Tensor& tensor) {
  std::vector<double> numbers = numbers_of(tensor);
  std::ranges::rotate(numbers, numbers.begin() + (numbers.empty() ? 0 : 1));
  return tensor_of_values(tensor.type(), tensor.dims(), numbers);
}

bool is_numeric(const Tensor& tensor) {
  return tensor && tensor.type() != DataType::string;
}

/// Whether moving the elements of all operands moves those of the result; nothing if no operand has the result's dims, or another one has
/// more than one element.
std::optional<bool> commutes_with_rotation(const OpCase& op_case) {
  std::vector<Tensor> data = data_of(op_case);
  const Datum before = run_on(op_case, data).front();
  if (before.kind != Datum::Kind::tensor || !is_numeric(before.tensor) || before.tensor.element_count() < 3) return std::nullopt;
  bool any = false;
  for (Tensor& operand : data) {
    if (!operand || operand.element_count() == 1) continue;
    if (!is_numeric(operand) || operand.dims() != before.tensor.dims()) return std::nullopt;
    operand = rotated(operand);
    any = true;
  }
  if (!any) return std::nullopt;
  const Tensor after = run_on(op_case, data).front().tensor;
  return std::ranges::equal(numbers_of(after), numbers_of(rotated(before.tensor)),
                            [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

TEST(Traits, ElementwiseResultsMoveWithTheirOperands) {
  std::map<std::string_view, bool> moves;
  for (const OpCase& op_case : op_cases()) {
    const auto result = commutes_with_rotation(op_case);
    if (!result) continue;
    const bool claims = find_op(op_case.op)->traits.has(Trait::elementwise);
    EXPECT_TRUE(*result || !claims) << op_case.name;
    if (!claims) moves[op_case.op] = *result && (!moves.contains(op_case.op) || moves[op_case.op]);
  }
  Names unclaimed;
  for (const auto& [name, all] : moves) {
    if (all) unclaimed.insert(name);
  }
  // Dropout draws in training, QuantizeLinear may have a scale per channel, DynamicQuantizeLinear computes its scale from all elements.
  EXPECT_EQ(unclaimed, (Names{"Dropout", "DynamicQuantizeLinear", "QuantizeLinear"}));
}

/// The same numbers with eight significant bits, as in bfloat16.
Tensor shortened(const Tensor& tensor) {
  std::vector<double> numbers = numbers_of(tensor);
  for (double& x : numbers) x = static_cast<double>(std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(x)) & 0xFFFF0000U));
  return tensor_of_values(tensor.type(), tensor.dims(), numbers);
}

TEST(Traits, ExactResultsHaveNoMoreBitsThanTheirOperands) {
  std::map<std::string_view, bool> exact;
  for (const OpCase& op_case : op_cases()) {
    std::vector<Tensor> data = data_of(op_case);
    if (std::ranges::none_of(data, is_float32)) continue;
    for (Tensor& operand : data) {
      if (is_float32(operand)) operand = shortened(operand);
    }
    const Datum result = run_on(op_case, data).front();
    if (result.kind != Datum::Kind::tensor || !is_float32(result.tensor)) continue;
    const bool has_no_more = numbers_of(result.tensor) == numbers_of(shortened(result.tensor));
    const Traits traits = find_op(op_case.op)->traits;
    const bool claims = traits.has(Trait::exact) || traits.moves_input(0);
    EXPECT_TRUE(has_no_more || !claims) << op_case.name;
    if (!claims) exact[op_case.op] = has_no_more && (!exact.contains(op_case.op) || exact[op_case.op]);
  }
  Names unclaimed;
  for (const auto& [name, all] : exact) {
    if (all) unclaimed.insert(name);
  }
  // Each of them rounds with operands or attributes that these cases do not have; Mod gives a remainder, which no operand need contain.
  EXPECT_EQ(unclaimed, (Names{"MelWeightMatrix", "Mod", "Range", "ScatterND", "Shrink", "Upsample"}));
}

TEST(Traits, ContractionsBringResultsNoFurtherApart) {
  // From -30 to 30 in steps that avoid all special points of operators.
  std::vector<double> x(2401);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = (static_cast<double>(i) - 1200) * 0.02503;
  const Tensor data = tensor_of_values(DataType::float32, {static_cast<int64_t>(x.size())}, x);
  Names contracting;
  for (const auto& [name, versions] : schemas()) {
    const Op& op = *find_op(name);
    if (!op.traits.has(Trait::elementwise) || versions.back().min_input() > 1 || op.traits.has(Trait::one_is_itself)) continue;
    std::vector<double> y;
    try {
      const Tensor result = run_one(name, {data});
      if (is_float32(result)) y = numbers_of(result);
    } catch (const Error&) {
      continue;
    }
    bool holds = y.size() == x.size();
    const std::vector<double> from = numbers_of(data);
    for (std::size_t i = 1; holds && i < y.size(); ++i) holds = std::abs(y[i] - y[i - 1]) <= (from[i] - from[i - 1]) * (1 + 1e-4);
    if (holds) contracting.insert(op.name);
  }
  EXPECT_EQ(with(Trait::contracts), contracting);
}

/// Whether the first result is linear along a line between two draws of an operand; nothing if the operand is not real.
std::optional<bool> is_affine_in(const OpCase& op_case, std::size_t input) {
  const std::vector<Tensor> data = data_of(op_case);
  if (input >= data.size() || !is_float32(data[input])) return std::nullopt;
  const std::vector<double> from = numbers_of(data[input]), to = numbers_of(rotated(data[input]));
  const auto result = [&](double t) -> std::optional<std::vector<double>> {
    std::vector<Tensor> operands = data;
    std::vector<double> numbers = from;
    for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] += t * (to[k] - from[k]);
    operands[input] = tensor_of_values(DataType::float32, data[input].dims(), numbers);
    const Datum out = run_on(op_case, operands).front();
    return out.kind == Datum::Kind::tensor && is_float32(out.tensor) ? std::optional(numbers_of(out.tensor)) : std::nullopt;
  };
  const auto first = result(0), last = result(1), beyond = result(2.5);
  if (!first || !last || !beyond || first->size() != beyond->size()) return std::nullopt;
  double range = 0;
  for (std::size_t k = 0; k < first->size(); ++k) range = std::max({range, std::abs((*first)[k]), std::abs((*last)[k])});
  for (std::size_t k = 0; k < first->size(); ++k) {
    const double expected = (*first)[k] + 2.5 * ((*last)[k] - (*first)[k]);
    if (!(std::abs((*beyond)[k] - expected) <= 1e-4 * range)) return false;
  }
  return true;
}

TEST(Traits, LinearOperatorsAreAffineInEitherOperand) {
  std::map<std::string_view, bool> bilinear;
  for (const OpCase& op_case : op_cases()) {
    const Traits traits = find_op(op_case.op)->traits;
    EXPECT_TRUE(traits.has(Trait::multiplies) || !traits.has(Trait::linear)) << op_case.name;
    if (!traits.has(Trait::multiplies)) continue;
    const auto left = is_affine_in(op_case, 0), right = is_affine_in(op_case, 1);
    if (!left || !right) continue;
    const bool holds = *left && *right;
    EXPECT_TRUE(holds || !traits.has(Trait::linear)) << op_case.name;
    bool& all = bilinear.try_emplace(op_case.op, true).first->second;
    all = all && holds;
  }
  Names found;
  for (const auto& [name, all] : bilinear) {
    if (all) found.insert(name);
  }
  // No fold is known for these: an Einsum has any equation, and the third operand of a DeformConv sets the places of its taps.
  EXPECT_EQ(without(found, {"DeformConv", "Einsum"}), with(Trait::linear));
}

/// The numbers of a result for one line of operands, each of which takes the same steps from -30 to 30.
std::vector<double> on_line(const std::string& op, std::size_t operands) {
  std::vector<Datum> data;
  for (std::size_t i = 0; i < operands; ++i) {
    // From opposite ends, so that every operand is the largest somewhere.
    std::vector<double> x(2401);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = (static_cast<double>(k) - 1200.5) * 0.02503 * (i == 0 ? 1 : -0.7);
    data.emplace_back(tensor_of_values(DataType::float32, {static_cast<int64_t>(x.size())}, x));
  }
  return numbers_of(run_one(op, data));
}

TEST(Traits, ArithmeticMatchesTheKernels) {
  using Function = double (*)(double, double);
  const std::map<Arithmetic, Function> functions{
      {Arithmetic::add, [](double x, double y) { return x + y; }},
      {Arithmetic::subtract, [](double x, double y) { return x - y; }},
      {Arithmetic::multiply, [](double x, double y) { return x * y; }},
      {Arithmetic::divide, [](double x, double y) { return x / y; }},
      {Arithmetic::minimum, [](double x, double y) { return std::min(x, y); }},
      {Arithmetic::maximum, [](double x, double y) { return std::max(x, y); }},
      {Arithmetic::mean, [](double x, double y) { return (x + y) / 2; }},
      {Arithmetic::negate, [](double x, double) { return -x; }},
  };
  std::map<std::string_view, Arithmetic> computed, stated;
  for (const Op& op : op_table()) {
    if (op.traits.arithmetic() != Arithmetic::none) stated[op.name] = op.traits.arithmetic();
    if (!op.traits.has(Trait::elementwise)) continue;
    for (const std::size_t operands : {1U, 2U}) {
      std::vector<double> x, y, result;
      try {
        result = on_line(std::string(op.name), operands);
        x = on_line("Identity", 1);
        y = operands == 1 ? x : numbers_of(run_one("Neg", {tensor_of_values(DataType::float32, {2401}, x)}));
      } catch (const Error&) {
        continue;
      }
      if (operands == 2) std::ranges::transform(y, y.begin(), [](double number) { return number * 0.7; });
      for (const auto& [arithmetic, function] : functions) {
        if ((arithmetic == Arithmetic::negate) != (operands == 1) || result.size() != x.size()) continue;
        bool holds = true;
        for (std::size_t k = 0; holds && k < x.size(); ++k) {
          const double expected = function(x[k], y[k]);
          holds = std::abs(result[k] - expected) <= 1e-6 * (std::abs(x[k]) + std::abs(y[k]) + std::abs(expected));
        }
        if (holds) computed[op.name] = arithmetic;
      }
    }
  }
  EXPECT_EQ(stated, computed);
}

TEST(Traits, PredicatesMatchTheKernels) {
  using Function = bool (*)(double, double);
  const std::map<Predicate, Function> functions{
      {Predicate::equal, [](double x, double y) { return x == y; }},
      {Predicate::less, [](double x, double y) { return x < y; }},
      {Predicate::less_or_equal, [](double x, double y) { return x <= y; }},
      {Predicate::greater, [](double x, double y) { return x > y; }},
      {Predicate::greater_or_equal, [](double x, double y) { return x >= y; }},
      {Predicate::logical_and, [](double x, double y) { return x != 0 && y != 0; }},
      {Predicate::logical_or, [](double x, double y) { return x != 0 || y != 0; }},
      {Predicate::logical_xor, [](double x, double y) { return (x != 0) != (y != 0); }},
      {Predicate::logical_not, [](double x, double) { return x == 0; }},
  };
  std::map<std::string_view, Predicate> computed, stated;
  for (const Op& op : op_table()) {
    if (op.traits.predicate() != Predicate::none) stated[op.name] = op.traits.predicate();
    if (!op.traits.has(Trait::elementwise) || !op.traits.has(Trait::makes_boolean)) continue;
    for (const auto& [type, operands] : {std::pair{DataType::float32, 2}, {DataType::boolean, 2}, {DataType::boolean, 1}}) {
      const std::vector<double> x{0, 1, 0, 1}, y{0, 0, 1, 1};
      std::vector<Datum> data{tensor_of_values(type, {4}, x), tensor_of_values(type, {4}, y)};
      data.erase(data.begin() + operands, data.end());
      std::vector<double> result;
      try {
        result = numbers_of(run_one(std::string(op.name), data));
      } catch (const Error&) {
        continue;
      }
      for (const auto& [predicate, function] : functions) {
        const bool is_logical = predicate >= Predicate::logical_and;
        if (is_logical != (type == DataType::boolean) || (predicate == Predicate::logical_not) != (operands == 1)) continue;
        bool holds = true;
        for (std::size_t k = 0; k < x.size(); ++k) holds = holds && (result[k] != 0) == function(x[k], y[k]);
        if (holds) computed[op.name] = predicate;
      }
    }
  }
  EXPECT_EQ(stated, computed);
  for (const auto& [predicate, function] : functions) {
    if (predicate == Predicate::logical_not) continue;
    for (const double x : {0, 1}) {
      for (const double y : {0, 1}) EXPECT_EQ(functions.at(mirrored(predicate))(y, x), function(x, y));
    }
  }
}

/// The result for one operand on a line, as in on_line(), times `factor`; nothing if the operator does not take such an operand.
std::optional<std::vector<double>> of_scaled_line(const Op& op, double factor) {
  std::vector<double> x = on_line("Identity", 1);
  for (double& number : x) number *= factor;
  // Without ends a Clip is an identity.
  const bool is_clip = op.name == "Clip";
  try {
    return numbers_of(run_one(is_clip ? "Clip <min = -3.0, max = 5.0>" : std::string(op.name),
                              {tensor_of_values(DataType::float32, {std::ssize(x)}, x)}, is_clip ? 6 : kReviewedOpset));
  } catch (const Error&) {
    return std::nullopt;
  }
}

TEST(Traits, FactorsPassHomogeneousOperators) {
  Names homogeneous;
  for (const Op& op : op_table()) {
    if (!op.traits.has(Trait::elementwise) || op.traits.has(Trait::one_is_itself) || op.traits.has(Trait::makes_boolean)) continue;
    const auto plain = of_scaled_line(op, 1);
    bool holds = plain && plain->size() == on_line("Identity", 1).size();
    for (const double factor : {0.0, 0.5, 0.25, 2.0}) {
      const auto scaled = holds ? of_scaled_line(op, factor) : std::nullopt;
      for (std::size_t k = 0; scaled && k < plain->size(); ++k) holds = holds && (*scaled)[k] == factor * (*plain)[k];
    }
    if (holds) homogeneous.insert(op.name);
  }
  EXPECT_EQ(with(Trait::homogeneous), homogeneous);
}

TEST(Traits, TestsAreFalseOfAllNumbers) {
  Names tests;
  for (const Op& op : op_table()) {
    if (!op.traits.has(Trait::makes_boolean)) continue;
    const auto found = of_scaled_line(op, 1);
    if (found && std::ranges::all_of(*found, [](double truth) { return truth == 0; })) tests.insert(op.name);
  }
  EXPECT_EQ(with(Trait::tests), tests);
}

TEST(Traits, SearchesFindTheSameInNumbersOfTheSameOrder) {
  // An increasing map that keeps neither signs nor zeros.
  const auto moved = [](const Tensor& tensor) {
    std::vector<double> numbers = numbers_of(tensor);
    for (double& number : numbers) number = 2 * (is_float32(tensor) ? std::cbrt(number) : number) + 3;
    return tensor_of_values(tensor.type(), tensor.dims(), numbers);
  };
  std::map<std::string_view, bool> found;
  for (const OpCase& op_case : op_cases()) {
    std::vector<Tensor> data = data_of(op_case);
    const Traits traits = find_op(op_case.op)->traits;
    if (!traits.has(Trait::jumps) || data.empty() || !(is_float32(data[0]) || data[0].type() == DataType::int32)) continue;
    const std::vector<Datum> before = run_on(op_case, data);
    data[0] = moved(data[0]);
    const Datum after = run_on(op_case, data).back();
    if (before.back().kind != Datum::Kind::tensor || before.back().tensor.type() == DataType::string) continue;
    bool& all = found.try_emplace(op_case.op, true).first->second;
    all = all && before.back().tensor.dims() == after.tensor.dims() && numbers_of(before.back().tensor) == numbers_of(after.tensor);
  }
  Names searching;
  for (const auto& [name, all] : found) {
    if (all) searching.insert(name);
  }
  EXPECT_EQ(without(searching, {"Unique"}), with(Trait::searches));  // which finds equal numbers, not the largest
}

TEST(Traits, ClippingOperatorsAreMonotonicAndIdempotent) {
  const std::vector<double> x = on_line("Identity", 1);
  Names clipping;
  for (const std::string_view name : with(Trait::contracts)) {
    // Without ends a Clip is an identity.
    const std::string op = name == "Clip" ? "Clip <min = -3.0, max = 5.0>" : std::string(name);
    const int64_t opset = name == "Clip" ? 6 : kReviewedOpset;
    const Tensor data = tensor_of_values(DataType::float32, {2401}, x);
    const Tensor once = run_one(op, {data}, opset), twice = run_one(op, {once}, opset);
    const std::vector<double> y = numbers_of(once);
    if (y == numbers_of(twice) && std::ranges::is_sorted(y) && y != x) clipping.insert(name);
  }
  EXPECT_EQ(with(Trait::clips), clipping);
}

TEST(Traits, AveragesAreBetweenElementsAndAffine) {
  std::map<std::string_view, bool> averaging;
  for (const OpCase& op_case : op_cases()) {
    const Op& op = *find_op(op_case.op);
    // For images, window by window and channel by channel.
    if (op.layout != LayoutRule::agnostic || op.traits.has(Trait::same_dims) || op.traits.has(Trait::broadcasts)) continue;
    const auto affine = is_affine_in(op_case, 0);
    if (!affine) continue;
    bool& all = averaging.try_emplace(op_case.op, true).first->second;
    all = all && *affine;
  }
  Names found;
  for (const auto& [name, all] : averaging) {
    if (all) found.insert(name);
  }
  EXPECT_EQ(with(Trait::averages), found);
}

/// The naming of axes in the newest version of an operator, by the names in its schema.
Along along_by_schema(const onnx::OpSchema& schema) {
  const auto is_input = [&](const std::string& name) { return schema.inputs().size() > 1 && schema.inputs()[1].GetName() == name; };
  if (schema.attributes().contains("axis")) return Along::axis;
  if (is_input("axis")) return Along::axis_operand;
  return schema.attributes().contains("axes") || is_input("axes") ? Along::axes : Along::none;
}

TEST(Traits, AxesAreNamedByTheSchemas) {
  // OneHot: an axis of the result. ConcatFromSequence: of no tensor. Compress, Unique: of none if it is omitted. The others: axes in the
  // order of the values given for each.
  const Names others{"OneHot", "ConcatFromSequence", "Compress", "Unique", "CenterCropPad", "Resize"};
  for (const auto& [name, versions] : schemas()) {
    const auto newest = std::ranges::max_element(versions, {}, [](const onnx::OpSchema& schema) { return schema.since_version(); });
    EXPECT_EQ(find_op(name)->traits.along(), others.contains(name) ? Along::none : along_by_schema(*newest)) << name;
    const bool has_indices = newest->inputs().size() > 1 && newest->inputs()[1].GetName() == "indices";
    EXPECT_EQ(find_op(name)->traits.has(Trait::indexes), has_indices) << name;
  }
  // An optional attribute has a default.
  for (const auto& [name, versions] : schemas()) {
    if (find_op(name)->traits.along() != Along::axis) continue;
    for (const onnx::OpSchema& schema : versions) {
      const auto axis = schema.attributes().find("axis");
      if (axis == schema.attributes().end() || axis->second.required) continue;
      const bool is_described_in_words = schema.since_version() == 1 && (name == "Concat" || name == "Split");
      EXPECT_TRUE(axis->second.default_value.has_i() || is_described_in_words) << name << "-" << schema.since_version();
    }
  }
}

TEST(Traits, InitialStatesAreNamedByTheSchemas) {
  for (const auto& [name, versions] : schemas()) {
    const Traits traits = find_op(name)->traits;
    bool has_any = false;
    for (const onnx::OpSchema& schema : versions) {
      for (std::size_t i = 0; i < schema.inputs().size(); ++i) {
        const std::string& input = schema.inputs()[i].GetName();
        const bool is_state = input == "initial_h" || input == "initial_c";
        EXPECT_EQ(traits.is_initial_state(i), is_state) << name << " " << input;
        has_any = has_any || is_state;
      }
    }
    EXPECT_EQ(traits.has(Trait::recurrent), has_any) << name;
  }
}

TEST(Traits, PoolsHaveAKernelOrAreGlobal) {
  const Names pools = names_by_schema([](const onnx::OpSchema& schema) {
    return schema.inputs().size() == 1 && (schema.attributes().contains("kernel_shape") || schema.Name().starts_with("Global"));
  });
  EXPECT_EQ(with(Trait::pools), pools);
}

TEST(Traits, NormalizationsHaveAScaleAShiftAndAnEpsilon) {
  const Names normalizing =
      names_by_schema([](const onnx::OpSchema& schema) { return schema.inputs().size() == 3 && schema.attributes().contains("epsilon"); });
  EXPECT_EQ(with(Trait::normalizes), normalizing);
}

TEST(Traits, TransposedConvolutionsHaveAnOutputPadding) {
  const Names transposed = names_by_schema([](const onnx::OpSchema& schema) { return schema.attributes().contains("output_padding"); });
  EXPECT_EQ(with(Trait::transposed), transposed);
}

TEST(Traits, WeightsOfConvolutionsAreNamedByTheSchemas) {
  std::map<std::string, std::optional<std::size_t>> expected, stated;
  for (const auto& [name, versions] : schemas()) {
    stated[name] = find_op(name)->traits.convolution_weight();
    expected[name] = std::nullopt;
    const auto& inputs = versions.back().inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool is_weight =
          (inputs[i].GetName() == "W" || inputs[i].GetName() == "w") && versions.back().attributes().contains("kernel_shape");
      // The taps of a DeformConv are not fixed.
      if (is_weight && name != "DeformConv") expected[name] = i;
    }
  }
  EXPECT_EQ(stated, expected);
}

/// Inputs of real numbers that control the computation, by their names in the schemas; and all inputs of step functions.
TEST(Traits, OperandsThatAreTakenExactlyAreNamedByTheSchemas) {
  const std::set<std::string> words{"constant_value", "delta", "depth",  "iou_threshold",   "limit", "lower_edge_hertz", "max",   "min",
                                    "ratio",          "roi",   "scales", "score_threshold", "start", "upper_edge_hertz", "values"};
  const Names steps{"Ceil", "Equal", "Floor", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Mod", "Round", "Sign"};
  for (const auto& [name, versions] : schemas()) {
    const auto& inputs = versions.back().inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].GetTypes().contains(onnx::Utils::DataTypeUtils::ToType("tensor(float)"))) continue;
      const bool expected = steps.contains(name) || words.contains(inputs[i].GetName()) || (name == "Pow" && i == 1);
      EXPECT_EQ(find_op(name)->traits.is_taken_exactly(i), expected) << name << ", input " << inputs[i].GetName();
    }
  }
}

// --- which operands are read -------------------------------------------------------------------------------------------------------

/// The same tensor with different elements.
Tensor with_other_elements(const Tensor& tensor) {
  if (tensor.type() == DataType::string) {
    Tensor out(DataType::string, tensor.dims());
    for (int64_t i = 0; i < out.element_count(); ++i) out.data<std::string>()[i] = "other " + std::to_string(i);
    return out;
  }
  std::vector<double> numbers = numbers_of(tensor);
  std::ranges::transform(numbers, numbers.begin(), [](double x) { return x == 1 ? 0 : 1; });
  return tensor_of_values(tensor.type(), tensor.dims(), numbers);
}

bool is_same(const Datum& a, const Datum& b) {
  if (a.kind != b.kind || a.elements.size() != b.elements.size()) return false;
  if (a.kind != Datum::Kind::tensor) return std::ranges::equal(a.elements, b.elements, is_same);
  if (!a.tensor || !b.tensor) return !a.tensor == !b.tensor;
  if (a.tensor.type() != b.tensor.type() || a.tensor.dims() != b.tensor.dims()) return false;
  if (a.tensor.type() == DataType::string) {
    return std::equal(a.tensor.data<std::string>(), a.tensor.data<std::string>() + a.tensor.element_count(), b.tensor.data<std::string>());
  }
  return std::ranges::equal(numbers_of(a.tensor), numbers_of(b.tensor), [](double x, double y) { return x == y || (x != x && y != y); });
}

TEST(Traits, ElementsThatAreNotReadDoNotMatter) {
  Names ignored;
  std::set<std::string> read;
  for (const OpCase& op_case : op_cases()) {
    const std::vector<Tensor> data = data_of(op_case);
    const std::vector<Datum> expected = run_on(op_case, data);
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (!data[i]) continue;
      std::vector<Tensor> changed = data;
      changed[i] = with_other_elements(data[i]);
      bool same = false;
      try {
        const std::vector<Datum> actual = run_on(op_case, changed);
        same = std::ranges::equal(actual, expected, is_same);
      } catch (const Error&) {
        same = false;
      }
      if (!same && i == 0) read.insert(op_case.op);
      const bool is_read = find_op(op_case.op)->traits.reads(i) == Reads::elements;
      EXPECT_TRUE(same || is_read) << op_case.name << ", input " << i;
    }
  }
  for (const OpCase& op_case : op_cases()) {
    const bool is_read = op_case.inputs.empty() || find_op(op_case.op)->traits.reads(0) == Reads::elements;
    if (is_read && !op_case.inputs.empty() && !read.contains(op_case.op)) ignored.insert(op_case.op);
  }
  EXPECT_EQ(ignored, (Names{"IsInf", "IsNaN"}));  // these cases hold no infinities and no NaN
}

// --- jumps -------------------------------------------------------------------------------------------------------------------------

/// A second set of operands for a case: from another draw, or a multiple of those that a case lists.
std::vector<Tensor> elsewhere(const OpCase& op_case, const std::vector<Tensor>& from, uint64_t seed) {
  std::vector<Tensor> out = data_of(op_case, seed);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!is_float32(out[i]) || numbers_of(out[i]) != numbers_of(from[i])) continue;
    std::vector<double> numbers = numbers_of(out[i]);
    for (double& number : numbers) number *= 0.8 - 0.1 * static_cast<double>(i);
    out[i] = tensor_of_values(out[i].type(), out[i].dims(), numbers);
  }
  return out;
}

/// Operands interpolated from `a` (t = 0) to `b` (t = 1).
std::vector<Tensor> between(const std::vector<Tensor>& a, const std::vector<Tensor>& b, double t) {
  std::vector<Tensor> out = a;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!is_float32(a[i])) continue;
    const std::vector<double> x = numbers_of(a[i]), y = numbers_of(b[i]);
    std::vector<double> mixed(x.size());
    for (std::size_t k = 0; k < x.size(); ++k) mixed[k] = x[k] + t * (y[k] - x[k]);
    out[i] = tensor_of_values(a[i].type(), a[i].dims(), mixed);
  }
  return out;
}

double largest(const std::vector<double>& numbers) {
  double out = 0;
  for (const double x : numbers) out = std::isfinite(x) ? std::max(out, std::abs(x)) : out;
  return out;
}

/// The largest difference of two results' elements; infinity if their dims differ.
double distance(const std::vector<Datum>& a, const std::vector<Datum>& b, const std::vector<double>& ranges) {
  double most = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].tensor.dims() != b[k].tensor.dims()) return HUGE_VAL;
    std::vector<double> x = numbers_of(a[k].tensor);
    const std::vector<double> y = numbers_of(b[k].tensor);
    std::ranges::transform(x, y, x.begin(), std::minus<>());
    most = std::max(most, largest(x) / std::max(ranges[k], 1e-3));
  }
  return most;
}

/// Whether a result jumps between two draws of the operands: halves the step with the largest change until the step is no more than
/// rounding of the operands.
bool jumps_between(const OpCase& op_case, const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  const auto results = [&](double t) { return run_on(op_case, between(a, b, t)); };
  constexpr int kSteps = 16;
  constexpr double kSmallest = 1e-7, kJump = 2e-3;
  std::vector<std::vector<Datum>> at;
  std::vector<double> ranges(static_cast<std::size_t>(op_case.outputs), 0);
  for (int i = 0; i <= kSteps; ++i) {
    at.push_back(results(static_cast<double>(i) / kSteps));
    for (std::size_t k = 0; k < ranges.size(); ++k) ranges[k] = std::max(ranges[k], largest(numbers_of(at.back()[k].tensor)));
  }
  for (int i = 0; i < kSteps; ++i) {
    double low = static_cast<double>(i) / kSteps, high = static_cast<double>(i + 1) / kSteps;
    std::vector<Datum> below = at[static_cast<std::size_t>(i)], above = at[static_cast<std::size_t>(i) + 1];
    while (high - low > kSmallest && distance(below, above, ranges) > kJump) {
      const double middle = (low + high) / 2;
      std::vector<Datum> half = results(middle);
      const bool is_first = distance(below, half, ranges) >= distance(half, above, ranges);
      (is_first ? high : low) = middle;
      (is_first ? above : below) = std::move(half);
    }
    if (high - low <= kSmallest && distance(below, above, ranges) > kJump) return true;
  }
  return false;
}

/// Whether all results are numeric tensors small enough for many runs, and an operand has real numbers.
bool can_be_followed(const OpCase& op_case, const std::vector<Tensor>& data) {
  constexpr int64_t kMostElements = 20000;
  if (!std::ranges::any_of(data, is_float32)) return false;
  return std::ranges::all_of(run_on(op_case, data), [](const Datum& result) {
    return result.kind == Datum::Kind::tensor && result.tensor.type() != DataType::string && result.tensor.element_count() <= kMostElements;
  });
}

TEST(Traits, JumpsAreFoundBetweenOperands) {
  Names found, tried;
  for (const OpCase& op_case : op_cases()) {
    const std::vector<Tensor> data = data_of(op_case);
    if (found.contains(op_case.op) || !can_be_followed(op_case, data)) continue;
    tried.insert(op_case.op);
    for (const uint64_t seed : {2U, 3U}) {
      try {
        if (jumps_between(op_case, data, elsewhere(op_case, data, seed))) found.insert(op_case.op);
      } catch (const Error&) {
        // Interpolated operands may be invalid.
      }
    }
  }
  // MaxPool jumps in its indices, which few models read; Tan has poles.
  EXPECT_EQ(without(found, with(Trait::jumps)), (Names{"MaxPool", "Tan"}));
  // The case of CastLike only widens; the boxes of NonMaxSuppression keep their order.
  const Names untried = without(with(Trait::jumps), tried);
  EXPECT_EQ(without(without(with(Trait::jumps), found), untried), (Names{"CastLike", "NonMaxSuppression"}));
}

}  // namespace
}  // namespace relayout::test
