#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "model/functions.h"
#include "ops/composed.h"
#include "ops/constants.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout::proof {

/// A call that was entered, of a model-local function or of an operator with a body (ops/composed.h): what its inputs and attribute
/// references stand for.
struct Call {
  const Node* node = nullptr;
  const Graph* function = nullptr;
  const Call* outer = nullptr;  ///< the call that `node` itself stands in
  int depth = 1;
};

/// A value as seen from within a call; without one, function inputs and references stand for themselves.
struct Ref {
  const Value* value = nullptr;  ///< nullptr: an absent operand
  const Call* call = nullptr;
  [[nodiscard]] explicit operator bool() const noexcept { return value != nullptr; }
  bool operator==(const Ref&) const = default;
};

struct RefHash {
  [[nodiscard]] std::size_t operator()(const Ref& ref) const noexcept {
    return std::hash<const void*>()(ref.value) * 31 + std::hash<const void*>()(ref.call);
  }
};

/// A value of the first model and one of the second.
using RefPair = std::pair<Ref, Ref>;
struct RefPairHash {
  [[nodiscard]] std::size_t operator()(const RefPair& pair) const noexcept {
    return RefHash()(pair.first) * 1000003 + RefHash()(pair.second);
  }
};

/// The calls of one model that the proof looks into: of model-local functions, and of operators with a body (ops/composed.h).
class Calls {
 public:
  Calls(const Model& model, Constants& constants);
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  /// The node itself, or the one that it is in the body of.
  [[nodiscard]] const Node& in_file(const Node& node) const;
  /// The value behind inputs of entered functions.
  [[nodiscard]] Ref resolve(Ref ref) const;
  /// The model-local function that a node calls, or nullptr.
  [[nodiscard]] const Graph* function_of(const Node& node) const { return functions_.called_by(node); }
  /// Value of a call's output within the function or operator body, or nothing when `output` is none or calls are nested too deeply.
  [[nodiscard]] std::optional<Ref> entered(Ref output);

 private:
  void index_inputs(const Graph& function);
  /// The node as standard operators; nullptr for an operator without a body, or in a form that has none.
  [[nodiscard]] const Graph* body_of(const Node& node);

  Constants& constants_;
  Functions functions_;
  std::unordered_map<const Value*, std::size_t> parameters_;  ///< inputs of functions, by place
  std::map<std::pair<const Node*, const Call*>, Call> calls_;
  std::unordered_map<const Node*, FunctionInstance> bodies_;  ///< without a graph: there is none
  std::unordered_map<const Graph*, const Node*> body_owners_;
};

}  // namespace relayout::proof
