// Declares which values of a graph keep the samples of a batch apart, along their first axis.

#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "derive/sizes.h"
#include "relayout/graph.h"

namespace relayout::derive {

/// How a value depends on the samples of some inputs, which count along the first axis of each.
class Samples {
 public:
  enum class State : uint8_t {
    none,   ///< not at all
    apart,  ///< sample n of the value, along its first axis, on sample n of the inputs alone
    mixed,  ///< in any other way
  };
  /// These inputs have as many samples. In the order of the graph; nodes that are added later are unknown. `origins`: values that keep
  /// samples apart where others do, whatever nodes make them.
  Samples(const Graph& graph, Sizes& sizes, const std::vector<const Value*>& inputs,
          const std::unordered_map<const Value*, const Value*>& origins = {});
  [[nodiscard]] State of(const Value& value) const;
  /// The first node that mixes samples on a way to a value; nullptr: none.
  [[nodiscard]] const Node* mixer(const Value& value) const;

 private:
  [[nodiscard]] bool is_apart(const Value* value) const { return value != nullptr && of(*value) == State::apart; }
  [[nodiscard]] bool has_samples(const Value& value) { return sizes_.rank(value).value_or(0) > 0 && sizes_.is_same(value, 0, *first_, 0); }
  [[nodiscard]] bool keeps_apart(const Node& node);
  [[nodiscard]] bool keeps_apart_along(const Node& node);
  [[nodiscard]] bool keeps_apart_in_product(const Node& node);
  [[nodiscard]] bool keeps_apart_in_movement(const Node& node);
  /// Whether inputs from `begin` on are the same for all samples.
  [[nodiscard]] bool are_same_from(const Node& node, std::size_t begin) const;
  [[nodiscard]] bool avoids_first_axis(const Value* axes, std::size_t rank);

  Sizes& sizes_;
  const Value* first_;
  std::unordered_map<const Value*, State> states_;
};

}  // namespace relayout::derive
