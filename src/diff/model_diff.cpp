// Compares two models by their proof and the hints of the matching, and by what stands outside of nodes and constants.

#include "relayout/model_diff.h"

#include <array>

#include "base/positions.h"
#include "base/text.h"
#include "diff/changes.h"
#include "diff/matching.h"
#include "model/node.h"
#include "proof/account.h"
#include "proof/claim.h"
#include "proof/interface_check.h"
#include "proof/prover.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"

namespace relayout {

namespace {

using proof::Account;
using proof::Issue;
using proof::Side;
using proof::Sides;

DiffSide side_of(const Model& model, const Side& side) {
  return {model.name(), std::ssize(side.nodes()), model.opset("")};
}

bool is_proved(const Account& account) {
  return std::ranges::all_of(account.issues(), [](const Issue& issue) { return issue.what.kind == Unexplained::Kind::interface; });
}

int64_t unexplained(const std::vector<ModelChange>& changes) {
  return std::ranges::count_if(changes, [](const ModelChange& change) { return change.kind != ChangeKind::explained; });
}

std::vector<ModelChange> changes_of_nodes(Sides& sides, const Account& account,
                                          const std::vector<std::pair<const Node*, const Node*>>& equal_nodes,
                                          const std::vector<ChangedPair>& changed_pairs) {
  ListedNodes listed;
  for (const auto& [a, b] : equal_nodes) {
    listed.a.insert(a);
    listed.b.insert(b);
  }
  ChangeList changes(sides, account);
  list_unexplained(sides, account, changed_pairs, listed, changes);
  list_explained(sides, account, listed, changes);
  return changes.take();
}

ModelDiff list_changes(const Model& a, const Model& b, proof::Prover& prover, const Matching* matching) {
  Sides& sides = prover.sides();
  const Account& account = prover.account();
  ModelDiff out;
  out.a = side_of(a, sides.a);
  out.b = side_of(b, sides.b);
  out.changes = diff_interfaces(a, b);
  std::ranges::move(diff_headers(a, b, is_proved(account)), std::back_inserter(out.changes));
  const auto equal_nodes = pair_equal_nodes(sides, account);
  const auto changed_pairs = matching != nullptr ? find_changed_pairs(sides, account, *matching, equal_nodes) : std::vector<ChangedPair>();
  std::ranges::move(changes_of_nodes(sides, account, equal_nodes, changed_pairs), std::back_inserter(out.changes));
  const auto take_pair = [&](const Node& of_a, const Node& of_b) {
    ++out.nodes_equal;
    out.nodes_renamed += of_a.name() != of_b.name() ? 1 : 0;
    out.nodes.push_back({reported_name(of_a), reported_name(of_b)});
  };
  for (const Node* node : sides.b.nodes()) {
    if (const Node* const partner = account.of_second(*node).partner) take_pair(*partner, *node);
  }
  for (const auto& [of_a, of_b] : equal_nodes) take_pair(*of_a, *of_b);
  for (const ModelChange& change : out.changes) {
    const bool is_pair = change.subject == ChangeSubject::node && change.kind == ChangeKind::changed;
    if (is_pair && !change.a.empty() && !change.b.empty()) out.nodes.push_back({change.a, change.b});
  }
  out.is_proved = is_proved(account);
  return out;
}

}  // namespace

std::string_view to_string(ChangeSubject subject) noexcept {
  constexpr auto kNames = std::to_array<std::string_view>({"node", "initializer", "input", "output", "opset", "function", "metadata"});
  return kNames[static_cast<std::size_t>(subject)];
}

std::string_view to_string(ChangeKind kind) noexcept {
  constexpr auto kNames = std::to_array<std::string_view>({"changed", "added", "removed", "explained", "renamed"});
  return kNames[static_cast<std::size_t>(kind)];
}

bool makes_models_differ(ChangeKind kind) noexcept {
  return kind != ChangeKind::renamed;
}

int64_t ModelDiff::count(ChangeKind kind) const noexcept {
  return std::ranges::count(changes, kind, &ModelChange::kind);
}

bool ModelDiff::is_equal() const noexcept {
  return std::ranges::none_of(changes, makes_models_differ, &ModelChange::kind);
}

double ModelDiff::share_in_common() const noexcept {
  std::size_t found = 2 * as_size(nodes_equal);
  for (const ModelChange& change : changes) {
    if (change.subject != ChangeSubject::node || change.kind != ChangeKind::explained) continue;
    found += change.absorbed.size();
    // With unexplained changes left, "accounted" may result from a wrong alignment.
    if (change.a.empty() != change.b.empty() && (is_proved || change.reason != "accounted")) ++found;
  }
  const auto all = static_cast<double>(a.nodes + b.nodes);
  return all > 0 ? std::min(1.0, static_cast<double>(found) / all) : 1;
}

bool ModelDiff::is_related() const noexcept {
  return share_in_common() >= 0.5;
}

namespace {

/// What a proof without hints asks for hints, so that it is repeated only where they change something.
class Questions {
 public:
  [[nodiscard]] proof::Hints recorder() {
    return {[this](Sides&, const proof::Claim& claim, const proof::Look& found) -> std::optional<proof::Look> {
              claims_.push_back({claim.a, claim.b, claim.reader, found.issues.empty()});
              return std::nullopt;
            },
            [this](const Node& node) -> const Node* {
              nodes_.push_back(&node);
              return nullptr;
            }};
  }

