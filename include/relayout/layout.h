#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

enum class LayoutChoice : uint8_t {
  automatic,  ///< the layout with the lowest predicted cost
  always,     ///< convolutions in channels-last at any cost
  never,      ///< everything contiguous
};

/// The order in which convolution weights are stored.
enum class WeightsLayout : uint8_t {
  keep,  ///< as they are
  channels_last,
  contiguous,
};

/// Sizes for free dims, by symbol, or for all dims of an input. Defaults: 224 for height and width of images that a convolution reads
/// (16 × 112 × 112 for volumes), 1 elsewhere.
struct ShapeOptions {
  std::map<std::string, int64_t> dims;
  std::map<std::string, Dims> shapes;
};

struct LayoutRequest {
  LayoutChoice choice = LayoutChoice::automatic;
  ShapeOptions sizes = {};
  bool compare = false;  ///< compare with PyTorch's propagation
};

/// A tensor of the executed graph that is not a constant.
struct TensorLayout {
  std::string name;
  DataType type = DataType::undefined;  ///< undefined: not known, or not a tensor
  Dims dims;
  std::string layout;  ///< "contiguous", "channels-last", "both" (the same bytes), or the dims from outermost to innermost: "0 3 1 2"
  int64_t bytes = 0;
  int region = -1;  ///< index into LayoutReport::regions; -1 for contiguous tensors
  bool is_input = false, is_output = false;
};

struct OperatorLayout {
  std::string node, op_type;
  std::string layout;                ///< layout in which it runs; "either" where that makes no difference
  bool wants = false;                ///< faster in channels-last
  bool loses = false;                ///< runs contiguous but reads an operand stored channels-last
  std::string reason;                ///< why it stays contiguous
  int64_t nanoseconds = 0;           ///< predicted time under the plan
  std::vector<int> inputs, outputs;  ///< indices into LayoutReport::tensors, without constants and absent operands
};

/// A copy of a tensor into a different layout, shared by all consumers that need it.
struct TensorReorder {
  int tensor = -1;
  std::string from, to;
  int64_t bytes = 0;
  bool inner = false;                ///< not at a border: the tensor is computed by a node, and read by a node in the new layout
  std::vector<std::string> readers;  ///< nodes that read the copy; "" is the caller
  std::string reason;                ///< reason of the first node among the readers
};

/// Connected tensors in a non-contiguous order, with the operators between them.
struct LayoutRegion {
  std::string first, last;  ///< names of operators
  int64_t operators = 0, convolutions = 0, bytes = 0;
  double share = 0;  ///< `bytes` over the bytes of all tensors
};

/// The effect of PyTorch's propagation on a graph.
struct LayoutPropagation {
  int64_t reorders = 0, bytes = 0;
  double predicted_gain = 1;
};

struct NestedLayout;

/// A whole layout plan, for reports.
struct LayoutReport {
  std::vector<TensorLayout> tensors;
  std::vector<OperatorLayout> operators;
  std::vector<TensorReorder> reorders;
  std::vector<int> packs;  ///< indices of tensors that are parts of others and are copied densely
  std::vector<LayoutRegion> regions;
  std::vector<std::string> assumed;  ///< sizes taken for free dims: "N = 1"
  int64_t convolutions = 0;
  int64_t activation_bytes = 0;  ///< bytes of all tensors
  int64_t ordered_bytes = 0,
          orderable_bytes = 0;  ///< of those stored channels-last or in a similar order; of these and those that could be, without inputs
  int64_t reorder_bytes = 0, inner_reorder_bytes = 0;
  double ordered_share = 0;   ///< `ordered_bytes` over `orderable_bytes`
  double reorder_share = 0;   ///< `reorder_bytes` over `activation_bytes`
  double predicted_gain = 1;  ///< predicted time with everything contiguous over that of the plan
  bool thrashes = false;      ///< inner changes of layout cost too much; see `thrash_reason`
  std::string thrash_reason;
  std::optional<LayoutPropagation> propagation;
  std::vector<NestedLayout> nested;  ///< plans of nested graphs, in order of their nodes
};

/// The plan of a graph inside a node (a branch of If, the body of Loop or Scan). Its captured values, inputs and outputs are contiguous.
struct NestedLayout {
  std::string node, op_type, attribute;  ///< node and attribute that contain the graph: "then_branch"
  LayoutReport report;
};

/// Plans the layouts of a graph and, independently, of each graph nested in it, as the executor does.
[[nodiscard]] LayoutReport report_layout(const Graph& graph, const LayoutRequest& request = {});

}  // namespace relayout
