// Settles claims that two values are equal, from the outputs upstream, and proves or lists what is left.

#include "proof/prover.h"

#include <cmath>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/positions.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/threads.h"
#include "model/origin.h"
#include "model/walk.h"
#include "ops/op_attributes.h"
#include "proof/account.h"
#include "proof/attributes.h"
#include "proof/claim.h"
#include "proof/finite_numbers.h"
#include "proof/interface_check.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"

namespace relayout::proof {

namespace {

/// Pairs values of a with values of b: by name, the remaining ones by place.
template <class Visit>
void for_each_pair(const std::vector<const Value*>& a, const std::vector<const Value*>& b, const Visit& visit) {
  std::unordered_map<std::string_view, const Value*> by_name;
  for (const Value* value : b) by_name.emplace(value->name(), value);
  std::vector<const Value*> rest_a;
  for (const Value* value : a) {
    const auto found = by_name.find(value->name());
    if (found == by_name.end()) {
      rest_a.push_back(value);
    } else {
      visit(*value, *found->second);
      by_name.erase(found);
    }
  }
  std::size_t next = 0;
  for (const Value* value : b) {
    if (by_name.contains(value->name()) && next < rest_a.size()) visit(*rest_a[next++], *value);
  }
}

/// With -v: the rule by which a value of the second model equals one of the first, unless nodes are compared as they stand.
void tell(const Sides& sides, const Claim& claim, const Look& look) {
  if (look.rule.empty() || !look.issues.empty()) return;
  const Ref a = claim.origin_a ? claim.origin_a : claim.a, b = claim.origin_b ? claim.origin_b : claim.b;
  const auto text = [](const Side& side, Ref ref) {
    const Node* const node = ref ? ref.value->producer() : nullptr;
    return node != nullptr ? side.in_file(*node).label() : ref ? quote(ref.value->name()) : "nothing";
  };
  log_detail("proof: " + text(sides.b, b) + " for " + text(sides.a, a) + " by rule: " + std::string(look.rule));
}

std::vector<const Value*> output_values(const Model& model) {
  return {model.graph().outputs().begin(), model.graph().outputs().end()};
}

}  // namespace

ProofResult Prover::run(const ProofOptions& options) {
  tells_ = !options.is_copy && log_level() == LogLevel::verbose;
  for (const std::string& name : options.narrow_inputs) sides_.narrow_inputs.insert(sides_.b.model().graph().find(name));
  find();
  if (!options.is_copy && !options.across_types && account_.issues().empty()) note_overflows();
  return account_.result();
}

/// Notes numbers that overflow in one model alone, which a proof about real numbers leaves open; not where a fold may have undone that.
void Prover::note_overflows() {
  const Overflows overflows = overflows_alone(sides_.a.model(), sides_.b.model());
  const auto note = [&](const Overflow& overflow, bool in_first) {
    account_.note(issue_of_node(sides_, Unexplained::Kind::node_changed, *overflow.node, in_first,
                                text_of(overflow) + ", where the other model does not"));
  };
  for (const Overflow& overflow : overflows.of_b) note(overflow, false);
  for (const Overflow& overflow : overflows.of_a) {
    if (!overflow.is_multiplied) note(overflow, true);
  }
}

void Prover::find() {
  claim_interface();
  claim_versions();
  settle_all();
  claim_leftovers();
  account_.list_leftovers(sides_);
  account_.note_repairs(sides_);
}

bool Prover::gives_one_result(const Node& node) {
  const Graph *const taken = node.subgraph("then_branch"), *const other = node.subgraph("else_branch");
  if (taken == nullptr || other == nullptr || taken->outputs().size() != other->outputs().size()) return false;
  for (const Value* const input : callers_inputs(sides_.a.model())) sides_.pair_inputs(*input, *input);
  for (std::size_t i = 0; i < taken->outputs().size(); ++i) {
    open_.push_back({{taken->outputs()[i]}, {other->outputs()[i]}, {}, {}, {}, {}, nullptr});
  }
  settle_all();
  return account_.issues().empty();
}

void Prover::claim_interface() {
  for (Unexplained& difference : compare_interfaces(sides_.a.model(), sides_.b.model(), sides_.b.widens()))
    account_.note({std::move(difference), -1});
  const std::vector<const Value*> frozen = frozen_inputs(sides_.a.model(), sides_.b.model());
  for (const Value* value : frozen) sides_.a.freeze(*value);
  std::vector<const Value*> inputs = callers_inputs(sides_.a.model());
  const std::unordered_set<const Value*> is_frozen(frozen.begin(), frozen.end());
  std::erase_if(inputs, [&](const Value* value) { return is_frozen.contains(value); });
  Look look;
  for_each_pair(inputs, callers_inputs(sides_.b.model()), [&](const Value& a, const Value& b) {
    sides_.pair_inputs(a, b);
    // The default of an overridable input.
    if (a.initializer() != nullptr && b.initializer() != nullptr) compare_tensors(sides_, {{&a}, {&b}, {}, {}, {}, {}, nullptr}, look, &b);
  });
  for_each_pair(output_values(sides_.a.model()), output_values(sides_.b.model()),
                [&](const Value& a, const Value& b) { look.claims.push_back({{&a}, {&b}, {}, {}, {}, {}, nullptr}); });
  accept(std::move(look));
}

/// Reports nodes in the form of a different operator version, if the models have different operator sets. Such a node would look the same
/// in both models and mean something else.
void Prover::claim_versions() {
  const auto opset_of = [](const Model& model) { return model.opset(""); };
  if (opset_of(sides_.a.model()) == opset_of(sides_.b.model())) return;
  for (const Side* const side : {&sides_.a, &sides_.b}) {
    for_each_node(side->model(), [&](const Node& node) {
      const auto why = other_version(node);
      if (why) account_.note({{Unexplained::Kind::node_changed, node.name(), node.label() + ": " + *why, 0, 0, side == &sides_.a}, -1});
    });
  }
}

void Prover::settle_all() {
  // Each claim moves upstream in at least one model. Copies of shared values can still multiply claims, in graphs that no exporter writes.
  const auto most = 64 * static_cast<int64_t>(sides_.a.nodes().size() + sides_.b.nodes().size()) + 4096;
  while (!open_.empty()) {
    if (++settled_ > most) {
      account_.note({{Unexplained::Kind::graph, "", "the graphs are too tangled to be compared to the end", 0, 0, false},
                     std::numeric_limits<int64_t>::max()});
      open_.clear();
      return;
    }
    if (settled_ % 256 == 0) check_interrupt();
    Claim claim = std::move(open_.back());
    open_.pop_back();
    settle(std::move(claim));
  }
}

void Prover::settle(Claim claim) {
  claim.a = sides_.a.resolve(claim.a);
  claim.b = sides_.b.resolve(claim.b);
  claim.as_numbers = claim.as_numbers && claim.a && claim.b && !sides_.have_one_type(claim.a, claim.b);
  auto& claimed = claim.as_numbers ? claimed_numbers_ : claimed_;
  if (claim.is_plain() && !claimed.emplace(claim.a, claim.b).second) return;
  const bool is_flat = claim.is_flat && claim.downstream_a.empty() && claim.downstream_b.empty();
  if (is_flat && !claimed_flat_.emplace(claim.a, claim.b).second) return;
  Look look = examine(sides_, claim);
  if (tells_) tell(sides_, claim, look);
  if (hints_.realign && claim.is_plain()) {
    if (auto other = hints_.realign(sides_, claim, look); other && !other->issues.empty()) return accept(std::move(*other));
  }
  const Ref other = look.issues.empty() ? Ref() : namesake(claim);
  if (!other) return accept(std::move(look));
  // The value is not the first model's at this place. It may be the first model's value of the same name.
  const bool plain = claim.is_plain();
  const Claim renamed{other, plain ? claim.b : claim.origin_b, {}, {}, {}, {}, claim.reader};
  const bool is_known = claimed_.contains({renamed.a, renamed.b});
  Look second = is_known ? Look() : examine(sides_, renamed);
  if (!second.issues.empty()) return accept(std::move(look));
  claimed_.emplace(renamed.a, renamed.b);
  second.issues.push_back(issue_of_other_constant(sides_, renamed, plain ? claim.a : claim.origin_a));
  accept(std::move(second));
}

Ref Prover::namesake(const Claim& claim) const {
  const Ref a = claim.is_plain() ? claim.a : claim.origin_a;
  const Ref b = claim.is_plain() ? claim.b : claim.origin_b;
  if (!a || !b || a.value->name() == b.value->name()) return {};
  // If the second model lacks the first one's value altogether, no other value was intended.
  const Value* const found = a.value->graph().find(b.value->name());
  if (found == nullptr || found == a.value || b.value->graph().find(a.value->name()) == nullptr) return {};
  return {found, a.call};
}

void Prover::accept(Look look) {
  std::vector<Claim> claims = account_.accept(sides_, std::move(look));
  for (std::size_t i = claims.size(); i-- > 0;) open_.push_back(std::move(claims[i]));
}

// Nodes, functions and initializers that no output needs, compared by name.

void Prover::claim_leftovers() {
  claim_functions();
  claim_nodes();
  claim_initializers();
}

/// Compares functions that have no callers.
void Prover::claim_functions() {
  for (const auto& function : sides_.b.model().functions()) {
    if (sides_.graph_of_first(*function) != nullptr) continue;
    for (const auto& other : sides_.a.model().functions()) {
      const auto& of_a = *other->function();
      const auto& of_b = *function->function();
      if (of_a.name() != of_b.name() || of_a.domain() != of_b.domain() || of_a.overload() != of_b.overload()) continue;
      Look look;
      pair_graphs(sides_, *other, nullptr, *function, nullptr, look);
      accept(std::move(look));
    }
  }
  settle_all();
}

void Prover::claim_nodes() {
  const std::vector<const Node*>& nodes = sides_.b.nodes();
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const Node& node = *nodes[i];
    const Graph* const graph = sides_.graph_of_first(node.graph());
    if (account_.of_second(node).is_accounted || graph == nullptr) continue;
    const Node* const partner = hints_.partner ? hints_.partner(node) : nullptr;
    for (const Value* output : node.outputs()) {
      if (output == nullptr) continue;
      const Value* const namesake = partner != nullptr ? partner->output(as_size(output->output_index())) : graph->find(output->name());
      const Node* const made = namesake != nullptr ? namesake->producer() : nullptr;
      if (made == nullptr || !same_operator(*made, node)) continue;
      open_.push_back({{namesake}, {output}, {}, {}, {}, {}, &node});
      settle_all();
    }
  }
}

