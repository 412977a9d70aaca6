// Dims of values of one model in the proof, within function calls as well: declared dims count for model inputs only, the rest is inferred;
// also the pads of a Pad in each opset. The rules are those of the passes (ops/partial_dims.h); the proof itself resolves operands,
// constants and attributes.

#include "proof/shapes.h"

#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/positions.h"
#include "model/node.h"
#include "ops/call.h"
#include "ops/partial_dims.h"
#include "proof/side.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

/// The resolved operands of the node that produces `output`.
class Operands : public PartialOperands {
 public:
  Operands(Side& side, Ref output, const std::unordered_map<Ref, PartialDims, RefHash>& known)
      : side_(side), output_(output), known_(known) {}
  [[nodiscard]] bool has(std::size_t input) override { return static_cast<bool>(side_.operand(output_, input)); }
  [[nodiscard]] PartialDims dims(std::size_t input) override {
    const auto found = known_.find(side_.operand(output_, input));
    return found == known_.end() ? std::nullopt : found->second;
  }
  [[nodiscard]] DataType type(std::size_t input) override { return side_.type_of(side_.operand(output_, input)); }
  [[nodiscard]] std::optional<PartialContents> contents(std::size_t input) override {
    const Ref operand = side_.operand(output_, input);
    const auto constant = side_.constant(operand);
    return constant ? std::optional<PartialContents>(constant->load()) : side_.partial_contents(operand);
  }

 private:
  Side& side_;
  Ref output_;
  const std::unordered_map<Ref, PartialDims, RefHash>& known_;
};

}  // namespace

std::optional<Dims> Shapes::of(Ref ref) {
  struct Open {
    Ref ref;
    std::size_t next = 0;
  };
  std::vector<Open> open = {{side_.resolve(ref)}};
  while (!open.empty()) {
    Open& top = open.back();
    const Ref at = top.ref;
    if (!at || shapes_.contains(at)) {
      open.pop_back();
    } else if (const Node* const node = at.value->producer(); node == nullptr) {
      shapes_.emplace(at, of_source(at));
    } else if (const auto inside = side_.entered(at)) {
      const auto found = shapes_.find(*inside);
      if (found != shapes_.end() || !*inside || top.next++ > 0) {
        shapes_.emplace(at, found != shapes_.end() ? found->second : std::nullopt);
      } else {
        open.push_back({*inside});
      }
    } else if (top.next < node->inputs().size()) {
      const Ref input = side_.operand(at, top.next++);
      if (input) open.push_back({input});
    } else {
      shapes_.emplace(at, of_node(at));
    }
  }
  const auto found = shapes_.find(side_.resolve(ref));
  return found == shapes_.end() ? std::nullopt : found->second;
}

Shapes::Shape Shapes::of_source(Ref ref) {
  if (const auto constant = side_.constant(ref)) return constant->dims;
  const bool is_contract = ref.value->is_model_input();
  const auto declared = is_contract ? ref.value->declared() : std::nullopt;
  if (!declared || !declared->has_shape) return std::nullopt;
  return declared->dims;
}

Shapes::Shape Shapes::of_node(Ref output) {
  const Node& node = *output.value->producer();
  if (const auto constant = side_.constant(output)) return constant->dims;
  OpCall call(node, node.opset());
  call.attributes = Attributes(node, [reader = AttributeReader(node, output.call)](std::string_view name) { return reader.find(name); });
  Operands operands(side_, output, shapes_);
  return partial_dims(call, as_size(output.value->output_index()), operands);
}

std::optional<std::vector<int64_t>> paddings(Side& side, Ref output, const AttributeReader& attributes, const std::optional<Dims>& dims) {
  const Node& node = *output.value->producer();
  if (node.opset() < 2) return attributes.integers("paddings");
  if (node.opset() < 11) return attributes.integers("pads");
  auto pads = integers_of(side, side.operand(output, 1));
  if (!pads || !side.operand(output, 3)) return pads;
  const auto axes = integers_of(side, side.operand(output, 3));
  if (!axes || !dims || pads->size() != 2 * axes->size()) return std::nullopt;
  const auto rank = static_cast<int64_t>(dims->size());
  std::vector<int64_t> out(2 * dims->size(), 0);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + rank : (*axes)[i];
    if (axis < 0 || axis >= rank) return std::nullopt;
    out[as_size(axis)] = (*pads)[i];
    out[as_size(axis + rank)] = (*pads)[i + axes->size()];
  }
  return out;
}

}  // namespace relayout::proof
