// Whether a BatchNormalization or Dropout trains, as each opset states it (is_test, training_mode, outputs, input 2), also by attributes of
// a function's call; words of the reason training-mode.

#include "passes/training_mode.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/attributes.h"
#include "ops/constants.h"
#include "passes/match.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

bool has_extra_outputs(const Node& node) {
  return node.outputs().size() > 1 && std::ranges::any_of(node.outputs().subspan(1), [](const Value* output) { return output != nullptr; });
}

bool uses_extra_outputs(const Node& node) {
  for (std::size_t i = 1; i < node.outputs().size(); ++i) {
    const Value* const output = node.outputs()[i];
    if (output != nullptr && (!output->uses().empty() || output->is_output())) return true;
  }
  return false;
}

}  // namespace

std::optional<Skip> why_trains(const Node& norm, const Attributes& attributes) {
  const int64_t opset = norm.opset();
  if (opset < 7) {
    if (attributes.integer("is_test", 0) == 0) return Skip{Reason::training_mode, "is_test is 0"};
    if (uses_extra_outputs(norm)) return Skip{Reason::training_mode, "its statistics are read"};
  } else if (opset >= 14 && attributes.integer("training_mode", 0) != 0) {
    return Skip{Reason::training_mode, "training_mode is 1"};
  } else if (has_extra_outputs(norm)) {
    return Skip{Reason::training_mode, "it has " + std::to_string(norm.outputs().size()) + " outputs"};
  }
  return std::nullopt;
}

bool trains_in_call(const Node& norm, const Node& call) {
  const auto lookup = [&](std::string_view name) {
    const onnx::AttributeProto* attribute = norm.attribute(name);
    if (attribute != nullptr && !attribute->ref_attr_name().empty()) attribute = call.attribute(attribute->ref_attr_name());
    // A call of another type, or one whose own caller gives the attribute, counts as one without it.
    const bool is_given = attribute != nullptr && attribute->type() == onnx::AttributeProto::INT && attribute->ref_attr_name().empty();
    return is_given ? attribute : nullptr;
  };
  return why_trains(norm, Attributes(norm, lookup)).has_value();
}

bool keeps_all(const Node& dropout, Constants& constants) {
  const Attributes attributes(dropout);
  if (attributes.has_reference()) return false;
  const int64_t opset = dropout.opset();
  if (opset < 7) return attributes.integer("is_test", 0) != 0;
  if (opset < 12 || dropout.input(2) == nullptr) return true;
  const auto training = constants.value(*dropout.input(2));
  return training && training->type() == DataType::boolean && training->element_count() == 1 && !*training->data<bool>();
}

}  // namespace relayout::passes
