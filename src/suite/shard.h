#pragma once

#include <functional>
#include <string>

#include "relayout/suite.h"

namespace relayout {

/// The value of an environment variable, empty when it is not set.
using Environment = std::function<std::string(const std::string& name)>;

/// The part for a word of --shard: "I/N"; "auto", as the scheduler of this job assigns it; "auto/N" for schedulers that provide an index
/// only. Empty: the whole suite, regardless of the environment. Error{usage} when the word names no part, or when the environment has no
/// variables of a scheduler or contradicts itself.
[[nodiscard]] Shard shard_of(const std::string& word, const Environment& environment);

/// "2/4", with the environment variables that assign it.
[[nodiscard]] std::string shard_text(const Shard& shard);

/// "33 of 132 cases"; "2 cases" where the total is not known.
[[nodiscard]] std::string part_text(const SuiteResult& result);

inline constexpr const char* kEmptyShard = "this shard has no case";

}  // namespace relayout
