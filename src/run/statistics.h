#pragma once

#include "relayout/datum.h"
#include "relayout/run.h"

namespace relayout {

/// Facts about the numbers of a value; nothing where it holds texts or nothing.
[[nodiscard]] std::optional<TensorStatistics> statistics_of(const Datum& datum);

}  // namespace relayout
