#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/model_diff.h"

namespace relayout::cli {

/// In the order of reports.
inline constexpr std::array kChangeKinds = {ChangeKind::changed, ChangeKind::removed, ChangeKind::added, ChangeKind::explained,
                                            ChangeKind::renamed};
inline constexpr std::array kChangeSubjects = {ChangeSubject::node,    ChangeSubject::initializer, ChangeSubject::input,
                                               ChangeSubject::output,  ChangeSubject::opset,       ChangeSubject::function,
                                               ChangeSubject::metadata};

/// Which changes of a model are reported.
struct ModelChoice {
  std::size_t top = 0;                     ///< lines per kind; 0: all
  std::vector<std::string> only, exclude;  ///< patterns of names
  std::vector<std::string> ignore;         ///< kinds and subjects of changes to ignore
};

/// Two models and the selected changes between them.
struct ModelPair {
  const ModelDiff* diff = nullptr;
  std::vector<const ModelChange*> changes;
  [[nodiscard]] int64_t count(ChangeKind kind) const;
  /// The first `most` changes of a kind (0: all).
  [[nodiscard]] std::vector<const ModelChange*> first_of(ChangeKind kind, std::size_t most) const;
  /// Nothing but names differs.
  [[nodiscard]] bool is_same() const;
};

/// Error{usage} when a pattern matches nothing.
[[nodiscard]] ModelPair choose_changes(const ModelDiff& diff, const ModelChoice& choice);
/// Reads "added,removed,changed,explained,renamed" of --fail-on; all but the last for --exit-code. Error{usage} for anything else.
[[nodiscard]] std::vector<ChangeKind> read_model_gate(const std::vector<std::string>& words, bool exit_code);
/// Error{usage} for a word of --ignore that is neither a kind nor a subject of a change.
void check_ignored(const std::vector<std::string>& words);
/// Names of changes that fail the gate.
[[nodiscard]] std::vector<std::string> model_failures(const ModelPair& pair, const std::vector<ChangeKind>& gate);
/// The name in the second model, or in the first where the second has none.
[[nodiscard]] std::string_view name_of(const ModelChange& change);

}  // namespace relayout::cli
