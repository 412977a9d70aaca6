#include "support/evaluate.h"

#include <numeric>

#include "model/tensor_data.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::test {
namespace {

/// Dims from the outermost to the innermost in memory.
std::vector<std::size_t> memory_order(std::size_t rank, Arrangement arrangement) {
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (arrangement == Arrangement::reversed) std::ranges::reverse(order);
  if (arrangement == Arrangement::channels_last && rank > 2) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

Dims arranged_strides(const Dims& dims, Arrangement arrangement) {
  Dims strides(dims.size());
  int64_t stride = arrangement == Arrangement::gapped ? 2 : 1;
  const auto order = memory_order(dims.size(), arrangement);
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= std::max<int64_t>(dims[order[i]], 1);
    if (arrangement == Arrangement::gapped) stride += 3;
  }
  return strides;
}

Datum arranged(const Datum& datum, Arrangement arrangement) {
  if (datum.kind == Datum::Kind::tensor) return {arranged(datum.tensor, arrangement)};
  return datum;
}

std::vector<DatumInfo> infer_now(const Op& op, const OpCall& call, const std::vector<const Datum*>& inputs) {
  std::vector<DatumInfo> infos(inputs.size());
  std::vector<const DatumInfo*> known(inputs.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    infos[i] = info_of(*inputs[i]);
    known[i] = &infos[i];
  }
  auto inferred = op.infer(call, known);
  if (!inferred) fail(ErrorKind::defect, "nothing was inferred though all operands are there");
  return std::move(*inferred);
}

}  // namespace

Tensor allocate(DataType type, const Dims& dims, Arrangement arrangement) {
  constexpr int kPattern = 0x5A;
  Tensor tensor(TensorDesc{type, dims, arranged_strides(dims, arrangement)});
  if (type != DataType::string) {
    int64_t reach = dims.empty() ? 1 : 0;
    if (tensor.element_count() > 0) {
      reach = 1;
      for (std::size_t i = 0; i < dims.size(); ++i) reach += (dims[i] - 1) * tensor.strides()[i];
    }
    std::memset(tensor.bytes(), kPattern, static_cast<std::size_t>(reach * element_stride(type)));
  }
  return tensor;
}

Tensor arranged(const Tensor& tensor, Arrangement arrangement) {
  Tensor copy = allocate(tensor.type(), tensor.dims(), arrangement);
  copy_elements(1, copy, tensor);
  return copy;
}

std::vector<Datum> run_node(const Node& node, const std::vector<const Datum*>& inputs, const EvaluateOptions& options) {
  const Op* op = find_kernel(node);
  if (op == nullptr) fail(ErrorKind::unsupported, "no kernel for " + node.op_type());
  OpCall call(node, node.opset());
  call.threads = options.threads;
  std::vector<Datum> rearranged(inputs.size());
  std::vector<const Datum*> operands(inputs.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    rearranged[i] = arranged(*inputs[i], options.inputs);
    operands[i] = &rearranged[i];
  }
  const std::vector<DatumInfo> infos = infer_now(*op, call, operands);
  std::vector<Datum> outputs(node.outputs().size());
  std::vector<Datum*> wanted(outputs.size(), nullptr);
  std::size_t viewed = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (node.output(i) == nullptr) continue;
    if (options.views && op->view != nullptr) {
      if (auto view = op->view(call, operands, infos[i], i)) {
        outputs[i] = Datum(std::move(*view));
        ++viewed;
        continue;
      }
    }
    if (infos[i].kind == Datum::Kind::tensor) outputs[i] = Datum(allocate(infos[i].type, infos[i].dims, options.outputs));
    wanted[i] = &outputs[i];
  }
  if (viewed < outputs.size() || outputs.empty()) op->compute(call, operands, wanted);
  return outputs;
}

namespace {

using Values = std::unordered_map<const Value*, Datum>;

/// The outputs of a graph whose inputs, and the values around it, are known.
std::vector<Datum> evaluate_in(const Graph& graph, Values& values, const EvaluateOptions& options) {
  for (const Initializer& initializer : graph.initializers()) {
    if (initializer.data && !values.contains(initializer.value)) values[initializer.value] = Datum(initializer.data->load());
  }
  for (const Node& node : graph.nodes()) {
    std::vector<const Datum*> operands;
    for (const Value* input : node.inputs()) {
      if (input != nullptr && !values.contains(input)) fail(ErrorKind::invalid, "no value for " + input->name());
      operands.push_back(input == nullptr ? nullptr : &values.at(input));
    }
    const auto branch = [&] { return *operands.at(0)->tensor.data<bool>() ? "then_branch" : "else_branch"; };
    std::vector<Datum> outputs = node.is("If") ? evaluate_in(*node.subgraph(branch()), values, options) : run_node(node, operands, options);
    for (std::size_t i = 0; i < outputs.size() && i < node.outputs().size(); ++i) {
      if (node.output(i) != nullptr) values[node.output(i)] = std::move(outputs[i]);
    }
  }
  std::vector<Datum> results;
  for (const Value* output : graph.outputs()) results.push_back(values.at(output));
  return results;
}

}  // namespace

std::vector<Datum> evaluate(const Graph& graph, std::map<std::string, Datum> inputs, const EvaluateOptions& options) {
  Values values;
  for (const Value* input : graph.inputs()) {
    if (const auto found = inputs.find(input->name()); found != inputs.end()) values[input] = std::move(found->second);
  }
  return evaluate_in(graph, values, options);
}

}  // namespace relayout::test
