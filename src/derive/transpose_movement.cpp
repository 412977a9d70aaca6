// Transposes operators that move elements: what they read from one place goes back there, and what they repeat is added up.
#include <numeric>

#include "base/positions.h"
#include "derive/row.h"
#include "derive/writer.h"
#include "relayout/graph.h"

namespace relayout::derive {
namespace {

/// Elements in the same order in other dims.
void same_order(TransposeRow& row) {
  row.give(row.w.make("Reshape", {row.ct(), row.shape(row.x())}));
}

void transpose(TransposeRow& row) {
  const std::vector<int64_t> permutation = row.attributes.integers("perm");
  if (permutation.empty()) return row.give(row.w.make("Transpose", {row.ct()}));
  std::vector<int64_t> inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) element_at(inverse, permutation[i]) = static_cast<int64_t>(i);
  row.give(row.w.transpose(row.ct(), inverse));
}

void expand(TransposeRow& row) {
  row.give_summed(row.ct(), 0);
}

/// Each axis as its repetitions and its elements, and the sum over the former.
void tile(TransposeRow& row) {
  Writer& w = row.w;
  const Name columns = w.make("Concat", {w.unsqueeze(row.x(1), {1}), w.unsqueeze(row.shape(row.x()), {1})}, {{"axis", int64_t{1}}});
  const Name pairs = w.make("Reshape", {columns, w.integers({-1})});
  std::vector<int64_t> axes(row.rank());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(2 * i);
  row.give(w.reduce("ReduceSum", w.make("Reshape", {row.ct(), pairs}), axes, false));
}

void concat(TransposeRow& row) {
  const std::size_t axis = row.axis(0), count = row.node.inputs().size();
  std::vector<Dim> sizes;
  for (std::size_t i = 0; i < count; ++i) sizes.push_back(row.dim(i, axis));
  if (count == 1) return row.give(row.ct());
  const Names parts = row.w.make("Split", {row.ct(), row.w.shape(sizes)}, count, {{"axis", static_cast<int64_t>(axis)}});
  for (std::size_t i = 0; i < count; ++i) {
    if (row.is_linear(i)) row.give(parts[i], i);
  }
}

void split(TransposeRow& row) {
  Names parts;
  for (std::size_t i = 0; i < row.node.outputs().size(); ++i) {
    if (row.node.output(i) == nullptr) row.refuse("a part of it is absent");
    parts.push_back(row.ct(i).empty() ? row.zeros_like(row.y(i), row.type()) : row.ct(i));
  }
  row.give(row.w.make("Concat", parts, {{"axis", row.attributes.integer("axis", 0)}}));
}

/// `ct` at these indices along an axis of zeros that have, along that axis, the size of `size`.
Name scattered(const TransposeRow& row, const Name& ct, const Name& indices, std::size_t axis, const Name& size) {
  Writer& w = row.w;
  const std::size_t rank = row.rank();
  std::vector<int64_t> around;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i != axis) around.push_back(static_cast<int64_t>(i));
  }
  const Name shape = w.make("ScatterElements", {w.shape(ct), w.integers({static_cast<int64_t>(axis)}), size}, {{"axis", int64_t{0}}});
  const Name zeros = w.make("Expand", {w.real(0, row.type()), shape});
  const Name places = row.expand_to(w.unsqueeze(indices, around), ct);
  return w.make("ScatterElements", {zeros, places, ct}, {{"axis", static_cast<int64_t>(axis)}, {"reduction", std::string("add")}});
}

