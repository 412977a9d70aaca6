#pragma once

#include <concepts>
#include <functional>
#include <utility>

#include "passes/pass.h"

namespace relayout {

/// What every rewrite tells its driver.
template <class Rewrite>
concept Rewriting = requires(Rewrite rewrite) {
  { rewrite.taken } -> std::convertible_to<std::vector<Node*>>;    ///< candidates it takes up, each of which is `done`
  { rewrite.anchors } -> std::convertible_to<std::vector<Node*>>;  ///< nodes whose neighbours are looked at again
  { rewrite.detail } -> std::convertible_to<std::string>;          ///< of the findings
};

/// A match whose kind of rewrite is forgotten.
struct Rewritable {
  std::vector<Node*> taken;
  std::vector<Node*> anchors;
  std::string detail;
  std::function<void()> apply;
};
using AnyMatch = std::variant<Rewritable, Skip, NotApplicable>;

/// The loop behind rewrite_each.
void rewrite_each(Graph& graph, PassContext& context, const std::function<bool(const Node&)>& is_candidate,
                  const std::function<AnyMatch(Node&)>& match);

/// Looks at every candidate of the graph and of the graphs nested in it, in node order, and applies what matches; neighbours of a
/// rewrite that were refused before are looked at again. Writes one finding per candidate, honours --only, --exclude and the
/// limit of rewrites, and puts pass and node into errors.
/// `match(node, context)` gives Match<Rewrite> and only reads; `apply(rewrite, context)` may not refuse.
template <class Matcher, class Apply>
void rewrite_each(Graph& graph, PassContext& context, const std::function<bool(const Node&)>& is_candidate, const Matcher& match,
                  const Apply& apply) {
  rewrite_each(graph, context, is_candidate, [&](Node& node) -> AnyMatch {
    auto found = match(node, context);
    using Rewrite = std::variant_alternative_t<0, decltype(found)>;
    static_assert(Rewriting<Rewrite>);
    if (auto* const skip = std::get_if<Skip>(&found)) return std::move(*skip);
    if (std::holds_alternative<NotApplicable>(found)) return NotApplicable{};
    const auto rewrite = std::make_shared<Rewrite>(std::move(std::get<0>(found)));
    return Rewritable{rewrite->taken, rewrite->anchors, rewrite->detail, [&context, &apply, rewrite] { apply(*rewrite, context); }};
  });
}

}  // namespace relayout
