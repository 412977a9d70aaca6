// Merges two Transposes, reshapes or Casts in a row, and removes pairs that cancel.
//
//     a = Transpose (x, [0, 2, 3, 1])
//     y = Transpose (a, [0, 3, 1, 2])      →      y = Identity (x), which remove-identity removes
//     a = Unsqueeze (x, [1])
//     y = Unsqueeze (a, [0])               →      y = Unsqueeze (x, [0, 2])

#include <cmath>

#include "base/positions.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "ops/partial_dims.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

/// Two nodes, of which the first makes the only operand of the second that varies.
struct Pair {
  const Node *first = nullptr, *second = nullptr;
};

struct MergedPair {
  Pair pair;
  bool is_undone = false;  ///< together they do nothing
  Dims permutation;        ///< of both Transposes
  std::vector<const Node*> taken, anchors;
  std::string detail;
  Dims axes = {};  ///< of both Squeezes or Unsqueezes
};

bool is_standard(const Node& node, std::string_view op) {
  return node.is(op) && node.domain().empty() && node.input(0) != nullptr && node.output(0) != nullptr && !Attributes(node).has_reference();
}

bool reshapes(const Node& node) {
  return only_moves_axes(node) && has_trait(node, Trait::keeps_order) && is_standard(node, node.op_type());
}

bool may_be_second(const Node& node) {
  return is_standard(node, "Transpose") || is_standard(node, "Cast") || is_standard(node, "QuantizeLinear") || reshapes(node);
}

/// The permutation of a Transpose, which reverses the axes where none is given; empty where that needs an unknown rank.
Dims permutation_of(const Node& node, PassContext& context) {
  Dims out = Attributes(node).integers("perm");
  if (!out.empty()) return out;
  const PartialDims dims = context.constants.dims(*node.input(0));
  for (std::size_t axis = dims ? dims->size() : 0; axis-- > 0;) out.push_back(static_cast<int64_t>(axis));
  return out;
}

/// The permutation that two Transposes make together; empty where one is not known.
Dims permutation_of(const Pair& pair, PassContext& context) {
  const Dims first = permutation_of(*pair.first, context), second = permutation_of(*pair.second, context);
  Dims out;
  if (first.size() != second.size()) return out;
  for (const int64_t axis : second) {
    if (axis < 0 || axis >= std::ssize(first)) return {};
    out.push_back(first[as_size(axis)]);
  }
  return out;
}

constexpr int kAxesAsOperand = 13;  ///< first opset of Squeeze and Unsqueeze with axes as an operand

/// Axes of a Squeeze or Unsqueeze, sorted as written.
std::optional<std::vector<int64_t>> axes_of(const Node& node, PassContext& context) {
  auto axes = node.opset() < kAxesAsOperand ? std::optional(Attributes(node).integers("axes")) : constant_list(node, 1, context);
  if (axes) std::ranges::sort(*axes);
  return axes;
}

/// Axes of a Squeeze or Unsqueeze, counted from the front of `dims`, the longer of its two sides; empty where they are not known.
Dims axes_from_front(const Node& node, const PartialDims& dims, PassContext& context) {
  constexpr int64_t kMostAxes = 64;
  auto axes = axes_of(node, context);
  if (!axes) return {};
  for (int64_t& axis : *axes) {
    if (axis < 0 && dims) axis += std::ssize(*dims);
    if (axis < 0 || axis >= kMostAxes) return {};
  }
  return *axes;
}

/// The axes that two Unsqueezes add, or two Squeezes take, counted on the longest side; empty where they are not known.
Dims joint_axes(const Pair& pair, PassContext& context) {
  const bool adds = pair.second->is("Unsqueeze");
  const Node &outer = adds ? *pair.second : *pair.first, &inner = adds ? *pair.first : *pair.second;
  const Dims longest = axes_from_front(outer, context.constants.dims(adds ? *outer.output(0) : *outer.input(0)), context);
  const Dims rest = axes_from_front(inner, context.constants.dims(*pair.second->input(0)), context);
  if (longest.empty() || rest.empty()) return {};
  Dims out = longest;
  // All other axes of the longest side are those of the value between the nodes.
  for (int64_t place = 0, between = 0; between <= std::ranges::max(rest); ++place) {
    if (std::ranges::find(longest, place) != longest.end()) continue;
    if (std::ranges::find(rest, between++) != rest.end()) out.push_back(place);
  }
  std::ranges::sort(out);
  return out;
}

