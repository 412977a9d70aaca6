// Number of samples: `--samples`, the files in `--input` folders, else 4 (1 where the pair is proved, 2 where the proof leaves only nearly
// equal constants, more to hold all numbers at which a model decides); samples of the optimized run.
#include "verify/sample_count.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"
#include "ops/constants.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/inputs/inputs.h"
#include "verify/pair.h"
#include "verify/reference.h"
#include "verify/rules.h"

namespace relayout {
namespace {

/// Whether the proof leaves only elements of floating-point constants open, each of which differs by at most `largest`, relatively.
bool is_proved_but_for_constants(const Pair& pair, const ProofResult& proof, double largest) {
  using Kind = Unexplained::Kind;
  const Graph& b = pair.b.model->graph();
  return std::ranges::all_of(proof.unexplained, [&](const Unexplained& entry) {
    const bool is_tensor = entry.kind == Kind::weight || entry.kind == Kind::bias || entry.kind == Kind::tensor;
    const Value* const value = is_tensor && !entry.in_first && entry.values > 0 ? b.find(entry.name) : nullptr;
    return value != nullptr && is_measured(Constants().type_of(*value)) && entry.largest <= largest;
  });
}

/// Number of samples if the proof leaves something open. For constants that nearly agree, the samples whose nodes are compared one by one
/// suffice: more would repeat the same steps. If constants differ more, the loss over all samples is of interest.
int samples_for(const Pair& pair, const ProofResult& proof) {
  if (is_proved_but_for_constants(pair, proof, rules::kRoundedConstant)) return rules::kSamplesOfProved;
  const bool is_f32 = pair.narrow == DataType::undefined && !pair.quantized;
  const bool has_nodes = is_f32 && !pair.options->outputs_only;
  return has_nodes && is_proved_but_for_constants(pair, proof, rules::kNearConstant) ? rules::kLayerSamples : rules::kSamples;
}

}  // namespace

int planned_samples(const Pair& pair, const InputMaker& inputs, const VerifyResult& result) {
  if (inputs.is_always_the_same()) return 1;
  const int files = inputs.given().in_folders(), wanted = pair.options->samples;
  if (files > 0 && wanted > files) {
    fail(ErrorKind::usage, "--samples " + std::to_string(wanted) + ": " +
                               escape(inputs.given().paths(0).begin()->second.parent_path().string()) + " has " + counted(files, "file"));
  }
  if (wanted > 0) return wanted;
  if (files > 0) return files;
  const int samples = result.proof ? samples_for(pair, *result.proof) : rules::kSamples;
  return samples == rules::kSamplesOfProved ? samples : std::max(samples, std::min(inputs.samples_for_words(), rules::kMostSamples));
}

std::size_t samples_of_optimized(const Reference& reference) {
  const std::vector<Sample>& samples = reference.samples();
  const auto has_first_size = [&](const Sample& sample) { return sample.assignment.shapes == samples.front().assignment.shapes; };
  return std::ranges::all_of(samples, has_first_size) ? 1 : samples.size();
}

}  // namespace relayout
