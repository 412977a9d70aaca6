// Walks over a graph whose inputs get another size, and tells what each node makes of it or that it fixes the size.
#include "passes/size_walk.h"

#include <cstring>
#include <limits>
#include <tuple>

#include "base/positions.h"
#include "layout/axis_order.h"
#include "layout/graph_shapes.h"
#include "layout/sizes.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

using layout::Shapes;

/// A dim that is outer · size · inner: in row-major order, the parts of the size lie side by side behind `outer` others.
struct Place {
  std::size_t axis = 0;
  int64_t outer = 1, inner = 1;
  bool operator==(const Place&) const = default;
};

int64_t before(const Dims& dims, std::size_t axis) {
  return element_count(std::span(dims).first(axis));
}
int64_t behind(const Dims& dims, std::size_t axis) {
  return element_count(std::span(dims).subspan(axis + 1));
}

bool same_contents(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.dims() != b.dims()) return false;
  const Tensor left = contiguous(a), right = contiguous(b);
  const auto size = bytes_in_memory(a.type(), a.dims());
  return size && a.type() != DataType::string && std::memcmp(left.bytes(), right.bytes(), as_size(*size)) == 0;
}

bool is_read(const Value& value) {
  return value.is_output() || !value.uses().empty();
}

bool is_one_of(const Node& node, std::span<const std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return node.is(name); });
}

/// Operators that treat the first axis of input 0 as a batch, and have no other operand with one.
bool is_batched(const Node& node) {
  const Traits traits = traits_of(node);
  return traits.convolution_weight().has_value() || traits.has(Trait::batched);
}

/// One walk over the graph with a new size. Operands are looked up with the old size and with the new one.
class Walk {
 public:
  Walk(const Graph& graph, const NewSize& change, Parts parts, int64_t size)
      : change_(change),
        parts_(parts),
        size_(size),
        images_(layout::image_sizes(graph)),
        old_(std::make_unique<Shapes>(graph, sizes(change.old_size))) {
    if (old_->misfit_node() != nullptr) throw Refused{old_->misfit_node(), old_->misfit()};
    for (const auto& [input, axis] : change.axes) places_[input] = {axis};
    Shapes now(graph, sizes(size), nullptr, [&](const Node& node, Shapes& shapes) {
      now_ = &shapes;
      finish();
      last_ = &node;
      return resized(node);
    });
    now_ = &now;
    finish();
    for (const Node& node : graph.nodes()) {
      for (const Value* const value : node.outputs()) {
        if (value != nullptr && moves(value)) dims_.emplace(value, *now.dims_of(value));
      }
    }
  }

  [[nodiscard]] SizeWalk result() && { return {std::move(operands_), std::move(dims_), std::move(old_)}; }

 private:
  using Made = std::optional<std::vector<std::optional<Shapes::Known>>>;

  [[nodiscard]] ShapeOptions sizes(int64_t size) const {
    ShapeOptions out;
    for (const auto& [input, axis] : change_.axes) {
      if (!out.shapes.contains(input->name())) {
        const auto declared = input->declared();
        Dims dims = declared->dims;
        for (std::size_t i = 0; i < dims.size(); ++i) {
          if (dims[i] >= 0) continue;
          const auto usual = images_.find(layout::free_dim_name(*input, *declared, i));
          dims[i] = usual != images_.end() ? usual->second : 1;
        }
        out.shapes[input->name()] = dims;
      }
      out.shapes[input->name()][axis] = size;
    }
    return out;
  }

  [[noreturn]] void refuse(const std::string& why) const { throw Refused{last_, why}; }

  // What changes.

