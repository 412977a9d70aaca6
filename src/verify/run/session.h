#pragma once

#include "relayout/execute.h"
#include "relayout/model.h"
#include "relayout/verify.h"
#include "verify/inputs/inputs.h"
#include "verify/run/session.h"

namespace relayout {

/// One of the two models, loaded without its weights. Weights and plans exist as long as a Session: Sessions of two models must not exist
/// at once.
struct Side {
  std::string name;  ///< as the user gave it
  std::unique_ptr<Model> model;
  std::vector<Port> outputs;
};

/// Runs one model in one mode. Tests derive faulty executors from it.
class Session {
 public:
  /// Errors, such as Error{unsupported}, include the model's name.
  Session(const Side& side, ExecuteOptions options);
  /// Returns the memory to the system, so that the next Session's peak does not add to it.
  virtual ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  struct Run {
    Outputs outputs;
    std::string rejected;  ///< error of a model that refuses the inputs; empty if it ran
  };
  /// Operands that a node refuses are reported as data (Run::rejected), everything else as Error.
  [[nodiscard]] virtual Run run(const Inputs& inputs);
  void call_before_runs(std::function<void()> call) { before_run_ = std::move(call); }
  [[nodiscard]] int64_t macs() const { return executor_->plan_info().macs; }

 private:
  const Side* side_;
  std::unique_ptr<Executor> executor_;
  std::function<void()> before_run_;
};

/// The executor's options in one mode: with the threads and the seed of the comparison.
[[nodiscard]] ExecuteOptions execute_options(const VerifyOptions& options, Mode mode);

using OpenSession = std::function<std::unique_ptr<Session>(const Side& side, ExecuteOptions options)>;
[[nodiscard]] std::unique_ptr<Session> open_session(const Side& side, ExecuteOptions options);

/// Labels of nodes that draw random numbers, training Dropouts included.
[[nodiscard]] std::vector<std::string> random_nodes(const Graph& graph);

/// Counts the runs of a comparison by what they are for, and reports them as progress.
class Steps {
 public:
  explicit Steps(std::function<void(std::string_view what, int64_t done, int64_t total)> report);
  /// Announces this number of further runs.
  void expect(int64_t runs) { total_ += runs; }
  /// Begins a run for this purpose; what is done until the next one counts as part of it.
  void next(std::string_view what);
  /// Plans what further runs may cost, by what those so far have cost.
  void plan(const VerifyOptions& options);
  /// Whether runs that may be left out fit into what is left of the plan; else they count as left out.
  [[nodiscard]] bool affords(std::string_view what, int64_t watched_runs);
  [[nodiscard]] const std::vector<std::string>& left_out() const noexcept { return left_out_; }
  /// Sessions whose runs count as those of `a`, or of the other model.
  [[nodiscard]] OpenSession counting(OpenSession open, const Side& a);
  /// Ends the last step.
  [[nodiscard]] std::vector<VerifyStage> take();

 private:
  void begin(std::string_view what);
  void end();

  std::function<void(std::string_view, int64_t, int64_t)> report_;
  int64_t done_ = 0, total_ = 0;
  std::vector<VerifyStage> stages_;
  std::size_t current_ = 0;
  int64_t since_ = 0;                                                  ///< processor time at which the current step began
  int64_t spent_ = 0, allowed_ = std::numeric_limits<int64_t>::max();  ///< in plain runs of either model
  std::vector<std::string> left_out_;
};

}  // namespace relayout
