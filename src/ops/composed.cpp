// Inference and computation of an operator that is a composition of standard ones, by the nodes of its body (ops/bodies has the bodies,
// body_table.cpp the list).

#include "ops/composed.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/body.h"
#include "ops/call.h"
#include "ops/constant_limits.h"
#include "ops/loops/strided.h"
#include "ops/op.h"
#include "ops/op_call.h"
#include "ops/partial_dims.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Operands with known types and dims, and no known contents.
class KnownOperands : public PartialOperands {
 public:
  explicit KnownOperands(std::span<const DatumInfo* const> infos) : infos_(infos) {}
  [[nodiscard]] bool has(std::size_t input) override { return input < infos_.size() && infos_[input] != nullptr; }
  [[nodiscard]] PartialDims dims(std::size_t input) override { return has(input) ? PartialDims(infos_[input]->dims) : std::nullopt; }
  [[nodiscard]] DataType type(std::size_t input) override { return has(input) ? infos_[input]->type : DataType::undefined; }
  [[nodiscard]] std::optional<PartialContents> contents(std::size_t) override { return std::nullopt; }

 private:
  std::span<const DatumInfo* const> infos_;
};

FunctionInstance composed(const OpCall& call, std::span<const DatumInfo* const> inputs) {
  KnownOperands operands(inputs);
  return compose(*find_op(call.node), call.node, operands);
}

bool is_small(const std::vector<DatumInfo>& infos) {
  return std::ranges::all_of(
      infos, [](const DatumInfo& info) { return info.kind == Datum::Kind::tensor && element_count(info.dims) <= kSmallElements; });
}

/// Infers the values of a body in order; small contents that follow from known contents are computed on the way.
class BodyInference {
 public:
  explicit BodyInference(const Graph& graph) : graph_(graph) {}

  std::optional<std::vector<DatumInfo>> run(std::span<const DatumInfo* const> inputs) {
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
      if (i < inputs.size() && inputs[i] != nullptr) infos_[graph_.inputs()[i]] = *inputs[i];
    }
    for (const Node& node : graph_.nodes()) {
      if (!infer(node)) return std::nullopt;
    }
    std::vector<DatumInfo> out;
    for (const Value* output : graph_.outputs()) {
      out.push_back(infos_.at(output));
      out.back().value = nullptr;
    }
    return out;
  }

 private:
  bool infer(const Node& node) {
    const Op& op = *find_kernel(node);
    const OpCall call(node, node.opset());
    KnownInfos operands(node.inputs().size());
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const auto known = infos_.find(node.input(i));
      if (known != infos_.end()) operands.set(i, known->second);
    }
    auto results = op.infer(call, operands.get());
    if (!results) return false;
    const auto is_known = [&](std::size_t i) { return infos_.at(node.input(i)).value != nullptr; };
    if (follows_from(op, node, is_known) && is_small(*results)) return compute(op, call, *results);
    for (std::size_t k = 0; k < node.outputs().size(); ++k) {
      if (node.output(k) != nullptr) infos_[node.output(k)] = (*results)[k];
    }
    return true;
  }

  bool compute(const Op& op, const OpCall& call, const std::vector<DatumInfo>& results) {
    std::vector<Datum> operands(call.node.inputs().size());
    std::vector<const Datum*> pointers(operands.size(), nullptr);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const auto known = infos_.find(call.node.input(i));
      if (known == infos_.end()) continue;
      const DatumInfo& info = known->second;
      operands[i] = info.value != nullptr ? Datum(*info.value) : Datum(without_elements(info.type, info.dims));
      pointers[i] = &operands[i];
    }
    std::vector<Datum> made = relayout::compute(op, call, pointers, results, [&](std::size_t k) { return call.node.output(k) != nullptr; });
    for (std::size_t k = 0; k < made.size() && k < call.node.outputs().size(); ++k) {
      if (call.node.output(k) == nullptr) continue;
      contents_.push_back(std::make_unique<Tensor>(std::move(made[k].tensor)));
      DatumInfo& info = infos_[call.node.output(k)] = results[k];
      info.value = contents_.back().get();
    }
    return true;
  }

  const Graph& graph_;
  std::map<const Value*, DatumInfo> infos_;
  std::vector<std::unique_ptr<Tensor>> contents_;
};

}  // namespace

FunctionInstance compose(const Op& op, const Node& call, PartialOperands& operands) {
  Body body(call, operands);
  op.body(body);
  FunctionInstance out;
  out.message = std::make_unique<onnx::FunctionProto>(body.finish());
  out.graph = std::make_unique<Graph>(call.graph().model(), *out.message);
  return out;
}

std::optional<std::vector<DatumInfo>> infer_composed(const OpCall& call, std::span<const DatumInfo* const> inputs) {
  return BodyInference(*composed(call, inputs).graph).run(inputs);
}

void compute_composed(const OpCall& call, std::span<const Datum* const> inputs, std::span<Datum* const> outputs) {
  const FunctionInstance body = composed(call, KnownInfos(inputs).get());
  std::map<const Value*, Datum> values;
  for (std::size_t i = 0; i < body.graph->inputs().size(); ++i) {
    if (i < inputs.size() && inputs[i] != nullptr) values[body.graph->inputs()[i]] = *inputs[i];
  }
  for (const Node& node : body.graph->nodes()) {
    OpCall inner(node, node.opset());
    inner.threads = call.threads;
    std::vector<const Datum*> operands;
    for (const Value* input : node.inputs()) {
      const auto known = values.find(input);
      operands.push_back(known == values.end() ? nullptr : &known->second);
    }
    std::vector<Datum> made =
        infer_and_compute(*find_kernel(node), inner, operands, [&](std::size_t k) { return node.output(k) != nullptr; });
    for (std::size_t k = 0; k < node.outputs().size(); ++k) {
      if (node.output(k) != nullptr) values[node.output(k)] = std::move(made[k]);
    }
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k] != nullptr) copy_elements(call.threads, outputs[k]->tensor, values.at(body.graph->outputs()[k]).tensor);
  }
}

const Op* find_composed(std::string_view domain, std::string_view name) {
  const auto key = [](const Op& op) { return std::tuple(op.domain, op.name); };
  const auto table = composed_table();
  const auto found = std::ranges::lower_bound(table, std::tuple(domain, name), {}, key);
  return found != table.end() && key(*found) == std::tuple(domain, name) ? &*found : nullptr;
}

}  // namespace relayout
