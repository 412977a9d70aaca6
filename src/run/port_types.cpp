// Finds the types of values that become inputs or outputs of a model of their own.
#include "run/port_types.h"

#include "base/text.h"
#include "layout/graph_shapes.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "verify/inputs/inputs.h"

namespace relayout {
namespace {

onnx::TypeProto type_without_dims(const DatumInfo& info) {
  onnx::TypeProto out;
  switch (info.kind) {
    case Datum::Kind::sequence:
      if (info.elements.empty()) {
        out.mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(info.type));
      } else {
        *out.mutable_sequence_type()->mutable_elem_type() = type_without_dims(info.elements.front());
      }
      break;
    case Datum::Kind::optional:
      if (info.elements.empty()) {
        out.mutable_optional_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(info.type));
      } else {
        *out.mutable_optional_type()->mutable_elem_type() = type_without_dims(info.elements.front());
      }
      break;
    case Datum::Kind::map:
      out.mutable_map_type()->set_key_type(static_cast<int32_t>(info.elements.empty() ? DataType::int64 : info.elements.front().type));
      out.mutable_map_type()->mutable_value_type()->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(info.type));
      break;
    case Datum::Kind::tensor:
      out.mutable_tensor_type()->set_elem_type(static_cast<int32_t>(info.type));
      break;
  }
  return out;
}

/// What is known of values without a run.
class StaticTypes {
 public:
  explicit StaticTypes(const Graph& graph) : shapes_(graph), elements_(graph, signatures_) {}

  [[nodiscard]] std::optional<onnx::TypeProto> find(const Value& value) {
    const DatumInfo* const info = shapes_.find(value);
    if (info != nullptr && info->kind != Datum::Kind::tensor) return type_without_dims(*info);
    const auto declared = value.declared();
    if (info == nullptr && !declared && value.info() != nullptr) return value.info()->type();
    DatumInfo out;
    out.type = info != nullptr ? info->type : elements_.of(value);
    if (out.type == DataType::undefined && declared) out.type = declared->type;
    if (out.type == DataType::undefined) return std::nullopt;
    return with_dims(type_without_dims(out), info, declared, constants_.dims(value));
  }

 private:
  /// Certain dims; for others those that are declared, unless assumed inputs contradict them.
  static std::optional<onnx::TypeProto> with_dims(onnx::TypeProto type, const DatumInfo* info, const std::optional<ShapeInfo>& declared,
                                                  const PartialDims& certain) {
    const bool is_declared = declared && declared->has_shape;
    if (!certain && info == nullptr && !is_declared) return std::nullopt;
    const std::size_t rank = certain ? certain->size() : info != nullptr ? info->dims.size() : declared->dims.size();
    auto& shape = *type.mutable_tensor_type()->mutable_shape();
    for (std::size_t axis = 0; axis < rank; ++axis) {
      auto& dim = *shape.add_dim();
      if (certain && (*certain)[axis] >= 0) {
        dim.set_dim_value((*certain)[axis]);
      } else if (is_declared && declared->dims.size() == rank) {
        const int64_t size = declared->dims[axis];
        const bool fits = info == nullptr || info->dims.size() != rank || info->dims[axis] == size;
        if (size >= 0 && fits) dim.set_dim_value(size);
        if (size < 0 && !declared->symbols[axis].empty()) dim.set_dim_param(declared->symbols[axis]);
      }
    }
    return type;
  }

  OpSignatures signatures_;
  layout::Shapes shapes_;
  ElementTypes elements_;
  Constants constants_;
};

/// Types and ranks of values in a run on generated inputs.
std::unordered_map<const Value*, onnx::TypeProto> types_by_running(const Graph& graph) {
  std::unordered_map<const Value*, onnx::TypeProto> out;
  ExecuteOptions options;
  options.mode = Mode::as_written;
  options.few_runs = true;
  options.watch = [&](const Computed& computed) {
    for (std::size_t k = 0; computed.node != nullptr && k < computed.data.size(); ++k) {
      const Datum& datum = computed.data[k];
      const Value* const value = computed.node->output(k);
      if (value == nullptr || (datum.kind == Datum::Kind::tensor && !datum.tensor)) continue;
      onnx::TypeProto& type = out[value] = type_without_dims(info_of(datum));
      if (datum.kind != Datum::Kind::tensor) continue;
      for (std::size_t axis = 0; axis < datum.tensor.dims().size(); ++axis) type.mutable_tensor_type()->mutable_shape()->add_dim();
      if (datum.tensor.dims().empty()) (void)type.mutable_tensor_type()->mutable_shape();
    }
  };
  const InputMaker maker(graph, {}, nullptr, {false, {}, true}, {});
  (void)maker.first_accepted([&](Inputs inputs) { (void)Executor(graph, options).run(inputs); });
  return out;
}

}  // namespace

std::vector<onnx::TypeProto> port_types(const Graph& graph, const std::vector<const Value*>& values) {
  StaticTypes known(graph);
  std::optional<std::unordered_map<const Value*, onnx::TypeProto>> seen;
  std::vector<onnx::TypeProto> out;
  std::string why;
  for (const Value* const value : values) {
    if (auto type = known.find(*value)) {
      out.push_back(*std::move(type));
      continue;
    }
    if (!seen) {
      try {
        seen = types_by_running(graph);
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::interrupted || error.kind() == ErrorKind::terminated) throw;
        seen.emplace();
        why = std::string(", and it does not run: ") + error.what();
      }
    }
    const auto found = seen->find(value);
    if (found == seen->end())
      fail(ErrorKind::unsupported, "neither the model nor its operators tell type and rank of " + quote(value->name()) + why);
    out.push_back(found->second);
  }
  return out;
}

}  // namespace relayout
