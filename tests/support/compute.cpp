#include "support/compute.h"

#include "model/tensor_data.h"
#include "ops/constants.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/evaluate.h"

namespace relayout::test {
namespace {

using Values = std::unordered_map<const Value*, Datum>;

/// Runs a model node by node with relayout's kernels; interprets If, Loop (without scan outputs) and calls of model-local functions.
class Interpreter {
 public:
  explicit Interpreter(const Model& model) : model_(model) {}

  std::vector<Datum> run(const Graph& graph, const std::vector<Datum>& inputs, Values& outer) {
    Values values = outer;
    for (const Initializer& initializer : graph.initializers()) {
      const Tensor own = initializer.data ? initializer.data->load() : *constants_.value(*initializer.value);
      values.try_emplace(initializer.value, Datum(own));  // unless the caller gave another value
    }
    std::size_t next = 0;
    for (const Value* input : graph.inputs()) {
      if (input->initializer() == nullptr) values[input] = inputs.at(next++);
    }
    for (const Node& node : graph.nodes()) {
      const std::vector<Datum> results = run(node, values);
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (node.output(i) != nullptr) values[node.output(i)] = results[i];
      }
    }
    std::vector<Datum> out;
    for (const Value* output : graph.outputs()) out.push_back(values.at(output));
    return out;
  }

 private:
  std::vector<Datum> run(const Node& node, Values& values) {
    std::vector<const Datum*> operands;
    for (const Value* input : node.inputs()) operands.push_back(input == nullptr ? nullptr : &values.at(input));
    if (node.is("If")) {
      const bool condition = *operands[0]->tensor.data<bool>();
      return run(*branch(node, condition ? "then_branch" : "else_branch"), {}, values);
    }
    if (node.is("Loop")) return loop(node, operands, values);
    for (const auto& function : model_.functions()) {
      if (function->function()->name() != node.op_type() || function->function()->domain() != node.domain()) continue;
      std::vector<Datum> inputs;
      for (const Datum* operand : operands) inputs.push_back(*operand);
      Values none;
      return run(*function, inputs, none);
    }
    return run_node(node, operands);
  }

  static const Graph* branch(const Node& node, const std::string& name) {
    for (const auto& nested : node.subgraphs()) {
      if (nested->message() == &node.attribute(name)->g()) return nested.get();
    }
    throw std::logic_error("no " + name);
  }

  /// As ONNX describes it. Scan outputs of a Loop that does not run have the declared dims.
  std::vector<Datum> loop(const Node& node, const std::vector<const Datum*>& operands, Values& values) {
    const Graph& body = *node.subgraphs().front();
    const auto given = [&](std::size_t i) { return i < operands.size() ? operands[i] : nullptr; };
    const int64_t trips = given(0) != nullptr ? *given(0)->tensor.data<int64_t>() : std::numeric_limits<int64_t>::max();
    std::vector<Datum> state{given(1) != nullptr ? *given(1) : Datum(filled(DataType::boolean, 1))};
    for (std::size_t i = 2; i < operands.size(); ++i) state.push_back(*operands[i]);
    const std::size_t kept = state.size();
    std::vector<Tensor> stacks(body.outputs().size() - kept);
    for (int64_t trip = 0; trip < trips && *state[0].tensor.data<bool>(); ++trip) {
      std::vector<Datum> inputs = {Datum(filled(DataType::int64, trip))};
      inputs.insert(inputs.end(), state.begin(), state.end());
      state = run(body, inputs, values);
      for (std::size_t i = 0; i < stacks.size(); ++i) stacks[i] = stacked(stacks[i], state[kept + i].tensor);
      state.resize(kept);
    }
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      const auto declared = body.outputs()[kept + i]->declared();
      Dims dims = declared ? declared->dims : Dims();
      dims.insert(dims.begin(), 0);
      state.emplace_back(stacks[i] ? stacks[i] : Tensor(declared->type, dims));
    }
    return {state.begin() + 1, state.end()};
  }

  static Tensor filled(DataType type, int64_t value) {
    Tensor out(type, {});
    if (type == DataType::boolean) *out.data<bool>() = value != 0;
    if (type == DataType::int64) *out.data<int64_t>() = value;
    return out;
  }

  /// One more slice at the end of a stack.
  static Tensor stacked(const Tensor& stack, const Tensor& slice) {
    const Tensor part = contiguous(slice);
    Dims dims = part.dims();
    dims.insert(dims.begin(), stack ? stack.dims()[0] + 1 : 1);
    Tensor out(part.type(), dims);
    const std::size_t size = static_cast<std::size_t>(part.element_count()) * memory_size(part.type());
    const std::size_t before = static_cast<std::size_t>(dims[0] - 1) * size;
    if (stack) std::copy_n(stack.bytes(), before, out.bytes());
    std::copy_n(part.bytes(), size, out.bytes() + before);
    return out;
  }

  const Model& model_;
  Constants constants_;
};

}  // namespace

std::vector<Datum> compute(const Model& model, const std::map<std::string, Datum>& inputs) {
  std::vector<Datum> ordered;
  Values given;
  for (const Value* input : model.graph().inputs()) {
    if (input->initializer() == nullptr) {
      ordered.push_back(inputs.at(input->name()));
    } else if (inputs.contains(input->name())) {
      given.emplace(input, inputs.at(input->name()));
    }
  }
  return Interpreter(model).run(model.graph(), ordered, given);
}

}  // namespace relayout::test
