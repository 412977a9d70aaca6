// Writes the model of a derivative: prepares the graph, runs the transform, and simplifies the result.
#include "derive/derive.h"

#include "base/text.h"
#include "base/times.h"
#include "derive/linearizer.h"
#include "derive/transform.h"
#include "derive/writer.h"
#include "model/save.h"
#include "model/walk.h"
#include "passes/pass.h"
#include "relayout/derive.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/pass_options.h"

namespace relayout::derive {

namespace {

void run_passes(Model& model, std::initializer_list<std::string_view> names) {
  std::vector<const passes::Pass*> chosen;
  for (const std::string_view name : names) chosen.push_back(passes::find_pass(name));
  passes::PassContext context;
  context.options.simplify = true;
  passes::run_passes(model, chosen, context);
}

}  // namespace

void simplify(Model& model) {
  run_passes(model, {"remove-unused", "remove-identity", "fold-constants"});
  run_passes(model, {"remove-unused"});
}

void transform(Model& model, Derivative what, const DeriveOptions& options, DeriveResult& result) {
  add_derivative(model, what, options, result);
  simplify(model);
}

void add_derivative(Model& model, Derivative what, const DeriveOptions& options, DeriveResult& result) {
  raise_opset(model, kLeastOpset);
  enter_calls(model);
  run_passes(model, {"inline-branches"});
  Transform run(model, what == Derivative::per_sample_gradients, options, result);
  using enum Derivative;
  switch (what) {
    case jvp:
      run.jvp();
      break;
    case vjp:
      run.vjp();
      break;
    case hvp:
      run.hvp();
      break;
    case jacobian:
      run.jacobian();
      break;
    case hessian:
      run.hessian();
      break;
    case per_sample_gradients:
      run.per_sample_gradients();
      break;
  }
}

}  // namespace relayout::derive

namespace relayout {

DeriveResult differentiate(Derivative what, const std::filesystem::path& input, const std::filesystem::path& output,
                           const DeriveOptions& options) {
  const Stopwatch watch;
  DeriveResult result;
  result.input = input;
  result.output = output;
  const auto count = [](const Model& model) {
    int64_t nodes = 0;
    for_each_node(model, [&](const Node&) { ++nodes; });
    return nodes;
  };
  auto model = Model::load(input, options.load);
  result.nodes_before = count(*model);
  try {
    derive::transform(*model, what, options, result);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported && error.kind() != ErrorKind::usage) throw;
    throw Error(error.kind(), escape(input.string()) + ": " + error.what(), error.hint());
  }
  result.nodes_after = count(*model);
  result.bytes = save(*model, output, options.save).bytes;
  result.seconds = watch.seconds();
  return result;
}

}  // namespace relayout
