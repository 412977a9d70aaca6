#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "relayout/execute.h"
#include "relayout/model.h"
#include "relayout/verify.h"
#include "verify/inputs/inputs.h"

namespace relayout {

/// One of the two models, loaded without its weights. Weights and plans come with a Session and go with it: two Sessions of two
/// models must not live at once.
struct Side {
  std::string name;  ///< as the user gave it
  std::unique_ptr<Model> model;
  std::vector<Port> outputs;
};

/// Runs one model in one mode. Tests derive executors from it that err.
class Session {
 public:
  /// Error{unsupported} and others say the model's name.
  Session(const Side& side, ExecuteOptions options);
  /// Gives the memory back to the system, so that the next Session's peak does not come on top.
  virtual ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  struct Run {
    Outputs outputs;
    std::string rejected;  ///< message of the model that could not take the inputs; empty when it ran
  };
  /// Nodes that refuse their operands are data, everything else is Error.
  [[nodiscard]] virtual Run run(const Inputs& inputs);
  [[nodiscard]] int64_t macs() const { return executor_->plan_info().macs; }

 private:
  const Side* side_;
  std::unique_ptr<Executor> executor_;
};

using OpenSession = std::function<std::unique_ptr<Session>(const Side& side, ExecuteOptions options)>;
[[nodiscard]] std::unique_ptr<Session> open_session(const Side& side, ExecuteOptions options);

/// Random* nodes and training Dropouts, by label.
[[nodiscard]] std::vector<std::string> random_nodes(const Graph& graph);

}  // namespace relayout
