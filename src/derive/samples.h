// Declares which values of a graph keep the samples of a batch apart, each along one axis.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "derive/sizes.h"
#include "relayout/graph.h"

namespace relayout::derive {

/// How a value depends on the samples of some inputs, which count along the first axis of each.
class Samples {
 public:
  enum class State : uint8_t {
    none,       ///< not at all
    apart,      ///< sample n of the value, along its first axis, on sample n of the inputs alone
    elsewhere,  ///< so along another axis, or along one that was merged with others
    mixed,      ///< in any other way
  };
  /// These inputs have as many samples. In the order of the graph; nodes that are added later are unknown. `origins`: values that keep
  /// samples apart where others do, whatever nodes make them.
  Samples(const Graph& graph, Sizes& sizes, const std::vector<const Value*>& inputs,
          const std::unordered_map<const Value*, const Value*>& origins = {});
  [[nodiscard]] State of(const Value& value) const;
  /// The first node that mixes samples on a way to a value; nullptr: none.
  [[nodiscard]] const Node* mixer(const Value& value) const;

 private:
  /// An axis of a value along which samples are apart; nothing: they are not, or there are none.
  using Place = std::optional<std::size_t>;
  /// In both inferences: how often the axis counts all samples, one after the other.
  using Rounds = std::array<int64_t, 2>;
  struct Apart {
    Place axis;
    Rounds rounds = {1, 1};
  };
  [[nodiscard]] Place place(const Value* value) const;
  [[nodiscard]] bool counts(const Value& value, std::size_t axis, const Rounds& rounds);
  [[nodiscard]] std::size_t rank(const Value* value) { return value == nullptr ? 0 : sizes_.rank(*value).value_or(0); }

  [[nodiscard]] Apart after(const Node& node);
  [[nodiscard]] Apart after_reshape(const Node& node, const Apart& from);
  // The axis of a node's results along which samples are apart.
  [[nodiscard]] Place axis_after(const Node& node);
  [[nodiscard]] Place after_elementwise(const Node& node);
  [[nodiscard]] Place after_transpose(const Node& node, std::size_t from);
  [[nodiscard]] Place along_axis(const Node& node);
  [[nodiscard]] Place after_matmul(const Node& node);
  [[nodiscard]] Place after_gemm(const Node& node);
  [[nodiscard]] Place after_einsum(const Node& node);
  [[nodiscard]] Place after_gather(const Node& node);
  [[nodiscard]] Place after_lookup(const Node& node, std::size_t axis);
  [[nodiscard]] Place after_movement(const Node& node, std::size_t from);
  [[nodiscard]] Place after_reduction(const Node& node, std::size_t from);
  /// Whether inputs from `begin` on are the same for all samples.
  [[nodiscard]] bool are_same_from(const Node& node, std::size_t begin) const;
  [[nodiscard]] bool avoids(const Value* axes, std::size_t rank, std::size_t axis);

  Sizes& sizes_;
  std::optional<Sizes> small_;  ///< made when contents are asked for
  const Value* first_;
  std::unordered_map<const Value*, Apart> places_;  ///< of all that depends on samples
};

}  // namespace relayout::derive
