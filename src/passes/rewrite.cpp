// Runs a pass over its candidates, tries a rewrite's neighbours again, and orders what was found.

#include "passes/rewrite.h"

#include "base/interrupt.h"
#include "base/text.h"
#include "model/node.h"
#include "model/walk.h"
#include "passes/pass.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/graph.h"

namespace relayout::passes {
namespace {

class Driver {
 public:
  Driver(PassContext& context, const std::function<bool(const Node&)>& is_candidate, const std::function<AnyMatch(const Node&)>& match)
      : context_(context), is_candidate_(is_candidate), match_(match) {}

  void run(Graph& graph) {
    context_.skipped.clear();
    collect(graph);
    for (std::size_t i = 0; i < candidates_.size(); ++i) look_at(i);
    while (!again_.empty()) {
      const std::size_t next = again_.front();
      again_.pop_front();
      look_at(next);
    }
    sort_findings();
    for (Finding& finding : beside_) context_.findings.push_back(std::move(finding));
    context_.skipped.clear();
  }

 private:
  /// A node to be matched. Most candidates of a large model get no finding.
  struct Candidate {
    static constexpr std::size_t kNoFinding = static_cast<std::size_t>(-1);
    const Node* node;
    std::unique_ptr<const std::string> output = nullptr;  ///< the name in findings if the node has none: a rewrite may take it
    std::size_t finding = kNoFinding;                     ///< its place among the findings
    bool is_seen = false;
    [[nodiscard]] bool has_finding() const noexcept { return finding != kNoFinding; }
  };

  struct Number {
    const Node* node;
    std::size_t number;
  };

  void collect(const Graph& graph) {
    for_each_node(graph, [&](const Node& node) {
      if (!is_candidate_(node)) return;
      numbers_.push_back({&node, candidates_.size()});
      std::unique_ptr<const std::string> output;
      if (node.name().empty()) output = std::make_unique<const std::string>(reported_name(node));
      candidates_.push_back({&node, std::move(output)});
    });
    std::ranges::sort(numbers_, std::less(), &Number::node);
  }

  /// The number of a candidate; nothing for other nodes.
  [[nodiscard]] std::optional<std::size_t> number_of(const Node* node) const {
    const auto found = std::ranges::lower_bound(numbers_, node, std::less(), &Number::node);
    return found != numbers_.end() && found->node == node ? std::optional(found->number) : std::nullopt;
  }

  Finding& finding_of(const Candidate& candidate) { return context_.findings[candidate.finding]; }

  /// Sorts this pass's findings, which were added as their candidates were settled, into the order of candidates; in place, because there
  /// may be many.
  void sort_findings() {
    std::vector<std::size_t> wanted;  // index of the finding that belongs at each place
    for (const Candidate& candidate : candidates_) {
      if (candidate.has_finding()) wanted.push_back(candidate.finding);
    }
    const std::size_t first = context_.findings.size() - wanted.size();
    const auto at = [&](std::size_t place) -> Finding& { return context_.findings[first + place]; };
    for (std::size_t start = 0; start < wanted.size(); ++start) {
      std::size_t place = start;
      while (wanted[place] != first + start) {
        const std::size_t from = std::exchange(wanted[place], first + place) - first;
        std::swap(at(place), at(from));
        place = from;
      }
      wanted[place] = first + place;
    }
  }

  /// The finding about a candidate, added if it has none, under the name that the node had when it was collected.
  Finding& finding_for(Candidate& candidate) {
    if (!candidate.has_finding()) {
      candidate.finding = context_.findings.size();
      const Node& node = *candidate.node;
      context_.findings.push_back({std::string(context_.pass), node.op_type(), candidate.output ? *candidate.output : node.name()});
    }
    return finding_of(candidate);
  }

