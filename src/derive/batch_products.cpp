// Batches products, convolutions and normalizations: batches as further rows where the weights are the same, as groups where they differ.
#include <numeric>

#include "derive/batcher.h"
#include "derive/writer.h"
#include "ops/einsum.h"

namespace relayout::derive {
namespace {

/// An operator that treats the samples of its data alone, and all in the same way.
void as_rows(BatchRow& row) {
  if (row.node.output(1) != nullptr && !row.node.output(1)->uses().empty()) row.refuse("its indices count through the whole tensor");
  row.give(row.like(row.first_in(Form::rows)), Form::rows);
}

/// The same, for channels too.
void as_channels(BatchRow& row) {
  if (!row.has(0, Form::channels)) return as_rows(row);
  if (row.node.output(1) != nullptr && !row.node.output(1)->uses().empty()) row.refuse("its indices count through the whole tensor");
  row.give(row.like(row.first_in(Form::channels)), Form::channels);
}

void resize(BatchRow& row) {
  const Form form = row.has(0, Form::channels) ? Form::channels : Form::rows;
  Names operands = row.first_in(form);
  if (row.has_input(3) && row.attributes.integers("axes").empty()) {
    std::vector<Dim> factors(row.rank(), Dim(1));
    factors.at(form == Form::rows ? 0 : 1) = row.batch.count();
    operands.at(3) = row.w.make("Mul", {operands[3], row.w.shape(factors)});
  }
  row.give(row.like(operands), form);
}

/// Vectors are matrices of one row or column, whose axis is left out of the result.
void matmul(BatchRow& row) {
  Writer& w = row.w;
  const std::size_t rank_a = row.rank(0), rank_b = row.rank(1);
  if (!row.is_batched(1) && rank_b == 2 && rank_a >= 2 && row.has(0, Form::rows)) {
    return row.give(row.like({row.in(0, Form::rows), row.own(1)}), Form::rows);
  }
  const bool are_rows = row.has(0, Form::rows) && row.has(1, Form::rows) && rank_a == rank_b && rank_a > 2;
  if (are_rows && row.sizes.is_same(row.present(0), 0, row.present(1), 0)) {
    return row.give(row.like({row.in(0, Form::rows), row.in(1, Form::rows)}), Form::rows);
  }
  const std::size_t rank = std::max({rank_a, rank_b, std::size_t{2}});
  const auto matrix = [&](std::size_t i, std::size_t own_rank) {
    if (own_rank != 1) return row.stacked_as(i, rank);
    const bool is_batched = row.is_batched(i);
    // [B, 1 …, 1, k] or [B, 1 …, k, 1]
    std::vector<int64_t> axes(is_batched ? rank - 1 : 1);
    std::iota(axes.begin(), axes.end(), 1);
    if (!is_batched) axes.front() = i == 0 ? 0 : 1;
    if (is_batched && i == 1) axes.back() = static_cast<int64_t>(rank);
    return w.unsqueeze(row.stacked(i), axes);
  };
  const Name product = w.make("MatMul", {matrix(0, rank_a), matrix(1, rank_b)});
  std::vector<int64_t> gone;
  if (rank_a == 1) gone.push_back(-2);
  if (rank_b == 1) gone.push_back(-1);
  row.give(gone.empty() ? product : w.make("Squeeze", {product, w.integers(gone)}));
}

void gemm(BatchRow& row) {
  Writer& w = row.w;
  const bool turns_a = row.attributes.integer("transA", 0) != 0, turns_b = row.attributes.integer("transB", 0) != 0;
  const double alpha = row.attributes.real("alpha", 1), beta = row.attributes.real("beta", 1);
  const bool adds_row = !row.has_input(2) || (!row.is_batched(2) && (row.rank(2) < 2 || row.size(2, 0) == 1));
  if (!turns_a && !row.is_batched(1) && adds_row) {
    return row.give(row.like({row.in(0, Form::rows), row.own(1), row.own(2)}), Form::rows);
  }
  const auto matrix = [&](std::size_t i, bool turns) {
    if (!turns) return row.stacked(i);
    return w.transpose(row.stacked(i), row.is_batched(i) ? std::vector<int64_t>{0, 2, 1} : std::vector<int64_t>{1, 0});
  };
  Name out = w.make("MatMul", {matrix(0, turns_a), matrix(1, turns_b)});
  if (!row.is_batched(0) && !row.is_batched(1)) out = w.unsqueeze(out, {0});
  if (alpha != 1) out = w.make("Mul", {out, row.number(alpha)});
  if (row.has_input(2)) {
    const Name addend = row.stacked_as(2, 2);
    out = w.add(out, beta == 1 ? addend : w.make("Mul", {addend, row.number(beta)}));
  }
  row.give(out);
}

void einsum(BatchRow& row) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const std::string used = row.attributes.text("equation", "");
  const EinsumEquation terms = read_einsum(used);
  if (terms.has_ellipsis()) row.refuse("an ellipsis");
  const auto unused = std::ranges::find_if(kLetters, [&](char letter) { return used.find(letter) == std::string::npos; });
  if (unused == kLetters.end()) row.refuse("an equation that has all letters");
  const std::string batch(1, *unused);
  std::string equation;
  Names operands;
  for (std::size_t i = 0; i < terms.operands.size(); ++i) {
    equation += (i == 0 ? "" : ",") + (row.is_batched(i) ? batch : "") + terms.operands[i];
    operands.push_back(row.stacked(i));
  }
  row.give(row.w.make("Einsum", operands, {{"equation", equation + "->" + batch + terms.letters_of_result()}}));
}

/// A vector with an element for each channel of every value.
Name of_all_channels(const BatchRow& row, std::size_t input) {
  return row.every(input, Form::rows);
}

/// With weights of their own, batches are groups of channels.
void convolve(BatchRow& row) {
  if (!row.is_batched(1) && !row.is_batched(2)) return as_rows(row);
  const int64_t count = row.batch.count().size, group = row.attributes.integer("group", 1);
  if (count < 0) row.refuse("weights that differ within a batch of free size");
  // The same data for all: their channels need not be repeated for a convolution that is not in groups.
  const bool is_shared = !row.is_batched(0) && group == 1 && row.node.is("Conv");
  const Name data = is_shared ? row.own(0) : row.every(0, Form::channels);
  const Name shift = row.has_input(2) ? of_all_channels(row, 2) : Name();
  row.give(row.like({data, row.every(1, Form::rows), shift}, {{"group", is_shared ? int64_t{1} : group * count}}), Form::channels);
}

void batch_normalization(BatchRow& row) {
  if (row.attributes.integer("training_mode", 0) != 0) row.refuse("training mode mixes the samples of a batch");
  const auto is_same = [&](std::size_t i) { return !row.is_batched(i); };
  if (is_same(1) && is_same(2) && is_same(3) && is_same(4)) return as_rows(row);
  Names operands{row.every(0, Form::channels)};
  for (const std::size_t i : {1UL, 2UL, 3UL, 4UL}) operands.push_back(of_all_channels(row, i));
  row.give(row.like(operands), Form::channels);
}

void instance_normalization(BatchRow& row) {
  if (!row.is_batched(1) && !row.is_batched(2)) return as_rows(row);
  row.give(row.like({row.every(0, Form::channels), of_all_channels(row, 1), of_all_channels(row, 2)}), Form::channels);
}

/// Since opset 21 scale and shift are per channel.
void group_normalization(BatchRow& row) {
  if (!row.is_batched(1) && !row.is_batched(2)) return as_rows(row);
  const int64_t count = row.batch.count().size;
  if (count < 0 || row.node.opset() < 21) row.refuse("parameters that differ within the batch");
  row.give(row.like({row.every(0, Form::channels), of_all_channels(row, 1), of_all_channels(row, 2)},
                    {{"num_groups", row.attributes.integer("num_groups", 1) * count}}),
           Form::channels);
}

/// Scale and shift that differ are applied behind a normalization with ones.
void layer_normalization(BatchRow& row) {
  Writer& w = row.w;
  const std::size_t rank = row.rank();
  const NamedAttributes axis{{"axis", static_cast<int64_t>(row.axis(-1)) - static_cast<int64_t>(rank)}};
  if (!row.is_batched(1) && !row.is_batched(2)) return row.give_all(row.first_in(Form::stacked), Form::stacked, axis);
  Name scale = row.is_batched(1) ? Name() : row.own(1);
  if (row.is_batched(1)) {
    (void)row.in(1, Form::stacked);
    scale = w.make("Expand", {row.number(1), w.shape(row.batch.tail(row.present(1), 0, Form::stacked))});
  }
  const Names made = w.make_all_like(row.node, {row.stacked(), scale}, axis);
  Name out = made[0];
  if (row.is_batched(1)) out = w.make("Mul", {out, row.stacked_as(1, rank)});
  if (row.has_input(2)) out = w.make("Add", {out, row.stacked_as(2, rank)});
  row.give(out);
  for (std::size_t i = 1; i < made.size(); ++i) {
    if (row.node.output(i) == nullptr) continue;
    row.is_batched(0) ? row.give(made[i], Form::stacked, i) : row.batch.set_same(*row.node.output(i), made[i]);
  }
}

void dropout(BatchRow& row) {
  const bool trains = row.has_input(2) && row.sizes.number(row.present(2)) != 0.0;
  if (trains || row.node.output(1) != nullptr) row.refuse("it may be in training mode, and draw numbers");
  for (const Form form : {Form::stacked, Form::rows, Form::channels}) {
    if (row.has(0, form)) row.give(row.in(0, form), form);
  }
}

constexpr auto kProductBatches = std::to_array<Batch>({
    {"AveragePool", as_channels},
    {"BatchNormalization", batch_normalization},
    {"Conv", convolve},
    {"ConvTranspose", convolve},
    {"DepthToSpace", as_rows},
    {"Dropout", dropout},
    {"Einsum", einsum},
    {"Gemm", gemm},
    {"GlobalAveragePool", as_channels},
    {"GlobalMaxPool", as_channels},
    {"GroupNormalization", group_normalization},
    {"InstanceNormalization", instance_normalization},
    {"LRN", as_rows},
    {"LayerNormalization", layer_normalization},
    {"MatMul", matmul},
    {"MaxPool", as_channels},
    {"RMSNormalization", layer_normalization},
    {"Resize", resize},
    {"SpaceToDepth", as_rows},
});

}  // namespace

BatchRows product_batches() {
  return kProductBatches;
}

}  // namespace relayout::derive
