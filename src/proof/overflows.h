#pragma once

#include <vector>

#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout::proof {

/// A node whose result leaves its type, while a result downstream, of the same number x, is far from the end of its own.
struct Overflow {
  const Node* node = nullptr;
  const Value* base = nullptr;  ///< with the elements x
  double from = 0;              ///< the least |x|, as a power of two
  bool is_multiplied = false;   ///< weights of a linear operator undo the factor, into which a fold may bring it
};

/// The overflows that one of two models alone has, by constant factors and powers, from everyday numbers.
struct Overflows {
  std::vector<Overflow> of_a, of_b;
};
[[nodiscard]] Overflows overflows_alone(const Model& a, const Model& b);

}  // namespace relayout::proof