  [[nodiscard]] bool have_other_answers(Sides& sides, const Matching& matching) const {
    const auto is_paired = [&](const Node* node) { return matching.partner_of_b(*node) != nullptr; };
    return std::ranges::any_of(nodes_, is_paired) || std::ranges::any_of(claims_, [&](const Asked& asked) {
             proof::Look found;
             if (!asked.holds) found.issues.emplace_back();
             const auto other = realign(sides, matching, {asked.a, asked.b, {}, {}, {}, {}, asked.reader}, found);
             return other && !other->issues.empty();
           });
  }

 private:
  struct Asked {
    proof::Ref a, b;
    const Node* reader;
    bool holds;
  };
  std::vector<Asked> claims_;
  std::vector<const Node*> nodes_;
};

}  // namespace

ModelDiff diff_models(const Model& a, const Model& b) {
  auto plain = std::make_unique<proof::Prover>(a, b);
  Questions questions;
  plain->take_hints(questions.recorder());
  plain->find();
  if (is_proved(plain->account())) return list_changes(a, b, *plain, nullptr);
  // Repeats the proof with hints of the matching about nodes that have no counterpart.
  const auto hinted = std::make_unique<proof::Prover>(a, b);
  const Matching matching(hinted->sides().a, hinted->sides().b);
  ModelDiff out = list_changes(a, b, *plain, &matching);
  if (!questions.have_other_answers(plain->sides(), matching)) return out;
  plain.reset();
  hinted->take_hints(
      {[&](Sides& sides, const proof::Claim& claim, const proof::Look& found) { return realign(sides, matching, claim, found); },
       [&](const Node& node) { return matching.partner_of_b(node); }});
  hinted->find();
  ModelDiff other = list_changes(a, b, *hinted, &matching);
  return unexplained(other.changes) <= unexplained(out.changes) ? other : out;
}

// Lists changes apart from nodes and constants, and tells which of them are explained.
namespace {

using Ports = std::vector<const Value*>;

/// "f32 [N, 3, 224, 224]", with ", with a default" for an input that has one.
std::string type_text(const Value& value) {
  return declared_text(value.info()) + (value.is_overridable() ? ", with a default" : "");
}

class Interface {
 public:
  /// `real`: names of the ports whose contracts differ. Differences of other ports are in their declarations only.
  Interface(ChangeSubject subject, const std::unordered_set<std::string>& real, std::vector<ModelChange>& out)
      : subject_(subject), real_(&real), out_(&out) {}