  [[nodiscard]] const Dims& was(const Value& value) { return *old_->dims_of(&value); }
  [[nodiscard]] const Dims& is(const Value& value) { return *now_->dims_of(&value); }
  [[nodiscard]] bool moves(const Value* value) {
    const Dims* const a = value != nullptr ? old_->dims_of(value) : nullptr;
    const Dims* const b = value != nullptr ? now_->dims_of(value) : nullptr;
    return a != nullptr && b != nullptr && *a != *b;
  }
  /// Whether the value is made of sizes that change.
  [[nodiscard]] bool counts(const Value* value) {
    if (value == nullptr || moves(value)) return false;
    const auto now = now_->known(*value);
    if (!now || !now->has_contents) return false;
    const auto old = old_->known(*value);
    return !old || !old->has_contents || !same_contents(old->datum.tensor, now->datum.tensor);
  }
  [[nodiscard]] bool has_contents(const Value& value) {
    const auto known = now_->known(value);
    return known && known->has_contents;
  }
  /// Contents that do not change with the size.
  [[nodiscard]] std::optional<std::vector<int64_t>> fixed(const Node& node, std::size_t input) {
    const Value* const value = node.input(input);
    if (value == nullptr) return std::nullopt;
    auto now = now_->integers(*value);
    return now && now == old_->integers(*value) ? now : std::nullopt;
  }
  [[nodiscard]] std::vector<std::size_t> axes_of(const Value& value) { return moving_axes(was(value), is(value)); }

  // Constants that hold the size.

  static Made made_of(const Shapes::Known& like, Dims dims) {
    Shapes::Known known;
    known.info.type = like.info.type;
    known.info.dims = std::move(dims);
    return std::vector<std::optional<Shapes::Known>>{known};
  }

  [[nodiscard]] Made resized(const Node& node) {
    const Value* const data = node.input(0);
    const Value* const result = node.output(0);
    if (result == nullptr || !moves(data) || old_->dims_of(result) == nullptr) return std::nullopt;
    const auto like = old_->known(*result);
    std::optional<Dims> dims;
    if (node.is("Reshape")) dims = reshaped(node, *data, *result);
    if (node.is("Expand")) dims = expanded(node, *data, *result);
    if (node.is("Slice")) dims = sliced(node, *data, *result);
    if (node.is("Resize")) dims = scaled(node, *data, *result);
    return dims ? made_of(*like, *dims) : std::nullopt;
  }

  void note(const Node& node, std::size_t input, std::vector<int64_t> contents) {
    operands_.emplace(&node, SizedOperand{&node, input, std::move(contents), {}});
  }

