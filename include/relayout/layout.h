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
  automatic,  ///< what is cheapest
  always,     ///< convolutions in channels-last whatever it costs
  never,      ///< everything contiguous
};

/// The order in which convolution weights are stored.
enum class WeightsLayout : uint8_t {
  keep,  ///< as they are
  channels_last,
  contiguous,
};

/// Sizes for free dims: by symbol, or all dims of an input. What is not given is taken as 224 for height and width of images
/// (16 × 112 × 112 for volumes) that a convolution reads, and as 1 elsewhere.
struct ShapeOptions {
  std::map<std::string, int64_t> dims;
  std::map<std::string, Dims> shapes;
};

struct LayoutRequest {
  LayoutChoice choice = LayoutChoice::automatic;
  ShapeOptions sizes = {};
  bool compare = false;  ///< with what PyTorch's propagation would do
};

/// A tensor of the graph that runs; constants are not among them.
struct TensorLayout {
  std::string name;
  DataType type = DataType::undefined;  ///< undefined: not known, or no tensor
  Dims dims;
  std::string layout;  ///< "contiguous", "channels-last", "both" (they are the same bytes) or the dims from outside in: "0 3 1 2"
  int64_t bytes = 0;
  int region = -1;  ///< of tensors that lie in an order of their own and touch
  bool is_input = false, is_output = false;
};

struct OperatorLayout {
  std::string node, op_type;
  std::string layout;                ///< what it runs in; "either" where that makes no difference
  bool wants = false;                ///< faster in channels-last
  bool loses = false;                ///< it reads contiguous what lies in channels-last
  std::string reason;                ///< why it stays contiguous
  int64_t nanoseconds = 0;           ///< predicted, as planned
  std::vector<int> inputs, outputs;  ///< tensors; constants and absent ones are left out
};

/// A tensor that is copied into another layout, once for all who need it so.
struct TensorReorder {
  int tensor = -1;
  std::string from, to;
  int64_t bytes = 0;
  bool inner = false;                ///< neither a graph input nor a graph output
  std::vector<std::string> readers;  ///< nodes that need it; "" is the caller
  std::string reason;                ///< what the first of them says
};

/// Tensors in an order of their own that touch, with the operators between them.
struct LayoutRegion {
  std::string first, last;  ///< operators
  int64_t operators = 0, convolutions = 0, bytes = 0;
};

/// The effect of PyTorch's propagation on a graph.
struct LayoutPropagation {
  int64_t reorders = 0, bytes = 0;
  double predicted_gain = 1;
};

struct NestedLayout;

/// A whole layout plan, for people.
struct LayoutReport {
  std::vector<TensorLayout> tensors;
  std::vector<OperatorLayout> operators;
  std::vector<TensorReorder> reorders;
  std::vector<int> packs;  ///< tensors that are parts of others and are made dense
  std::vector<LayoutRegion> regions;
  std::vector<std::string> assumed;  ///< sizes taken for free dims: "N = 1"
  int64_t convolutions = 0;
  int64_t activation_bytes = 0;                    ///< of all tensors
  int64_t ordered_bytes = 0, orderable_bytes = 0;  ///< of those that lie channels-last (or so); with those that could, inputs aside
  int64_t reorder_bytes = 0, inner_reorder_bytes = 0;
  double predicted_gain = 1;  ///< predicted time of everything contiguous over that of the plan
  bool thrashes = false;      ///< changes of layout inside cost more than they should
  std::string thrash_reason;
  std::optional<LayoutPropagation> propagation;
  std::vector<NestedLayout> nested;  ///< in order of their nodes
};

/// The plan of a graph inside a node (a branch of If, the body of Loop or Scan). What it captures, takes and hands out is contiguous at its
/// border.
struct NestedLayout {
  std::string node, op_type, attribute;  ///< that hold it: "then_branch"
  LayoutReport report;
};

/// Plans the layouts of one graph, and of those nested in it each on its own, as the executor does.
[[nodiscard]] LayoutReport report_layout(const Graph& graph, const LayoutRequest& request = {});

}  // namespace relayout
