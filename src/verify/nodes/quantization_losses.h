#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ops/constants.h"
#include "relayout/graph.h"
#include "relayout/verify.h"
#include "verify/nodes/constant_grids.h"
#include "verify/nodes/fed_runs.h"
#include "verify/nodes/layers.h"
#include "verify/nodes/node_loss.h"
#include "verify/quantizer.h"
#include "verify/spill.h"

namespace relayout {

/// The roundings of a quantized model b, as far as its graph and the original's tell of them before anything runs.
struct KnownRoundings {
  std::vector<NodeLoss> losses;                    ///< by layer: its grid, and whether all that it is made of is rounded in a known way
  ConstantGrids constants;                         ///< of a's constants
  std::map<std::string, Quantizer> inputs;         ///< of a's inputs, by name
  std::unordered_set<const Value*> dynamic;        ///< values of b that some readers round by their own elements
  std::unordered_set<std::string> dynamic_inputs;  ///< those of them that are inputs
};

/// What the nodes of a quantized model lose, each fed the original's values. What rounding must cost them gives the original itself, its
/// constants and operands rounded to the grids that the quantized model has for them, as if these had no ends, and to its floating-point
/// types where those are narrower. What its nodes make of operands that end where the grids do, b's nodes must make too: another scale
/// than the integers were made with, or an operator that is gone, show as a difference between the two, and the ends themselves as what
/// they cut off.
class QuantizationLosses {
 public:
  QuantizationLosses(const Graph& a, const Graph& b);

  /// Runs both models over one more sample.
  void add(LayerTask task);
  /// First the nodes that compute something else, then those whose range is too small, then the others, the worst first. Nodes that lose
  /// nothing are left out.
  [[nodiscard]] std::vector<QuantizationLoss> worst_first();

 private:
  /// A copy of a value as its readers get it in the run at hand.
  [[nodiscard]] Datum read_as(const Datum& datum, const NodeLoss& loss, Quantizer::Ends ends) const;
  [[nodiscard]] NodeLoss& loss_of(const Layer& layer) { return losses_[layers_.place_of(layer)]; }
  /// Whether a constant that a layer is made of goes beyond the ends of its grid: a single one may be most of what a channel loses.
  [[nodiscard]] bool has_cut_constant(const Layer& layer) const;
  /// Whether all that a layer is made of was fed: a value that was evaluated before the run is not.
  [[nodiscard]] bool was_fed(const Layer& layer);
  /// Whether both models have the same in the place of a value that no run makes.
  [[nodiscard]] bool is_equal_unseen(const Layer& layer);
  void measure_b(FedRuns& runs, const LayerTask& task);
  /// Notes the types that values have in b's run.
  void note_types(const std::unordered_map<const Value*, DataType>& types);
  void measure_a(FedRuns& runs, const LayerTask& task);

  Layers layers_;
  KnownRoundings known_;
  Constants constants_a_, constants_b_;
  std::vector<NodeLoss> losses_;                   ///< by layer
  std::unordered_set<std::string> cut_constants_;  ///< of a, beyond the ends of their grids
  Spill spill_;
  std::map<const Layer*, Spill::Stored> made_by_b_;
  /// How values are rounded in the run at hand.
  struct Run {
    std::optional<Quantizer::Ends> inputs;  ///< a's inputs; nothing: not at all
    bool dynamically = false;               ///< as some readers do
  } run_;
};

}  // namespace relayout