  void compare(const Ports& a, const Ports& b) {
    std::unordered_map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < b.size(); ++i) places.emplace(b[i]->name(), i);
    std::vector<bool> is_met(b.size(), false);
    Ports gone;
    std::optional<std::size_t> last;
    bool in_order = true;
    for (const Value* port : a) {
      const auto found = places.find(port->name());
      if (found == places.end()) {
        gone.push_back(port);
        continue;
      }
      is_met[found->second] = true;
      in_order = in_order && (!last || *last < found->second);
      last = found->second;
      pair(*port, *b[found->second]);
      places.erase(found);
    }
    pair_by_place(gone, b, is_met);
    if (!in_order) note(ChangeKind::changed, "place", nullptr, nullptr, std::string(to_string(subject_)) + "s are in another order");
  }

 private:
  /// Pairs the remaining ports by place if their numbers and types are equal: only names have changed.
  void pair_by_place(const Ports& gone, const Ports& b, const std::vector<bool>& is_met) {
    Ports fresh;
    for (std::size_t i = 0; i < b.size(); ++i) {
      if (!is_met[i]) fresh.push_back(b[i]);
    }
    const bool is_renamed = std::ranges::equal(
        gone, fresh, {}, [](const Value* port) { return type_text(*port); }, [](const Value* port) { return type_text(*port); });
    if (is_renamed) {
      for (std::size_t i = 0; i < gone.size(); ++i) {
        note(ChangeKind::renamed, "name", gone[i], fresh[i], port_text(*gone[i]) + " is now called " + quote(fresh[i]->name()));
      }
      return;
    }
    for (const Value* port : gone) note(ChangeKind::removed, "interface", port, nullptr, port_text(*port) + " is gone");
    for (const Value* port : fresh) note(ChangeKind::added, "interface", nullptr, port, port_text(*port) + " was not there");
  }

  void pair(const Value& a, const Value& b) {
    const std::string before = type_text(a), after = type_text(b);
    if (before == after) return;
    const bool is_real = real_->contains(b.name());
    note(is_real ? ChangeKind::changed : ChangeKind::explained, is_real ? "type" : "declared", &a, &b,
         port_text(b) + (is_real ? " is " : " is declared as ") + after + ", was " + before);
    out_->back().fields = {{"type", before, after}};
  }

  [[nodiscard]] std::string port_text(const Value& port) const { return std::string(to_string(subject_)) + " " + quote(port.name()); }

  void note(ChangeKind kind, const char* reason, const Value* a, const Value* b, std::string text) {
    ModelChange& change = out_->emplace_back();
    change.kind = kind;
    change.subject = subject_;
    change.reason = reason;
    if (a != nullptr) change.a = a->name();
    if (b != nullptr) change.b = b->name();
    change.text = std::move(text);
  }

  ChangeSubject subject_;
  const std::unordered_set<std::string>* real_;
  std::vector<ModelChange>* out_;
};

Ports outputs_of(const Model& model) {
  return {model.graph().outputs().begin(), model.graph().outputs().end()};
}

/// Texts that are compared key by key.
using Entries = std::map<std::string, std::string>;

struct EntryRules {
  ChangeSubject subject = ChangeSubject::metadata;
  ChangeKind kind = ChangeKind::changed;  ///< of an entry that both models have
  bool is_harmless = false;               ///< every change follows from the proof
  std::string noun;
};

void compare_entries(const Entries& a, const Entries& b, const EntryRules& rules, std::vector<ModelChange>& out) {
  const auto note = [&](ChangeKind kind, const std::string& key, const std::string* before, const std::string* after) {
    const std::string was = before != nullptr ? *before : "", is = after != nullptr ? *after : "";
    ModelChange& change = out.emplace_back();
    change.kind = rules.is_harmless ? ChangeKind::explained : kind;
    change.subject = rules.subject;
    change.reason = rules.is_harmless ? "proved" : rules.subject == ChangeSubject::opset ? "version" : "value";
    if (before != nullptr) change.a = key;
    if (after != nullptr) change.b = key;
    const std::string what = rules.noun + (rules.noun.empty() ? "" : " ") + quote(key);
    change.text = before == nullptr  ? what + " was not there" + (is.empty() ? "" : ": " + quote(is))
                  : after == nullptr ? what + " is gone" + (was.empty() ? "" : ": " + quote(was))
                                     : what + " is " + quote(is) + ", was " + quote(was);
    change.fields = {{key, escape(was), escape(is)}};
  };
  for (const auto& [key, before] : a) {
    const auto after = b.find(key);
    if (after == b.end()) {
      note(ChangeKind::removed, key, &before, nullptr);
    } else if (before != after->second) {
      note(rules.kind, key, &before, &after->second);
    }
  }
  for (const auto& [key, after] : b) {
    if (!a.contains(key)) note(ChangeKind::added, key, nullptr, &after);
  }
}

Entries facts_of(const onnx::ModelProto& model) {
  Entries out = {{"ir_version", std::to_string(model.ir_version())}};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) out.emplace(name, value);
  };
  add("producer_name", model.producer_name());
  add("producer_version", model.producer_version());
  add("domain", model.domain());
  add("doc_string", model.doc_string());
  add("graph doc_string", model.graph().doc_string());
  if (model.model_version() != 0) out.emplace("model_version", std::to_string(model.model_version()));
  return out;
}

