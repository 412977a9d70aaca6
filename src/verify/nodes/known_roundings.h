#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "ops/constants.h"
#include "relayout/graph.h"
#include "verify/nodes/constant_grids.h"
#include "verify/nodes/layers.h"
#include "verify/nodes/node_loss.h"
#include "verify/quantizer.h"

namespace relayout {

/// The roundings of a quantized model b, as far as its graph and the original's tell of them before anything runs.
class KnownRoundings {
 public:
  KnownRoundings(const Graph& a, const Graph& b, Layers& layers);

  /// By layer: its grid, and whether all that it is made of is rounded in a known way. Nothing is measured yet.
  [[nodiscard]] const std::vector<NodeLoss>& losses() const noexcept { return losses_; }
  /// Of a's constants.
  [[nodiscard]] const ConstantGrids& constants() const noexcept { return constants_; }
  /// Of a's inputs, by name.
  [[nodiscard]] const std::map<std::string, Quantizer>& inputs() const noexcept { return inputs_; }
  /// Inputs that some readers in b round by their own elements.
  [[nodiscard]] const std::unordered_set<std::string>& dynamic_inputs() const noexcept { return dynamic_inputs_; }
  /// Whether b rounds some value so.
  [[nodiscard]] bool is_dynamic() const noexcept { return !dynamic_.empty(); }

 private:
  /// What b rounds for some readers, and which layers are made of that.
  void find_dynamic(const Graph& b);
  /// A function among a layer's nodes in a, where those in b compute none at all; nullptr where there is none.
  [[nodiscard]] const Node* missing_function(const Layer& layer);
  [[nodiscard]] bool is_known(const Node& node, const Layer& layer);
  /// Whether it is known what the integers stand for that a product takes in the place of its first operand.
  [[nodiscard]] bool has_known_integers(const Node& product) const;
  [[nodiscard]] NodeLoss& loss_of(const Layer& layer) { return losses_[layers_.place_of(layer)]; }

  Layers& layers_;
  Constants constants_a_, constants_b_;
  std::vector<NodeLoss> losses_;
  ConstantGrids constants_;
  std::map<std::string, Quantizer> inputs_;
  std::unordered_set<std::string> dynamic_inputs_;
  std::unordered_set<const Value*> dynamic_;  ///< values of b that some readers round by their own elements
};

/// Of a value of b: a layer's, or an input of both models.
[[nodiscard]] bool is_fed(Layers& layers, const Value& value_of_b);
/// The node that computes a value of b, in front of those that move and round its elements.
[[nodiscard]] const Node& named_maker(Layers& layers, const Value& value_of_b);

}  // namespace relayout
