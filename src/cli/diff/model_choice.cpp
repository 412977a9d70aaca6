// Chooses which differences of two models are reported, and which of them fail.
#include <algorithm>
#include <iterator>

#include "cli/common/options.h"
#include "cli/diff/diff.h"

namespace relayout::cli {
namespace {

bool matches(const std::vector<std::string>& patterns, const ModelChange& change) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return (!change.a.empty() && glob_match(pattern, change.a)) || (!change.b.empty() && glob_match(pattern, change.b));
  });
}

bool is_ignored(const ModelChange& change, const std::vector<std::string>& ignore) {
  return std::ranges::find(ignore, to_string(change.kind)) != ignore.end() ||
         std::ranges::find(ignore, to_string(change.subject)) != ignore.end();
}

}  // namespace

int64_t ModelPair::count(ChangeKind kind) const {
  return std::ranges::count_if(changes, [&](const ModelChange* change) { return change->kind == kind; });
}

std::vector<const ModelChange*> ModelPair::first_of(ChangeKind kind, std::size_t most) const {
  std::vector<const ModelChange*> out;
  for (const ModelChange* change : changes) {
    if (change->kind == kind && (most == 0 || out.size() < most)) out.push_back(change);
  }
  return out;
}

bool ModelPair::is_same() const {
  return std::ranges::none_of(changes, makes_models_differ, &ModelChange::kind);
}

ModelPair choose_changes(const ModelDiff& diff, const ModelChoice& choice) {
  const auto fits = [&](const std::string& pattern) {
    return std::ranges::any_of(diff.changes, [&](const ModelChange& change) { return matches({pattern}, change); });
  };
  check_patterns(choice.only, choice.exclude, fits, "difference");
  ModelPair pair{&diff, {}};
  for (const ModelChange& change : diff.changes) {
    const bool chosen = (choice.only.empty() || matches(choice.only, change)) && !matches(choice.exclude, change);
    if (chosen && !is_ignored(change, choice.ignore)) pair.changes.push_back(&change);
  }
  return pair;
}

std::vector<ChangeKind> read_model_gate(const std::vector<std::string>& words, bool exit_code) {
  std::vector<ChangeKind> out;
  if (exit_code) std::ranges::copy_if(kChangeKinds, std::back_inserter(out), makes_models_differ);
  for (const std::string& word : words) {
    const auto kind = std::ranges::find(kChangeKinds, word, [](ChangeKind known) { return to_string(known); });
    if (kind == kChangeKinds.end()) {
      fail(ErrorKind::usage, "--fail-on " + quote(word) + " is none of added, removed, changed, explained, renamed, which models have");
    }
    out.push_back(*kind);
  }
  return out;
}

void check_ignored(const std::vector<std::string>& words) {
  const auto name = [](auto known) { return to_string(known); };
  for (const std::string& word : words) {
    if (std::ranges::find(kChangeKinds, word, name) != kChangeKinds.end() ||
        std::ranges::find(kChangeSubjects, word, name) != kChangeSubjects.end())
      continue;
    std::string names;
    const auto list = [&](const auto& all) {
      for (const auto known : all) names += (names.empty() ? "" : ", ") + std::string(to_string(known));
    };
    list(kChangeKinds);
    list(kChangeSubjects);
    fail(ErrorKind::usage, "--ignore " + quote(word) + " is none of " + names);
  }
}

std::vector<std::string> model_failures(const ModelPair& pair, const std::vector<ChangeKind>& gate) {
  std::vector<std::string> out;
  for (const ModelChange* change : pair.changes) {
    if (std::ranges::find(gate, change->kind) != gate.end()) out.emplace_back(name_of(*change));
  }
  return out;
}

std::string_view name_of(const ModelChange& change) {
  return change.b.empty() ? change.a : change.b;
}

}  // namespace relayout::cli
