// Gives the rows of the tables what they need to know of a node, finds the rows, and says why operators have none.
#include "derive/row.h"

#include "base/positions.h"
#include "derive/writer.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::derive {

Names Row::inputs() const {
  Names out;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) out.push_back(x(i));
  return out;
}

Names Row::inputs_with(std::initializer_list<std::pair<std::size_t, Name>> others) const {
  Names out = inputs();
  for (const auto& [index, name] : others) {
    if (index >= out.size()) out.resize(index + 1);
    out[index] = name;
  }
  return out;
}

const Value& Row::present(std::size_t input) const {
  const Value* const value = node.input(input);
  if (value == nullptr) refuse("operand " + std::to_string(input) + " is absent");
  return *value;
}

DataType Row::type(std::size_t input) const {
  const DataType type = sizes.type(present(input));
  if (type == DataType::undefined) refuse("the type of '" + x(input) + "' is not known");
  return type;
}

std::size_t Row::rank_of(const Value* value) const {
  const auto rank = value == nullptr ? std::nullopt : sizes.rank(*value);
  if (!rank) refuse("the rank of '" + name_of(value) + "' is not known");
  return *rank;
}

Dim Row::dim(const Value& value, std::size_t axis) const {
  const int64_t size = sizes.dim(value, axis);
  if (size >= 0) return size;
  if (const auto other = sizes.twin(value, axis)) return {-1, other->first->name(), other->second};
  return {-1, stand_in(value), axis};
}

Name Row::stand_in(const Value& value) const {
  if (const Value* const lasting = sizes.lasting(value)) return lasting->name();
  if (value.producer() == nullptr || !value.producer()->subgraphs().empty()) refuse("the dims of '" + value.name() + "' are not known");
  const Node& maker = *value.producer();
  Names operands;
  for (const Value* input : maker.inputs()) operands.push_back(input == nullptr ? Name() : stand_in(*input));
  const auto place = std::ranges::find(maker.outputs(), &value) - maker.outputs().begin();
  return w.make_like(maker, operands, as_size(place));
}

Name Row::shape(const Name& value) const {
  const Value* const found = w.graph().find(value);
  const auto rank = found == nullptr ? std::nullopt : sizes.rank(*found);
  if (!rank) return w.shape(found == nullptr ? value : stand_in(*found));
  // A row of all elements of another value.
  const Node* const maker = found->producer();
  if (rank == 1 && sizes.dim(*found, 0) < 0 && sizes.is_hidden(*found) && maker != nullptr && maker->is("Reshape")) {
    return w.make("ReduceProd", {shape(maker->input(0)->name())}, {{"keepdims", int64_t{1}}});
  }
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < *rank; ++i) dims.push_back(dim(*found, i));
  // The whole shape at once, where a dim of it has to be read.
  const Value* const lasting = sizes.lasting(*found);
  const bool is_own = lasting != nullptr && std::ranges::any_of(dims, [&](const Dim& one) { return one.of == lasting->name(); });
  return is_own ? w.shape(lasting->name()) : w.shape(dims);
}

std::size_t Row::axis(int64_t otherwise) const {
  const auto axis = checked_axis(attributes.integer("axis", otherwise), rank());
  if (!axis) refuse("its axis is beyond the rank");
  return *axis;
}

Name Row::formula(std::string_view text) const {
  return write_formula(
      text, {.w = w,
             .type = type(),
             .value = [&](std::string_view name) { return name == "y"   ? y()
                                                          : name == "x" ? x()
                                                                        : x(as_size(name.front() - 'a')); },
             .attribute = [&](std::string_view name,
                              double otherwise) { return attributes.has(name) ? double{*attributes.real(name)} : otherwise; }});
}

Name LinearizeRow::t_or_zeros(std::size_t input) const {
  if (node.input(input) == nullptr) return {};
  const Name tangent = t(input);
  return tangent.empty() ? zeros_like(x(input), type(input)) : tangent;
}

