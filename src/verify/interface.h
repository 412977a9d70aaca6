#pragma once

#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/verify.h"
#include "verify/inputs/port.h"
#include "verify/run/session.h"

namespace relayout {

/// Whether two models are the same bytes: one file, or equal files with equal external data.
[[nodiscard]] bool are_identical(const Model& a, const Model& b);

/// Differences between the declared inputs and outputs of two graphs, inputs first. A free dim that became fixed is a difference of an
/// input, but a remark of an output. A declaration that is only less exact is also a remark.
[[nodiscard]] std::vector<InterfaceDifference> compare_interfaces(const Graph& a, const Graph& b);

/// Whether a value contradicts its declaration in the file.
[[nodiscard]] bool contradicts(const Port& port, const Datum& value);

/// Makes remarks of differences in the declared dims of outputs where a's declaration is contradicted by what a computes, and b's is not:
/// exporters write scalars for values of any rank, and other tools repair that. `output_of_a`: a's output of this index in a sample.
void excuse_wrong_declarations(const Side& a, const Side& b, const std::function<Datum(std::size_t)>& output_of_a, VerifyResult& result);

/// Whether b accepts a's inputs: apart from their order, all differences are remarks or adapted.
[[nodiscard]] bool inputs_fit(const std::vector<InterfaceDifference>& differences);
/// " ('image': rank is 3 [3, 8, 8], was 4 [1, 3, 8, 8])": the first input that prevents b from running.
[[nodiscard]] std::string misfits_of(const std::vector<InterfaceDifference>& differences);

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
