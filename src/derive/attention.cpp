// Writes attention as the products, the mask and the softmax of which it is made, which have derivatives.
#include <cmath>

#include "derive/row.h"
#include "derive/writer.h"
#include "relayout/types.h"

namespace relayout::derive {
namespace {

/// Numbers of the operator's inputs.
constexpr std::size_t kQuery = 0, kKey = 1, kValue = 2, kMask = 3, kPastKey = 4, kPastValue = 5, kLengths = 6;

/// The number of heads of an operand.
int64_t heads_of(const Row& row, std::size_t input, const char* attribute) {
  const int64_t heads = row.rank(input) == 4 ? row.size(input, 1) : row.attributes.integer(attribute, 0);
  if (heads <= 0) row.refuse("the number of its heads is not known");
  return heads;
}

/// An operand as [N, heads, places, elements of a head].
Name by_heads(const Row& row, std::size_t input, int64_t heads) {
  if (row.rank(input) == 4) return row.x(input);
  return row.w.transpose(row.w.reshape(row.x(input), {0, 0, heads, -1}), {0, 2, 1, 3});
}

/// Each head of keys or values as often as queries share it.
Name shared(const Row& row, std::size_t input, const Name& value, int64_t heads, int64_t times) {
  if (times == 1) return value;
  const int64_t width = row.size(input, row.rank(input) - 1), each = row.rank(input) == 4 ? width : width / heads;
  if (width < 0) row.refuse("the size of its heads is not known");
  const Name repeated = row.w.make("Expand", {row.w.unsqueeze(value, {2}), row.w.integers({1, 1, times, 1, 1})});
  return row.w.make("Reshape", {repeated, row.w.integers({0, heads * times, -1, each})});
}

/// What is added to the scores of query and key, 0 or −∞ where one must not see the other; empty where all may.
Name bias_of(const Row& row, const Name& key) {
  Writer& w = row.w;
  const Name closed = row.number(-HUGE_VAL);
  Name out;
  if (row.node.input(kMask) != nullptr) {
    const int64_t places = row.size(kKey, row.rank(kKey) - 2), width = row.size(kMask, row.rank(kMask) - 1);
    if (row.node.input(kPastKey) == nullptr && places >= 0 && width >= 0 && places != width)
      row.refuse("a mask that is shorter than its keys");
    const bool is_condition = row.sizes.type(row.present(kMask)) == DataType::boolean;
    out = is_condition ? w.make("Where", {row.x(kMask), row.number(0), closed}) : row.x(kMask);
  }
  if (row.attributes.integer("is_causal", 0) == 0) return out;
  const std::vector<Dim> queries{row.dim(kQuery, row.rank(kQuery) - 2)};
  const Name keys = w.make("Shape", {key}, {{"start", int64_t{2}}, {"end", int64_t{3}}});
  const Name all = w.make("Expand", {closed, w.make("Concat", {w.shape(queries), keys}, {{"axis", int64_t{0}}})});
  Name first = w.integer(1);
  if (row.node.input(kPastKey) != nullptr) {
    const std::vector<Dim> past{row.dim(kPastKey, 2)};
    first = w.make("Add", {w.make("Squeeze", {w.shape(past)}), first});
  }
  return w.add(out, w.make("Trilu", {all, first}, {{"upper", int64_t{1}}}));
}

}  // namespace

Names attention(const Row& row) {
  Writer& w = row.w;
  if (row.node.input(kLengths) != nullptr) row.refuse("nonpad_kv_seqlen");
  if (row.node.output(3) != nullptr && !row.node.output(3)->uses().empty()) row.refuse("its scores are read");
  for (const char* window : {"left_window_size", "right_window_size"}) {
    if (row.attributes.integer(window, -1) != -1) row.refuse("attribute " + std::string(window));
  }
  const int64_t heads = heads_of(row, kQuery, "q_num_heads"), own = heads_of(row, kKey, "kv_num_heads");
  if (heads % own != 0) row.refuse("the numbers of its heads");
  const auto with_past = [&](std::size_t input, std::size_t past) {
    const Name now = by_heads(row, input, own);
    return row.node.input(past) == nullptr ? now : w.make("Concat", {row.x(past), now}, {{"axis", int64_t{2}}});
  };
  const Name key = with_past(kKey, kPastKey), value = with_past(kValue, kPastValue);
  double scale = row.attributes.real("scale", 0);
  if (scale == 0) {
    const int64_t width = row.size(kQuery, row.rank(kQuery) - 1);
    if (width < 0) row.refuse("the size of its heads is not known");
    scale = 1 / std::sqrt(static_cast<double>(row.rank(kQuery) == 4 ? width : width / heads));
  }
  const Name query = w.make("Mul", {by_heads(row, kQuery, heads), row.number(scale)});
  Name scores = w.make("MatMul", {query, w.transpose(shared(row, kKey, key, own, heads / own), {0, 1, 3, 2})});
  if (const double cap = row.attributes.real("softcap", 0); cap != 0) {
    scores = w.make("Mul", {w.make("Tanh", {w.make("Div", {scores, row.number(cap)})}), row.number(cap)});
  }
  Name bias = bias_of(row, key), is_closed;
  if (row.node.input(kMask) != nullptr) {
    // A query that sees no key: its result is 0.
    is_closed = w.make("Equal", {w.reduce("ReduceMax", bias, {-1}), row.number(-HUGE_VAL)});
    bias = w.make("Where", {is_closed, row.number(0), bias});
  }
  const auto precision = static_cast<DataType>(row.attributes.integer("softmax_precision", static_cast<int64_t>(row.type())));
  const bool is_own = precision == row.type();
  scores = w.add(scores, bias);
  Name shares = w.make("Softmax", {is_own ? scores : w.cast(scores, precision)}, {{"axis", int64_t{-1}}});
  if (!is_own) shares = w.cast(shares, row.type());
  if (!is_closed.empty()) shares = w.make("Where", {is_closed, row.number(0), shares});
  const Name made = w.make("MatMul", {shares, shared(row, kValue, value, own, heads / own)});
  const bool is_whole = row.rank(kQuery) == 4;
  return {is_whole ? made : w.reshape(w.transpose(made, {0, 2, 1, 3}), {0, 0, -1}), key, value};
}

}  // namespace relayout::derive
