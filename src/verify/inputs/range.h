#pragma once

namespace relayout {

/// Real numbers from `lowest` to `highest`.
struct Range {
  double lowest = 0, highest = 0;
};

}  // namespace relayout
