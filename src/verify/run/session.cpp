// Keeps one model loaded to run in one mode, and words errors of its runs.
#include "verify/run/session.h"

#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/verify.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/file.h"
#include "base/interrupt.h"
#include "exec/inference.h"
#include "model/walk.h"
#include "ops/op.h"
#include "passes/folds/affine.h"
#include "passes/pass.h"
#include "relayout/error.h"

namespace relayout {

Session::Session(const Side& side, ExecuteOptions options) : side_(&side) {
  check_interrupt();
  options.few_runs = true;
  executor_ = named(side.name, [&] { return std::make_unique<Executor>(side.model->graph(), std::move(options)); });
}

Session::~Session() {
  executor_.reset();
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

Session::Run Session::run(const Inputs& inputs) {
  check_interrupt();
  if (before_run_) before_run_();
  try {
    return {executor_->run(inputs), {}};
  } catch (const exec::TypeError& error) {
    fail_named(side_->name, error);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::invalid) return {{}, error.what()};
    fail_named(side_->name, error);
  }
}

ExecuteOptions execute_options(const VerifyOptions& options, Mode mode) {
  ExecuteOptions out;
  out.mode = mode;
  out.threads = options.threads;
  out.seed = options.seed;
  return out;
}

std::unique_ptr<Session> open_session(const Side& side, ExecuteOptions options) {
  return std::make_unique<Session>(side, std::move(options));
}

std::vector<std::string> random_nodes(const Graph& graph) {
  std::vector<std::string> labels;
  passes::PassContext context;
  for_each_node(graph.model(), [&](const Node& node) {
    const bool trains = node.is("Dropout") && node.input(2) != nullptr && !passes::passes_through(node, context);
    if (has_trait(node, Trait::random) || trains) labels.push_back(node.label());
  });
  return labels;
}

}  // namespace relayout
