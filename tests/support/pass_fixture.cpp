#include "support/pass_fixture.h"

#include <set>

#include "base/random.h"
#include "model/float_elements.h"
#include "model/node.h"
#include "model/save.h"
#include "ops/operands.h"
#include "passes/pass.h"
#include "relayout/datum.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/compute.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

constexpr int64_t kFreeDim = 3;  ///< for dims that an input leaves open

void for_each_node(const Graph& graph, const std::function<void(const Node&)>& action) {
  for (const Node& node : graph.nodes()) {
    action(node);
    for (const auto& nested : node.subgraphs()) for_each_node(*nested, action);
  }
}

void for_each_node(const Model& model, const std::function<void(const Node&)>& action) {
  for_each_node(model.graph(), action);
  for (const auto& function : model.functions()) for_each_node(*function, action);
}

void for_each_graph(const Graph& graph, const std::function<void(const Graph&)>& action) {
  action(graph);
  for (const Node& node : graph.nodes()) {
    for (const auto& nested : node.subgraphs()) for_each_graph(*nested, action);
  }
}

bool is_linear(const Node& node) {
  return node.is("Conv") || node.is("ConvTranspose") || node.is("Gemm") || node.is("MatMul");
}

/// A linear operator, or the Add that is a MatMul's bias.
bool may_change_operand(const Node& node) {
  const auto is_product = [](const Value* input) {
    return input != nullptr && input->producer() != nullptr && input->producer()->is("MatMul");
  };
  return is_linear(node) || node.is("Slice") || (node.is("Add") && std::ranges::any_of(node.inputs(), is_product));
}

/// Linear operators that run: those of a function once per call. `level` guards against recursive calls.
int64_t count_linear(const Model& model, const Graph& graph, int level = 0) {
  int64_t count = 0;
  for (const Node& node : graph.nodes()) {
    count += is_linear(node) ? 1 : 0;
    for (const auto& nested : node.subgraphs()) count += count_linear(model, *nested, level);
    for (const auto& function : model.functions()) {
      const auto& called = *function->function();
      if (level < 8 && called.name() == node.op_type() && called.domain() == node.domain())
        count += count_linear(model, *function, level + 1);
    }
  }
  return count;
}

int64_t count_nodes(const Model& model, const std::function<bool(const Node&)>& matches) {
  int64_t count = 0;
  for_each_node(model, [&](const Node& node) { count += matches(node) ? 1 : 0; });
  return count;
}

/// Name, type and dims of graph inputs (those that are not only an initializer's entry) and outputs.
std::string interface_of(const Model& model) {
  std::string out;
  for (const Value* input : model.graph().inputs()) {
    if (input->initializer() == nullptr || input->is_overridable()) out += "in " + input->info()->ShortDebugString() + "\n";
  }
  for (const auto& output : model.graph().message()->output()) out += "out " + output.ShortDebugString() + "\n";
  return out;
}

/// Initializers and Constants that no node reads and no caller sees.
std::set<std::string> leftovers(const Model& model) {
  std::set<std::string> out;
  const auto look = [&](const Graph& graph) {
    for (const Initializer& initializer : graph.initializers()) {
      if (initializer.value->uses().empty() && !initializer.value->is_output() && !initializer.value->is_overridable())
        out.insert(initializer.value->name());
    }
    for (const Node& node : graph.nodes()) {
      const bool is_read = std::ranges::any_of(
          node.outputs(), [](const Value* output) { return output != nullptr && (!output->uses().empty() || output->is_output()); });
      if (!is_read) out.insert("output " + reported_name(node));
    }
  };
  for_each_graph(model.graph(), look);
  for (const auto& function : model.functions()) for_each_graph(*function, look);
  return out;
}

/// Names of initializers that contain a dot, each once.
void expect_unique_names(const Model& model) {
  std::map<std::string, int> made;
  for_each_graph(model.graph(), [&](const Graph& graph) {
    for (const Initializer& initializer : graph.initializers()) {
      if (initializer.value->name().find('.') != std::string::npos) ++made[initializer.value->name()];
    }
  });
  for (const auto& [name, count] : made) EXPECT_EQ(count, 1) << "initializer " << name;
}

