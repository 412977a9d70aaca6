#pragma once

#include <functional>
#include <string>

#include "relayout/suite.h"

namespace relayout::cli {

/// The value of an environment variable, empty when it is not set.
using Environment = std::function<std::string(const std::string& name)>;

/// The word of --shard: "I/N"; "auto", what the scheduler of this job says; "auto/N" for schedulers that give an index only. Empty: the
/// whole suite, whatever the environment holds. Error{usage} when it names no part, or when the environment is silent or contradicts
/// itself.
[[nodiscard]] Shard shard_of(const std::string& word, const Environment& environment);

}  // namespace relayout::cli
