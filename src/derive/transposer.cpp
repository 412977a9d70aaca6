// Walks back over the linear nodes of a graph and writes cotangents by the rows of operators.
#include <ranges>

#include "base/interrupt.h"
#include "base/numbers.h"
#include "base/text.h"
#include "derive/linearizer.h"
#include "derive/row.h"
#include "derive/sizes.h"
#include "derive/writer.h"
#include "model/node.h"
#include "model/walk.h"
#include "relayout/error.h"
#include "relayout/graph.h"

namespace relayout::derive {

namespace {

/// The other inputs have the dims that they had before.
Sizes::Like with_all_inputs(const Graph& graph, Sizes::Like out) {
  for (const Value* input : graph.inputs()) {
    if (std::ranges::find(out, input, &Sizes::Like::value_type::first) == out.end()) out.emplace_back(input, input);
  }
  return out;
}

}  // namespace

Transposer::Transposer(Graph& graph, const Sizes::Like& sources, const Linearizer::Origins& origins, Sizes& before)
    : graph_(graph), sizes_(graph, with_all_inputs(graph, sources), &before), w_(graph) {
  for (const auto& [source, like] : sources) linear_.insert(source);
  for (Node& node : graph_.nodes()) {
    if (!any_read(node, [&](const Value& value) { return linear_.contains(&value); })) continue;
    nodes_.push_back(&node);
    for (const Value* output : node.outputs()) {
      if (output != nullptr) linear_.insert(output);
    }
  }
  for (const Value* value : linear_) {
    const auto origin = origins.find(value);
    const bool lasts = origin != origins.end() && !linear_.contains(origin->second);
    sizes_.hide(*value, lasts ? origin->second : nullptr);
  }
  for (const auto& [source, like] : sources) sizes_.hide(*source, like == source ? nullptr : like);
  for (const Value* input : graph_.inputs()) {
    if (!linear_.contains(input)) sizes_.offer(*input);
  }
  for (const Node& node : graph_.nodes()) {
    for (const Value* output : node.outputs()) {
      if (output != nullptr && !linear_.contains(output)) sizes_.offer(*output);
    }
  }
}

Name Transposer::cotangent(const Value& value) const {
  const auto found = cotangents_.find(&value);
  return found == cotangents_.end() ? Name() : found->second;
}

void Transposer::accumulate(const Value& value, const Name& cotangent) {
  Name& sum = cotangents_[&value];
  // Both have the dims of the value: one of them need not be repeated to have them.
  const Name smaller = w_.before_expand(cotangent);
  if (sum.empty() || smaller != cotangent) {
    sum = w_.add(sum, sum.empty() ? cotangent : smaller);
  } else {
    sum = w_.add(w_.before_expand(sum), cotangent);
  }
}

void Transposer::run() {
  std::vector<std::string> refusals;
  const TransposeRow::CotangentOf cotangent_of = [&](const Value& value) { return cotangent(value); };
  const TransposeRow::IsLinear is_linear = [&](const Value& value) { return linear_.contains(&value); };
  for (const Node* node : nodes_ | std::views::reverse) {
    check_interrupt();
    TransposeRow row(*node, sizes_, w_, cotangent_of, is_linear);
    const auto is_wanted = [&](const Value* output) { return output != nullptr && !cotangent(*output).empty(); };
    if (!std::ranges::any_of(node->outputs(), is_wanted)) continue;
    w_.name_after(first_output(*node)->name() + ".back");
    const Transpose* const entry = find_transpose(node->op_type());
    try {
      if (entry == nullptr) row.refuse("no transpose is known");
      entry->write(row);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      refusals.emplace_back(error.what());
      continue;
    }
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      if (row.is_linear(i) && !row.given().at(i).empty()) accumulate(*node->input(i), row.given()[i]);
    }
    for (const auto& [value, cotangent] : row.captured()) {
      if (!cotangent.empty()) accumulate(*value, cotangent);
    }
  }
  if (refusals.empty()) return;
  fail(ErrorKind::unsupported,
       "no gradient through " + counted(std::ssize(refusals), "node") + ": " + some_of(refusals, 3, std::identity()));
}

void Transposer::erase_linear() {
  for (Node* node : nodes_ | std::views::reverse) graph_.erase(*node);
}

}  // namespace relayout::derive
