// Declares what is known of types, ranks and dims of a graph's values, free dims included.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "layout/graph_shapes.h"
#include "ops/constants.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::derive {

/// Facts about the values of a graph as it is when this is made. Two inferences, with different sizes for every free dim, tell which dims
/// are constant, and which are one and the same.
class Sizes {
 public:
  /// Inputs that have, in every run, the dims of values of an earlier form of the graph.
  using Like = std::vector<std::pair<const Value*, const Value*>>;
  /// `is_small`: the inferences follow the contents of larger tensors too.
  explicit Sizes(const Graph& graph, const Like& like = {}, Sizes* before = nullptr, bool is_small = false);
  /// The dims in one of the two inferences; nullptr: not known.
  [[nodiscard]] const Dims* assumed_dims(const Value& value, std::size_t inference) { return assumed_.at(inference).dims_of(&value); }
  /// Whole numbers that a value has in one of the two inferences, in rows; nothing: not known.
  [[nodiscard]] std::optional<std::vector<int64_t>> assumed_integers(const Value& value, std::size_t inference);
  /// Undefined: not known.
  [[nodiscard]] DataType type(const Value& value);
  [[nodiscard]] std::optional<std::size_t> rank(const Value& value);
  /// A size that every run has; −1: free or not known. `axis` counts from the front.
  [[nodiscard]] int64_t dim(const Value& value, std::size_t axis);
  /// Whether two dims are the same in every run.
  [[nodiscard]] bool is_same(const Value& a, std::size_t axis_of_a, const Value& b, std::size_t axis_of_b);
  [[nodiscard]] bool have_same_dims(const Value& a, const Value& b);
  /// Makes the free dims of a value known as those of equal free dims.
  void offer(const Value& value);
  /// An offered dim that is the same in every run.
  [[nodiscard]] std::optional<std::pair<const Value*, std::size_t>> twin(const Value& value, std::size_t axis);
  /// Hidden values will be gone: nothing may read their dims. `like`: one that stays, and has the same dims in every run; nullptr: none.
  void hide(const Value& value, const Value* like) { hidden_[&value] = like; }
  [[nodiscard]] bool is_hidden(const Value& value) const { return hidden_.contains(&value); }
  /// The value that stays in place of a hidden one, or the value itself; nullptr: none.
  [[nodiscard]] const Value* lasting(const Value& value) const;
  /// Small contents that every run has.
  [[nodiscard]] std::optional<std::vector<int64_t>> integers(const Value& value);
  [[nodiscard]] std::optional<double> number(const Value& value);
  [[nodiscard]] bool is_constant(const Value& value) { return constants_.is_constant(value); }
  [[nodiscard]] Constants& constants() noexcept { return constants_; }

 private:
  using Pair = std::array<int64_t, 2>;
  /// The assumed sizes of a free dim; nothing where they do not tell it from others.
  [[nodiscard]] std::optional<Pair> assumed(const Value& value, std::size_t axis);

  [[nodiscard]] layout::Shapes assume(const Graph& graph, std::size_t inference, const Like& like, Sizes* before) const;
  /// A size that both inferences have; −1: none.
  [[nodiscard]] int64_t usual_dim(const Value& value, std::size_t axis);
  [[nodiscard]] bool bounds_dims(const Node& node);

  Constants constants_;
  std::map<Pair, std::pair<const Value*, std::size_t>> offered_;
  std::unordered_map<const Value*, const Value*> hidden_;
  bool is_small_ = false;  ///< the assumed sizes: where larger ones do not fit the graph
  std::array<layout::Shapes, 2> assumed_;
  bool has_bounds_ = false;  ///< some size is the smaller of a free dim and a number: equal sizes do not mean that it is constant
};

}  // namespace relayout::derive
