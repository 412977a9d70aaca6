// Runs the original as written, each node one step, and keeps its outputs on disk: the candidate, the noise floors and the explanations
// are all measured against them, and no two models need to be in memory at once.
#include "verify/reference.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "verify/data_structure.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/inputs.h"
#include "verify/inputs/port.h"
#include "verify/pair.h"
#include "verify/rules.h"
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

Reference::Reference(const Pair& pair, const InputMaker& inputs)
    : pair_(&pair), inputs_(&inputs), waits_to_repeat_(random_nodes(pair.a.model->graph()).empty()) {
  const auto values = pair.a.model->graph().outputs();
  const bool is_fixed = pair.a.model->graph().inputs().empty();
  for (std::size_t i = 0; i < pair.a.outputs.size(); ++i) {
    const Port& port = pair.a.outputs[i];
    const bool is_empty = port.kind == Datum::Kind::tensor && port.has_shape && std::ranges::find(port.dims, 0) != port.dims.end();
    outputs_.push_back({ReferenceOutput(port.name, {may_saturate(*values[i]), is_empty, is_fixed}), {}, {}});
  }
}

const Inputs& Reference::inputs_of(std::size_t sample) const {
  if (made_for_ != sample) {
    const Sample& of = samples_[sample];
    made_for_.reset();
    made_ = inputs_->make(of.assignment, of.number, of.deviation);
    made_for_ = sample;
  }
  return made_;
}

void Reference::compare_again(Session& session, const Outputs& first) {
  waits_to_repeat_ = false;
  const Session::Run again = session.run(inputs_of(0));
  for (std::size_t i = 0; i < first.size() && unrepeatable_.empty(); ++i) {
    if (!again.rejected.empty() || !bit_equal(first[i], again.outputs.at(i))) unrepeatable_ = pair_->a.outputs[i].name;
  }
}

void Reference::repeat() {
  if (!waits_to_repeat_ || samples_.empty()) return;
  const auto start = std::chrono::steady_clock::now();
  pair_->steps->expect(1);
  pair_->steps->next("reference");
  Outputs first;
  for (std::size_t i = 0; i < outputs_.size(); ++i) first.push_back(value(i, 0));
  compare_again(*pair_->open(pair_->a, pair_->execute_options(Mode::as_written)), first);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Reference::run(int count, double deviation) {
  const auto start = std::chrono::steady_clock::now();
  pair_->steps->expect(count);
  const int wanted = pair_->options->samples > 0 ? pair_->options->samples : rules::kSamples;
  const int all = inputs_->is_always_the_same() ? 1 : wanted;
  const auto session = pair_->open(pair_->a, pair_->execute_options(Mode::as_written));
  for (const int last = next_ + count; next_ < last; ++next_) {
    pair_->steps->next("reference");
    Sample sample{next_, deviation, {}, 0};
    Session::Run run;
    const FreeDims& dims = inputs_->dims(next_);
    const auto try_sizes = [&](bool uneven) {
      sample.assignment = dims.assign({next_, all, attempt_, uneven});
      made_for_.reset();
      made_ = inputs_->make(sample.assignment, next_, deviation);
      run = session->run(made_);
    };
    do {
      try_sizes(takes_uneven_);
      if (!run.rejected.empty() && takes_uneven_ && next_ % 2 == 1) try_sizes(takes_uneven_ = false);
    } while (!run.rejected.empty() && samples_.empty() && ++attempt_ < dims.attempts());
    if (samples_.empty() && !run.rejected.empty()) attempt_ = 0;
    tried_.push_back({next_, sample.assignment.shapes, sample.assignment.dims, inputs_->given().paths(next_), deviation, run.rejected});
    if (!run.rejected.empty()) {
      if (next_ == 0) rejection_ = run.rejected;
      continue;
    }
    sample.macs = session->macs();
    samples_.push_back(std::move(sample));
    made_for_ = samples_.size() - 1;
    if (samples_.size() == 1 && !waits_to_repeat_) compare_again(*session, run.outputs);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      outputs_[i].summary.add(run.outputs[i]);
      outputs_[i].yardsticks.emplace_back().add(run.outputs[i]);
      outputs_[i].stored.push_back(spill_.write(run.outputs[i]));
    }
  }
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace relayout