/// Initializers that nodes other than linear operators read, or that a caller sees, have the same bytes as before.
void expect_shared_operands_untouched(const Model& before, const Model& after) {
  for (const Initializer& old : before.graph().initializers()) {
    if (!old.data) continue;
    const Value* const now = after.graph().find(old.value->name());
    if (now == nullptr ||
        (!now->is_output() && std::ranges::all_of(now->uses(), [](const Use& use) { return may_change_operand(*use.node); })))
      continue;
    if (now->initializer() == nullptr || now->initializer()->data->dims() != old.data->dims()) continue;
    const Tensor a = old.data->load();
    const Tensor b = now->initializer()->data->load();
    const std::size_t size = static_cast<std::size_t>(a.element_count()) * memory_size(a.type());
    EXPECT_TRUE(std::equal(a.bytes(), a.bytes() + size, b.bytes())) << old.value->name() << " was changed under another reader";
  }
}

/// A linear operator that still exists (by name) has its own name, doc_string and metadata, and the same attributes; except Gemm.
void expect_operators_kept(const Model& before, const Model& after) {
  std::map<std::string, const onnx::NodeProto*> old;
  for_each_node(before, [&](const Node& node) {
    if (!node.name().empty()) old[node.name()] = &node.message();
  });
  for_each_node(after, [&](const Node& node) {
    const auto found = old.find(node.name());
    if (found == old.end() || !is_linear(node) || node.is("Gemm")) return;
    onnx::NodeProto a = *found->second;
    onnx::NodeProto b = node.message();
    for (onnx::NodeProto* message : {&a, &b}) {
      message->clear_input();
      message->clear_output();
      message->mutable_unknown_fields()->Clear();
    }
    EXPECT_EQ(a.SerializeAsString(), b.SerializeAsString()) << "node " << node.name();
  });
}

Tensor random_input(const Value& input, uint64_t sample) {
  const auto shape = input.declared();
  if (!shape || !shape->has_shape) throw std::logic_error("input " + input.name() + " needs a shape");
  Dims dims = shape->dims;
  std::ranges::replace(dims, -1, kFreeDim);
  const RandomStream random(7, input.name(), sample);
  Tensor tensor(shape->type, dims);
  const auto count = static_cast<std::size_t>(tensor.element_count());
  if (is_scalable(shape->type)) {
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(random.normal(i));
    return from_doubles(shape->type, dims, values).load();
  }
  for (std::size_t i = 0; i < count; ++i) {
    switch (shape->type) {
      case DataType::boolean:
        tensor.data<bool>()[i] = sample % 2 == 0;
        break;
      case DataType::int64:
        tensor.data<int64_t>()[i] = 2;
        break;
      default:
        throw std::logic_error("input " + input.name() + " of a type without values");
    }
  }
  return tensor;
}

/// Largest difference of two correct evaluations of these small graphs, relative to the range.
double tolerance(DataType type) {
  switch (type) {
    case DataType::float64:
      return 1e-13;
    case DataType::float16:
      return 1e-2;
    case DataType::bfloat16:
      return 8e-2;
    default:
      return 1e-5;
  }
}

void expect_same_tensor(const Tensor& expected, const Tensor& found, const std::string& name) {
  ASSERT_EQ(expected.type(), found.type()) << name;
  ASSERT_EQ(expected.dims(), found.dims()) << name;
  if (!is_scalable(expected.type())) return;
  const std::vector<double> a = reals_of(expected);
  const std::vector<double> b = reals_of(found);
  double range = 0;
  for (const double value : a) range = std::max(range, std::fabs(value));
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_FALSE(std::isnan(b[i]) && !std::isnan(a[i])) << name << "[" << i << "]";
    ASSERT_LE(std::fabs(a[i] - b[i]), tolerance(expected.type()) * range) << name << "[" << i << "]: " << a[i] << " became " << b[i];
  }
}

