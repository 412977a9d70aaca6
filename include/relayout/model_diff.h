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
  changed,    ///< in both models, but different
  added,      ///< only in the second model
  removed,    ///< only in the first model
  explained,  ///< the files differ here but compute the same, as shown from their bytes alone
  renamed,    ///< the same input, output or graph under a different name
};
[[nodiscard]] std::string_view to_string(ChangeKind kind) noexcept;
/// Whether models with such a change are not the same: all but another name.
[[nodiscard]] bool makes_models_differ(ChangeKind kind) noexcept;

/// A part of a change: an attribute, a type, dims.
struct ChangedField {
  std::string name;
  std::string before, after;  ///< printable; empty where the field is absent
};

/// One difference between two models.
struct ModelChange {
  ChangeKind kind = ChangeKind::changed;
  ChangeSubject subject = ChangeSubject::node;
  /// Machine-readable reason. Of explained changes: "folded", "permuted", "identity", "constant", "evaluated", "dead", "inlined",
  /// "accounted". Of others: the kinds of Unexplained ("attribute", "operand", …), "name", "type", "version", "value".
  std::string reason;
  std::string a, b;                   ///< names in both models, as in the files; empty for a model without the subject
  std::string op_type;                ///< operator, if the subject is a node
  std::string text;                   ///< a complete description in one printable line
  std::vector<std::string> absorbed;  ///< nodes of the first model that this one absorbed
  std::vector<ChangedField> fields;
  int64_t values = 0;                                ///< number of elements that differ
  std::optional<double> max_absolute, max_relative;  ///< largest differences of these; relative to the first model's value
  std::optional<double> ulp;                         ///< for folds: largest distance of a constant from the recomputed one
};

/// One of the two models.
struct DiffSide {
  std::string path;
  int64_t nodes = 0;  ///< number of nodes, those of nested graphs and functions included
  int64_t opset = 0;  ///< version of the default domain
};

/// Two corresponding nodes, by name, or by the name of the first output for nodes without a name.
struct NodePair {
  std::string a, b;
};

/// The differences of two models.
struct ModelDiff {
  DiffSide a, b;
  std::vector<ModelChange> changes;  ///< interface and metadata first, then nodes and their constants in the order of the graph
  int64_t nodes_equal = 0;           ///< pairs of the same operator with the same attributes
  int64_t nodes_renamed = 0;         ///< pairs among these with different names
  std::vector<NodePair> nodes;       ///< these pairs in the order of the second model, and the changed pairs
  bool is_proved = false;            ///< no node and no constant is changed, added or removed
  [[nodiscard]] int64_t count(ChangeKind kind) const noexcept;
  /// Nothing but names differs.
  [[nodiscard]] bool is_equal() const noexcept;
  /// Share of both models' nodes that have a counterpart in the other model or are accounted for by it; 1 for equal models.
  [[nodiscard]] double share_in_common() const noexcept;
  /// Whether the share in common is at least half, so that the remainder can be called a change.
  [[nodiscard]] bool is_related() const noexcept;
};

/// Compares two models without running them. Nodes are paired by the function that they compute, then by name and neighbourhood; a
/// difference in names alone is none. Differences that the proof of proof.h accounts for are explained, all others are changed, added or
/// removed. Payloads are read in pieces; no model is ever held whole in memory. Errors: io, invalid (a payload cannot be read),
/// interrupted.
[[nodiscard]] ModelDiff diff_models(const Model& a, const Model& b);

}  // namespace relayout
