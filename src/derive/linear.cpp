// Linearizes operators that are linear in one or several of their operands: products, convolutions, and those that move elements.
#include <cstdlib>

#include "derive/row.h"
#include "derive/writer.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::derive {
namespace {

/// The operator itself, of the first operand's tangent.
void same(LinearizeRow& row) {
  if (row.t().empty()) return;
  const Names outputs = row.w.make_all_like(row.node, row.inputs_with({{0, row.t()}}));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (row.node.output(i) != nullptr) row.give(outputs[i], i);
  }
}

/// A product: the operator with each factor's tangent in its place, and what is added to it, its last operand, in the first of these.
void bilinear(LinearizeRow& row, bool has_addend) {
  Name out;
  Name addend = has_addend ? row.t(2) : Name();
  for (const std::size_t factor : {0UL, 1UL}) {
    if (row.t(factor).empty()) continue;
    Names operands = row.inputs_with({{factor, row.t(factor)}});
    if (has_addend) operands = row.inputs_with({{factor, row.t(factor)}, {2, addend}});
    out = row.w.add(out, row.w.make_like(row.node, operands));
    addend.clear();
  }
  if (!out.empty() || addend.empty()) return row.give(out);
  // The addend alone.
  if (row.node.is("Gemm")) {
    const double beta = row.attributes.real("beta", 1);
    const Name scaled = beta == 1 ? addend : row.w.make("Mul", {addend, row.number(beta)});
    return row.give_broadcast(scaled, 2);
  }
  std::vector<int64_t> axes{0};
  for (std::size_t i = 2; i < row.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  row.give(row.expand_to(row.w.unsqueeze(addend, axes), row.y()));
}

/// Whether [A', A] · [B; B'] takes less time than A' · B + A · B': copies of the operands against one call less for each small product, or
/// against sums that are larger. (16 × 12 × 16: 0.65 of the time; 20 × 16 × 20: 0.7; 64 × 16 × 64: 0.8; 128 × 32 × 128: 0.85; 256 × 64 ×
/// 256: 1; with ONNX Runtime 0.98, 0.94, 0.93, 0.89, 1.04; AMD EPYC, 2026-11-30.)
bool is_joined_faster(const LinearizeRow& row) {
  constexpr int64_t kSmall = 8192, kMostDepth = 32;
  const std::size_t left = row.rank(0), right = row.rank(1);
  if (!row.may_join || row.t(0).empty() || row.t(1).empty() || left < 3 || right < 3) return false;
  const int64_t rows = row.size(0, left - 2), depth = row.size(0, left - 1), columns = row.size(1, right - 1);
  if (rows < 1 || depth < 1 || columns < 1) return false;
  return rows * depth * columns <= kSmall || (depth <= kMostDepth && 2 * (rows + columns) * depth <= rows * columns);
}

/// Vectors as matrices of one row or column, whose product has dims that are known.
void matmul(LinearizeRow& row) {
  const bool is_left = row.sizes.rank(row.present(0)) == 1, is_right = row.sizes.rank(row.present(1)) == 1;
  Writer& w = row.w;
  if (!is_left && !is_right) {
    if (!is_joined_faster(row)) return bilinear(row, false);
    const Name left = w.make("Concat", {row.t(0), row.x(0)}, {{"axis", int64_t{-1}}});
    return row.give(w.make("MatMul", {left, w.make("Concat", {row.x(1), row.t(1)}, {{"axis", int64_t{-2}}})}));
  }
  const auto product = [&](const Name& a, const Name& b) {
    if (a.empty() || b.empty()) return Name();
    return w.make("MatMul", {is_left ? w.unsqueeze(a, {0}) : a, is_right ? w.unsqueeze(b, {1}) : b});
  };
  const Name sum = w.add(product(row.t(0), row.x(1)), product(row.x(0), row.t(1)));
  std::vector<int64_t> axes;
  if (is_left) axes.push_back(-2);
  if (is_right) axes.push_back(-1);
  row.give(sum.empty() ? sum : w.make("Squeeze", {sum, w.integers(axes)}));
}

void product_with_addend(LinearizeRow& row) {
  bilinear(row, true);
}

void einsum(LinearizeRow& row) {
  Name out;
  for (std::size_t i = 0; i < row.node.inputs().size(); ++i) {
    if (!row.t(i).empty()) out = row.w.add(out, row.w.make_like(row.node, row.inputs_with({{i, row.t(i)}})));
  }
  row.give(out);
}

void concat(LinearizeRow& row) {
  Names tangents;
  for (std::size_t i = 0; i < row.node.inputs().size(); ++i) tangents.push_back(row.t_or_zeros(i));
  row.give(row.w.make_like(row.node, tangents));
}

/// What a constant pad adds has no tangent; other modes repeat elements.
void pad(LinearizeRow& row) {
  if (!row.t().empty()) row.give(row.w.make_like(row.node, row.inputs_with({{0, row.t()}, {2, ""}})));
}

void cast(LinearizeRow& row) {
  const Value& out = *row.node.output(0);
  if (!row.t().empty() && is_float(row.sizes.type(out))) row.give(row.w.make_like(row.node, row.inputs_with({{0, row.t()}})));
}

void dropout(LinearizeRow& row) {
  const bool trains = row.node.input(2) != nullptr && row.sizes.number(*row.node.input(2)) != 0.0;
  if (trains) row.refuse("it may be in training mode, and draw numbers");
  row.give(row.t());
}

/// Additions to a tensor at given places; other reductions, and places written over, are not linear in all operands.
void scatter(LinearizeRow& row) {
  if (row.attributes.text("reduction", "none") != "add") row.refuse("only with reduction \"add\"");
  if (row.t(0).empty() && row.t(2).empty()) return;
  row.give(row.w.make_like(row.node, row.inputs_with({{0, row.t_or_zeros(0)}, {2, row.t_or_zeros(2)}})));
}

void resize(LinearizeRow& row) {
  const std::string mode = row.attributes.text("coordinate_transformation_mode", "half_pixel");
  if (mode == "tf_crop_and_resize") row.refuse("coordinate_transformation_mode tf_crop_and_resize");
  same(row);
}

/// Where a Relu makes what is pooled: the tangent of its operand. Relu' is the same for a chosen element and for the pool's result, of
/// which there are fewer.
Name tangent_before_relu(const LinearizeRow& row) {
  const Node* const maker = row.present(0).producer();
  if (maker == nullptr || !maker->is("Relu")) return {};
  const Name before = row.tangent_of(*maker->input(0));
  return row.w.is_product_of(row.t(), before) ? before : Name();
}

/// The elements that the pool chose, by their positions in their channels: of these, and not of a whole tensor, runtimes may choose the
/// order of the dims. ONNX Runtime takes several times as long for a Gather.
void max_pool(LinearizeRow& row) {
  if (row.t().empty()) return;
  if (row.attributes.integer("storage_order", 0) != 0) row.refuse("storage_order 1");
  Writer& w = row.w;
  const std::vector<Dim> channels{row.dim(0, 0), row.dim(0, 1)}, lines{0, 0, -1};
  std::vector<Dim> image;
  for (std::size_t i = 2; i < row.rank(); ++i) image.push_back(row.dim(0, i));
  const auto product = [&](const std::vector<Dim>& dims) { return w.make("ReduceProd", {w.shape(dims)}, {{"keepdims", int64_t{0}}}); };
  const Name numbers = w.make("Range", {w.integer(0), product(channels), w.integer(1)});
  const Name begins = w.make("Mul", {w.reshape(numbers, {-1, row.dim(0, 1), 1}), product(image)});
  const Name places = w.make("Sub", {w.reshape(row.y(1), lines), begins});
  const Name before = tangent_before_relu(row);
  const Name all = w.reshape(before.empty() ? row.t() : before, lines);
  const Name chosen = w.make("Reshape", {w.make("GatherElements", {all, places}, {{"axis", int64_t{2}}}), row.shape(row.y())});
  row.give(before.empty() ? chosen : w.scale(chosen, row.formula("Real(y)")));
}

/// The first of the largest elements of each channel.
void global_max_pool(LinearizeRow& row) {
  if (row.t().empty()) return;
  Writer& w = row.w;
  const std::vector<Dim> rows{0, 0, -1};
  const Name place = w.make("ArgMax", {w.reshape(row.x(), rows)}, {{"axis", int64_t{2}}});
  const Name known = w.reshape(place, {row.dim(0, 0), row.dim(0, 1), 1});
  const Name chosen = w.make("GatherElements", {w.reshape(row.t(), rows), known}, {{"axis", int64_t{2}}});
  row.give(w.make("Reshape", {chosen, row.shape(row.y())}));
}

/// The values are chosen elements; where the indices lie is no number with a tangent.
void top_k(LinearizeRow& row) {
  if (row.t().empty()) return;
  row.give(row.w.make("GatherElements", {row.t(), row.y(1)}, {{"axis", row.attributes.integer("axis", -1)}}));
}

void nothing(LinearizeRow&) {}

constexpr auto kLinear = std::to_array<Linearize>({
    {"AveragePool", same},
    {"Cast", cast},
    {"CastLike", cast},
    {"Concat", concat},
    {"ConstantOfShape", nothing},
    {"Conv", product_with_addend},
    {"ConvTranspose", product_with_addend},
    {"CumSum", same},
    {"DepthToSpace", same},
    {"Dropout", dropout},
    {"Einsum", einsum},
    {"Expand", same},
    {"Flatten", same},
    {"Gather", same},
    {"GatherElements", same},
    {"GatherND", same},
    {"Gemm", product_with_addend},
    {"GlobalAveragePool", same},
    {"GlobalMaxPool", global_max_pool},
    {"Identity", same},
    {"MatMul", matmul},
    {"MaxPool", max_pool},
    {"Pad", pad},
    {"ReduceMean", same},
    {"ReduceSum", same},
    {"Reshape", same},
    {"Resize", resize},
    {"ReverseSequence", same},
    {"ScatterElements", scatter},
    {"ScatterND", scatter},
    {"Slice", same},
    {"SpaceToDepth", same},
    {"Split", same},
    {"Squeeze", same},
    {"Tile", same},
    {"TopK", top_k},
    {"Transpose", same},
    {"Trilu", same},
    {"Unsqueeze", same},
});

}  // namespace

LinearizeRows linear_rows() {
  return kLinear;
}

}  // namespace relayout::derive
