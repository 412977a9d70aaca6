#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/functions.h"
#include "passes/pass.h"
#include "relayout/graph.h"

namespace relayout::passes {

/// Tells which calls of functions keep a BatchNormalization apart from its linear operator, or one of the two from its constants, so that
/// a fold needs the function's nodes in place of the call. Only reads.
class FoldsAcrossCalls {
 public:
  FoldsAcrossCalls(const Functions& functions, PassContext& context) : functions_(functions), context_(context) {}

  /// Whether a fold needs the nodes of `function` where it is called. Not of functions that are too large to stand there.
  [[nodiscard]] bool need(const Node& call, const Graph& function);
  /// Forgets what is known of functions: their nodes were changed.
  void clear() { facts_.clear(); }

 private:
  /// Facts about a function that hold for every call.
  struct Facts {
    std::vector<const Node*> norms;  ///< BatchNormalizations
    bool calls_open = false;         ///< it calls a function that is open
    bool is_open = false;            ///< a BatchNormalization's parameters or data come from outside
    int64_t size = 0;                ///< nodes when all calls within are expanded, up to one more than the largest that may be
  };

  [[nodiscard]] const Facts& facts_of(const Graph& function, int depth = 0);
  [[nodiscard]] Facts count(const Graph& function, int depth);

  const Functions& functions_;
  PassContext& context_;
  std::unordered_map<const Graph*, Facts> facts_;
};

}  // namespace relayout::passes
