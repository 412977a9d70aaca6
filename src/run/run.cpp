// Runs a model once on inputs that it accepts, while a watcher looks at its values.
#include "relayout/run.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "base/times.h"
#include "exec/program.h"
#include "model/functions.h"
#include "ops/loops/strided.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "run/array_files.h"
#include "run/watcher.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/inputs.h"

namespace relayout {
namespace {

/// A copy that the run may overwrite.
Datum copied(const Datum& datum) {
  Datum out = datum;
  for (Datum& element : out.elements) element = copied(element);
  if (datum.kind != Datum::Kind::tensor || !datum.tensor || datum.tensor.type() == DataType::string) return out;
  out.tensor = Tensor(datum.tensor.type(), datum.tensor.dims());
  copy_elements(1, out.tensor, datum.tensor);
  return out;
}

/// Whether a value inside this node may be chosen; a pattern may spell the names of the nodes around it.
bool may_choose_inside(const Node& node, const Functions& functions, const std::vector<std::string>& globs) {
  if (node.subgraphs().empty() && functions.called_by(node) == nullptr) return false;
  const bool has_patterns = std::ranges::any_of(
      globs, [](const std::string& glob) { return glob.find_first_of("*?[") != std::string::npos || glob.find("›") != std::string::npos; });
  return has_patterns || any_node_run(node, functions, [&](const Node& inner) {
           return std::ranges::any_of(inner.outputs(), [&](const Value* value) {
             return value != nullptr && std::ranges::find(globs, value->name()) != globs.end();
           });
         });
}

/// Makes the chosen values the outputs, in place of the model's: what they do not depend on need not run. Values that nothing reads, and
/// those that no output depends on, are not made by other runs either.
void run_only_for_chosen(Model& model, const std::vector<std::string>& globs) {
  const Functions functions(model);
  const onnx::TypeProto unknown;
  std::vector<std::pair<Value*, const onnx::TypeProto*>> chosen;
  for (const Node* const node : exec::nodes_to_run(model.graph())) {
    if (node->is("Constant")) continue;  // stored, not made
    const bool has_inside = may_choose_inside(*node, functions, globs);
    for (Value* const value : node->outputs()) {
      if (value == nullptr || (value->uses().empty() && !value->is_output())) continue;
      const bool is_chosen = std::ranges::any_of(globs, [&](const std::string& glob) { return glob_match(glob, value->name()); });
      if (is_chosen || has_inside) chosen.emplace_back(value, value->info() != nullptr ? &value->info()->type() : &unknown);
    }
  }
  if (!chosen.empty()) model.graph().set_outputs(chosen);
}

/// One attempt: the sizes may not fit the model.
class Attempt {
 public:
  Attempt(const Model& model, const RunOptions& options) : graph_(&model.graph()), options_(&options) {
    if (!options.save.empty()) files_ = std::make_unique<ArrayFiles>(options.save);
    watcher_.emplace(model.graph(), options, files_.get());
    ExecuteOptions execute;
    execute.mode = options.mode;
    execute.threads = options.threads;
    execute.seed = options.seed;
    execute.few_runs = true;
    execute.weights_late = true;
    execute.watch = [this](const Computed& computed) { look_at(computed); };
    if (options.as != DataType::undefined) {
      execute.edit_constant = [&options](const std::string&, Tensor& tensor) {
        tensor = contiguous(tensor);
        Watcher::round(tensor, options.as);
      };
    }
    executor_ = std::make_unique<Executor>(model.graph(), execute);
  }

  void run(Inputs inputs) {
    for (auto& [name, datum] : inputs) datum = copied(datum);
    watcher_->look_at_inputs(inputs);
    try {
      watcher_->look_at_outputs(executor_->run(inputs));
    } catch (const Error& error) {
      // NaN may have led to what the model refuses.
      if (error.kind() != ErrorKind::invalid || !watcher_->has_found()) throw;
    }
  }

  void finish(RunResult& result) {
    watcher_->report(result);
    if (files_) result.saved_bytes = files_->commit();
  }

 private:
  void look_at(const Computed& computed) {
    watcher_->look_at(computed);
    const bool is_counted = computed.node != nullptr && &computed.node->graph() == graph_;
    if (is_counted && options_->progress) options_->progress("running", ++done_, static_cast<int64_t>(graph_->nodes().size()));
  }

  const Graph* graph_;
  const RunOptions* options_;
  std::unique_ptr<ArrayFiles> files_;
  std::optional<Watcher> watcher_;
  std::unique_ptr<Executor> executor_;
  int64_t done_ = 0;
};

RunResult run_once(const Model& model, const RunOptions& options) {
  RunResult result;
  result.model = model.name();
  result.mode = options.mode;
  result.as = options.as;
  const InputMaker maker(model.graph(), options, nullptr, {false, {}, true});
  std::optional<Attempt> attempt;
  const FreeDims::Assignment assignment = maker.first_accepted([&](Inputs inputs) {
    attempt.reset();
    const Stopwatch watch;
    attempt.emplace(model, options);
    attempt->run(std::move(inputs));
    result.seconds = watch.seconds();
  });
  for (const auto& [name, size] : assignment.dims) {
    if (!options.dims.contains(name)) result.assumed.push_back(name + " = " + std::to_string(size));
  }
  attempt->finish(result);
  return result;
}

}  // namespace

int exit_code(const RunResult& result) noexcept {
  return result.not_finite ? 1 : 0;
}

RunResult run_model(const std::filesystem::path& path, const RunOptions& options) {
  if (options.as != DataType::undefined && options.mode == Mode::optimized) {
    fail(ErrorKind::usage, "numbers are rounded between nodes, and --mode optimized fuses these");
  }
  const auto model = Model::load(path, options.load);
  if (!options.tensors.empty() && !options.require_finite) run_only_for_chosen(*model, options.tensors);
  return named(path.string(), [&] { return run_once(*model, options); });
}

}  // namespace relayout