/// A constant pad is cropped by its negative; another mode has read, along each axis on its own, the positions that it makes of a range.
void pad(TransposeRow& row) {
  Writer& w = row.w;
  if (row.attributes.text("mode", "constant") == "constant") {
    return row.give(w.make_like(row.node, row.inputs_with({{0, row.ct()}, {1, w.make("Neg", {row.x(1)})}, {2, ""}})));
  }
  const std::size_t rank = row.rank();
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (row.node.input(3) != nullptr) axes = row.sizes.integers(*row.node.input(3)).value_or(std::vector<int64_t>());
  if (axes.empty()) row.refuse("its axes are not constant");
  const auto known = row.sizes.integers(row.present(1));
  Name ct = row.ct();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (known && known->at(i) == 0 && known->at(i + axes.size()) == 0) continue;
    const auto axis = checked_axis(axes[i], rank);
    if (!axis) row.refuse("its axes are beyond the rank");
    const Name size = w.make("Gather", {row.shape(row.x()), w.integers({static_cast<int64_t>(*axis)})});
    const Name range = w.make("Range", {w.integer(0), w.make("Squeeze", {size}), w.integer(1)});
    const Name ends = w.make("Gather", {row.x(1), w.integers({static_cast<int64_t>(i), static_cast<int64_t>(i + axes.size())})});
    const Name places = w.make("Pad", {range, ends}, {{"mode", row.attributes.text("mode", "")}});
    ct = scattered(row, ct, places, *axis, size);
  }
  row.give(ct);
}

/// One sliced axis.
struct Cut {
  std::size_t axis;
  Name starts, ends, steps;  ///< vectors of one element
  std::optional<int64_t> start, step;
};

std::vector<Cut> cuts_of(const TransposeRow& row) {
  const auto known = [&](std::size_t input) {
    return row.node.input(input) == nullptr ? std::nullopt : row.sizes.integers(*row.node.input(input));
  };
  const std::size_t rank = row.rank();
  auto axes = known(3);
  if (row.node.input(3) != nullptr && !axes) row.refuse("its axes are not constant");
  const PartialDims starts_dims = row.sizes.constants().dims(row.present(1));
  if (!axes && (!starts_dims || starts_dims->size() != 1 || starts_dims->front() < 0)) row.refuse("the number of its axes is not known");
  if (!axes) {
    axes.emplace(as_size(starts_dims->front()));
    std::iota(axes->begin(), axes->end(), 0);
  }
  const auto starts = known(1), steps = known(4);
  std::vector<Cut> out;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = checked_axis((*axes)[i], rank);
    if (!axis) row.refuse("its axes are beyond the rank");
    const auto pick = [&](std::size_t input) {
      const Name at = row.w.integers({static_cast<int64_t>(i)});
      return row.node.input(input) == nullptr ? row.w.integers({1}) : row.w.make("Gather", {row.x(input), at});
    };
    Cut& cut = out.emplace_back(Cut{*axis, pick(1), pick(2), pick(4), std::nullopt, std::nullopt});
    if (starts) cut.start = starts->at(i);
    if (row.node.input(4) == nullptr) cut.step = 1;
    if (steps) cut.step = steps->at(i);
  }
  return out;
}

/// Zeros around the part where the bounds are known; else each axis on its own, at the positions that the slice would read of a range.
void slice(TransposeRow& row) {
  Writer& w = row.w;
  const std::vector<Cut> cuts = cuts_of(row);
  const Value& x = row.present(0);
  std::vector<int64_t> begins(row.rank()), ends(row.rank());
  bool is_known = true;
  for (const Cut& cut : cuts) {
    const int64_t size = row.size(0, cut.axis), kept = row.sizes.dim(*row.node.output(0), cut.axis);
    is_known = is_known && size >= 0 && kept >= 0 && cut.start && cut.step == 1;
    if (!is_known) break;
    const int64_t start = std::clamp(from_front(*cut.start, size), int64_t{0}, size);
    begins[cut.axis] = start;
    ends[cut.axis] = size - start - kept;
  }
  if (is_known) {
    begins.insert(begins.end(), ends.begin(), ends.end());
    return row.give(w.make("Pad", {row.ct(), w.integers(begins)}));
  }
  Name ct = row.ct();
  for (const Cut& cut : cuts) {
    const Name size = w.make("Gather", {row.shape(x.name()), w.integers({static_cast<int64_t>(cut.axis)})});
    const Name one = w.make("Squeeze", {size});
    const Name range = w.make("Range", {w.integer(0), one, w.integer(1)});
    const Name places = w.make("Slice", {range, cut.starts, cut.ends, w.integers({0}), cut.steps});
    ct = scattered(row, ct, places, cut.axis, size);
  }
  row.give(ct);
}

