#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/positions.h"
#include "ops/constants.h"
#include "relayout/graph.h"
#include "relayout/verify.h"
#include "verify/nodes/channel_losses.h"
#include "verify/nodes/constant_grids.h"
#include "verify/nodes/fed_runs.h"
#include "verify/nodes/layers.h"
#include "verify/quantizer.h"
#include "verify/spill.h"

namespace relayout {

/// What the nodes of a quantized model lose, each fed the original's values. What rounding must cost them gives the original itself, its
/// constants and operands rounded to the grids that the quantized model has for them, as if these had no ends, and to its floating-point
/// types where those are narrower. What its nodes make of
/// operands that end where the grids do, b's nodes must make too: another scale than the integers were made with, or an operator that is
/// gone, show as a difference between the two, and the ends themselves as what they cut off.
class QuantizationLosses {
 public:
  QuantizationLosses(const Graph& a, const Graph& b);

  /// Runs both models over one more sample.
  void add(LayerTask task);
  /// First the nodes that compute something else, then those whose range is too small, then the others, the worst first. Nodes that lose
  /// nothing are left out.
  [[nodiscard]] std::vector<QuantizationLoss> worst_first();

 private:
  struct NodeLoss {
    std::optional<Quantizer> grid;    ///< that b rounds this value to
    bool is_rounded_by_some = false;  ///< readers in b round it by its own least and largest elements, others may not
    bool takes_rounded = false;       ///< it is made of such values as those readers have them
    bool expected_is_known = false;   ///< everything that b rounds on the way from the values in front is known
    LossSums measured, expected;
    LossSums other;                     ///< by which b's node is another than a's with the same operands, constants and ends
    ChannelLosses second{1}, last{-1};  ///< the same by places along the second and along the last axis
    DataType made = DataType::undefined, read = DataType::undefined;  ///< the coarsest types through which it goes in b
    double squares_clipped = 0;                                       ///< Σ of squares that the ends of the grid cut off
    int64_t beyond = 0;                                               ///< elements of a that the grid does not reach
    std::optional<bool> was_fed;                                      ///< as was_fed() found it
  };
  [[nodiscard]] std::optional<Quantizer> grid_of(const Value& value_of_b);
  /// What b rounds for some readers, and which layers are made of that.
  void find_dynamic(const Graph& b);
  /// The value that is fed, or nullptr, of which another one holds all elements in their own or another order.
  [[nodiscard]] const Value* fed_source(const Value* value);
  /// The value that a node rounds by its own elements, perhaps in other dims.
  [[nodiscard]] const Value* rounded_by(const Node& node);
  /// Whether a node only brings all elements of a value before one that rounds them so.
  [[nodiscard]] static bool hands_on_to_rounding(const Node& node);
  /// A value that is fed: a layer's, or an input of both models.
  [[nodiscard]] bool is_fed(const Value& value_of_b);
  [[nodiscard]] bool is_covered(const Layer& layer);
  [[nodiscard]] bool is_known(const Node& node, const Layer& layer);
  /// A copy of a value as its readers get it in the run at hand.
  [[nodiscard]] Datum read_as(const Datum& datum, const NodeLoss& loss, Quantizer::Ends ends) const;
  [[nodiscard]] NodeLoss& loss_of(const Layer& layer) { return losses_[as_size(&layer - layers_.all().data())]; }
  /// The node that computes a value, in front of those that move its elements.
  [[nodiscard]] const Node& named_maker(const Value& value);
  /// Whether a constant that a layer is made of goes beyond the ends of its grid: a single one may be most of what a channel loses.
  [[nodiscard]] bool has_cut_constant(const Layer& layer) const;
  /// Whether all that a layer is made of was fed: a value that was evaluated before the run is not.
  [[nodiscard]] bool was_fed(const Layer& layer);
  /// Whether both models have the same in the place of a value that no run makes.
  [[nodiscard]] bool is_equal_unseen(const Layer& layer);
  /// In the order of the report: another result, a range that is too small, neither.
  enum class Verdict : uint8_t { other, clipped, right };
  struct Judgement {
    Verdict verdict = Verdict::right;
    double excess = 0;  ///< energy of the fault, relative to the value
  };
  /// Sets what is expected of a node, and its fault.
  Judgement judge(const Layer& layer, QuantizationLoss& one);
  /// A channel that computes something else.
  static Judgement judge_channels(const NodeLoss& loss, QuantizationLoss& one);
  void measure_b(FedRuns& runs, const LayerTask& task);
  /// Notes the types that values have in b's run.
  void note_types(const FedRuns& runs);
  void measure_a(FedRuns& runs, const LayerTask& task);

  Layers layers_;
  Constants constants_a_, constants_b_;
  std::vector<NodeLoss> losses_;                    ///< by layer
  ConstantGrids grids_;                             ///< of a's constants
  std::unordered_set<std::string> cut_constants_;   ///< of those, beyond the ends of their grids
  std::map<std::string, Quantizer> inputs_;         ///< of a's inputs
  std::unordered_set<std::string> dynamic_inputs_;  ///< inputs that some readers in b round by their own elements
  std::unordered_set<const Value*> dynamic_;        ///< values of b that some readers round so
  Spill spill_;
  std::map<const Layer*, Spill::Stored> made_by_b_;
  std::optional<Quantizer::Ends> input_ends_;  ///< how a's inputs are rounded in the run at hand; nothing: not at all
  bool rounds_dynamically_ = false;            ///< whether values are rounded as some readers do, in the run at hand
};

}  // namespace relayout
