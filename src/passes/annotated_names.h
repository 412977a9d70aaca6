#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "relayout/graph.h"

namespace relayout::passes {

/// Names of the initializers that quantization annotations name, by graph: collected when a graph is first asked for.
class AnnotatedNames {
 public:
  [[nodiscard]] bool contains(const Value& value);
  /// Of functions that were erased nothing may be left: another graph may come to lie at the same address.
  void clear() { names_.clear(); }

 private:
  std::unordered_map<const Graph*, std::unordered_set<std::string>> names_;
};

}  // namespace relayout::passes