void LinearizeRow::give_broadcast(const Name& tangent, std::size_t input) {
  const bool fits = tangent.empty() || sizes.have_same_dims(present(input), *node.output(0));
  give(fits ? tangent : expand_to(tangent, y()));
}

void TransposeRow::give_summed(const Name& cotangent, std::size_t input) {
  const bool fits = sizes.have_same_dims(*node.output(0), present(input));
  give(fits ? cotangent : summed(cotangent, rank_of(node.output(0)), input, 0), input);
}

Name TransposeRow::summed(const Name& cotangent, std::size_t compared, std::size_t input, std::size_t own) const {
  const Value& from = *node.output(0);
  const Value& to = present(input);
  const std::size_t extra = compared + own - rank_of(&to);
  std::vector<int64_t> leading, kept, uncertain;
  for (std::size_t i = 0; i < compared; ++i) {
    if (i < extra) {
      leading.push_back(static_cast<int64_t>(i));
      continue;
    }
    const auto axis = static_cast<int64_t>(i - extra);
    const int64_t size = sizes.dim(to, i - extra);
    if (size == 1 && sizes.dim(from, i) != 1) kept.push_back(axis);
    if (size < 0 && !sizes.is_same(from, i, to, i - extra)) uncertain.push_back(axis);
  }
  Name out = leading.empty() ? cotangent : w.reduce("ReduceSum", cotangent, leading, false);
  if (!kept.empty()) out = w.reduce("ReduceSum", out, kept);
  if (uncertain.empty()) return out;
  // Which of these axes were broadcast shows when the model runs: those of size 1.
  const Name candidates = w.integers(uncertain);
  const Name is_one = w.make("Equal", {w.make("Gather", {shape(to.name()), candidates}), w.integer(1)});
  const Name axes = w.make("Compress", {candidates, is_one}, {{"axis", int64_t{0}}});
  return w.make("ReduceSum", {out, axes}, {{"keepdims", int64_t{1}}, {"noop_with_empty_axes", int64_t{1}}});
}

namespace {

template <class Entry, std::size_t kTables>
const Entry* find_in(const std::array<std::span<const Entry>, kTables>& tables, std::string_view op) {
  for (const std::span<const Entry> table : tables) {
    const auto found = std::ranges::find(table, op, &Entry::op);
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

}  // namespace

const Linearize* find_linearize(std::string_view op) {
  return find_in(std::array{elementwise_rows(), linear_rows(), reduction_rows(), normalization_rows(), branch_rows()}, op);
}

const Transpose* find_transpose(std::string_view op) {
  return find_in(std::array{arithmetic_transposes(), product_transposes(), movement_transposes(), branch_transposes()}, op);
}

// Operators without rows.
namespace {

/// A reason, and the operators that it holds for, each between spaces.
struct Refusal {
  std::string_view why, ops;
};

constexpr std::array<Refusal, 5> kRefusals = {{
    {"it computes with quantized numbers",
     " ConvInteger DequantizeLinear DynamicQuantizeLinear MatMulInteger QLinearConv QLinearMatMul QuantizeLinear "},
    {"it draws random numbers", " Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike "},
    {"it runs other graphs", " Loop Scan SequenceMap "},
    {"it works with sequences or optional values",
     " ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt SequenceConstruct SequenceEmpty SequenceErase "
     "SequenceInsert SequenceLength SplitToSequence "},
    {"its derivative is not written",
     " AffineGrid BitCast CausalConvWithState Col2Im Compress CumProd DFT DeformConv Det GlobalLpPool GridSample Hardmax "
     "LinearAttention LpPool MaxRoiPool MaxUnpool OneHot Range RoiAlign RotaryEmbedding STFT Scatter SwiGLU TensorScatter "
     "Unique "
     "Upsample "},
}};

}  // namespace

std::string_view why_refused(std::string_view op) {
  const std::string word = " " + std::string(op) + " ";
  for (const Refusal& refusal : kRefusals) {
    if (refusal.ops.find(word) != std::string_view::npos) return refusal.why;
  }
  return {};
}

}  // namespace relayout::derive
