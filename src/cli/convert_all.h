#pragma once

#include <span>

#include "cli/command.h"
#include "cli/conversion_targets.h"
#include "report/json.h"
#include "suite/conversion_cache.h"

namespace relayout::cli {

/// Converts all models, reports each in order and returns the worst exit code. `documents` receives the entry of each model that has one.
/// `cache` may be nullptr.
int convert_all(const ConvertRequest& request, const Common& common, std::span<const ConvertJob> jobs, ConversionCache* cache,
                Json& documents);

}  // namespace relayout::cli
