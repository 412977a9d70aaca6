// Keeps the original's outputs on disk, so that no two models' values need to be in memory at once.
#include "verify/reference_outputs.h"

#include <algorithm>
#include <cstddef>

#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "verify/inputs/port.h"
#include "verify/judge.h"
#include "verify/session.h"

namespace relayout {
namespace {

/// Two values are the nature of what is cast from bool or one-hot, not a sign of saturation.
bool may_saturate(const Value& output) {
  constexpr int kMaxSteps = 32;
  const Node* node = output.producer();
  for (int step = 0; node != nullptr && step < kMaxSteps; ++step) {
    const Traits traits = traits_of(*node);
    if (traits.has(Trait::casts) || node->is("OneHot") || node->is("EyeLike") || node->is("Sign")) return false;
    node = traits.has(Trait::permutes) && node->input(0) != nullptr ? node->input(0)->producer() : nullptr;
  }
  return true;
}

}  // namespace

ReferenceOutputs::ReferenceOutputs(const Side& original) {
  const auto values = original.model->graph().outputs();
  const bool is_fixed = original.model->graph().inputs().empty();
  for (std::size_t i = 0; i < original.outputs.size(); ++i) {
    const Port& port = original.outputs[i];
    const bool is_empty = port.kind == Datum::Kind::tensor && port.has_shape && std::ranges::find(port.dims, 0) != port.dims.end();
    all_.push_back({ReferenceOutput(port.name, {may_saturate(*values[i]), is_empty, is_fixed}), {}, {}});
  }
}

void ReferenceOutputs::add(const Outputs& outputs) {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    all_[i].summary.add(outputs[i]);
    all_[i].yardsticks.emplace_back().add(outputs[i]);
    all_[i].stored.push_back(spill_.write(outputs[i]));
  }
}

}  // namespace relayout
