#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/element_types.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "verify/nodes/changes.h"
#include "verify/nodes/value_bounds.h"

namespace relayout {

/// Casts of real numbers beyond the range of their integer type. ONNX leaves the result to the implementation: such a Cast is no limit,
/// whatever the executor returns.
class CastsBeyond {
 public:
  /// Adds the Casts among the nodes of a change and the producers of its values.
  void add(const Change& change, const ElementTypes& types_a, const ElementTypes& types_b);
  [[nodiscard]] bool any() const noexcept { return !casts_.empty(); }
  /// Notes numbers that a Cast reads.
  void watch(const Value& value, const Datum& datum);

  /// A Cast that gets numbers beyond its type, where no Cast to this type among the change's nodes of the other model does.
  struct Found {
    const Node* cast = nullptr;  ///< nullptr: none
    const Change* change = nullptr;
    bool is_of_a = false;
    std::string type;
  };
  [[nodiscard]] Found find() const;

 private:
  struct Cast {
    const Node* node = nullptr;
    const Change* change = nullptr;
    bool is_of_a = false;
    DataType to = DataType::undefined;
    bool is_beyond = false;  ///< a run had such a number
  };
  void add(const Change& change, const Node& node, bool is_of_a, const ElementTypes& types);

  std::vector<Cast> casts_;
  std::unordered_multimap<const Value*, std::size_t> by_operand_;
};

}  // namespace relayout
