#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/functions.h"
#include "passes/pass.h"
#include "relayout/graph.h"

namespace relayout::passes {

/// Tells which calls of functions separate a BatchNormalization from its linear operator, or one of the two from its constants, so that a
/// fold needs the function's nodes in place of the call. Only reads.
class FoldsAcrossCalls {
 public:
  FoldsAcrossCalls(const Functions& functions, PassContext& context) : functions_(functions), context_(context) {}

  /// Whether a fold needs the nodes of `function` where it is called. False for functions that are too large for that.
  [[nodiscard]] bool need(const Node& call, const Graph& function);
  /// Forgets all facts about functions, for when their nodes have changed.
  void clear() { facts_.clear(); }

 private:
  /// Facts about a function that hold for every call.
  struct Facts {
    std::vector<const Node*> norms;  ///< BatchNormalizations
    bool calls_open = false;         ///< it calls a function that is open
    bool is_open = false;            ///< a BatchNormalization's parameters or data come from outside
    int64_t size = 0;                ///< nodes with all calls within expanded, counted up to one more than the limit
  };

  [[nodiscard]] const Facts& facts_of(const Graph& function, int depth = 0);
  [[nodiscard]] Facts count(const Graph& function, int depth);

  const Functions& functions_;
  PassContext& context_;
  std::unordered_map<const Graph*, Facts> facts_;
};

}  // namespace relayout::passes
