#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/verify.h"
#include "verify/inputs/port.h"

namespace relayout {

/// Renames inputs and outputs of b to a's names, as VerifyOptions::renames and match_position request. Returns a remark for each.
/// Error{usage} for names that the models do not have, and for one of b's that is given two names.
std::vector<InterfaceDifference> take_names(const Graph& a, Model& b, const VerifyOptions& options);

/// Adapts differences in form alone to a's form, and marks them as adapted: inputs and outputs of another floating-point type get a Cast in
/// b, free dims of a's inputs take the sizes of b's (bound_dims()). A difference that the options allow becomes a remark.
void adapt(const Graph& a, Model& b, const VerifyOptions& options, std::vector<InterfaceDifference>& differences);

/// Sizes of b's inputs for free dims of a's, by symbol, or by "input[axis]" for dims without a symbol. Left out where b's sizes, or the
/// user's, contradict each other.
[[nodiscard]] std::map<std::string, int64_t> bound_dims(const Graph& a, const Graph& b, const VerifyOptions& options);

}  // namespace relayout
