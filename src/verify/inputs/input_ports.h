#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ops/loops/dtypes.h"
#include "relayout/graph.h"
#include "verify/inputs/port.h"
#include "verify/inputs/range.h"
#include "verify/inputs/roles.h"

namespace relayout {

/// Limits that the model held against the graph sets to its inputs.
struct InputLimits {
  bool narrow = false;                  ///< see InputUse
  std::map<std::string, Range> ranges;  ///< see InputUse, by name
  bool any_size = false;                ///< dims of which nothing tells more take any sizes that fit the graph
};

/// The inputs that a caller of a graph must give, with the use that the graph makes of each.
class InputPorts {
 public:
  /// Ids choose rows first that differ from those of `other`, where that is given.
  InputPorts(const Graph& graph, const Graph* other, const InputLimits& limits);

  [[nodiscard]] const std::vector<Port>& all() const noexcept { return ports_; }
  [[nodiscard]] const std::vector<InputUse>& uses() const noexcept { return uses_; }  ///< by port

  /// Names of inputs of integers that nothing reads as an index, a size, a length or a mask: any number may come.
  [[nodiscard]] std::set<std::string> plain_integers() const;
  /// Inputs of integers that may not be any number: sizes, axes, counts, positions, ids.
  [[nodiscard]] std::set<std::string> kept_integers() const;
  /// Inputs that are integers or boolean and hold 0 and 1 alone: masks.
  [[nodiscard]] std::set<std::string> masks() const;
  /// "input 'x' is declared f32[0, 3], which has no elements", or empty.
  [[nodiscard]] std::string empty_input() const;

 private:
  /// The names of tensors of these types whose role is wanted.
  template <typename Wanted>
  [[nodiscard]] std::set<std::string> names_of(TypeSet types, const Wanted& is_wanted) const;

  std::vector<Port> ports_;
  std::vector<InputUse> uses_;
};

}  // namespace relayout
