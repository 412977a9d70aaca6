#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/failure.h"
#include "relayout/execute.h"
#include "relayout/verify.h"

namespace relayout::cli {

/// Nodes that one reason keeps from running.
struct UnsupportedGroup {
  std::string text;                ///< "'roi' (MaxUnpool: indices)" of one, "com.acme:Foo × 5, com.acme:Bar (unknown domain)" of several
  std::vector<std::string> nodes;  ///< of several: "'roi' (MaxUnpool)"

  friend bool operator==(const UnsupportedGroup&, const UnsupportedGroup&) = default;
};
/// By reason, in the order of the first node.
[[nodiscard]] std::vector<UnsupportedGroup> unsupported_groups(const std::vector<Unsupported>& nodes);

/// What standard error says of a verification, where the report on standard output is not enough: a defect, nodes that cannot run
/// (their number and the first three groups). Nothing for a plain verdict.
[[nodiscard]] std::optional<Failure> failure_of(const VerifyResult& result);
[[nodiscard]] std::optional<Failure> failure_of(const DataResult& result);

}  // namespace relayout::cli
