// Decides whether a plan reorders too much inside the graph: more than 5 % of all bytes, or more than one reorder for four convolutions.
#include "layout/thrashing.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/numbers.h"
#include "layout/layout_plan.h"
#include "relayout/layout.h"

namespace relayout::layout {
namespace {

// Reorders inside a graph are too many ("thrashing") above this share of all bytes, or from this number on with more than one for every
// kConvolutionsPerReorder convolutions.
constexpr double kMostInnerShare = 0.05;
constexpr int64_t kMostInnerReorders = 2, kConvolutionsPerReorder = 4;

}  // namespace

std::string thrash_reason(const LayoutReport& report, const LayoutPlan& plan) {
  const int64_t inner = std::ranges::count(report.reorders, true, &TensorReorder::inner);
  const double share = static_cast<double>(report.inner_reorder_bytes) / static_cast<double>(std::max<int64_t>(report.activation_bytes, 1));
  if (plan.nanoseconds > plan.contiguous_nanoseconds) return "everything contiguous would be faster";
  if (share > kMostInnerShare) return "tensors inside are reordered that hold more than 5 % of all bytes";
  if (inner >= kMostInnerReorders && inner * kConvolutionsPerReorder > report.convolutions) {
    return counted(inner, "reorder") + " inside for " + counted(report.convolutions, "convolution");
  }
  return {};
}

}  // namespace relayout::layout
