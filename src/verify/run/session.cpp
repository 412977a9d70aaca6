// Keeps one model loaded to run in one mode, words errors of its runs, and counts them against the budget.

#include "verify/run/session.h"

#include <cmath>

#include "base/positions.h"
#include "base/times.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/verify.h"
#include "verify/thresholds.h"

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

Steps::Steps(std::function<void(std::string_view what, int64_t done, int64_t total)> report)
    : report_(std::move(report)), stages_{{"files", 0, 0, 0}}, since_(processor_nanoseconds()) {}

void Steps::next(std::string_view what) {
  total_ = std::max(total_, done_ + 1);
  if (report_) report_(what, done_, total_);
  ++done_;
  begin(what);
}

void Steps::begin(std::string_view what) {
  end();
  const auto found = std::ranges::find(stages_, what, &VerifyStage::what);
  current_ = as_size(found - stages_.begin());
  if (found == stages_.end()) stages_.push_back({std::string(what), 0, 0, 0});
}

void Steps::end() {
  constexpr double kNanoseconds = 1e-9;
  const int64_t now = processor_nanoseconds();
  stages_[current_].seconds += static_cast<double>(now - since_) * kNanoseconds;
  since_ = now;
}

void Steps::plan(const VerifyOptions& options) {
  if (options.thorough) return;
  end();
  int64_t runs = 0;
  double seconds = 0;
  for (const VerifyStage& stage : stages_) {
    if (stage.runs_a + stage.runs_b == 0) continue;
    runs += stage.runs_a + stage.runs_b;
    seconds += stage.seconds;
  }
  if (runs == 0 || !(seconds > 0)) return;
  // Rounded up to a power of the root of two: a clock that differs by some percent between two comparisons then seldom changes the plan.
  constexpr double kMost = 1 << 30;
  const double wanted = options.budget.value_or(thresholds::kBudgetSeconds) * static_cast<double>(runs) / seconds;
  const auto affordable = static_cast<int64_t>(std::exp2(std::ceil(2 * std::log2(std::clamp(wanted, 1.0, kMost))) / 2));
  allowed_ = options.budget ? affordable : std::max<int64_t>(affordable, 2 * thresholds::kBudgetRuns);
}

bool Steps::affords(std::string_view what, int64_t watched_runs) {
  if (spent_ + thresholds::kPlainRunsPerWatchedRun * watched_runs <= allowed_) return true;
  if (std::ranges::find(left_out_, what) == left_out_.end()) left_out_.emplace_back(what);
  return false;
}

OpenSession Steps::counting(OpenSession open, const Side& a) {
  return [this, open = std::move(open), &a](const Side& side, ExecuteOptions options) {
    const int64_t cost = options.is_watched() ? thresholds::kPlainRunsPerWatchedRun : 1;
    auto session = open(side, std::move(options));
    session->call_before_runs([this, cost, is_a = &side == &a] {
      ++(is_a ? stages_[current_].runs_a : stages_[current_].runs_b);
      spent_ += cost;
    });
    return session;
  };
}

std::vector<VerifyStage> Steps::take() {
  end();
  return std::move(stages_);
}

}  // namespace relayout