void gather(TransposeRow& row) {
  Writer& w = row.w;
  const std::size_t axis = row.axis(0), rank = row.rank(), rank_of_indices = row.rank(1);
  const Name flat = w.make("Reshape", {row.x(1), w.integers({-1})});
  std::vector<Dim> form;
  for (std::size_t i = 0; i < rank; ++i) form.push_back(i == axis ? Dim(-1) : row.dim(0, i));
  const Name ct = rank_of_indices == 1 ? row.ct() : w.reshape(row.ct(), form);
  if (axis != 0) {
    const Name size = w.make("Gather", {row.shape(row.x()), w.integers({static_cast<int64_t>(axis)})});
    return row.give(scattered(row, ct, flat, axis, size));
  }
  const Name zeros = row.zeros_like(row.x(), row.type());
  if (rank == 1) {
    return row.give(w.make("ScatterElements", {zeros, flat, ct}, {{"axis", int64_t{0}}, {"reduction", std::string("add")}}));
  }
  row.give(w.make("ScatterND", {zeros, w.unsqueeze(flat, {-1}), ct}, {{"reduction", std::string("add")}}));
}

void gather_elements(TransposeRow& row) {
  row.give(row.w.make("ScatterElements", {row.zeros_like(row.x(), row.type()), row.x(1), row.ct()},
                      {{"axis", row.attributes.integer("axis", 0)}, {"reduction", std::string("add")}}));
}

void gather_nd(TransposeRow& row) {
  if (row.attributes.integer("batch_dims", 0) != 0) row.refuse("batch_dims");
  row.give(row.w.make("ScatterND", {row.zeros_like(row.x(), row.type()), row.x(1), row.ct()}, {{"reduction", std::string("add")}}));
}

void scatter_elements(TransposeRow& row) {
  if (row.is_linear(0)) row.give(row.ct(), 0);
  if (row.is_linear(2)) {
    row.give(row.w.make("GatherElements", {row.ct(), row.x(1)}, {{"axis", row.attributes.integer("axis", 0)}}), 2);
  }
}

void scatter_nd(TransposeRow& row) {
  if (row.is_linear(0)) row.give(row.ct(), 0);
  if (row.is_linear(2)) row.give(row.w.make("GatherND", {row.ct(), row.x(1)}), 2);
}

/// A permutation of elements, undone.
void depth_to_space(TransposeRow& row) {
  const int64_t size = row.attributes.integer("blocksize", 1);
  if (row.attributes.text("mode", "DCR") == "DCR") return row.give(row.w.make("SpaceToDepth", {row.ct()}, {{"blocksize", size}}));
  // [N, C, H × b, W × b] → [N, C, H, b, W, b] → [N, C, b, b, H, W] → [N, C × b × b, H, W]
  const int64_t channels = row.size(0, 1);
  if (channels < 0) row.refuse("the number of its channels is not known");
  const Name blocks = row.w.reshape(row.ct(), {0, channels / (size * size), row.dim(0, 2), size, row.dim(0, 3), size});
  const Name moved = row.w.transpose(blocks, {0, 1, 3, 5, 2, 4});
  row.give(row.w.make("Reshape", {moved, row.shape(row.x())}));
}

void space_to_depth(TransposeRow& row) {
  row.give(row.w.make("DepthToSpace", {row.ct()}, {{"blocksize", row.attributes.integer("blocksize", 1)}}));
}

/// What sets elements to 0, or reverses parts, is its own transpose.
void itself(TransposeRow& row) {
  row.give(row.w.make_like(row.node, row.inputs_with({{0, row.ct()}})));
}

constexpr auto kMovements = std::to_array<Transpose>({
    {"Concat", concat},
    {"DepthToSpace", depth_to_space},
    {"Expand", expand},
    {"Flatten", same_order},
    {"Gather", gather},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"Pad", pad},
    {"Reshape", same_order},
    {"ReverseSequence", itself},
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
    {"Slice", slice},
    {"SpaceToDepth", space_to_depth},
    {"Split", split},
    {"Squeeze", same_order},
    {"Tile", tile},
    {"Transpose", transpose},
    {"Trilu", itself},
    {"Unsqueeze", same_order},
});

}  // namespace

TransposeRows movement_transposes() {
  return kMovements;
}

}  // namespace relayout::derive
