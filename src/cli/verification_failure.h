#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/failure.h"
#include "relayout/execute.h"
#include "relayout/verify.h"

namespace relayout::cli {

/// Nodes that cannot run for the same reason.
struct UnsupportedGroup {
  std::string text;                ///< one: "'roi' (MaxUnpool: indices)"; several: "com.acme:Foo × 5, com.acme:Bar (unknown domain)"
  std::vector<std::string> nodes;  ///< several: "'roi' (MaxUnpool)"

  friend bool operator==(const UnsupportedGroup&, const UnsupportedGroup&) = default;
};
/// Groups nodes by reason, in the order of each reason's first node.
[[nodiscard]] std::vector<UnsupportedGroup> unsupported_groups(const std::vector<Unsupported>& nodes);

/// The message on standard error for a verification: a defect, or nodes that cannot run (their number and the first three groups). Nothing
/// for a plain verdict, where the report on standard output is enough.
[[nodiscard]] std::optional<Failure> failure_of(const VerifyResult& result);
[[nodiscard]] std::optional<Failure> failure_of(const DataResult& result);

}  // namespace relayout::cli
