#pragma once

#include <concepts>
#include <functional>
#include <string_view>
#include <utility>

#include "model/node.h"
#include "passes/pass.h"

namespace relayout::passes {

/// The fields of every rewrite that its driver reads.
template <class Rewrite>
concept Rewriting = requires(Rewrite rewrite) {
  { rewrite.taken } -> std::convertible_to<std::vector<const Node*>>;    ///< candidates that it settles, each of which is `done`
  { rewrite.anchors } -> std::convertible_to<std::vector<const Node*>>;  ///< nodes whose neighbours are tried again
  { rewrite.detail } -> std::convertible_to<std::string>;                ///< of the findings
};

/// A match with the type of its rewrite erased.
struct Rewritable {
  std::vector<const Node*> taken;
  std::vector<const Node*> anchors;
  std::string detail;
  std::function<void()> apply;
};
using AnyMatch = std::variant<Rewritable, Skip, NotApplicable>;

/// The loop of the template below.
void rewrite_each(Graph& graph, PassContext& context, const std::function<bool(const Node&)>& is_candidate,
                  const std::function<AnyMatch(const Node&)>& match);

/// Tries every candidate of the graph and of the graphs nested in it, in node order, and applies the rewrites found. Neighbours of a
/// rewrite that were refused before are tried again. Writes one finding per candidate, honours --only, --exclude and the limit of rewrites,
/// and adds pass and node to errors. `match(node, context)` returns Match<Rewrite> and only reads; `apply(rewrite, context)` may not
/// refuse.
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
  explicit FindingSubject(const Node& node) : FindingSubject(node.op_type(), reported_name(node)) {}
};

/// Calls `apply` and counts it as a rewrite, with a finding; an error is extended by pass and subject.
void apply_one(const FindingSubject& subject, PassContext& context, const std::function<void()>& apply);
/// Writes the finding of a refusal.
void refuse_one(const FindingSubject& subject, PassContext& context, Skip skip);

/// Tries one candidate, for passes with another order or with candidates that are not nodes: `match()` returns Match<Rewrite> and only
/// reads, `apply(rewrite)` may not refuse. Does nothing beyond the limit of rewrites. Returns whether something was rewritten.
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
