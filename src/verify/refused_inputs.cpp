// The outcome where A refuses every sample: an error about the given files or `--dim` and `--shape`, or inconclusive with "the reference
// cannot run".
#include "verify/refused_inputs.h"

#include <string>

#include "base/text.h"
#include "layout/graph_shapes.h"
#include "relayout/error.h"
#include "relayout/model.h"
#include "relayout/verify.h"
#include "verify/inputs/inputs.h"
#include "verify/judge.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {

void report_rejection(const Pair& pair, const Reference& reference, VerifyResult& result) {
  const std::string why = escape(pair.a.name) + ": " + reference.tried().front().rejected;
  if (reference.inputs().any_from_files()) fail(ErrorKind::invalid, why);
  reference.inputs().refuse_guesses(reference.tried().front().rejected);
  // No input can be right for dims that contradict each other as declared.
  const layout::Shapes shapes(pair.a.model->graph());
  if (!shapes.misfit().empty() && shapes.assumed().empty()) fail(ErrorKind::invalid, why, reference.inputs().ports().empty_input());
  const layout::Shapes requested(pair.a.model->graph(), {pair.options->dims, pair.options->shapes});
  if (!requested.misfit().empty() && requested.assumed().empty()) fail(ErrorKind::usage, why + ", at the sizes of --dim and --shape");
  doubt(result, "the reference cannot run: " + why);
  const std::string option = reference.inputs().input_option();
  if (shapes.misfit().empty() && !option.empty()) result.reason += " (" + option + " gives contents that it takes)";
}

}  // namespace relayout