/// Whether each reader of the value between takes the node before it up, so that none needs it any more.
bool is_taken_by_all(const Pair& pair, PassContext& context) {
  const Value& between = *pair.second->input(0);
  return !between.is_output() && !is_output_elsewhere(between) && std::ranges::all_of(between.uses(), [&](const Use& use) {
    const bool is_alike = use.index == 0 && is_standard(*use.node, pair.second->op_type()) && &use.node->graph() == &pair.second->graph();
    return is_alike && !joint_axes({pair.first, use.node}, context).empty();
  });
}

/// Whether a Reshape requests the dims that the operand of the node before it has. A 0 copies a dim of what is between.
bool requests_back(const Pair& pair, const Dims& before, PassContext& context) {
  const auto request = pair.second->is("Reshape") ? constant_list(*pair.second, 1, context) : std::nullopt;
  if (!request || request->size() != before.size() || std::ranges::count(*request, -1) > 1) return false;
  if (Attributes(*pair.second).integer("allowzero", 0) != 0) return false;
  const PartialDims between = context.constants.dims(*pair.second->input(0));
  for (std::size_t i = 0; i < request->size(); ++i) {
    const bool is_copied = (*request)[i] == 0;
    if (is_copied && (!between || i >= between->size())) return false;
    const int64_t dim = is_copied ? (*between)[i] : (*request)[i];
    // What remains of the number of elements is the one dim that is not known.
    if (dim != before[i] && (*request)[i] != -1) return false;
    if (dim < 0 && is_copied) return false;
  }
  return true;
}

bool undoes_reshape(const Pair& pair, PassContext& context) {
  const bool adds = pair.first->is("Unsqueeze") && pair.second->is("Squeeze"),
             takes = pair.first->is("Squeeze") && pair.second->is("Unsqueeze");
  if (adds || takes) {
    const auto first = axes_of(*pair.first, context), second = axes_of(*pair.second, context);
    if (first && second && !first->empty() && *first == *second) return true;
  }
  const PartialDims before = context.constants.dims(*pair.first->input(0)), after = context.constants.dims(*pair.second->output(0));
  if (!before) return false;
  const bool is_known = std::ranges::all_of(*before, [](int64_t dim) { return dim >= 0; });
  return (is_known && after && *after == *before) || requests_back(pair, *before, context);
}

/// Whether a Reshape finds its dims without those of its operand, of which only the number of elements counts.
bool is_free_request(const Node& node, PassContext& context) {
  const auto request = node.is("Reshape") ? constant_list(node, 1, context) : std::nullopt;
  return request && (std::ranges::find(*request, 0) == request->end() || Attributes(node).integer("allowzero", 0) != 0);
}

/// Whether QuantizeLinear gives back the integers that DequantizeLinear read: x · s / s differs from x by less than half a step, where no
/// product leaves the normal numbers of f32.
bool quantizes_back(const Pair& pair, PassContext& context) {
  const Node &there = *pair.second, &back = *pair.first;
  // Zero points have the type of the integers.
  const DataType type = context.constants.type_of(*(back.input(2) != nullptr ? back.input(2) : back.input(0)));
  const DataType made = there.input(2) != nullptr ? context.constants.type_of(*there.input(2)) : DataType::uint8;
  if (!kIntegerTypes.has(type) || traits(type).bits > 8 || made != type || there.inputs().size() != back.inputs().size()) return false;
  for (std::size_t i = 1; i < there.inputs().size(); ++i) {
    const Value *const a = there.input(i), *const b = back.input(i);
    const auto of_a = a == nullptr ? std::nullopt : context.constants.value(*a),
               of_b = b == nullptr ? std::nullopt : context.constants.value(*b);
    if (!of_a || !of_b || of_a->type() != of_b->type() || of_a->dims() != of_b->dims()) return false;
    const std::vector<double> numbers = reals_of(contiguous(*of_a));
    if (numbers != reals_of(contiguous(*of_b))) return false;
    constexpr double kLeast = 1e-30, kMost = 1e30;
    const auto is_usual = [](double scale) { return scale >= kLeast && scale <= kMost; };
    if (i == 1 && (of_a->type() != DataType::float32 || !std::ranges::all_of(numbers, is_usual))) return false;
  }
  const Attributes of_there(there), of_back(back);
  return of_there.integer("axis", 1) == of_back.integer("axis", 1) &&
         of_there.integer("block_size", 0) == of_back.integer("block_size", 0) && of_there.integer("precision", 0) == 0 &&
         of_there.integer("output_dtype", 0) == 0;
}

bool holds_first(const Pair& pair, PassContext& context) {
  return holds_all(context.constants.type_of(*pair.first->output(0)), context.constants.type_of(*pair.first->input(0)));
}

