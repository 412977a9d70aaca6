#include "inspect/macs.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "base/interrupt.h"
#include "model/attributes.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Contents are followed up to this size: shapes, axes, bounds, not weights.
constexpr int64_t kSmallElements = 1024;

/// Shapes forward through a graph, and the contents of what shapes are computed from.
class ShapeWalk {
 public:
  explicit ShapeWalk(const Graph& graph) : graph_(&graph) {}

  /// Nothing when a convolution or product has operands of unknown shape.
  std::optional<int64_t> count() {
    for (const Value* input : graph_->inputs()) {
      if (input->initializer() == nullptr) add_input(*input);
    }
    int64_t total = 0;
    for (const Node& node : graph_->nodes()) {
      check_interrupt();
      infer(node);
      const auto sum = macs_of(node);
      const auto next = sum ? checked_add(total, *sum) : std::nullopt;
      if (!next) return std::nullopt;
      total = *next;
    }
    return total;
  }

 private:
  /// What is known of a value: its info, and its contents where they are small. The contents stay where they are.
  struct Known {
    DatumInfo info;
    Datum datum;
    bool has_contents = false;
  };

  void add_input(const Value& value) {
    const auto declared = value.declared();
    if (!declared || !declared->has_shape) return;
    Known& known = known_[&value];
    known.info.type = declared->type;
    known.info.dims = declared->dims;
    for (int64_t& dim : known.info.dims) dim = dim < 0 ? 1 : dim;
  }

  void keep(Known& known, const Tensor& contents) {
    known.datum = contents;
    known.info = info_of(known.datum);
    known.has_contents = true;
  }

  /// What is known of an operand; nullptr for nothing. Initializers and Constants are looked up when somebody reads them.
  const Known* find(const Value& value) {
    if (const auto known = known_.find(&value); known != known_.end()) return &known->second;
    if (value.initializer() == nullptr && (value.producer() == nullptr || !value.producer()->is("Constant"))) return nullptr;
    const auto found = constants_.find(value);
    const Constant* constant = std::get_if<Constant>(&found);
    if (constant == nullptr) return nullptr;
    Known& known = known_[&value];
    known.info.type = constant->type;
    known.info.dims = constant->dims;
    if (element_count(constant->dims) <= kSmallElements) keep(known, constant->load());
    return &known;
  }

  /// What follows for the outputs of a node, as far as its operands are known.
  void infer(const Node& node) {
    const Op* op = node.domain().empty() ? find_op(node.op_type()) : nullptr;
    if (op == nullptr || op->infer == nullptr || node.is("Constant")) return;
    std::vector<const DatumInfo*> infos;
    std::vector<const Datum*> contents;
    bool all_contents = op->compute != nullptr && op->deterministic;
    for (const Value* input : node.inputs()) {
      const Known* known = input == nullptr ? nullptr : find(*input);
      if (input != nullptr && known == nullptr) return;
      infos.push_back(known == nullptr ? nullptr : &known->info);
      contents.push_back(known == nullptr ? nullptr : &known->datum);
      all_contents &= known == nullptr || known->has_contents;
    }
    const OpCall call(node, node.opset());
    const auto outputs = op->infer(call, infos);
    if (!outputs) return;
    if (node.is("Shape")) return keep_shape(node, *infos.at(0));
    if (all_contents && all_small(node, *outputs)) return compute(*op, call, contents, *outputs);
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      if (node.output(i) != nullptr) known_[node.output(i)].info = outputs->at(i);
    }
  }

  /// Shape reads no data: its contents follow from dims.
  void keep_shape(const Node& node, const DatumInfo& operand) {
    const Attributes attributes(node);
    const auto rank = static_cast<int64_t>(operand.dims.size());
    const auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
    const int64_t start = clamped(attributes.integer("start", 0)), end = std::max(start, clamped(attributes.integer("end", rank)));
    Tensor dims(DataType::int64, {end - start});
    std::copy(operand.dims.begin() + start, operand.dims.begin() + end, dims.data<int64_t>());
    keep(known_[node.output(0)], dims);
  }

  static bool all_small(const Node& node, const std::vector<DatumInfo>& outputs) {
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      if (node.output(i) == nullptr) continue;
      const DatumInfo& info = outputs.at(i);
      if (info.kind != Datum::Kind::tensor || info.type == DataType::string || element_count(info.dims) > kSmallElements) return false;
    }
    return true;
  }

  void compute(const Op& op, const OpCall& call, const std::vector<const Datum*>& inputs, const std::vector<DatumInfo>& infos) {
    std::vector<Datum> results(call.node.outputs().size());
    std::vector<Datum*> pointers(results.size(), nullptr);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (call.node.output(i) == nullptr) continue;
      results[i].tensor = Tensor(infos.at(i).type, infos.at(i).dims);
      pointers[i] = &results[i];
    }
    op.compute(call, inputs, pointers);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (pointers[i] != nullptr) keep(known_[call.node.output(i)], results[i].tensor);
    }
  }

  /// Dims of a tensor; nullptr when they are not known.
  const Dims* dims_of(const Value* value) {
    const Known* known = value == nullptr ? nullptr : find(*value);
    return known == nullptr || known->info.kind != Datum::Kind::tensor ? nullptr : &known->info.dims;
  }

  /// 0 for operators that multiply nothing to speak of; nothing when shapes are missing.
  std::optional<int64_t> macs_of(const Node& node) {
    const bool is_convolution = node.is("Conv") || node.is("ConvTranspose") || node.is("ConvInteger");
    if (!is_convolution && !node.is("Gemm") && !node.is("MatMul")) return 0;
    const Dims* a = dims_of(node.input(0));
    const Dims* b = dims_of(node.input(1));
    const Dims* out = dims_of(node.output(0));
    if (a == nullptr || b == nullptr || out == nullptr || a->empty() || b->empty()) return std::nullopt;
    if (is_convolution) {
      // Each element of the result (of the operand when transposed) meets all of a filter but its first dim.
      if (b->front() == 0) return 0;
      const int64_t elements = element_count(node.is("ConvTranspose") ? *a : *out);
      return checked_mul(elements, element_count(*b) / b->front());
    }
    const bool is_transposed = node.is("Gemm") && Attributes(node).integer("transA", 0) != 0;
    return checked_mul(element_count(*out), is_transposed ? a->front() : a->back());
  }

  const Graph* graph_;
  Constants constants_;
  std::unordered_map<const Value*, Known> known_;
};

}  // namespace

std::optional<int64_t> count_macs(const Graph& graph) {
  try {
    return ShapeWalk(graph).count();
  } catch (const Error& error) {
    // Operands that do not fit are for those to complain about who run the model.
    if (error.kind() == ErrorKind::interrupted || error.kind() == ErrorKind::terminated) throw;
    return std::nullopt;
  }
}

}  // namespace relayout
