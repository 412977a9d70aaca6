// Walks along a graph and writes tangents by the rows of operators, or collects why it cannot.
#include "derive/linearizer.h"

#include "base/interrupt.h"
#include "base/numbers.h"
#include "base/text.h"
#include "derive/row.h"
#include "derive/sizes.h"
#include "derive/writer.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/op.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::derive {
namespace {

/// Whether a value may have a tangent: what is not known to be of another type may.
bool is_real(Sizes& sizes, const Value& value) {
  const DataType type = sizes.type(value);
  return type == DataType::undefined || is_float(type);
}

}  // namespace

Name Linearizer::tangent(const Value& value) const {
  const auto found = tangents_.find(&value);
  return found == tangents_.end() ? Name() : found->second;
}

Linearizer::Origins Linearizer::origins() const {
  Origins out;
  for (const Node& node : graph_.nodes()) {
    for (const Value* output : node.outputs()) {
      const Name name = output == nullptr ? Name() : tangent(*output);
      const Value* const made = name.empty() ? nullptr : graph_.find(name);
      if (made != nullptr && made->producer() != nullptr) out.try_emplace(made, output);
    }
  }
  return out;
}

bool Linearizer::is_seeded(const Node& node) const {
  return std::ranges::any_of(node.outputs(), [&](const Value* output) { return output != nullptr && seeds_.contains(output); });
}

/// What a node reads of what depends on the seeds, in its nested graphs too.
Linearizer::Reached Linearizer::reached(const Node& node) const {
  Reached out = Reached::nothing;
  const auto look = [&](const Node& reader, std::size_t i) {
    const Value* const value = reader.input(i);
    if (value == nullptr || traits_of(reader).reads(i) != Reads::elements) return;
    if (integers_.contains(value)) out = Reached::integers;
    if (out == Reached::nothing && tangents_.contains(value)) out = Reached::numbers;
  };
  const auto look_at_all = [&](const Node& reader) {
    for (std::size_t i = 0; i < reader.inputs().size(); ++i) look(reader, i);
  };
  look_at_all(node);
  for (const auto& nested : node.subgraphs()) {
    for_each_node(*nested, look_at_all);
    // What a branch passes on.
    for (const Value* given : nested->outputs()) {
      if (out == Reached::nothing && tangents_.contains(given)) out = Reached::numbers;
    }
  }
  return out;
}

/// Gives nodes behind the seeds the outputs that their derivatives read: which elements a pool chose, the statistics of a normalization.
void Linearizer::give_outputs(const std::unordered_set<const Node*>& needed) {
  std::unordered_set<const Value*> behind;
  for (const auto& [value, tangent] : seeds_) behind.insert(value);
  std::vector<std::pair<Node*, std::vector<std::string>>> lacking;
  for (Node& node : graph_.nodes()) {
    if (!any_read(node, [&](const Value& value) { return behind.contains(&value); })) continue;
    for (const Value* output : node.outputs()) behind.insert(output);
    if (node.output(0) == nullptr || !needed.contains(&node)) continue;
    if (node.is("MaxPool") && node.output(1) == nullptr) lacking.emplace_back(&node, std::vector<std::string>{".indices"});
    // Statistics are f32 whatever the numbers are.
    if (node.is("LayerNormalization") && node.outputs().size() == 1 && sizes_.type(*node.output(0)) == DataType::float32) {
      lacking.emplace_back(&node, std::vector<std::string>{".mean", ".inverse"});
    }
  }
  for (const auto& [node, endings] : lacking) {
    Value& out = *node->output(0);
    onnx::NodeProto message = node->whole_message();
    while (message.output_size() > 1) message.mutable_output()->RemoveLast();
    for (const std::string& ending : endings) message.add_output(graph_.model().unique_name(out.name() + ending));
    (void)graph_.detach(out, graph_.model().unique_name(out.name() + ".before"));
    graph_.insert_before(graph_.position_of(*node), message);
    graph_.erase(*node);
  }
}

void Linearizer::run(const std::vector<const Value*>& wanted) {
  give_outputs(needed_nodes(wanted));
  const std::unordered_set<const Node*> needed = needed_nodes(wanted);
  for (const auto& [value, tangent] : seeds_) {
    if (value->producer() == nullptr) tangents_[value] = tangent;
  }
  std::vector<Node*> nodes;
  for (Node& node : graph_.nodes()) {
    if (needed.contains(&node)) nodes.push_back(&node);
  }
  for (Node* node : nodes) {
    check_interrupt();
    visit(*node);
  }
  if (refusals_.empty()) return;
  fail(ErrorKind::unsupported,
       "no derivative of " + counted(std::ssize(refusals_), "node") + ": " + some_of(refusals_, 3, std::identity()));
}

void Linearizer::visit(Node& node) {
  const Reached reads = reached(node);
  if (reads == Reached::nothing && !is_seeded(node)) return;
  bool makes_reals = false;
  for (const Value* output : node.outputs()) {
    if (output == nullptr) continue;
    const DataType type = sizes_.type(*output);
    if (is_real(sizes_, *output)) {
      makes_reals = true;
    } else if (reads != Reached::nothing && type != DataType::boolean && !node.is("MaxPool")) {
      integers_.insert(output);
    }
  }
  if (!makes_reals) return;
  if (reads == Reached::integers) {
    refusals_.push_back(node.label() + " reads whole numbers that depend on them");
  } else {
    linearize(node);
  }
}

void Linearizer::linearize(Node& node) {
  w_.stand_before(std::next(graph_.position_of(node)));
  const Value* const first = first_output(node);
  w_.name_after((first == nullptr ? node.name() : first->name()) + ".tangent");
  const LinearizeRow::TangentOf tangent_of = [&](const Value& value) { return tangent(value); };
  LinearizeRow row(node, sizes_, w_, tangent_of, joins_);
  const Linearize* const entry = node.domain().empty() ? find_linearize(node.op_type()) : nullptr;
  try {
    if (reached(node) == Reached::numbers) {
      if (entry == nullptr) {
        const std::string_view why = node.domain().empty() ? why_refused(node.op_type()) : "";
        row.refuse(why.empty() ? "no derivative is known" : std::string(why));
      }
      entry->write(row);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    refusals_.emplace_back(error.what());
    return;
  }
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    const Value* const output = node.output(i);
    if (output == nullptr) continue;
    const auto seed = seeds_.find(output);
    const Name tangent = w_.add(row.given().at(i), seed == seeds_.end() ? Name() : seed->second);
    if (!tangent.empty()) tangents_[output] = tangent;
  }
}

}  // namespace relayout::derive
