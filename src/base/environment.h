#pragma once

#include <cstdlib>
#include <string>

namespace relayout {

/// The value of an environment variable; empty when it is not set.
[[nodiscard]] inline std::string environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): no thread changes it
  return value == nullptr ? "" : value;
}

}  // namespace relayout