  void look_at(std::size_t number) {
    const Node& node = *candidates_[number].node;
    const bool is_settled = candidates_[number].has_finding() && finding_of(candidates_[number]).verdict != Verdict::skipped;
    if (node.erased() || is_settled || !context_.may_rewrite()) return;
    check_interrupt();
    candidates_[number].is_seen = true;
    std::string label;
    try {
      AnyMatch found = match_(node);
      // A node that is not applicable is not reported as excluded either.
      if (is_excluded(node, context_.options) && !std::holds_alternative<NotApplicable>(found)) found = Skip{Reason::excluded, {}};
      context_.skipped.erase(&node);
      if (auto* const skip = std::get_if<Skip>(&found)) {
        refuse(number, *skip);
      } else if (auto* const rewritable = std::get_if<Rewritable>(&found)) {
        label = node.label();  // a rewrite may take the node's outputs
        rewrite(*rewritable);
      }
    } catch (const Error& error) {
      const std::string place = std::string(context_.pass) + " at node " + (label.empty() ? node.label() : label);
      fail(error.kind(), place + ": " + error.what(), error.hint());
    }
  }

  void refuse(std::size_t number, const Skip& skip) {
    Candidate& candidate = candidates_[number];
    Finding& finding = finding_for(candidate);
    finding.verdict = skip.verdict;
    finding.reason = skip.reason;
    finding.detail = skip.detail;
    if (skip.verdict == Verdict::skipped) context_.skipped.insert_or_assign(candidate.node, skip);
  }

  void rewrite(const Rewritable& rewritable) {
    for (const Node* taken : rewritable.taken) {
      const auto number = number_of(taken);
      if (!number) {
        // A candidate of another pass that this rewrite absorbs.
        beside_.push_back(
            {std::string(context_.pass), taken->op_type(), reported_name(*taken), Verdict::done, Reason::count_, rewritable.detail});
        continue;
      }
      Finding& finding = finding_for(candidates_[*number]);
      finding.verdict = Verdict::done;
      finding.reason = Reason::count_;
      finding.detail = rewritable.detail;
      context_.skipped.erase(taken);
    }
    ++context_.rewrites;
    rewritable.apply();
    for (const Node* anchor : rewritable.anchors) look_around(*anchor);
  }

  /// Retries the candidates next to a rewritten node, as their obstacle may be gone: readers that were refused, and all that were looked
  /// at upstream.
  void look_around(const Node& anchor) {
    for (const Value* output : anchor.outputs()) {
      if (output == nullptr) continue;
      for (const Use& use : output->uses()) {
        if (context_.skipped.contains(use.node)) again_.push_back(number_of(use.node).value());
      }
    }
    for (const Value* input : anchor.inputs()) {
      const auto number = input != nullptr ? number_of(input->producer()) : std::nullopt;
      if (number && candidates_[*number].is_seen) again_.push_back(*number);
    }
  }

  PassContext& context_;
  const std::function<bool(const Node&)>& is_candidate_;
  const std::function<AnyMatch(const Node&)>& match_;
  std::vector<Candidate> candidates_;
  Findings beside_;                ///< about candidates of other passes
  std::vector<Number> numbers_;    ///< of candidates_, by node
  std::deque<std::size_t> again_;  ///< finite: only a rewrite adds to it, and each rewrite settles a candidate
};

}  // namespace

void rewrite_each(Graph& graph, PassContext& context, const std::function<bool(const Node&)>& is_candidate,
                  const std::function<AnyMatch(const Node&)>& match) {
  Driver(context, is_candidate, match).run(graph);
}

void apply_one(const FindingSubject& subject, PassContext& context, const std::function<void()>& apply) {
  Finding finding{std::string(context.pass), std::string(subject.kind), std::string(subject.name)};  // a rewrite may take the name
  try {
    apply();
  } catch (const Error& error) {
    fail(error.kind(), finding.pass + " at " + finding.op_type + " " + quote(finding.node) + ": " + error.what(), error.hint());
  }
  ++context.rewrites;
  context.findings.push_back(std::move(finding));
}

void refuse_one(const FindingSubject& subject, PassContext& context, Skip skip) {
  context.findings.push_back(
      {std::string(context.pass), std::string(subject.kind), std::string(subject.name), skip.verdict, skip.reason, std::move(skip.detail)});
}

}  // namespace relayout::passes
