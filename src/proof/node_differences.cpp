// Decides whether two nodes have the same operator, and which attributes differ (an absent one equals its default, tensors are compared by
// their elements), and measures by how much a number differs.

#include "proof/node_differences.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "model/origin.h"
#include "ops/constants.h"
#include "proof/side.h"
#include "proof/tensors.h"
#include "proof/versions.h"
#include "relayout/graph.h"
#include "relayout/proof.h"

namespace relayout::proof {
namespace {

using onnx::AttributeProto;

Constant constant_of(const Model& model, const onnx::TensorProto& tensor) {
  Constant out;
  if (tensor.data_type() == onnx::TensorProto::STRING) {
    out.strings = load_tensor(model, tensor);
    out.type = out.strings.type();
    out.dims = out.strings.dims();
    return out;
  }
  out.data = tensor_data(model, tensor);
  out.type = out.data.type();
  out.dims = out.data.dims();
  return out;
}

bool same_tensor(const Model& model_a, const onnx::TensorProto& a, const Model& model_b, const onnx::TensorProto& b) {
  if (a.data_type() == onnx::TensorProto::UNDEFINED || b.data_type() == onnx::TensorProto::UNDEFINED) {
    return a.data_type() == b.data_type() && std::ranges::equal(a.dims(), b.dims());
  }
  const auto found = difference(constant_of(model_a, a), constant_of(model_b, b));
  return found && found->values == 0;
}

bool same_sparse(const Model& model_a, const onnx::SparseTensorProto& a, const Model& model_b, const onnx::SparseTensorProto& b) {
  return std::ranges::equal(a.dims(), b.dims()) && same_tensor(model_a, a.values(), model_b, b.values()) &&
         same_tensor(model_a, a.indices(), model_b, b.indices());
}

/// Serializes an attribute without its name, documentation, tensors and graphs, in one deterministic encoding.
std::string plain_part(const AttributeProto& attribute) {
  AttributeProto plain;
  plain.set_type(attribute.type());
  plain.set_ref_attr_name(attribute.ref_attr_name());
  if (attribute.has_f()) plain.set_f(attribute.f());
  if (attribute.has_i()) plain.set_i(attribute.i());
  if (attribute.has_s()) plain.set_s(attribute.s());
  if (attribute.has_tp()) *plain.mutable_tp() = attribute.tp();
  *plain.mutable_floats() = attribute.floats();
  *plain.mutable_ints() = attribute.ints();
  *plain.mutable_strings() = attribute.strings();
  *plain.mutable_type_protos() = attribute.type_protos();
  std::string out;
  {
    google::protobuf::io::StringOutputStream stream(&out);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    plain.SerializeToCodedStream(&coded);
  }
  return out;
}

bool same_attribute(const Model& model_a, const AttributeProto& a, const Model& model_b, const AttributeProto& b) {
  const bool same_counts = a.has_t() == b.has_t() && a.has_g() == b.has_g() && a.has_sparse_tensor() == b.has_sparse_tensor() &&
                           a.tensors_size() == b.tensors_size() && a.graphs_size() == b.graphs_size() &&
                           a.sparse_tensors_size() == b.sparse_tensors_size();
  if (!same_counts || plain_part(a) != plain_part(b)) return false;
  if (a.has_t() && !same_tensor(model_a, a.t(), model_b, b.t())) return false;
  if (a.has_sparse_tensor() && !same_sparse(model_a, a.sparse_tensor(), model_b, b.sparse_tensor())) return false;
  for (int i = 0; i < a.tensors_size(); ++i) {
    if (!same_tensor(model_a, a.tensors(i), model_b, b.tensors(i))) return false;
  }
  for (int i = 0; i < a.sparse_tensors_size(); ++i) {
    if (!same_sparse(model_a, a.sparse_tensors(i), model_b, b.sparse_tensors(i))) return false;
  }
  return true;
}

/// Effective value of an attribute of a node.
struct Effective {
  const AttributeProto* stated = nullptr;  ///< as written, or the default
  const AttributeProto* value = nullptr;   ///< as `stated`; nullptr if the operator's definition implies it
  bool is_defined = false;                 ///< the operator's version defines the attribute
  bool is_default = false;
};

Effective effective(Side& side, Ref output, const std::string& name) {
  const Node& node = *output.value->producer();
  const AttributeDefault known = attribute_default(node, name);
  const AttributeProto* const written = AttributeReader(node, output.call).find(name);
  const AttributeProto* const value = written != nullptr ? written : known.value;
  if (value == nullptr || is_implied(side, output, *value)) return {value, nullptr, known.is_defined, true};
  if (written == nullptr) return {value, value, known.is_defined, true};
  const Model& model = node.graph().model();
  return {written, written, known.is_defined, known.value != nullptr && same_attribute(model, *written, model, *known.value)};
}

}  // namespace

bool same_operator(const Node& a, const Node& b) {
  return a.op_type() == b.op_type() && a.domain() == b.domain() && a.message().overload() == b.message().overload();
}

std::vector<std::string> different_attributes(Side& side_a, Ref a, Side& side_b, Ref b, std::string_view ignored) {
  const Node& node_a = *a.value->producer();
  const Node& node_b = *b.value->producer();
  std::vector<std::string> out;
  const auto compare = [&](const std::string& name) {
    const Effective in_a = effective(side_a, a, name);
    const Effective in_b = effective(side_b, b, name);
    if (in_a.value == nullptr && in_b.value == nullptr) return;
    const auto is_same = [&](const AttributeProto* of_a, const AttributeProto* of_b) {
      return of_a != nullptr && of_b != nullptr && same_attribute(node_a.graph().model(), *of_a, node_b.graph().model(), *of_b);
    };
    // Equal as stated, though implied in one model alone: a kernel_shape is implied by a stored weight, not by a computed one.
    if (is_same(in_a.stated, in_b.stated)) return;
    // A version without the attribute behaves like the default in a later version.
    const bool is_new =
        (in_a.value == nullptr && !in_a.is_defined && in_b.is_default) || (in_b.value == nullptr && !in_b.is_defined && in_a.is_default);
    if (!is_new) out.push_back(name);
  };
  for (const AttributeProto& attribute : node_a.message().attribute()) {
    if (attribute.name() != ignored) compare(attribute.name());
  }
  for (const AttributeProto& attribute : node_b.message().attribute()) {
    if (attribute.name() != ignored && node_a.attribute(attribute.name()) == nullptr) compare(attribute.name());
  }
  return out;
}

void measure_number(const Node& a, const Node& b, std::string_view name, Unexplained& entry) {
  const onnx::AttributeProto *const in_a = a.attribute(name), *const in_b = b.attribute(name);
  const auto is_number = [](const onnx::AttributeProto* attribute) {
    return attribute != nullptr && (attribute->type() == onnx::AttributeProto::FLOAT || attribute->type() == onnx::AttributeProto::FLOATS);
  };
  if (!is_number(in_a) && !is_number(in_b)) return;
  entry.values = 1;
  entry.largest = 1;
  if (in_a == nullptr || in_b == nullptr || !std::isfinite(in_a->f()) || !std::isfinite(in_b->f())) return;
  if (!in_a->has_f() || !in_b->has_f()) return;
  const double right = in_a->f(), difference = std::abs(in_b->f() - right);
  entry.largest = right != 0 ? difference / std::abs(right) : difference;
}

}  // namespace relayout::proof
