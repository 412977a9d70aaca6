// Writes the gradients of each sample's loss: walks back for all at once, and batches the steps that would add samples up.

#include "derive/batcher.h"
#include "derive/linearizer.h"
#include "derive/samples.h"
#include "derive/sizes.h"
#include "derive/transform.h"
#include "derive/writer.h"
#include "model/node.h"
#include "relayout/error.h"
#include "relayout/graph.h"

namespace relayout::derive {

/// The inputs whose first axis counts samples.
std::vector<const Value*> Transform::data_inputs() {
  Values out;
  for (const Value* input : graph_.inputs()) {
    if (input->initializer() != nullptr || sizes_->rank(*input).value_or(0) == 0) continue;
    const bool is_batch = sizes_->dim(*input, 0) < 0 || sizes_->dim(*input, 0) == 1;
    if (out.empty() ? is_batch : sizes_->is_same(*input, 0, *out.front(), 0)) out.push_back(input);
  }
  if (out.empty()) fail(ErrorKind::unsupported, "no input has a free first dim, that of the batch");
  return out;
}

/// The loss with one element for each sample: itself, or what it would be if the sample were alone.
const Value* Transform::loss_of_samples(const Value* value, const Values& data) {
  const Value& loss = *value;
  Samples samples(graph_, *sizes_, data);
  const Samples::State state = samples.of(loss);
  if (state == Samples::State::none) fail(ErrorKind::usage, "--of '" + loss.name() + "' does not depend on the samples");
  const bool is_single = count_of(shape_of(loss, state == Samples::State::apart ? 1 : 0)) == 1;
  if (const Node* const mixer = is_single ? nullptr : samples.mixer(loss)) {
    fail(ErrorKind::unsupported, mixer->label() + ": it mixes the samples of a batch");
  }
  if (!is_single) {
    fail(ErrorKind::unsupported, "--of '" + loss.name() + "': a loss has one element for each sample");
  }
  if (state == Samples::State::apart) return value;
  Batcher batch(graph_, *sizes_, Dim(-1, data.front()->name(), 0));
  const auto needed = needed_nodes(std::vector<const Value*>{&loss});
  std::vector<const Node*> nodes;
  for (const Node& node : graph_.nodes()) nodes.push_back(&node);
  for (const Value* input : data) batch.seed_sample(*input);
  for (const Node* node : nodes) {
    if (!needed.contains(node)) continue;
    for (const Value* output : node->outputs()) {
      if (output == nullptr) continue;
      if (samples.of(*output) == Samples::State::apart) batch.seed_sample(*output);
      const bool is_first = samples.of(*output) == Samples::State::mixed && samples.mixer(*output) == node;
      const bool adds_up = node->is("ReduceMean") || node->is("ReduceSum");
      if (is_first && !adds_up) fail(ErrorKind::unsupported, node->label() + ": it mixes the samples of a batch");
    }
  }
  batch.run({&loss});
  return graph_.find(batch.stacked(loss));
}

void Transform::per_sample_gradients() {
  if (of_.size() != 1) fail(ErrorKind::usage, "gradients per sample are of one loss: --of names it");
  const Values data = data_inputs();
  const Value& loss = *loss_of_samples(of_.front(), data);
  look_again();
  const Samples samples(graph_, *sizes_, data);
  for (const Value* value : wrt_) {
    if (samples.of(*value) == Samples::State::none) continue;
    fail(ErrorKind::usage, "--wrt '" + value->name() + "' depends on the samples", "derive vjp gives the gradient of each");
  }
  of_ = {&loss};
  const Values tangents = forward(wrt_, ".tangent", false);
  Sizes::Like sources;
  for (std::size_t i = 0; i < wrt_.size(); ++i) sources.emplace_back(tangents[i], wrt_[i]);
  const Linearizer::Origins origins = linear_->origins();
  Transposer transposer(graph_, sources, origins, *sizes_);
  const Samples linear(graph_, transposer.sizes(), data, origins);
  const Name tangent = linear_->tangent(loss);
  transposer.writer().name_after(loss.name() + ".ones");
  if (!tangent.empty()) {
    Writer& w = transposer.writer();
    transposer.seed(*graph_.find(tangent), w.make("Expand", {w.real(1, sizes_->type(loss)), w.shape(loss.name())}));
  }
  transposer.run();
  Values apart = data, gradients;
  for (const Node& node : graph_.nodes()) {
    for (const Value* output : node.outputs()) {
      if (output == nullptr || linear.of(*output) != Samples::State::apart) continue;
      const Name cotangent = transposer.cotangent(*output);
      if (!transposer.is_linear(*output)) apart.push_back(output);
      if (transposer.is_linear(*output) && !cotangent.empty()) apart.push_back(graph_.find(cotangent));
    }
  }
  for (const Value* one : tangents) {
    const Name gradient = transposer.cotangent(*one);
    gradients.push_back(gradient.empty() ? nullptr : graph_.find(gradient));
  }
  transposer.erase_linear();
  for (const Value* one : tangents) graph_.erase_input(const_cast<Value&>(*one));
  look_again();
  Batcher batch(graph_, *sizes_, Dim(-1, data.front()->name(), 0));
  for (const Value* value : apart) batch.seed_sample(*value);
  Values wanted = gradients;
  std::erase(wanted, nullptr);
  batch.run(wanted);
  for (std::size_t i = 0; i < wrt_.size(); ++i) {
    Shape shape{{data.front(), 0}};
    for (const auto& dim : shape_of(*wrt_[i])) shape.push_back(dim);
    Name made = gradients[i] == nullptr ? Name() : batch.stacked(*gradients[i]);
    if (made.empty() && gradients[i] != nullptr) {
      Writer& w = batch.writer();
      made = w.make("Expand", {batch.same(*gradients[i]), w.shape(dims_of(shape))});
    }
    give(sizes_->type(*wrt_[i]), shape, made, wrt_[i]->name() + ".gradient");
  }
}

}  // namespace relayout::derive