  /// Axes of a Reshape's result that can hold the size: the elements before and behind it fill whole dims.
  [[nodiscard]] std::vector<std::size_t> candidates(const Value& data, const Dims& result) {
    const std::vector<std::size_t> from = axes_of(data);
    if (from.size() != 1) refuse("it reshapes several dims that change");
    const std::size_t axis = from.front();
    const Dims& dims = was(data);
    const Place place = parts_ == Parts::apart ? places_.at(&data) : Place{axis};
    const int64_t size = parts_ == Parts::apart ? change_.old_size : dims[axis];
    const int64_t outer = before(dims, axis) * place.outer, inner = behind(dims, axis) * place.inner;
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < result.size(); ++i) {
      const int64_t first = before(result, i), last = behind(result, i);
      if (first == 0 || last == 0 || outer % first != 0 || inner % last != 0) continue;
      if (result[i] == outer / first * size * (inner / last)) out.push_back(i);
    }
    // A dim of exactly this size, in the same place if possible.
    const auto rank = [&](std::size_t i) { return std::pair(result[i] != size, i != axis); };
    std::ranges::stable_sort(out, {}, rank);
    if (parts_ == Parts::mixed && out.size() > 1) refuse("its target shape holds the size in more than one way");
    return out;
  }

  [[nodiscard]] std::optional<Dims> reshaped(const Node& node, const Value& data, const Value& result) {
    const auto target = fixed(node, 1);
    if (!target) return std::nullopt;
    Dims dims = was(result);
    const std::vector<std::size_t> found = candidates(data, dims);
    if (found.empty()) refuse("its target shape mixes the size with other dims");
    const std::size_t axis = axes_of(data).front();
    const int64_t old_size = was(data)[axis], new_size = is(data)[axis];
    if (dims[found.front()] * new_size % old_size != 0) refuse("its target shape is no multiple of the size");
    dims[found.front()] = dims[found.front()] / old_size * new_size + dims[found.front()] % old_size * new_size / old_size;
    if (target->size() != dims.size()) return std::nullopt;
    note(node, 1, dims);
    return dims;
  }

  [[nodiscard]] std::optional<Dims> expanded(const Node& node, const Value& data, const Value& result) {
    const auto target = fixed(node, 1);
    if (!target || target->size() < was(data).size()) return std::nullopt;
    Dims dims = was(result), contents = *target;
    const std::size_t shift = dims.size() - was(data).size();
    for (const std::size_t axis : axes_of(data)) {
      if (was(data)[axis] == 1 && dims[axis + shift] != 1) refuse("it repeats what becomes larger");
      dims[axis + shift] = is(data)[axis];
      contents[axis + shift] = 1;
    }
    note(node, 1, contents);
    return dims;
  }

  /// Only a Slice of everything along a dim that changes is changed with it.
  [[nodiscard]] std::optional<Dims> sliced(const Node& node, const Value& data, const Value& result) {
    const auto starts = fixed(node, 1), ends = fixed(node, 2);
    if (!starts || !ends || (node.input(3) != nullptr && !fixed(node, 3))) return std::nullopt;
    const auto steps = node.input(4) != nullptr ? fixed(node, 4) : std::vector<int64_t>(starts->size(), 1);
    Dims dims = was(result), contents = *ends;
    const auto rank = static_cast<int64_t>(was(data).size());
    bool changes = false;
    for (std::size_t i = 0; i < starts->size(); ++i) {
      const int64_t given = node.input(3) != nullptr ? fixed(node, 3)->at(i) : static_cast<int64_t>(i);
      const auto axis = as_size(given < 0 ? given + rank : given);
      if (was(data)[axis] == is(data)[axis]) continue;
      const int64_t size = was(data)[axis];
      const bool is_whole = steps && steps->at(i) == 1 && ((*starts)[i] == 0 || (*starts)[i] <= -size) && (*ends)[i] >= size;
      if (!is_whole) refuse("it takes a part of what changes");
      changes = changes || (*ends)[i] < std::numeric_limits<int32_t>::max();
      contents[i] = std::numeric_limits<int32_t>::max();
      dims[axis] = is(data)[axis];
    }
    for (const std::size_t axis : axes_of(data)) dims[axis] = is(data)[axis];
    if (changes) note(node, 2, contents);
    return dims;
  }

  /// Sizes of a Resize become scales where these are whole numbers.
  [[nodiscard]] std::optional<Dims> scaled(const Node& node, const Value& data, const Value& result) {
    if (!fixed(node, 3)) return std::nullopt;
    if (Attributes(node).has("axes") || Attributes(node).text("keep_aspect_ratio_policy", "stretch") != "stretch")
      refuse("it fixes the size");
    Dims dims = was(result);
    SizedOperand made{&node, 2, {}, {}};
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const int64_t from = was(data)[i];
      if (from == 0 || dims[i] % from != 0) refuse("it resizes to a fixed size that is no whole multiple");
      const int64_t times = dims[i] / from;
      made.scales.push_back(static_cast<float>(times));
      dims[i] = times * is(data)[i];
    }
    made.contents = dims;
    operands_.emplace(&node, made);
    return dims;
  }

  // The way of the size.

  /// Follows the size through the node that was inferred last.
  void finish() {
    if (last_ == nullptr) return;
    const Node& node = *last_;
    for_each_capture(node, [&](const Value& value) {
      if (moves(&value) || counts(&value)) refuse("a graph inside reads what changes");
    });
    bool any = false, is_sized = false;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      any = any || moves(node.input(i)) || counts(node.input(i));
      is_sized = is_sized || counts(node.input(i));
    }
    if (!any) return;
    bool are_known = true;
    for (const Value* const output : node.outputs()) {
      if (output == nullptr || !is_read(*output)) continue;
      if (old_->dims_of(output) == nullptr || now_->dims_of(output) == nullptr) {
        refuse(now_->misfit_node() == &node ? now_->misfit() : "the dims of its results are not known");
      }
      if (was(*output).size() != is(*output).size()) refuse("the rank of its result changes");
      are_known = are_known && has_contents(*output) && !moves(output);
    }
    if (are_known) return;  // a computation with sizes
    for (std::size_t i = 0; is_sized && i < node.inputs().size(); ++i) {
      if (counts(node.input(i)) && !traits_of(node).gives_sizes(i)) refuse("it computes with the size");
    }
    if (parts_ == Parts::apart) return keep_apart(node);
    check_mixing(node);
  }

  /// Where the size is in an operand; nothing where it is not.
  [[nodiscard]] std::optional<Place> place(const Value* value) {
    if (!moves(value)) return std::nullopt;
    return places_.at(value);
  }

  void put(const Value* value, const Place& place) {
    if (value == nullptr) return;
    const std::vector<std::size_t> axes = axes_of(*value);
    if (axes.size() != 1 || axes.front() != place.axis) refuse("it mixes what changes with other dims");
    const int64_t old_dim = was(*value)[place.axis], new_dim = is(*value)[place.axis], parts = place.outer * place.inner;
    if (old_dim != parts * change_.old_size || new_dim != parts * size_) refuse("it changes the number of parts");
    places_[value] = place;
  }
  void put_all(const Node& node, const Place& place) {
    for (const Value* const output : node.outputs()) {
      if (output != nullptr && is_read(*output)) put(output, place);
    }
  }

  void keep_apart(const Node& node) {
    if (is_batched(node)) return batched(node);
    if (has_trait(node, Trait::recurrent)) return recurrent(node);
    if (node.is("MatMul")) return matrix_product(node);
    if (node.is("Gemm")) return gemm(node);
    if (node.is("Transpose")) return transposed(node);
    if (node.is("Gather")) return gathered(node);
    if (node.is("ConstantOfShape") || (node.is("Expand") && !moves(node.input(0)))) return filled(node);
    if (only_moves_axes(node)) return flat(node);
    if (has_trait(node, Trait::elementwise) || has_trait(node, Trait::casts) || is_plain(node)) return aligned(node);
    constexpr auto kLong = std::to_array<std::string_view>({"Slice", "Pad", "Tile", "Concat", "Split"});
    if (is_one_of(node, kLong) || traits_of(node).along() != Along::none) return along(node);
    refuse("it may mix the parts of what changes");
  }

  static bool is_plain(const Node& node) {
    constexpr auto kPlain = std::to_array<std::string_view>({"Expand", "Identity", "Dropout", "QuantizeLinear", "DequantizeLinear"});
    return is_one_of(node, kPlain);
  }

  void only_first(const Node& node) {
    for (std::size_t i = 1; i < node.inputs().size(); ++i) {
      if (moves(node.input(i))) refuse("an operand that must be fixed changes");
    }
    if (!moves(node.input(0))) refuse("an operand that must be fixed changes");
  }

  void batched(const Node& node) {
    only_first(node);
    const Place at = places_.at(node.input(0));
    if (at.axis != 0) refuse("it mixes the parts of what changes");
    // Positions of a MaxPool count through the whole batch, and a BatchNormalization with further results computes its statistics.
    if (node.output(1) != nullptr && is_read(*node.output(1))) refuse("its second result depends on the whole batch");
    if (Attributes(node).integer("training_mode", 0) != 0) refuse("it computes statistics over the batch");
    put_all(node, at);
  }

  void recurrent(const Node& node) {
    if (Attributes(node).integer("layout", 0) != 0) refuse("its layout is not known here");
    constexpr std::array<std::pair<std::size_t, std::size_t>, 4> kBatch = {{{0, 1}, {4, 0}, {5, 1}, {6, 1}}};
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const auto batch = std::ranges::find(kBatch, i, &std::pair<std::size_t, std::size_t>::first);
      const bool is_state = batch != kBatch.end() && node.input(i) != nullptr;
      if (moves(node.input(i)) != is_state) refuse(is_state ? "an initial state has the old size" : "its weights change");
      if (is_state && places_.at(node.input(i)) != Place{batch->second}) refuse("it mixes the parts of what changes");
    }
    for (std::size_t i = 0; i < node.outputs().size(); ++i) put(node.output(i), {i == 0 ? std::size_t{2} : std::size_t{1}});
  }

  void matrix_product(const Node& node) {
    const Value &a = *node.input(0), &b = *node.input(1), &result = *node.output(0);
    const std::size_t rank_a = was(a).size(), rank_b = was(b).size(), rank = was(result).size();
    if (rank_a < 2 || rank_b < 2) refuse("it may mix the parts of what changes");
    std::optional<Place> out;
    for (const auto& [value, own, summed] : {std::tuple(&a, rank_a, rank_a - 1), std::tuple(&b, rank_b, rank_b - 2)}) {
      const auto at = place(value);
      if (!at) continue;
      if (at->axis == summed) refuse("it sums over the parts of what changes");
      const Place moved{at->axis + rank - own, at->outer, at->inner};
      const bool is_matrix = at->axis + 2 >= own;
      if (out && (*out != moved || is_matrix)) refuse("it combines different parts of what changes");
      out = moved;
    }
    put_all(node, *out);
  }

  void gemm(const Node& node) {
    const bool is_transposed = Attributes(node).integer("transA", 0) != 0;
    if (moves(node.input(1)) || !moves(node.input(0))) refuse("an operand that must be fixed changes");
    const Place at = places_.at(node.input(0));
    if (at.axis != (is_transposed ? 1U : 0U)) refuse("it sums over the parts of what changes");
    const Place out{0, at.outer, at.inner};
    if (const auto bias = place(node.input(2)); bias && (was(*node.input(2)).size() != 2 || *bias != out)) {
      refuse("it combines different parts of what changes");
    }
    put_all(node, out);
  }

  void transposed(const Node& node) {
    const Place at = places_.at(node.input(0));
    const auto permutation = layout::permutation_of(node, was(*node.input(0)).size());
    if (!permutation) refuse("its permutation is not known");
    const auto found = std::ranges::find(*permutation, static_cast<int64_t>(at.axis)) - permutation->begin();
    put_all(node, {as_size(found), at.outer, at.inner});
  }

  void gathered(const Node& node) {
    const auto data = place(node.input(0)), indices = place(node.input(1));
    const std::size_t rank = was(*node.input(0)).size();
    const int64_t given = Attributes(node).integer("axis", 0);
    const std::size_t axis = as_size(given < 0 ? given + static_cast<int64_t>(rank) : given);
    if (data && indices) refuse("it combines different parts of what changes");
    if (indices) return put_all(node, {indices->axis + axis, indices->outer, indices->inner});
    if (data->axis == axis) refuse("it picks parts of what changes");
    const std::size_t more = data->axis > axis ? was(*node.input(1)).size() : 1;
    put_all(node, {data->axis + more - 1, data->outer, data->inner});
  }

  /// The same contents for every part.
  void filled(const Node& node) {
    const std::vector<std::size_t> axes = axes_of(*node.output(0));
    if (axes.size() != 1) refuse("several dims of its result change");
    put_all(node, {axes.front()});
  }

  /// The elements keep their row-major order.
  void flat(const Node& node) {
    const Value& data = *node.input(0);
    const Place at = places_.at(&data);
    const Dims& dims = was(data);
    const int64_t outer = before(dims, at.axis) * at.outer, inner = behind(dims, at.axis) * at.inner;
    const Dims& result = was(*node.output(0));
    const std::vector<std::size_t> axes = axes_of(*node.output(0));
    if (axes.size() != 1) refuse("it spreads what changes over several dims");
    const int64_t first = before(result, axes.front()), last = behind(result, axes.front());
    if (first == 0 || last == 0 || outer % first != 0 || inner % last != 0) refuse("it mixes what changes with other dims");
    put_all(node, {axes.front(), outer / first, inner / last});
  }

  /// Operands that are broadcast hold the size in the same place, or have one element there for all parts.
  void aligned(const Node& node) {
    std::optional<Place> out;
    const std::size_t rank = was(*node.output(0)).size();
    for (const Value* const input : node.inputs()) {
      const auto at = place(input);
      if (!at) continue;
      const Place moved{at->axis + rank - was(*input).size(), at->outer, at->inner};
      if (out && *out != moved) refuse("it combines different parts of what changes");
      out = moved;
    }
    put_all(node, *out);
  }

  /// Works along some axes, which must not hold the size.
  void along(const Node& node) {
    // Positions that are given for the old size touch no other parts.
    if (has_trait(node, Trait::indexes) || node.is("TensorScatter")) refuse("its positions are those of the old size");
    const bool joins = node.is("Concat");
    std::optional<Place> at;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const auto one = place(node.input(i));
      if (one && at && *one != *at) refuse("it combines different parts of what changes");
      if (one && i > 0 && !joins) refuse("an operand that must be fixed changes");
      if (node.input(i) != nullptr && joins && !one) refuse("it joins what changes with what does not");
      if (one) at = one;
    }
    const std::size_t rank = was(*node.input(0)).size();
    const bool moves_elements = node.is("Slice") || node.is("Pad") || node.is("Tile");
    if (!moves_elements && std::ranges::count(worked_axes(node, rank), at->axis) > 0) refuse("it works along what changes");
    for (const Value* const output : node.outputs()) {
      if (output == nullptr || !is_read(*output)) continue;
      // Reductions that drop their axes move those behind them.
      const std::size_t dropped = rank - was(*output).size();
      const auto axes = worked_axes(node, rank);
      const auto gone = dropped == 0 ? 0 : std::ranges::count_if(axes, [&](std::size_t axis) { return axis < at->axis; });
      put(output, {at->axis - as_size(gone), at->outer, at->inner});
    }
    if (moves_elements && !keeps_along(node, *at)) refuse("it moves the parts of what changes");
  }

  /// Whether a Slice, Pad or Tile leaves an axis as it is.
  [[nodiscard]] bool keeps_along(const Node& node, const Place& at) {
    if (was(*node.input(0))[at.axis] != was(*node.output(0))[at.axis]) return false;
    const auto rank = static_cast<int64_t>(was(*node.input(0)).size());
    if (node.is("Tile")) return true;
    if (node.is("Slice")) {
      if (node.opset() < 10) return true;
      const auto steps = fixed(node, 4);
      return node.input(4) == nullptr || (steps && std::ranges::all_of(*steps, [](int64_t step) { return step > 0; }));
    }
    auto pads = node.input(1) != nullptr ? fixed(node, 1) : Attributes(node).integers("pads");
    if (node.input(3) != nullptr || !pads || std::ssize(*pads) != 2 * rank) return false;
    return (*pads)[at.axis] == 0 && (*pads)[at.axis + as_size(rank)] == 0;
  }

  /// The axes along which a node works; all of them where that is not known.
  [[nodiscard]] std::vector<std::size_t> worked_axes(const Node& node, std::size_t rank) {
    const Attributes attributes(node);
    std::vector<int64_t> named;
    bool to_end = false;
    const Along along = traits_of(node).along();
    if (along == Along::axis) {
      const bool flattens = (node.is("Softmax") || node.is("LogSoftmax") || node.is("Hardmax")) && node.opset() < 13;
      to_end = flattens || has_trait(node, Trait::normalizes);
      const bool is_last = node.is("Softmax") || node.is("LogSoftmax") || node.is("Hardmax") || node.is("TopK") || to_end ||
                           node.is("LpNormalization") || node.is("RMSNormalization");
      to_end = to_end || node.is("RMSNormalization");
      named.push_back(attributes.integer("axis", flattens ? 1 : is_last ? -1 : 0));
    } else if (along == Along::axis_operand || along == Along::axes) {
      const auto given = fixed(node, 1);
      named = given ? *given : attributes.integers("axes");
    }
    std::vector<std::size_t> out;
    for (const int64_t axis : named) out.push_back(as_size(axis < 0 ? axis + static_cast<int64_t>(rank) : axis));
    for (std::size_t i = out.empty() ? rank : out.front() + 1; to_end && i < rank; ++i) out.push_back(i);
    for (std::size_t i = 0; named.empty() && i < rank; ++i) out.push_back(i);
    return out;
  }

  // Sizes of which the parts are mixed.

  void check_mixing(const Node& node) {
    if (is_batched(node)) return check_window(node);
    if (has_trait(node, Trait::recurrent)) return check_steps(node);
    if (only_moves_axes(node) || is_plain(node) || has_trait(node, Trait::elementwise) || has_trait(node, Trait::casts)) return;
    constexpr auto kAnySize = std::to_array<std::string_view>(
        {"MatMul", "Gemm", "Pad", "Slice", "Softmax", "LogSoftmax", "ReduceMean", "ReduceMax", "ReduceMin", "LayerNormalization"});
    if (is_one_of(node, kAnySize) || works_elsewhere(node)) return;
    refuse("its result for another size is not known to be meant");
  }

  /// Whether a node works along axes that do not change.
  [[nodiscard]] bool works_elsewhere(const Node& node) {
    if (traits_of(node).along() == Along::none || (!node.is("Concat") && !moves(node.input(0)))) return false;
    if ((has_trait(node, Trait::indexes) && !node.is("Gather")) || node.is("TensorScatter")) return false;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      if (i > 0 && !node.is("Concat") && moves(node.input(i))) return false;
      if (!moves(node.input(i))) continue;
      const std::vector<std::size_t> changed = axes_of(*node.input(i));
      for (const std::size_t axis : worked_axes(node, was(*node.input(i)).size())) {
        if (std::ranges::count(changed, axis) > 0) return false;
      }
    }
    return true;
  }

  /// More steps, for all of which there is a sequence.
  void check_steps(const Node& node) {
    only_first(node);
    if (node.input(4) != nullptr || axes_of(*node.input(0)) != std::vector<std::size_t>{0}) refuse("it fixes the number of steps");
  }

  /// A window over all that there is was written for this size.
  void check_window(const Node& node) {
    const std::vector<int64_t> kernel = Attributes(node).integers("kernel_shape");
    for (const std::size_t axis : axes_of(*node.input(0))) {
      if (axis < 2) refuse("its channels or batch change");
      if (has_trait(node, Trait::pools) && axis - 2 < kernel.size() && kernel[axis - 2] >= was(*node.input(0))[axis])
        refuse("its window covers the old size");
    }
  }

  const NewSize& change_;
  Parts parts_;
  int64_t size_;
  std::map<std::string, int64_t> images_;  ///< sizes for free dims
  std::unique_ptr<Shapes> old_;
  Shapes* now_ = nullptr;
  const Node* last_ = nullptr;
  std::unordered_map<const Value*, Place> places_;
  std::unordered_map<const Node*, SizedOperand> operands_;
  std::unordered_map<const Value*, Dims> dims_;
};

}  // namespace

std::vector<std::size_t> moving_axes(const Dims& a, const Dims& b) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] != b[i]) out.push_back(i);
  }
  return out;
}

SizeWalk walk_size(const Graph& graph, const NewSize& change, Parts parts, int64_t size) {
  return Walk(graph, change, parts, size).result();
}

}  // namespace relayout::passes
