#pragma once

#include <span>
#include <variant>
#include <vector>

#include "passes/linear_operator.h"
#include "passes/match.h"
#include "passes/skips.h"

namespace relayout::passes {

/// Reads the weight once, in pieces, as stored; factors already attached to it are applied in double. A skip when its products with `scale`
/// leave the range of their type in some output channel: `overflow` when a finite weight would become infinite, `underflow` when a channel
/// whose largest weight was normal would be left with subnormal ones or zeros by factors that are not zero. With `shifts` (t of each input
/// channel, or one for all) it returns Σ W·t per output channel, over the weight before `scale`; without, nothing.
[[nodiscard]] std::variant<std::vector<double>, Skip> scan_weight(const LinearOperator& target, const Scale& scale,
                                                                  std::span<const double> shifts, int threads);

}  // namespace relayout::passes
