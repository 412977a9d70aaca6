// Finds the constants that keep operands off the ends of domains (1e-9 in front of a Log) and that a fold would round away.

#include "passes/guards.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "model/float_elements.h"
#include "ops/edges.h"
#include "passes/affine.h"
#include "passes/pass.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

/// What an affine adds in a channel.
double addend(const Affine& affine, std::size_t channel) {
  return affine.apply(channel, 0);
}

/// Whether fewer than half of the bits of `part` are left in `sum`.
bool is_lost(double part, double sum, DataType type) {
  return part != 0 && std::fabs(part) < std::ldexp(spacing_at(type, std::fabs(sum)), (traits(type).fraction_bits + 1) / 2);
}

}  // namespace

const AffineNode* lost_guard(const std::vector<AffineNode>& affines, const std::vector<double>& bias, std::size_t channels, DataType type,
                             PassContext& context) {
  // The largest shift of later affines, and the product of their factors, by channel.
  std::vector<double> later(channels, 0.0), factor(channels, 1.0);
  for (std::size_t k = affines.size(); k-- > 0;) {
    const AffineNode& affine = affines[k];
    bool is_somewhere_lost = false, is_everywhere_small = true;
    double largest = 0;
    for (const double sum : bias) largest = std::max(largest, std::fabs(sum));
    for (std::size_t i = 0; i < bias.size(); ++i) {
      const std::size_t c = i % channels;
      const double part = addend(*affine.affine, c) * factor[c];
      is_somewhere_lost = is_somewhere_lost || (is_lost(part, bias[i], type) && !is_lost(part, later[c], type));
      is_everywhere_small = is_everywhere_small && (part == 0 || is_lost(part, largest, type));
    }
    if (is_somewhere_lost && !affine.node->is("BatchNormalization")) {
      const EdgeWay way = edge_downstream(*affine.node->output(0), context.constants).way;
      if (way == EdgeWay::elementwise || (way == EdgeWay::through_products && is_everywhere_small)) return &affine;
    }
    for (std::size_t c = 0; c < channels; ++c) {
      later[c] = std::max(later[c], std::fabs(addend(*affine.affine, c) * factor[c]));
      factor[c] *= affine.affine->scale_at(c);
    }
  }
  return nullptr;
}

}  // namespace relayout::passes
