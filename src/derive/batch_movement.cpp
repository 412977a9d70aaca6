// Batches operators that move elements or work along axes: the axes count from behind the leading dim.
#include <numeric>

#include "base/positions.h"
#include "derive/batcher.h"
#include "derive/writer.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::derive {
namespace {

/// Operators of the last axes alone.
void as_it_is(BatchRow& row) {
  row.give_all(row.first_in(Form::stacked), Form::stacked);
}

/// An operator along one axis, all of whose operands have that axis; `kOtherwise`: the axis that it takes where it names none.
template <int64_t kOtherwise>
void along_axis(BatchRow& row) {
  Names operands;
  for (std::size_t i = 0; i < row.node.inputs().size(); ++i) operands.push_back(row.has_input(i) ? row.every(i) : Name());
  row.give_all(operands, Form::stacked, {{"axis", static_cast<int64_t>(row.axis(kOtherwise)) + 1}});
}

/// Where channels lie side by side, they do so in the result: behind the others of their value along the axis of channels.
void concat(BatchRow& row) {
  Writer& w = row.w;
  const std::size_t axis = row.axis(0), count = row.node.inputs().size();
  bool are_channels = row.rank() >= 2;
  for (std::size_t i = 0; i < count; ++i) are_channels = are_channels && (!row.is_batched(i) || row.has(i, Form::channels));
  if (!are_channels) return along_axis<0>(row);
  Names operands;
  for (std::size_t i = 0; i < count; ++i) operands.push_back(row.every(i, Form::channels));
  if (axis != 1) return row.give(row.like(operands), Form::channels);
  for (std::size_t i = 0; i < count; ++i) operands[i] = row.split_channels(operands[i], row.present(i));
  row.give(row.joined_channels(w.make("Concat", operands, {{"axis", int64_t{2}}})), Form::channels);
}

/// Of a row of elements the same ones for all.
void gather_elements(BatchRow& row) {
  if (row.is_batched(1) || row.rank() != 1) return along_axis<0>(row);
  row.give(row.w.make("Gather", {row.stacked(), row.own(1)}, {{"axis", int64_t{1}}}));
}

/// The same with further operands that say how much is taken.
template <int64_t kOtherwise>
void first_along_axis(BatchRow& row) {
  row.give_all(row.first_in(Form::stacked), Form::stacked, {{"axis", static_cast<int64_t>(row.axis(kOtherwise)) + 1}});
}

/// Axes that an operand holds, of values of a rank, as those of the batch.
Name shifted_axes(const BatchRow& row, std::size_t input, std::size_t rank) {
  Writer& w = row.w;
  if (const auto known = row.sizes.integers(row.present(input))) {
    std::vector<int64_t> axes;
    for (const int64_t axis : *known) axes.push_back(from_front(axis, static_cast<int64_t>(rank)) + 1);
    return w.integers(axes);
  }
  const Name axes = row.own(input);
  return w.make("Where", {w.make("Less", {axes, w.integer(0)}), axes, w.make("Add", {axes, w.integer(1)})});
}

/// A sum or mean over the axis of a single sample, and others: samples that lie in rows are as they should be along it.
bool reduce_samples(BatchRow& row, std::vector<int64_t> axes, int64_t keepdims) {
  const bool is_sum = row.node.is("ReduceSum") || row.node.is("ReduceMean");
  for (int64_t& axis : axes) axis = from_front(axis, static_cast<int64_t>(row.rank()));
  if (!is_sum || keepdims != 0 || std::erase(axes, 0) == 0 || !row.has(0, Form::rows) || !row.batch.is_sample(row.present(0))) return false;
  const Name rows = row.in(0, Form::rows);
  row.give(axes.empty() ? rows : row.w.reduce(row.node.op_type(), rows, axes, false));
  return true;
}

/// Over other axes than the first, where channels lie side by side.
bool reduce_channels(BatchRow& row, std::vector<int64_t> axes, int64_t keepdims) {
  Writer& w = row.w;
  const auto rank = static_cast<int64_t>(row.rank());
  if (axes.empty() || !row.has(0, Form::channels) || row.is_batched(1)) return false;
  for (int64_t& axis : axes) axis = from_front(axis, rank);
  if (std::ranges::find(axes, 0) != axes.end()) return false;
  const Name channels = row.in(0, Form::channels);
  if (std::ranges::find(axes, 1) == axes.end()) {
    row.give(w.reduce(row.node.op_type(), channels, axes, keepdims != 0), Form::channels);
    return true;
  }
  for (int64_t& axis : axes) ++axis;
  const Name reduced = w.reduce(row.node.op_type(), row.split_channels(channels, row.present(0)), axes, keepdims != 0);
  if (row.rank_of(row.node.output(0)) < 2) {
    row.give(w.transpose(reduced, {1, 0}));
  } else {
    row.give(row.joined_channels(reduced), Form::channels);
  }
  return true;
}

void reduce(BatchRow& row) {
  std::vector<int64_t> axes = row.attributes.integers("axes");
  const int64_t keepdims = row.attributes.integer("keepdims", 1);
  const auto rank = static_cast<int64_t>(row.rank());
  const auto known = row.has_input(1) ? row.sizes.integers(row.present(1)) : axes;
  if (known && (reduce_samples(row, *known, keepdims) || reduce_channels(row, *known, keepdims))) return;
  if (row.has_input(1)) {
    const Name moved = shifted_axes(row, 1, row.rank());
    return row.give(row.w.make(row.node.op_type(), {row.stacked(), moved},
                               {{"keepdims", keepdims}, {"noop_with_empty_axes", row.attributes.integer("noop_with_empty_axes", 0)}}));
  }
  if (axes.empty() && row.attributes.integer("noop_with_empty_axes", 0) != 0) row.refuse("noop_with_empty_axes without axes");
  if (axes.empty()) {
    axes.resize(as_size(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (int64_t& axis : axes) axis = from_front(axis, rank) + 1;
  // Of a single number: an axis of its own, as no axes would mean all.
  if (axes.empty()) return row.give(row.w.reduce(row.node.op_type(), row.w.unsqueeze(row.stacked(), {1}), {1}, false));
  row.give(row.w.reduce(row.node.op_type(), row.stacked(), axes, keepdims != 0));
}

void cumulate(BatchRow& row) {
  const Name axis = row.w.make("Squeeze", {row.w.make("Reshape", {shifted_axes(row, 1, row.rank()), row.w.integers({1})})});
  row.give(row.like({row.stacked(), axis}));
}

void transpose(BatchRow& row) {
  std::vector<int64_t> order = row.attributes.integers("perm");
  if (order.empty()) {
    order.resize(row.rank());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  if (!order.empty() && order.front() == 0 && row.has(0, Form::rows)) {
    return row.give(row.w.transpose(row.in(0, Form::rows), order), Form::rows);
  }
  std::vector<int64_t> moved{0};
  for (const int64_t axis : order) moved.push_back(axis + 1);
  row.give(row.w.transpose(row.stacked(), moved));
}

/// Dims behind the first, as those of each value's own channels.
bool reshape_channels(BatchRow& row, std::vector<int64_t> target) {
  const Value& out = *row.node.output(0);
  if (!row.has(0, Form::channels) || target.size() < 2 || row.batch.count().size < 0) return false;
  if (!row.sizes.is_same(row.present(0), 0, out, 0)) return false;
  target[0] = 0;
  if (target[1] > 0) target[1] *= row.batch.count().size;
  row.give(row.w.make("Reshape", {row.in(0, Form::channels), row.w.integers(target)}), Form::channels);
  return true;
}

/// A zero takes the operand's own size, also that of the batch. Where the first axis stays, it may be merged with the batch.
void reshape(BatchRow& row) {
  Writer& w = row.w;
  if (row.attributes.integer("allowzero", 0) != 0) row.refuse("allowzero");
  const Name zero = w.integers({0});
  const Value& out = *row.node.output(0);
  const bool keeps_first = row.has(0, Form::rows) && row.sizes.rank(out).value_or(0) > 0 && row.sizes.is_same(row.present(0), 0, out, 0);
  const auto known = row.sizes.integers(row.present(1));
  if (known && reshape_channels(row, *known)) return;
  if (!keeps_first || row.rank() == 0) return row.give(w.make("Reshape", {row.stacked(), row.joined({zero, row.own(1)})}));
  if (known && !row.is_batched(1)) {
    std::vector<int64_t> target = *known;
    target.at(0) = 0;
    return row.give(w.make("Reshape", {row.in(0, Form::rows), w.integers(target)}), Form::rows);
  }
  const Name rest = w.make("Slice", {row.own(1), w.integers({1}), w.integers({INT64_MAX})});
  row.give(w.make("Reshape", {row.in(0, Form::rows), row.joined({zero, rest})}), Form::rows);
}

void flatten(BatchRow& row) {
  Writer& w = row.w;
  const auto rank = static_cast<int64_t>(row.rank());
  const int64_t axis = from_front(row.attributes.integer("axis", 1), rank);
  for (const Form form : {Form::rows, Form::channels}) {
    if (axis == 1 && row.has(0, form) && row.rank() > 1) return row.give(row.like({row.in(0, form)}), form);
  }
  if (axis == 0) return row.give(w.make("Reshape", {row.stacked(), w.integers({0, 1, -1})}));
  if (axis == 1) return row.give(w.make("Reshape", {row.stacked(), w.integers({0, 0, -1})}));
  int64_t width = 1;
  for (int64_t i = axis; i < rank; ++i) {
    const int64_t size = row.size(0, as_size(i));
    if (size < 0) row.refuse("free dims");
    width *= size;
  }
  row.give(w.make("Reshape", {row.stacked(), w.integers({0, -1, width})}));
}

void squeeze(BatchRow& row) {
  if (row.has_input(1)) return row.give(row.w.make("Squeeze", {row.stacked(), shifted_axes(row, 1, row.rank())}));
  std::vector<int64_t> axes;
  for (std::size_t i = 0; i < row.rank(); ++i) {
    const int64_t size = row.size(0, i);
    if (size < 0) row.refuse("free dims");
    if (size == 1) axes.push_back(static_cast<int64_t>(i) + 1);
  }
  row.give(axes.empty() ? row.stacked() : row.w.make("Squeeze", {row.stacked(), row.w.integers(axes)}));
}

void unsqueeze(BatchRow& row) {
  row.give(row.w.make("Unsqueeze", {row.stacked(), shifted_axes(row, 1, row.rank_of(row.node.output(0)))}));
}

/// The dims that are asked for, from the rank of the result on.
void expand(BatchRow& row) {
  const std::size_t rank = row.rank_of(row.node.output(0));
  const int64_t given = row.size(1, 0);
  if (given < 0) row.refuse("the number of its dims is not known");
  const std::vector<int64_t> ones(1 + rank - as_size(given), 1);
  row.give(row.w.make("Expand", {row.stacked_as(0, rank), row.joined({row.w.integers(ones), row.own(1)})}));
}

void tile(BatchRow& row) {
  row.give(row.w.make("Tile", {row.stacked(), row.joined({row.w.integers({1}), row.own(1)})}));
}

void pad(BatchRow& row) {
  Writer& w = row.w;
  if (row.has_input(3)) {
    return row.give(row.like({row.stacked(), row.own(1), row.own(2), shifted_axes(row, 3, row.rank())}));
  }
  const Name pads = row.own(1), zero = w.integers({0}), middle = w.integers({static_cast<int64_t>(row.rank())});
  const Name begins = w.make("Slice", {pads, zero, middle}), ends = w.make("Slice", {pads, middle, w.integers({INT64_MAX})});
  row.give(row.like({row.stacked(), row.joined({zero, begins, zero, ends}), row.own(2)}));
}

void slice(BatchRow& row) {
  Name axes;
  if (row.has_input(3)) {
    axes = shifted_axes(row, 3, row.rank());
  } else {
    const int64_t count = row.size(1, 0);
    if (count < 0) row.refuse("the number of its axes is not known");
    std::vector<int64_t> all(as_size(count));
    std::iota(all.begin(), all.end(), 1);
    axes = row.w.integers(all);
  }
  row.give(row.like({row.stacked(), row.own(1), row.own(2), axes, row.own(4)}));
}

/// A tensor of batches with the axis that is looked up, counted within values, in front: behind that of the batch, or merged with it.
std::vector<int64_t> axis_to_front(std::size_t axis, std::size_t rank, std::size_t leading) {
  std::vector<int64_t> out(rank);
  std::iota(out.begin(), out.end(), 0);
  std::rotate(out.begin() + static_cast<std::ptrdiff_t>(leading), out.begin() + static_cast<std::ptrdiff_t>(axis),
              out.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  return out;
}

/// Both operands differ: the tables one after the other, with the indices counted on.
Name gather_in_each(const BatchRow& row, std::size_t axis) {
  Writer& w = row.w;
  const std::size_t rank = row.rank(), rank_of_indices = row.rank(1);
  const Name data = row.stacked(), table = axis == 0 ? data : w.transpose(data, axis_to_front(axis + 1, rank + 1, 1));
  const Name size = w.make("Gather", {w.shape(table), w.integer(1)});
  const Name rest = w.make("Slice", {w.shape(table), w.integers({2}), w.integers({INT64_MAX})});
  const Name flat = w.make("Reshape", {table, row.joined({w.integers({-1}), rest})});
  const Name given = w.cast(row.stacked(1), DataType::int64), zero = w.integer(0);
  const Name indices = w.make("Where", {w.make("Less", {given, zero}), w.make("Add", {given, size}), given});
  std::vector<int64_t> own_axes(rank_of_indices);
  std::iota(own_axes.begin(), own_axes.end(), 1);
  const Name begins = w.unsqueeze(w.make("Mul", {row.places(), size}), own_axes);
  return w.make("Gather", {flat, w.make("Add", {indices, begins})});
}

void gather(BatchRow& row) {
  const std::size_t axis = row.axis(0), rank_of_indices = row.rank(1);
  const auto moved = static_cast<int64_t>(axis) + 1;
  if (!row.is_batched(1)) return row.give(row.like({row.stacked(), row.own(1)}, {{"axis", moved}}));
  const std::size_t rank = row.rank() + rank_of_indices;
  if (!row.is_batched(0)) {
    // [of data before the axis…, B, of the indices…, of data behind it…]
    const Name out = row.like({row.own(0), row.stacked(1)});
    return row.give(axis == 0 ? out : row.w.transpose(out, axis_to_front(axis, rank, 0)));
  }
  const Name out = gather_in_each(row, axis);
  if (axis == 0) return row.give(out);
  std::vector<int64_t> order{0};
  for (std::size_t i = 0; i < axis; ++i) order.push_back(static_cast<int64_t>(1 + rank_of_indices + i));
  for (std::size_t i = 0; i < rank_of_indices; ++i) order.push_back(static_cast<int64_t>(1 + i));
  for (std::size_t i = 1 + rank_of_indices + axis; i < rank; ++i) order.push_back(static_cast<int64_t>(i));
  row.give(row.w.transpose(out, order));
}

void gather_nd(BatchRow& row) {
  row.give(row.like({row.every(0), row.every(1)}, {{"batch_dims", row.attributes.integer("batch_dims", 0) + 1}}));
}

/// Each row of the indices begins with the place in the batch.
void scatter_nd(BatchRow& row) {
  Writer& w = row.w;
  const Name indices = row.every(1);
  std::vector<int64_t> axes(row.rank(1));
  std::iota(axes.begin(), axes.end(), 1);
  const Name leading = w.make("Slice", {w.shape(indices), w.integers({0}), w.integers({-1})});
  const Name column = w.make("Expand", {w.unsqueeze(row.places(), axes), row.joined({leading, w.integers({1})})});
  row.give(row.like({row.every(0), w.make("Concat", {column, indices}, {{"axis", int64_t{-1}}}), row.every(2)}));
}

/// Its two axes are the first ones: the batch goes to the end.
void reverse_sequence(BatchRow& row) {
  std::vector<int64_t> back(row.rank() + 1), away(back.size());
  std::iota(back.begin(), back.end(), -1);
  back.front() = static_cast<int64_t>(row.rank());
  for (std::size_t i = 0; i < back.size(); ++i) away[as_size(back[i])] = static_cast<int64_t>(i);
  row.give(row.w.transpose(row.like({row.w.transpose(row.stacked(), away), row.own(1)}), back));
}

void one_hot(BatchRow& row) {
  const int64_t axis = row.attributes.integer("axis", -1);
  row.give(row.like({row.stacked(), row.own(1), row.own(2)}, {{"axis", axis < 0 ? axis : axis + 1}}));
}

/// The dims of one value.
void shape(BatchRow& row) {
  const auto rank = static_cast<int64_t>(row.rank());
  const auto bound = [&](std::string_view name, int64_t otherwise) {
    return std::clamp<int64_t>(from_front(row.attributes.integer(name, otherwise), rank), 0, rank) + 1;
  };
  row.batch.set_same(*row.node.output(0),
                     row.w.make("Shape", {row.stacked()}, {{"start", bound("start", 0)}, {"end", bound("end", rank)}}));
}

void size(BatchRow& row) {
  const Name dims = row.w.make("Shape", {row.stacked()}, {{"start", int64_t{1}}});
  row.batch.set_same(*row.node.output(0), row.w.make("ReduceProd", {dims}, {{"keepdims", int64_t{0}}}));
}

constexpr auto kMovementBatches = std::to_array<Batch>({
    {"ArgMax", along_axis<0>},
    {"ArgMin", along_axis<0>},
    {"Concat", concat},
    {"CumSum", cumulate},
    {"Expand", expand},
    {"Flatten", flatten},
    {"Gather", gather},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"Hardmax", along_axis<-1>},
    {"LogSoftmax", along_axis<-1>},
    {"LpNormalization", along_axis<-1>},
    {"OneHot", one_hot},
    {"Pad", pad},
    {"ReduceL1", reduce},
    {"ReduceL2", reduce},
    {"ReduceLogSum", reduce},
    {"ReduceLogSumExp", reduce},
    {"ReduceMax", reduce},
    {"ReduceMean", reduce},
    {"ReduceMin", reduce},
    {"ReduceProd", reduce},
    {"ReduceSum", reduce},
    {"ReduceSumSquare", reduce},
    {"Reshape", reshape},
    {"ReverseSequence", reverse_sequence},
    {"ScatterElements", along_axis<0>},
    {"ScatterND", scatter_nd},
    {"Shape", shape},
    {"Size", size},
    {"Slice", slice},
    {"Softmax", along_axis<-1>},
    {"Split", first_along_axis<0>},
    {"Squeeze", squeeze},
    {"Tile", tile},
    {"TopK", first_along_axis<-1>},
    {"Transpose", transpose},
    {"Trilu", as_it_is},
    {"Unsqueeze", unsqueeze},
});

}  // namespace

BatchRows movement_batches() {
  return kMovementBatches;
}

}  // namespace relayout::derive
