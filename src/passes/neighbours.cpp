#include "passes/neighbours.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "base/text.h"
#include "model/attributes.h"
#include "passes/linear_operator.h"
#include "passes/pass.h"
#include "passes/skips.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr int kNearby = 8;  ///< operators beyond an obstacle that are looked at for a linear one: keeps a walk short

constexpr auto kQuantizedOperators = std::to_array<std::string_view>({"ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul"});
constexpr auto kMovesChannels = std::to_array<std::string_view>({
    "DepthToSpace",
    "Flatten",
    "Reshape",
    "SpaceToDepth",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
});
constexpr auto kPads = std::to_array<std::string_view>({"Pad"});

template <std::size_t N>
bool is_one_of(const Node& node, const std::array<std::string_view, N>& names) {
  return node.domain().empty() && std::ranges::find(names, node.op_type()) != names.end();
}

bool is_linear(const Node& node) {
  return is_convolution(node) || node.is("Gemm") || node.is("MatMul") || is_one_of(node, kQuantizedOperators);
}

/// Why an affine does not go through this operator.
Reason reason_between(const Node& node) {
  if (!node.domain().empty()) return Reason::unknown_op_between;
  if (is_one_of(node, kMovesChannels)) return Reason::channel_axis_moved;
  if (is_one_of(node, kPads)) return Reason::pads_with_shift;
  if (node.is("Dropout")) return Reason::training_mode;
  if (node.is("Concat")) return Reason::concat_branch;
  if (node.is("Add")) return Reason::residual;
  return Reason::nonlinear_between;
}

}  // namespace

bool passes_through(const Node& node, PassContext& context) {
  if (node.is("Identity")) return node.input(0) != nullptr && node.output(0) != nullptr;
  if (!node.is("Dropout") || node.input(0) == nullptr || node.output(0) == nullptr) return false;
  const Attributes attributes(node);
  if (attributes.has_reference()) return false;
  const int64_t opset = node.opset();
  if (opset < 7) return attributes.integer("is_test", 0) != 0;
  if (opset < 12 || node.input(2) == nullptr) return true;
  const auto training = context.constants.value(*node.input(2));
  return training && training->type() == DataType::boolean && training->element_count() == 1 && *training->data<bool>() == false;
}

void note_other_readers(const Value& value, const Node& reader, Obstacles& obstacles) {
  if (value.uses().size() == 1 && !value.is_output()) return;
  if (value.is_captured()) obstacles.note(Reason::conv_output_captured, quote(value.name()));
  if (value.is_own_output()) obstacles.note(Reason::conv_output_visible, quote(value.name()));
  int own = 0;
  for (const Use& use : value.uses()) {
    if (use.node == &reader && ++own == 1) continue;
    if (&use.node->graph() != &value.graph()) continue;
    obstacles.note(Reason::conv_output_shared, quote(value.name()) + " is read by " + use.node->label());
    return;
  }
}

Behind look_behind(const Node& affine, PassContext& context) {
  Behind out;
  const Node* reader = &affine;
  bool is_blocked = false;  // by an operator: what lies beyond it says nothing any more
  int left = kNearby;
  for (const Value* value = affine.input(0); value != nullptr && left > 0;) {
    Node* const producer = value->producer();
    if (producer == nullptr) return {};
    if (!is_blocked) {
      if (&value->graph() != &affine.graph()) out.obstacles.note(Reason::other_scope, producer->label());
      note_other_readers(*value, *reader, out.obstacles);
    }
    if (is_linear(*producer)) {
      if (!is_blocked && !is_convolution(*producer)) {
        out.obstacles.note(is_one_of(*producer, kQuantizedOperators) ? Reason::quantized : Reason::nonlinear_between, producer->label());
      }
      out.target = producer;
      std::ranges::reverse(out.path);
      return out;
    }
    const auto known = context.skipped.find(producer);
    if (!is_blocked && known != context.skipped.end() && known->second.reason < Reason::non_finite) {
      // What stops the affine before this one stops this one; and that one has looked whether there is an operator at all.
      if (known->second.reason == Reason::no_linear_neighbour) return {};
      out.obstacles.note(known->second.reason, known->second.detail.empty() ? producer->label() : known->second.detail);
      out.target = producer;
      return out;
    }
    if (!is_blocked && !passes_through(*producer, context) && !producer->is("BatchNormalization")) {
      out.obstacles.note(reason_between(*producer), producer->label());
      is_blocked = true;
    }
    if (!is_blocked && producer->is("Dropout") && producer->output(1) != nullptr)
      note_other_readers(*producer->output(1), *reader, out.obstacles);
    if (out.obstacles.any()) --left;
    out.path.push_back(producer);
    reader = producer;
    value = producer->input(0);
  }
  return {};
}

Ahead look_ahead(const Node& affine, PassContext& context) {
  Ahead out;
  const Node* last = &affine;
  bool is_blocked = false;
  for (int left = kNearby; left > 0; --left) {
    const Value* const value = last->output(0);
    if (value == nullptr || value->uses().empty()) return {};
    // Further away a few readers tell enough: the walk stays short where many affines end in one busy value.
    const auto readers = value->uses().first(last == &affine ? value->uses().size() : std::min<std::size_t>(value->uses().size(), kNearby));
    out.found = std::ranges::any_of(readers, [](const Use& use) { return use.index == 0 && is_linear(*use.node); });
    if (!is_blocked && (value->uses().size() > 1 || value->is_output())) out.obstacles.note(Reason::bn_output_shared, quote(value->name()));
    if (out.found) return out;
    Node* const next = value->uses().front().node;
    if (!is_blocked && !passes_through(*next, context)) {
      out.obstacles.note(reason_between(*next), next->label());
      is_blocked = true;
    }
    last = next;
  }
  return {};
}

}  // namespace relayout
