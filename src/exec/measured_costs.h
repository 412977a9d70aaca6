#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "layout/cost.h"

namespace relayout {

/// Times of convolutions, pools, Resize, Concat and LRN as they run on this machine, each alone, contiguous and with its ports in
/// channels-last; copies and everything else by the default rates. Each kind and size is timed once, for some milliseconds; what cannot run
/// keeps its default. Two plans by measured costs need not be equal.
class MeasuredCosts : public CostModel {
 public:
  explicit MeasuredCosts(int threads) : threads_(threads) {}
  [[nodiscard]] int64_t copy_nanoseconds(const LayoutValue& value) const override { return default_costs().copy_nanoseconds(value); }
  [[nodiscard]] Times times(const LayoutGraph& graph, const LayoutNode& node, const Ports& ports) const override;

 private:
  int threads_;
  mutable std::map<std::string, Times> known_;  ///< by what the node and its operands look like
};

}  // namespace relayout
