#pragma once

#include <concepts>
#include <functional>
#include <string_view>
#include <utility>

#include "passes/match.h"
#include "passes/node_access.h"
#include "passes/pass.h"

namespace relayout::passes {

/// The report of every rewrite to its driver.
template <class Rewrite>
concept Rewriting = requires(Rewrite rewrite) {
  { rewrite.taken } -> std::convertible_to<std::vector<const Node*>>;    ///< candidates it takes up, each of which is `done`
  { rewrite.anchors } -> std::convertible_to<std::vector<const Node*>>;  ///< nodes whose neighbours are looked at again
  { rewrite.detail } -> std::convertible_to<std::string>;                ///< of the findings
};

/// A match whose kind of rewrite is forgotten.
struct Rewritable {
  std::vector<const Node*> taken;
  std::vector<const Node*> anchors;
  std::string detail;
  std::function<void()> apply;
};
using AnyMatch = std::variant<Rewritable, Skip, NotApplicable>;

/// The loop behind rewrite_each.
void rewrite_each(Graph& graph, PassContext& context, const std::function<bool(const Node&)>& is_candidate,
                  const std::function<AnyMatch(const Node&)>& match);

/// Looks at every candidate of the graph and of the graphs nested in it, in node order, and applies what matches; neighbours of a
/// rewrite that were refused before are looked at again. Writes one finding per candidate, honours --only, --exclude and the
/// limit of rewrites, and puts pass and node into errors.
/// `match(node, context)` gives Match<Rewrite> and only reads; `apply(rewrite, context)` may not refuse.
template <class Matcher, class Apply>
void rewrite_each(Graph& graph, PassContext& context, const std::function<bool(const Node&)>& is_candidate, const Matcher& match,
                  const Apply& apply) {
  rewrite_each(graph, context, is_candidate, [&](const Node& node) -> AnyMatch {
    auto found = match(node, context);
    using Rewrite = std::variant_alternative_t<0, decltype(found)>;
    static_assert(Rewriting<Rewrite>);
    if (auto* const skip = std::get_if<Skip>(&found)) return std::move(*skip);
    if (std::holds_alternative<NotApplicable>(found)) return NotApplicable{};
    const auto rewrite = std::make_shared<Rewrite>(std::move(std::get<0>(found)));
    return Rewritable{rewrite->taken, rewrite->anchors, rewrite->detail, [&context, &apply, rewrite] { apply(*rewrite, context); }};
  });
}

/// The subject of a finding: the operator, or another word for its kind, and its name.
struct FindingSubject {
  std::string_view kind, name;
  FindingSubject(std::string_view what, std::string_view which) : kind(what), name(which) {}
  explicit FindingSubject(const Node& node) : FindingSubject(node.op_type(), name_in_findings(node)) {}
};

/// Applies `apply` and counts it as a rewrite, with a finding; an error is told with pass and subject.
void apply_one(const FindingSubject& subject, PassContext& context, const std::function<void()>& apply);
/// Writes the finding of a refusal.
void refuse_one(const FindingSubject& subject, PassContext& context, Skip skip);

/// The same for one candidate, for passes whose order is another or whose candidates are no nodes: `match()` gives Match<Rewrite> and only
/// reads, `apply(rewrite)` may not refuse. Beyond the limit of rewrites nothing is looked at. Whether something was rewritten.
template <class Matcher, class Apply>
bool rewrite_one(const FindingSubject& subject, PassContext& context, const Matcher& match, const Apply& apply) {
  if (!context.may_rewrite()) return false;
  auto found = match();
  if (auto* const skip = std::get_if<Skip>(&found)) refuse_one(subject, context, std::move(*skip));
  if (found.index() != 0) return false;
  apply_one(subject, context, [&] { apply(std::get<0>(found)); });
  return true;
}

}  // namespace relayout::passes
