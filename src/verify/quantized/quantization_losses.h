#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ops/constants.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/fed_runs.h"
#include "verify/compare/layers.h"
#include "verify/pair.h"
#include "verify/quantized/constant_grids.h"
#include "verify/run/quantizer.h"
#include "verify/run/reference.h"
#include "verify/run/spill.h"

namespace relayout {

/// Sums of squares of a value's loss for each index along one axis: a fault of one channel is small beside the loss of all channels.
class ChannelLosses {
 public:
  /// A negative `axis` counts from the end.
  explicit ChannelLosses(int64_t axis) : axis_(axis) {}

  /// Cost of rounding: the original's value, and the result of its nodes from rounded operands.
  void add_expected(const Tensor& reference, const Tensor& rounded);
  /// The correct result for the operands of the other model's nodes, and their actual result.
  void add_result(const Tensor& right, const Tensor& made);

  struct Fault {
    std::size_t channel = 0;
    double squares = 0;  ///< Σ of squares of the difference
  };
  /// The channel with the largest error among those that compute something else. Rounding may change the scale of results by up to `gain`.
  [[nodiscard]] std::optional<Fault> worst(double gain) const;

 private:
  struct Sums {
    double expected = 0, right = 0, product = 0, other = 0;  ///< Σ of squares; `product`: Σ of products of both results
    int64_t elements = 0;
  };
  /// Calls add(sums, x, y) for each pair of finite elements. False where the axis is the first or does not exist, there are fewer than two
  /// channels, samples differ in their number, or the type is not measured.
  template <class Add>
  bool for_each(const Tensor& a, const Tensor& b, const Add& add);
  [[nodiscard]] static bool is_other(const Sums& sums, double lost, double least_gain);

  int64_t axis_;
  bool is_void_ = false;
  std::vector<Sums> sums_;  ///< by channel
};

/// Loss of one node of a quantized model, and the cost of its rounding.
struct NodeLoss {
  std::optional<Quantizer> grid;    ///< of this value in b
  bool is_rounded_by_some = false;  ///< some consumers in b round it by its own least and largest elements
  bool takes_rounded = false;       ///< computed from values as such consumers round them
  bool expected_is_known = false;   ///< all roundings in b between the fed values upstream and this value are known
  const Node* missing = nullptr;    ///< of a: a function that b replaces with products, sums and roundings alone
  LossSums measured;
  LossSums rounding;                  ///< of a's node with operands, constants and result rounded, not cut off at the ends of a grid
  LossSums expected;                  ///< as `rounding`, but with operands cut off at the ends of b's grids: that loss is upstream's
  LossSums other;                     ///< difference of b's node from a's with the same operands, constants and ends
  ChannelLosses second{1}, last{-1};  ///< `rounding` and `other` by index along the second and along the last axis
  DataType made = DataType::undefined, read = DataType::undefined;  ///< coarsest types in which b computes and reads it
  double squares_clipped = 0;                                       ///< Σ of squares that the ends of the grid cut off
  int64_t beyond = 0;                                               ///< elements of a beyond the ends of the grid
  std::optional<bool> was_fed;                                      ///< result of was_fed()
};

/// Remark on a loss.
struct Judgement {
  /// In the order of the report: a different result, a range that is too small, neither.
  enum class Verdict : uint8_t { other, clipped, right };
  Verdict verdict = Verdict::right;
  double excess = 0;  ///< energy of the fault, relative to the value
};
/// Sets the expected loss of a node, and its fault. `has_cut_constant`: a constant operand has elements beyond the ends of its grid, a
/// single one of which may cause most of a channel's loss.
[[nodiscard]] Judgement judge(const NodeLoss& loss, bool has_cut_constant, QuantizationLoss& one);

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
