// An extra sample of attention masks with holes, which no tokenizer makes: a difference there is only a remark.
#include "verify/masks_with_holes.h"

#include <cstddef>
#include <string>

#include "base/numbers.h"
#include "base/text.h"
#include "relayout/execute.h"
#include "relayout/verify.h"
#include "verify/candidate.h"
#include "verify/data_structure.h"
#include "verify/error_bounds.h"
#include "verify/floors.h"
#include "verify/inputs/inputs.h"
#include "verify/metrics.h"
#include "verify/pair.h"
#include "verify/reference.h"
#include "verify/session.h"
#include "verify/yardstick.h"

namespace relayout {

void note_masks_with_holes(const Pair& pair, const InputMaker& inputs, const Reference& reference, const Floors& floors,
                           const Candidate& candidate, VerifyResult& result) {
  const Inputs holes = inputs.make_with_holes(reference.samples().front().assignment);
  pair.steps->expect(2);
  pair.steps->next("masks with holes");
  const Session::Run a = pair.open(pair.a, pair.execute_options(Mode::as_written))->run(holes);
  pair.steps->next("masks with holes");
  const Session::Run b = pair.open(pair.b, pair.execute_options(Mode::as_written))->run(holes);
  if (!a.rejected.empty() || !b.rejected.empty()) return;
  for (std::size_t i = 0; i < reference.outputs().count(); ++i) {
    const auto place = candidate.outputs()[i].place;
    if (!place || !structural_difference(a.outputs[i], b.outputs[*place]).empty()) continue;
    Yardstick yardstick;
    yardstick.add(a.outputs[i]);
    SampleMetrics metrics = measure(a.outputs[i], b.outputs[*place], yardstick);
    decide(metrics, pair.type_of_floor(reference.outputs().summary(i).type()), floors.of(i, 0));
    if (metrics.outcome != Outcome::different) continue;
    result.remarks.push_back("output " + quote(pair.a.outputs[i].name) + " differs for masks with holes, as no tokenizer makes them (" +
                             scientific(metrics.max_error) + " of the range)");
  }
}

}  // namespace relayout