/// What two nodes are together, if they are one or none.
std::optional<MergedPair> together(const Pair& pair, PassContext& context) {
  MergedPair out{pair, false, {}, {pair.second}, {pair.second}, {}};
  if (is_standard(*pair.first, "Transpose") && is_standard(*pair.second, "Transpose")) {
    if (context.options.export_transposes) return std::nullopt;  // such pairs are asked for
    out.permutation = permutation_of(pair, context);
    out.is_undone = std::ranges::is_sorted(out.permutation);
    return out.permutation.empty() ? std::nullopt : std::optional(out);
  }
  if (is_standard(*pair.first, "Cast") && is_standard(*pair.second, "Cast") && holds_first(pair, context)) {
    out.is_undone = context.constants.type_of(*pair.first->input(0)) == context.constants.type_of(*pair.second->output(0));
    return out;
  }
  if (is_standard(*pair.first, "DequantizeLinear") && is_standard(*pair.second, "QuantizeLinear")) {
    out.is_undone = quantizes_back(pair, context);
    return out.is_undone ? std::optional(out) : std::nullopt;
  }
  // The proof follows a fold of what stands between them to the dims that the linear operator reads.
  const auto multiplies = [](const Use& use) { return has_trait(*use.node, Trait::multiplies); };
  const bool is_folded_into = std::ranges::any_of(pair.second->output(0)->uses(), multiplies);
  if (!reshapes(*pair.first) || !reshapes(*pair.second) || is_folded_into) return std::nullopt;
  out.is_undone = undoes_reshape(pair, context);
  const bool adds = pair.first->is("Unsqueeze") && pair.second->is("Unsqueeze"),
             takes = pair.first->is("Squeeze") && pair.second->is("Squeeze");
  if (!out.is_undone && (adds || takes)) out.axes = joint_axes(pair, context);
  if (!out.axes.empty()) return out;
  return out.is_undone || is_free_request(*pair.second, context) ? std::optional(out) : std::nullopt;
}

Match<MergedPair> match_pair(const Node& node, PassContext& context) {
  const Node* const first = node.input(0)->producer();
  if (first == nullptr || &first->graph() != &node.graph() || first->input(0) == nullptr) return NotApplicable{};
  auto found = together({first, &node}, context);
  if (!found) return NotApplicable{};
  const bool leaves_first = !found->is_undone && node.input(0)->sole_use() == nullptr;
  if (leaves_first && (found->axes.empty() || !is_taken_by_all(found->pair, context))) return NotApplicable{};
  if (is_excluded(*first, context.options)) return Skip{Reason::excluded, {}};
  return std::move(*found);
}

void set_permutation(onnx::NodeProto& message, const Dims& permutation) {
  message.clear_attribute();  // it has no other one
  onnx::AttributeProto& attribute = *message.add_attribute();
  attribute.set_name("perm");
  attribute.set_type(onnx::AttributeProto::INTS);
  attribute.mutable_ints()->Assign(permutation.begin(), permutation.end());
}

void set_axes(Node& node, const Dims& axes, PassContext& context) {
  if (node.opset() < kAxesAsOperand) {
    for (onnx::AttributeProto& attribute : *node.graph().edit(node).mutable_attribute()) {
      if (attribute.name() == "axes") attribute.mutable_ints()->Assign(axes.begin(), axes.end());
    }
    return;
  }
  std::vector<std::byte> bytes(axes.size() * sizeof(int64_t));
  std::memcpy(bytes.data(), axes.data(), bytes.size());
  set_constant_input(node, 1, TensorData(DataType::int64, {std::ssize(axes)}, Bytes::owned(std::move(bytes))), {}, context);
}

void merge_pair(const MergedPair& found, PassContext& context) {
  Node& second = writable(*found.pair.second);
  Graph& graph = second.graph();
  Value& between = *second.input(0);
  std::vector<Value*> freed{&between};
  graph.set_input(second, 0, found.pair.first->input(0));
  if (found.is_undone) {
    for (std::size_t i = second.inputs().size(); i-- > 1;) {
      if (second.input(i) != nullptr) freed.push_back(second.input(i));
      graph.set_input(second, i, nullptr);
    }
    onnx::NodeProto& message = graph.edit(second);
    message.set_op_type("Identity");
    message.clear_attribute();
  } else if (!found.permutation.empty()) {
    set_permutation(graph.edit(second), found.permutation);
  } else if (!found.axes.empty()) {
    set_axes(second, found.axes, context);
  }
  for (Value* const value : freed) release(*value, context);
  context.constants.forget(*second.output(0));
}

}  // namespace

void merge_pairs(Graph& graph, PassContext& context) {
  rewrite_each(graph, context, may_be_second, match_pair, merge_pair);
}

}  // namespace relayout::passes