void expect_same_values(const Model& before, const Model& after) {
  for (uint64_t sample = 0; sample < 2; ++sample) {
    std::map<std::string, Datum> inputs;
    for (const Value* input : before.graph().inputs()) {
      if (input->initializer() == nullptr) inputs[input->name()] = Datum(random_input(*input, sample));
    }
    const std::vector<Datum> expected = compute(before, inputs);
    const std::vector<Datum> found = compute(after, inputs);
    ASSERT_EQ(expected.size(), found.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      expect_same_tensor(expected[i].tensor, found[i].tensor, before.graph().outputs()[i]->name());
  }
}

void expect_invariants(const std::vector<std::string>& passes, const TextModel& text, const PassResult& result,
                       const PassOptions& options) {
  const auto before = text.load();
  const Model& after = *result.model;
  EXPECT_EQ(interface_of(*before), interface_of(after));
  EXPECT_LE(count_linear(after, after.graph()), count_linear(*before, before->graph()));
  expect_unique_names(after);
  expect_shared_operands_untouched(*before, after);
  expect_operators_kept(*before, after);
  const std::set<std::string> had = leftovers(*before);
  for (const std::string& name : leftovers(after)) EXPECT_TRUE(had.contains(name)) << name << " is left over";
  EXPECT_TRUE(run(passes, text, options).bytes == result.bytes) << "not the same bytes each time";
  const PassResult again = run(passes, TextModel::of(result.bytes), options);
  EXPECT_TRUE(again.bytes == result.bytes) << "the second time something changed:\n" << again.details();
}

}  // namespace

int64_t PassResult::count(std::string_view op_type) const {
  return count_nodes(*model, [&](const Node& node) { return node.op_type() == op_type; });
}

std::vector<Reason> PassResult::reasons() const {
  std::vector<Reason> out;
  for (const Finding& finding : findings) {
    if (finding.verdict == Verdict::skipped) out.push_back(finding.reason);
  }
  return out;
}

std::string PassResult::details() const {
  std::string out;
  for (const Finding& finding : findings) {
    out += finding.pass + " " + finding.node + ": " + std::string(to_string(finding.verdict));
    if (finding.reason != Reason::count_) out += " " + std::string(to_string(finding.reason));
    out += (finding.detail.empty() ? "" : " (" + finding.detail + ")") + "\n";
  }
  return out;
}

std::vector<double> PassResult::initializer(const std::string& name) const {
  const Value* const value = model->graph().find(name);
  if (value == nullptr || value->initializer() == nullptr) {
    ADD_FAILURE() << "no initializer " << name << " in\n" << to_text(*model);
    return {};
  }
  return reals_of(value->initializer()->data->load());
}

PassResult run(const std::vector<std::string>& passes, const TextModel& before, const PassOptions& options) {
  const auto model = before.load();
  std::vector<const passes::Pass*> selected;
  for (const std::string& name : passes) {
    selected.push_back(passes::find_pass(name));
    if (selected.back() == nullptr) throw std::logic_error("no pass " + name);
  }
  passes::PassContext context;
  context.options = options;
  passes::run_passes(*model, selected, context);
  model->graph().validate();
  for (const auto& function : model->functions()) function->validate();
  PassResult out;
  out.findings = std::move(context.findings);
  out.bytes = to_bytes(*model);
  out.model = Model::from_bytes(out.bytes);
  return out;
}

void expect_same(const TextModel& before, const PassResult& result, const std::vector<std::string>& passes, const PassOptions& options) {
  expect_invariants(passes, before, result, options);
  expect_same_values(*before.load(), *result.model);
  for (const Unexplained& entry : prove(*before.load(), *result.model, {.digests = false}).unexplained) ADD_FAILURE() << entry.text;
}

PassResult expect_rewrite(const std::string& pass, const TextModel& before, const TextModel& after, const PassOptions& options) {
  PassResult result = run({pass}, before, options);
  EXPECT_EQ(structure_of(*result.model), structure_of(*after.load())) << result.details() << to_text(*result.model);
  expect_same(before, result, {pass}, options);
  return result;
}

PassResult expect_fold(const TextModel& before, int folded, const PassOptions& options) {
  PassResult result = run(kFolds, before, options);
  const auto done = std::ranges::count(result.findings, Verdict::done, &Finding::verdict);
  EXPECT_EQ(done, folded) << result.details() << to_text(*result.model);
  EXPECT_TRUE(result.reasons().empty()) << result.details();
  expect_same(before, result, kFolds, options);
  return result;
}

PassResult expect_skip(const std::string& pass, const TextModel& model, Reason reason, const PassOptions& options) {
  PassResult result = run({pass}, model, options);
  EXPECT_TRUE(result.bytes == model.bytes()) << "changed to\n" << to_text(*result.model);
  EXPECT_FALSE(result.reasons().empty()) << "nothing was skipped";
  for (const Reason found : result.reasons()) EXPECT_EQ(to_string(found), to_string(reason)) << result.details();
  return result;
}

}  // namespace relayout::test
