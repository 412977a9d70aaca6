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
#include "verify/compare/fed_runs.h"
#include "verify/compare/layers.h"
#include "verify/pair.h"
#include "verify/quantized/constant_grids.h"
#include "verify/quantized/node_loss.h"
#include "verify/run/quantizer.h"
#include "verify/run/reference.h"
#include "verify/run/spill.h"

namespace relayout {

/// The roundings of a quantized model b that its graph and the original's show before anything runs.
struct KnownRoundings {
  std::vector<NodeLoss> losses;                    ///< by layer: its grid, and whether all roundings that lead to it are known
  ConstantGrids constants;                         ///< grids of a's constants
  std::map<std::string, Quantizer> inputs;         ///< grids of a's inputs, by name
  std::unordered_set<const Value*> dynamic;        ///< values of b that some consumers round by the values' own range
  std::unordered_set<std::string> dynamic_inputs;  ///< names of those that are inputs
};

/// Losses of the nodes of a quantized model, each fed the original's values. The original itself gives the loss that rounding implies: its
/// constants and operands are rounded to the quantized model's grids, as if these had no ends, and to its floating-point types where those
/// are narrower. From operands that end where the grids do, b's nodes must compute the same as a's. A scale other than the one that the
/// integers were computed with, or a missing operator, shows as a difference between the two; the ends themselves show as the elements that
/// they cut off.
class QuantizationLosses {
 public:
  QuantizationLosses(const Graph& a, const Graph& b);

  /// Runs both models over one more sample.
  void add(LayerTask task);
  /// First the nodes that compute something else, then those whose range is too small, then the others; within each group the worst first.
  /// Leaves out nodes without loss.
  [[nodiscard]] std::vector<QuantizationLoss> worst_first();

 private:
  /// A copy of a value as its consumers get it in the current run.
  [[nodiscard]] Datum read_as(const Datum& datum, const NodeLoss& loss, Quantizer::Ends ends) const;
  [[nodiscard]] NodeLoss& loss_of(const Layer& layer) { return losses_[layers_.place_of(layer)]; }
  /// Whether a constant operand of a layer's nodes has elements beyond the ends of its grid: a single one may cause most of a channel's
  /// loss.
  [[nodiscard]] bool has_cut_constant(const Layer& layer) const;
  /// Whether all values from which a layer is computed were fed: a value that was evaluated before the run is not.
  [[nodiscard]] bool was_fed(const Layer& layer);
  /// Whether both models have the same value in place of one that no run computes.
  [[nodiscard]] bool is_equal_unseen(const Layer& layer);
  void measure_b(FedRuns& runs, const LayerTask& task);
  /// Notes the types that values have in b's run.
  void note_types(const std::unordered_map<const Value*, DataType>& types);
  void measure_a(FedRuns& runs, const LayerTask& task);

  Layers layers_;
  KnownRoundings known_;
  Constants constants_a_, constants_b_;
  std::vector<NodeLoss> losses_;                   ///< by layer
  std::unordered_set<std::string> cut_constants_;  ///< constants of a with elements beyond the ends of their grids
  Spill spill_;
  std::map<const Layer*, Spill::Stored> made_by_b_;
  /// Rounding of values in the current run.
  struct Run {
    std::optional<Quantizer::Ends> inputs;  ///< ends of the grids of a's inputs; nothing: not rounded
    bool dynamically = false;               ///< by the values' own range, where some consumers do so
  } run_;
};

/// Losses of the nodes of a quantized b over the first samples, see QuantizationLosses. Nothing of the verdict depends on them.
[[nodiscard]] std::vector<QuantizationLoss> measure_quantization(const Pair& pair, const Reference& reference);

}  // namespace relayout
