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

/// Gives inputs and outputs of b the names that a has for them, as VerifyOptions::renames and match_position ask. Returns a remark for
/// each. Error{usage} for names that the models do not have.
std::vector<InterfaceDifference> take_names(const Graph& a, Model& b, const VerifyOptions& options);

/// Brings what differs in form alone to the form of a, and marks it as adapted: inputs and outputs of another floating-point type get a
/// Cast in b, and the free dims of a's inputs the sizes that b's have. A difference that the options ask for becomes a remark.
void adapt(const Graph& a, Model& b, const VerifyOptions& options, std::vector<InterfaceDifference>& differences);

/// Sizes that b's inputs give to free dims of a's, by symbol, or by "input[axis]" of those without one: as far as all agree, the user's
/// own with them.
[[nodiscard]] std::map<std::string, int64_t> bound_dims(const Graph& a, const Graph& b, const VerifyOptions& options);

}  // namespace relayout