void Prover::claim_initializers() {
  for (const Initializer& initializer : sides_.b.model().graph().initializers()) {
    const Value& value = *initializer.value;
    if (!value.uses().empty() || value.is_output() || value.is_overridable()) continue;
    const Value* const namesake = sides_.a.model().graph().find(value.name());
    if (namesake != nullptr && namesake->initializer() != nullptr) {
      open_.push_back({{namesake}, {&value}, {}, {}, {}, {}, nullptr});
      settle_all();
    } else {
      account_.note({{Unexplained::Kind::tensor, value.name(), "constant " + quote(value.name()) + " was not there, and nothing reads it",
                      0, 0, false},
                     std::numeric_limits<int64_t>::max()});
    }
  }
}

}  // namespace relayout::proof

namespace relayout {
namespace {

/// Lists the model's files, the model file first; digests are filled in later.
void list_files(const Model& model, std::vector<FileDigest>& digests, std::vector<std::shared_ptr<const File>>& files) {
  digests.push_back({model.name(), ""});
  files.push_back(origin_of(model).file);
  std::vector<std::pair<std::string, std::shared_ptr<const File>>> data;
  for (auto& [location, file] : origin_of(model).external_files()) data.emplace_back(location, file);
  std::ranges::sort(data, {}, &std::pair<std::string, std::shared_ptr<const File>>::first);
  for (auto& [location, file] : data) {
    digests.push_back({location, ""});
    files.push_back(std::move(file));
  }
}

}  // namespace

std::string_view to_string(Unexplained::Kind kind) noexcept {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"interface", "weight", "bias", "tensor", "attribute", "operand", "node-added", "node-removed", "node-changed", "graph"});
  return kNames[static_cast<std::size_t>(kind)];
}

ProofResult prove(const Model& a, const Model& b, const ProofOptions& options) {
  ProofResult result = proof::Prover(a, b, options.across_types).run(options);
  if (!options.digests) return result;
  std::vector<std::shared_ptr<const File>> files;
  list_files(a, result.files_a, files);
  list_files(b, result.files_b, files);
  const int threads = threads_or_two(options.threads);
  parallel_for(static_cast<int64_t>(files.size()), threads, [&](int64_t i) {
    const auto at = as_size(i);
    FileDigest& digest = at < result.files_a.size() ? result.files_a[at] : result.files_b[at - result.files_a.size()];
    digest.sha256 = sha256_of(*files[at]);
  });
  return result;
}

}  // namespace relayout
