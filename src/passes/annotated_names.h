#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "relayout/graph.h"

namespace relayout::passes {

/// Names of the initializers that quantization annotations refer to, by graph; collected at the first query of a graph.
class AnnotatedNames {
 public:
  [[nodiscard]] bool contains(const Value& value);
  /// To be called after functions are erased: a new graph may be allocated at the address of an old one.
  void clear() { names_.clear(); }

 private:
  std::unordered_map<const Graph*, std::unordered_set<std::string>> names_;
};

}  // namespace relayout::passes
