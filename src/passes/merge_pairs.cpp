// Merges two Transposes, reshapes or Casts in a row, and removes pairs that cancel.
//
//     a = Transpose (x, [0, 2, 3, 1])
//     y = Transpose (a, [0, 3, 1, 2])      →      y = Identity (x), which remove-identity removes
//     a = Unsqueeze (x, [0])
//     b = Transpose (a, [2, 1, 0])
//     y = Squeeze (b, [2])                 →      y = Transpose (x, [1, 0])

#include <cmath>
#include <optional>

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

/// Where the axes of an operand go.
struct AxisMoves {
  Dims axes;      ///< of each axis of the result: the operand's axis, or −1 for a new one
  Dims squeezed;  ///< axes of the operand that are taken, in order
};

constexpr int kFirstWithAxesOperand = 13;  ///< first opset of Squeeze and Unsqueeze with axes as an operand

bool is_among(const Dims& axes, int64_t axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

Dims first_axes(int64_t count) {
  Dims out;
  for (int64_t axis = 0; axis < count; ++axis) out.push_back(axis);
  return out;
}

/// Axes that a Squeeze or Unsqueeze names, in order, of a value of this rank; empty where they are not known or not all different.
Dims named_axes(const Node& node, int64_t rank, PassContext& context) {
  auto axes = node.opset() < kFirstWithAxesOperand ? std::optional(Attributes(node).integers("axes")) : constant_list(node, 1, context);
  if (!axes) return {};
  const int64_t count = node.is("Unsqueeze") ? rank + std::ssize(*axes) : rank;
  for (int64_t& axis : *axes) {
    const auto place = checked_axis(axis, as_size(count));
    if (!place) return {};
    axis = static_cast<int64_t>(*place);
  }
  std::ranges::sort(*axes);
  return std::ranges::adjacent_find(*axes) == axes->end() ? *axes : Dims();
}

/// Of a Transpose, a Squeeze or an Unsqueeze; nothing where they are not known, or for another node.
std::optional<AxisMoves> moves_of(const Node& node, PassContext& context) {
  const bool adds = node.is("Unsqueeze"), takes = node.is("Squeeze"), turns = node.is("Transpose");
  const bool is_plain = node.domain().empty() && node.input(0) != nullptr && node.output(0) != nullptr;
  if (!(adds || takes || turns) || !is_plain || Attributes(node).has_reference()) return std::nullopt;
  const Dims permutation = turns ? Attributes(node).integers("perm") : Dims();
  if (!permutation.empty()) {
    Dims sorted = permutation;
    std::ranges::sort(sorted);
    return sorted == first_axes(std::ssize(sorted)) ? std::optional(AxisMoves{permutation, {}}) : std::nullopt;
  }
  const PartialDims dims = context.constants.dims(*node.input(0));
  if (!dims) return std::nullopt;
  const int64_t rank = std::ssize(*dims);
  AxisMoves out;
  if (turns) {
    out.axes = first_axes(rank);
    std::ranges::reverse(out.axes);
    return out;
  }
  const Dims named = named_axes(node, rank, context);
  if (named.empty()) return std::nullopt;
  for (int64_t longer = 0, shorter = 0; shorter < rank || is_among(named, longer); ++longer) {
    const bool is_named = is_among(named, longer);
    if (takes && longer == rank) break;
    if (takes && !is_named) out.axes.push_back(longer);
    if (adds) out.axes.push_back(is_named ? -1 : shorter);
    shorter += is_named ? 0 : 1;
  }
  if (takes) out.squeezed = named;
  return out;
}

/// Those of two nodes in a row.
AxisMoves joined(const AxisMoves& first, const AxisMoves& second) {
  AxisMoves out{{}, first.squeezed};
  for (const int64_t axis : second.axes) out.axes.push_back(axis < 0 ? -1 : element_at(first.axes, axis));
  for (const int64_t axis : second.squeezed) {
    // A new axis that is taken again leaves no trace.
    if (const int64_t from = element_at(first.axes, axis); from >= 0) out.squeezed.push_back(from);
  }
  std::ranges::sort(out.squeezed);
  return out;
}

bool moves_nothing(const AxisMoves& moves) {
  return moves.squeezed.empty() && moves.axes == first_axes(std::ssize(moves.axes));
}

/// The operator that moves axes so; empty where none alone does.
std::string_view operator_that(const AxisMoves& moves) {
  const bool adds = is_among(moves.axes, -1);
  Dims kept = moves.axes;
  std::erase(kept, -1);
  if (!adds && moves.squeezed.empty()) return "Transpose";
  if (!std::ranges::is_sorted(kept) || (adds && !moves.squeezed.empty())) return {};
  return adds ? "Unsqueeze" : "Squeeze";
}

/// Makes a node move the axes of its operand so, which `operator_that` does.
void set_moves(Node& node, const AxisMoves& moves, PassContext& context) {
  const std::string op(operator_that(moves));
  Dims numbers = op == "Squeeze" ? moves.squeezed : op == "Transpose" ? moves.axes : Dims();
  for (std::size_t i = 0; i < moves.axes.size() && op == "Unsqueeze"; ++i) {
    if (moves.axes[i] < 0) numbers.push_back(static_cast<int64_t>(i));
  }
  const bool is_operand = op != "Transpose" && node.opset() >= kFirstWithAxesOperand;
  if (Value* const old = is_operand ? nullptr : node.input(1)) {
    node.graph().set_input(node, 1, nullptr);
    release(*old, context);
  }
  onnx::NodeProto& message = node.graph().edit(node);
  message.set_op_type(op);
  message.clear_attribute();  // each of them has one at most
  if (is_operand) {
    std::vector<std::byte> bytes(numbers.size() * sizeof(int64_t));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    const std::string name = node.output(0)->name() + ".axes";
    set_constant_input(node, 1, TensorData(DataType::int64, {std::ssize(numbers)}, Bytes::owned(std::move(bytes))), name, context);
    return;
  }
  onnx::AttributeProto& attribute = *message.add_attribute();
  attribute.set_name(op == "Transpose" ? "perm" : "axes");
  attribute.set_type(onnx::AttributeProto::INTS);
  attribute.mutable_ints()->Assign(numbers.begin(), numbers.end());
}

/// Two nodes, of which the first makes the only operand of the second that varies.
struct Pair {
  const Node *first = nullptr, *second = nullptr;
};

struct MergedPair {
  Pair pair;
  bool is_undone = false;  ///< together they do nothing
  std::vector<const Node*> taken, anchors;
  std::string detail;
  std::optional<AxisMoves> moves = {};  ///< of all from the first to the second
  Dims request = {};                    ///< of the Reshape that both become
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

constexpr int kAxesAsOperand = 13;  ///< first opset of Squeeze and Unsqueeze with axes as an operand

/// Axes of a Squeeze or Unsqueeze, sorted as written.
std::optional<std::vector<int64_t>> axes_of(const Node& node, PassContext& context) {
  auto axes = node.opset() < kAxesAsOperand ? std::optional(Attributes(node).integers("axes")) : constant_list(node, 1, context);
  if (axes) std::ranges::sort(*axes);
  return axes;
}

/// What a node and up to seven upstream of it do to the axes of a value, if one node or none does the same. Values between have no other
/// reader, except one that every reader takes up so.
std::optional<MergedPair> moved_together(const Node& last, PassContext& context) {
  constexpr int kMostNodes = 8;
  auto moves = moves_of(last, context);
  bool has_transpose = last.is("Transpose");
  const Node* at = &last;
  for (int passed = 1; moves && passed < kMostNodes; ++passed) {
    const Value& between = *at->input(0);
    const Node* const first = between.producer();
    const bool is_near = first != nullptr && &first->graph() == &last.graph();
    const auto upstream = is_near ? moves_of(*first, context) : std::nullopt;
    if (!upstream) break;
    has_transpose = has_transpose || first->is("Transpose");
    if (has_transpose && context.options.export_transposes) break;  // such pairs are asked for
    moves = joined(*upstream, *moves);
    const bool is_undone = moves_nothing(*moves);
    const auto takes_first_up = [&](const Use& use) {
      const bool is_alike = use.index == 0 && use.node->is(last.op_type()) && use.node->is(first->op_type()) && !last.is("Transpose");
      const auto others = is_alike && &use.node->graph() == &last.graph() ? moves_of(*use.node, context) : std::nullopt;
      return others && !operator_that(joined(*upstream, *others)).empty();
    };
    const bool is_shared = at == &last && !between.is_output() && std::ranges::all_of(between.uses(), takes_first_up);
    if (!is_undone && between.sole_use() == nullptr && !is_shared) break;
    if (!operator_that(*moves).empty()) return MergedPair{{first, &last}, is_undone, {&last}, {&last}, {}, moves};
    at = first;
  }
  return std::nullopt;
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

/// Whether a Transpose moves axes of one element alone, past any others: the elements stay in their order.
bool turns_ones(const Node& node, PassContext& context) {
  const auto moves = node.is("Transpose") ? moves_of(node, context) : std::nullopt;
  const PartialDims dims = moves ? context.constants.dims(*node.input(0)) : std::nullopt;
  if (!dims || dims->size() != moves->axes.size()) return false;
  Dims longer = moves->axes;
  std::erase_if(longer, [&](int64_t axis) { return element_at(*dims, axis) == 1; });
  return std::ranges::is_sorted(longer);
}

/// Whether a Reshape finds its dims without those of its operand, of which only the number of elements counts.
bool is_free_request(const Node& node, PassContext& context) {
  const auto request = node.is("Reshape") ? constant_list(node, 1, context) : std::nullopt;
  return request && (std::ranges::find(*request, 0) == request->end() || Attributes(node).integer("allowzero", 0) != 0);
}

/// The request whose result is that of a Reshape and of a Transpose that keeps the order of elements; empty where there is none.
Dims turned_request(const Pair& pair, PassContext& context) {
  const auto request = is_free_request(*pair.first, context) ? constant_list(*pair.first, 1, context) : std::nullopt;
  const auto moves = request && turns_ones(*pair.second, context) ? moves_of(*pair.second, context) : std::nullopt;
  if (!moves || std::ranges::find(*request, 0) != request->end()) return {};
  Dims out;
  for (const int64_t axis : moves->axes) out.push_back(element_at(*request, axis));
  return out;
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
  MergedPair out{pair, false, {pair.second}, {pair.second}, {}};
  if (is_standard(*pair.first, "Cast") && is_standard(*pair.second, "Cast") && holds_first(pair, context)) {
    out.is_undone = context.constants.type_of(*pair.first->input(0)) == context.constants.type_of(*pair.second->output(0));
    return out;
  }
  if (is_standard(*pair.first, "DequantizeLinear") && is_standard(*pair.second, "QuantizeLinear")) {
    out.is_undone = quantizes_back(pair, context);
    return out.is_undone ? std::optional(out) : std::nullopt;
  }
  const auto keeps_order = [&](const Node& node) { return reshapes(node) || turns_ones(node, context); };
  if (!keeps_order(*pair.first) || !keeps_order(*pair.second)) return std::nullopt;
  out.is_undone = undoes_reshape(pair, context);
  if (!out.is_undone) out.request = turned_request(pair, context);
  return out.is_undone || !out.request.empty() || is_free_request(*pair.second, context) ? std::optional(out) : std::nullopt;
}

Match<MergedPair> match_pair(const Node& node, PassContext& context) {
  const Node* const first = node.input(0)->producer();
  if (first == nullptr || &first->graph() != &node.graph() || first->input(0) == nullptr) return NotApplicable{};
  // The proof follows a fold of what stands between reshapes to the dims that the linear operator reads.
  const auto folds = [](const Use& use) { return has_trait(*use.node, Trait::linear); };
  const bool turns = node.is("Transpose") && first->is("Transpose"), moves = node.is("Transpose") || reshapes(node);
  if (moves && !turns && std::ranges::any_of(node.output(0)->uses(), folds)) return NotApplicable{};
  auto found = moved_together(node, context);
  if (!found) {
    found = together({first, &node}, context);
    if (found && !found->is_undone && node.input(0)->sole_use() == nullptr) found.reset();
  }
  if (!found) return NotApplicable{};
  for (const Node* at = &node; at != found->pair.first;) {
    at = at->input(0)->producer();
    if (is_excluded(*at, context.options)) return Skip{Reason::excluded, {}};
  }
  return std::move(*found);
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
  } else if (found.moves) {
    set_moves(second, *found.moves, context);
  } else if (!found.request.empty()) {
    graph.edit(second).set_op_type("Reshape");
    graph.edit(second).clear_attribute();
    std::vector<std::byte> bytes(found.request.size() * sizeof(int64_t));
    std::memcpy(bytes.data(), found.request.data(), bytes.size());
    const TensorData data(DataType::int64, {std::ssize(found.request)}, Bytes::owned(std::move(bytes)));
    set_constant_input(second, 1, data, second.output(0)->name() + ".request", context);
  }
  for (Value* const value : freed) release(*value, context);
  context.constants.forget(*second.output(0));
}

}  // namespace

void merge_pairs(Graph& graph, PassContext& context) {
  rewrite_each(graph, context, may_be_second, match_pair, merge_pair);
}

}  // namespace relayout::passes
