// Attributes that matter for some numbers or sizes only: epsilon of normalizations, clip of recurrent operators, ignore_index of losses,
// coordinate_transformation_mode of Resize. Samples that agree do not show that others would.
#include "verify/unseen_attributes.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/positions.h"
#include "model/node.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Attributes that matter only for some numbers: large states of recurrent operators, ignored labels of losses.
constexpr auto kDataAttributes = std::to_array<std::string_view>({"clip", "ignore_index"});

/// Whether an attribute of two nodes differs.
bool is_other(const Node& a, const Node& b, std::string_view name) {
  const onnx::AttributeProto *const of_a = a.attribute(name), *const of_b = b.attribute(name);
  if (of_a == nullptr || of_b == nullptr) return of_a != of_b;
  return of_a->i() != of_b->i() || of_a->f() != of_b->f() || of_a->s() != of_b->s();
}

/// Whether heights, widths or lengths of images among a model's inputs are free.
bool has_free_sides(const Graph& graph) {
  return std::ranges::any_of(graph.inputs(), [](const Value* input) {
    const auto declared = input->declared();
    if (!declared || declared->dims.size() < 3) return false;
    return std::any_of(declared->dims.begin() + 2, declared->dims.end(), [](int64_t dim) { return dim < 0; });
  });
}

/// Constant scales of a Resize, without those of 1; nullopt if they are not known.
std::optional<std::vector<double>> scales_of(const Node& resize, Constants& constants) {
  const Value* const operand = resize.input(2);
  const auto known = operand == nullptr ? std::nullopt : constants.value(*operand);
  if (!known || known->element_count() == 0 || !kRealTypes.has(known->type())) return std::nullopt;
  const Tensor dense = contiguous(*known);
  std::vector<double> out(as_size(dense.element_count()));
  load(dense.type(), dense.bytes(), 1, dense.element_count(), out.data());
  std::erase(out, 1.0);
  return out;
}

/// Whether two Resizes place pixels differently only at some sides: pytorch_half_pixel where a side becomes 1, half_pixel_symmetric where a
/// scaled side is not a whole number.
bool may_part_by_sides(const Node& a, const Node& b) {
  constexpr std::string_view kName = "coordinate_transformation_mode";
  const auto has = [&](std::string_view mode) {
    return std::ranges::any_of(std::array{&a, &b}, [&](const Node* node) { return Attributes(*node).text(kName, "half_pixel") == mode; });
  };
  Constants constants;
  const auto scales = scales_of(a, constants);
  const auto any = [&](const auto& is_open) { return !scales || std::ranges::any_of(*scales, is_open); };
  if (has("pytorch_half_pixel")) return any([](double scale) { return scale < 2; });
  return has("half_pixel_symmetric") && any([](double scale) { return scale != std::trunc(scale); });
}

}  // namespace

bool part_unseen_by_attributes(const Graph& graph, const Node& a, const Node& b) {
  if (a.op_type() != b.op_type() || a.domain() != b.domain()) return false;
  if (has_trait(a, Trait::normalizes) && is_other(a, b, "epsilon")) return true;
  if (a.is("Resize") && is_other(a, b, "coordinate_transformation_mode")) return has_free_sides(graph) && may_part_by_sides(a, b);
  return a.domain().empty() && std::ranges::any_of(kDataAttributes, [&](std::string_view name) { return is_other(a, b, name); });
}

}  // namespace relayout