template <class List>
Entries metadata_of(const List& properties) {
  Entries out;
  for (const auto& entry : properties) out.insert_or_assign(entry.key(), entry.value());
  return out;
}

Entries opsets_of(const onnx::ModelProto& model) {
  Entries out;
  for (const auto& entry : model.opset_import()) {
    const bool is_default = entry.domain().empty() || entry.domain() == "ai.onnx";
    out.insert_or_assign(is_default ? "ai.onnx" : entry.domain(), std::to_string(entry.version()));
  }
  return out;
}

/// Functions by name; bodies are compared where they are called.
Entries functions_of(const onnx::ModelProto& model) {
  Entries out;
  for (const auto& function : model.functions()) {
    const std::string domain = function.domain().empty() ? "" : function.domain() + ".";
    out.insert_or_assign(domain + function.name() + (function.overload().empty() ? "" : ":" + function.overload()), "");
  }
  return out;
}

}  // namespace

std::vector<ModelChange> diff_interfaces(const Model& a, const Model& b) {
  std::vector<ModelChange> out;
  std::unordered_set<std::string> real;
  for (const Unexplained& difference : proof::compare_interfaces(a, b)) real.insert(difference.name);
  Interface(ChangeSubject::input, real, out).compare(proof::callers_inputs(a), proof::callers_inputs(b));
  Interface(ChangeSubject::output, real, out).compare(outputs_of(a), outputs_of(b));
  return out;
}

std::vector<ModelChange> diff_headers(const Model& a, const Model& b, bool is_proved) {
  std::vector<ModelChange> out;
  const onnx::ModelProto& of_a = a.message();
  const onnx::ModelProto& of_b = b.message();
  const Entries name_a = {{"graph name", of_a.graph().name()}}, name_b = {{"graph name", of_b.graph().name()}};
  compare_entries(name_a, name_b, {.kind = ChangeKind::renamed, .noun = ""}, out);
  compare_entries(facts_of(of_a), facts_of(of_b), {.noun = ""}, out);
  compare_entries(metadata_of(of_a.metadata_props()), metadata_of(of_b.metadata_props()), {.noun = "metadata"}, out);
  compare_entries(metadata_of(of_a.graph().metadata_props()), metadata_of(of_b.graph().metadata_props()), {.noun = "metadata of the graph"},
                  out);
  compare_entries(opsets_of(of_a), opsets_of(of_b), {.subject = ChangeSubject::opset, .is_harmless = is_proved, .noun = "operator set"},
                  out);
  compare_entries(functions_of(of_a), functions_of(of_b),
                  {.subject = ChangeSubject::function, .is_harmless = is_proved, .noun = "function"}, out);
  return out;
}

}  // namespace relayout
