// Sums of a layout plan and the shares that reports give as percentages: regions and reorders of all bytes, channels-last tensors of those
// that could be (more than 3 dims, no inputs).
#include "layout/plan_sums.h"

#include <algorithm>
#include <cstdint>

#include "base/positions.h"
#include "relayout/layout.h"

namespace relayout::layout {
namespace {

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

void add_tensor(LayoutReport& report, const TensorLayout& tensor) {
  report.activation_bytes += tensor.bytes;
  const bool is_ordered = tensor.region >= 0;
  if (is_ordered) {
    report.ordered_bytes += tensor.bytes;
    report.regions[as_size(tensor.region)].bytes += tensor.bytes;
  }
  const bool could_be = !tensor.is_input && tensor.dims.size() > 3 && tensor.layout == "contiguous";
  if (is_ordered || could_be) report.orderable_bytes += tensor.bytes;
}

}  // namespace

void add_up(LayoutReport& report) {
  report.convolutions = std::ranges::count(report.operators, true, &OperatorLayout::wants);
  for (const TensorLayout& tensor : report.tensors) add_tensor(report, tensor);
  for (const TensorReorder& reorder : report.reorders) {
    report.reorder_bytes += reorder.bytes;
    if (reorder.inner) report.inner_reorder_bytes += reorder.bytes;
  }
  for (LayoutRegion& region : report.regions) region.share = share(region.bytes, report.activation_bytes);
  report.ordered_share = share(report.ordered_bytes, report.orderable_bytes);
  report.reorder_share = share(report.reorder_bytes, report.activation_bytes);
}

}  // namespace relayout::layout
