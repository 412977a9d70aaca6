#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "layout/cost.h"

namespace relayout::exec {

/// Measured times of convolutions, pools, Resize, Concat and LRN on this machine, each alone, contiguous and with its ports in
/// channels-last. Copies and everything else take the default rates. Each kind and size is timed once, for some milliseconds; nodes that
/// cannot run keep their default. Two plans by measured costs need not be equal.
class MeasuredCosts : public layout::CostModel {
 public:
  explicit MeasuredCosts(int threads) : threads_(threads) {}
  [[nodiscard]] int64_t copy_nanoseconds(const layout::LayoutValue& value) const override;
  [[nodiscard]] Times times(const layout::LayoutGraph& graph, const layout::LayoutNode& node, const layout::Ports& ports) const override;

 private:
  int threads_;
  mutable std::map<std::string, Times> known_;  ///< by attributes of the node, and dims and orders of its operands
};

}  // namespace relayout::exec
