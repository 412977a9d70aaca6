// The text of attribute values in `diff`: numbers, quoted strings, lists cut after 16 elements ("… 40 in all"), tensors by type and dims,
// graphs, and references to the caller.
#include "diff/attribute_text.h"

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr int kMostElements = 16;

template <class List, class Text>
std::string list_text(const List& list, const Text& text) {
  std::string out;
  for (int i = 0; i < list.size() && i < kMostElements; ++i) out += (i > 0 ? ", " : "") + text(list[i]);
  return "[" + out + (list.size() > kMostElements ? ", … " + format_count(list.size()) + " in all]" : "]");
}

std::string tensor_text(const onnx::TensorProto& tensor) {
  const DataTypeTraits* const type = find_traits(tensor.data_type());
  const std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  return std::string(type != nullptr ? type->name : "untyped") + " " + to_string(dims);
}

}  // namespace

std::string attribute_text(const onnx::AttributeProto& attribute) {
  using onnx::AttributeProto;
  if (!attribute.ref_attr_name().empty()) return "attribute " + quote(attribute.ref_attr_name()) + " of the caller";
  switch (attribute.type()) {
    case AttributeProto::FLOAT:
      return shortest(attribute.f());
    case AttributeProto::INT:
      return std::to_string(attribute.i());
    case AttributeProto::STRING:
      return quote(attribute.s());
    case AttributeProto::TENSOR:
      return tensor_text(attribute.t());
    case AttributeProto::FLOATS:
      return list_text(attribute.floats(), [](float value) { return shortest(value); });
    case AttributeProto::INTS:
      return list_text(attribute.ints(), [](int64_t value) { return std::to_string(value); });
    case AttributeProto::STRINGS:
      return list_text(attribute.strings(), [](const std::string& value) { return quote(value); });
    case AttributeProto::TENSORS:
      return list_text(attribute.tensors(), tensor_text);
    case AttributeProto::GRAPH:
      return "a graph";
    case AttributeProto::GRAPHS:
      return format_count(attribute.graphs_size()) + " graphs";
    case AttributeProto::SPARSE_TENSOR:
      return "a sparse tensor";
    default:
      return "of type " + std::to_string(attribute.type());
  }
}

}  // namespace relayout
