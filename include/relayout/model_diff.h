#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace relayout {

class Model;

/// The subject of a change.
enum class ChangeSubject : uint8_t { node, initializer, input, output, opset, function, metadata };
[[nodiscard]] std::string_view to_string(ChangeSubject subject) noexcept;

enum class ChangeKind : uint8_t {
  changed,    ///< in both models, and not the same
  added,      ///< only the second model has it
  removed,    ///< only the first model has it
  explained,  ///< the files are different and compute the same: why follows from their bytes alone
  renamed,    ///< an input or output, or the graph: the same under another name
};
[[nodiscard]] std::string_view to_string(ChangeKind kind) noexcept;

/// A part of a change: an attribute, a type, dims.
struct ChangedField {
  std::string name;
  std::string before, after;  ///< printable; empty where it is not there
};

/// One difference between two models.
struct ModelChange {
  ChangeKind kind = ChangeKind::changed;
  ChangeSubject subject = ChangeSubject::node;
  /// What happened, as a word for programs: "folded", "permuted", "identity", "constant", "evaluated", "dead", "inlined", "accounted" of
  /// what is explained; of others the kinds of Unexplained ("attribute", "operand", …), "name", "type", "version", "value".
  std::string reason;
  std::string a, b;                   ///< names in both models, as in the files; empty where only the other one has it
  std::string op_type;                ///< of nodes
  std::string text;                   ///< one printable line that says it all
  std::vector<std::string> absorbed;  ///< nodes of the first model that went into this one
  std::vector<ChangedField> fields;
  int64_t values = 0;                                ///< elements that differ
  std::optional<double> max_absolute, max_relative;  ///< of those; relative to the first model's value
  std::optional<double> ulp;                         ///< of folds: how far constants are at most from what was recomputed
};

/// One of the two models.
struct DiffSide {
  std::string path;
  int64_t nodes = 0;  ///< with those of nested graphs and functions
  int64_t opset = 0;  ///< of the default domain
};

/// Two nodes that stand for each other, by their names, or by those of their first outputs where they have none.
struct NodePair {
  std::string a, b;
};

/// The differences of two models.
struct ModelDiff {
  DiffSide a, b;
  std::vector<ModelChange> changes;  ///< interface and metadata first, then nodes and their constants in the order of the graph
  int64_t nodes_equal = 0;           ///< pairs of the same operator with the same attributes
  int64_t nodes_renamed = 0;         ///< of those: under another name
  std::vector<NodePair> nodes;       ///< those pairs, and those that changed, the former in the order of the second model
  bool is_proved = false;            ///< no node and no constant is changed, added or removed
  [[nodiscard]] int64_t count(ChangeKind kind) const noexcept;
  /// Nothing but names differs.
  [[nodiscard]] bool is_equal() const noexcept;
  /// Part of both models' nodes that have a counterpart, or something in the other model that accounts for them: 1 of two that are equal.
  [[nodiscard]] double share_in_common() const noexcept;
  /// Whether that is half of them at least, so that what is not can be called a change.
  [[nodiscard]] bool is_related() const noexcept { return share_in_common() >= 0.5; }
};

/// Compares two models without running them. Nodes belong together by what they compute, then by name and by what is around them; names
/// alone are no difference. What the proof of proof.h accounts for is explained, everything else is changed, added or removed.
/// Payloads are read in pieces; no model is ever held whole. Errors: io, invalid (a payload cannot be read), interrupted.
[[nodiscard]] ModelDiff diff_models(const Model& a, const Model& b);

}  // namespace relayout
