#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "relayout/execute.h"
#include "relayout/model.h"
#include "relayout/verify.h"
#include "verify/inputs/inputs.h"

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

}  // namespace relayout
