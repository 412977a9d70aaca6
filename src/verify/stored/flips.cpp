// Counts the elements of quantized tensors that moved weights carry to another step, and names the node where they begin.
#include "verify/stored/flips.h"

#include <cstddef>
#include <vector>

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "verify/run/data_structure.h"
#include "verify/run/distance.h"
#include "verify/run/quantized_work.h"

namespace relayout {

void Flips::keep(ExecuteOptions& options) {
  options.observe = [this](const Node& node, const std::vector<Datum>& outputs) {
    if (quantizes(node)) kept_[&node].push_back(spill_.write(outputs.front()));
  };
}

void Flips::count(ExecuteOptions& options) {
  times_.clear();
  elements_ = 0;
  options.observe = [this](const Node& node, const std::vector<Datum>& outputs) {
    if (quantizes(node)) see(node, outputs.front(), times_[&node]++);
  };
}

void Flips::see(const Node& node, const Datum& output, std::size_t time) {
  const auto found = kept_.find(&node);
  if (found == kept_.end() || time >= found->second.size()) return;
  const Datum kept = spill_.read(found->second[time]);
  if (!structural_difference(kept, output).empty()) return;
  const int64_t moved = count_mismatches(kept, output);
  if (elements_ == 0 && moved > 0) first_ = node.label();
  elements_ += moved;
  if (elements_ <= most_) return;
  most_ = elements_;
  node_ = first_;
}

}  // namespace relayout
