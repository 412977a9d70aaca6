// Finds nodes by which two models part for numbers that no run had: the rest of their definition was not tried.
#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "ops/loops/dtypes.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/data_structure.h"
#include "verify/elements.h"
#include "verify/feeding.h"
#include "verify/judge.h"
#include "verify/nodes/bounds.h"
#include "verify/nodes/casts_beyond.h"
#include "verify/nodes/changes.h"
#include "verify/nodes/compare_nodes.h"
#include "verify/nodes/edge_operators.h"
#include "verify/nodes/pieces.h"
#include "verify/pair.h"
#include "verify/reference.h"
#include "verify/session.h"

namespace relayout {
namespace {

/// A piece of a node by which the models part, and of which change.
struct Trial {
  Piece piece;
  const Change* change = nullptr;
  bool is_of_a = false;
};

/// The pieces of all changes that are open, and which of them runs have tried.
class Trials {
 public:
  Trials(const Pair& pair, const Reference& reference, const ProofResult& proof) : changes_(pair, proof) {
    const bool is_wide = pair.narrow == DataType::undefined;
    ValueBounds in_a(pair.a.model->graph(), reference.inputs().ports().masks(), reference.inputs().ports().kept_integers());
    ValueBounds in_b(pair.b.model->graph(), reference.inputs().ports().masks(), reference.inputs().ports().kept_integers());
    for (const Change& change : changes_.all()) {
      add(change, in_a, in_b, is_wide);
      casts_.add(change, in_a.types(), in_b.types());
    }
    for (std::size_t i = 0; i < trials_.size(); ++i) by_value_.emplace(trials_[i].piece.watched, i);
  }

  /// Notes which pieces the numbers of a value belong to.
  void watch(const Value& value, const Datum& datum) {
    casts_.watch(value, datum);
    const auto [first, last] = by_value_.equal_range(&value);
    for (auto at = first; at != last; ++at) {
      Piece& piece = trials_[at->second].piece;
      for (const Tensor& tensor : leaves(datum)) {
        if (!piece.is_taken && tensor) piece.is_taken = has_one(tensor, piece);
      }
    }
  }

  /// The first piece that no run has tried; nullptr: none.
  [[nodiscard]] const Trial* find_open() const {
    const auto found = std::ranges::find_if(trials_, [](const Trial& trial) { return !trial.piece.is_taken; });
    return found == trials_.end() ? nullptr : &*found;
  }
  /// The same of each change that has one.
  [[nodiscard]] std::map<const Change*, Trial> open_by_change() const {
    std::map<const Change*, Trial> out;
    for (const Trial& trial : trials_) {
      if (!trial.piece.is_taken) out.emplace(trial.change, trial);
    }
    return out;
  }
  [[nodiscard]] const CastsBeyond& casts() const noexcept { return casts_; }
  /// Whether samples can add to what is known.
  [[nodiscard]] bool are_open() const { return find_open() != nullptr || casts_.any(); }
  [[nodiscard]] const Change* change_of(const LayerResult& layer) const { return changes_.of_b(layer.tensor); }

 private:
  static bool has_one(const Tensor& tensor, const Piece& piece) {
    if (!(kNumericTypes | kBooleanTypes).has(tensor.type())) return false;
    bool found = false;
    for_each_chunk(contiguous(tensor), [&](int64_t, std::span<const double> numbers) {
      found = found || std::ranges::any_of(numbers, [&](double number) { return piece.has(number); });
    });
    return found;
  }

  /// Rules that both models have for the same numbers of the same value are none by which they part.
  void add(const Change& change, ValueBounds& in_a, ValueBounds& in_b, bool is_wide) {
    std::vector<Piece> of_a = all_pieces(change.of_a, in_a, is_wide), of_b = all_pieces(change.of_b, in_b, is_wide);
    std::erase_if(of_a, [&](const Piece& piece) {
      const auto twin = std::ranges::find_if(of_b, [&](const Piece& other) { return is_twin(piece, other); });
      if (twin == of_b.end()) return false;
      of_b.erase(twin);
      return true;
    });
    for (const Piece& piece : of_a) trials_.push_back({piece, &change, true});
    for (const Piece& piece : of_b) trials_.push_back({piece, &change, false});
  }

  static std::vector<Piece> all_pieces(const std::vector<const Node*>& nodes, ValueBounds& bounds, bool is_wide) {
    std::vector<Piece> out;
    for (const Node* const node : nodes) {
      if (follows_test(*node)) continue;  // NaN and infinities are tried by themselves
      for (const Piece& piece : pieces_of(*node, bounds, is_wide)) out.push_back(piece);
    }
    return out;
  }

  static bool is_twin(const Piece& a, const Piece& b) {
    const bool is_result = a.watched == a.node->output(0) || b.watched == b.node->output(0);
    if (is_result || a.above != b.above || a.below != b.below || a.is_point != b.is_point) return false;
    return before_limits(*a.watched)->name() == before_limits(*b.watched)->name();
  }

  Changes changes_;
  std::vector<Trial> trials_;
  CastsBeyond casts_;
  std::unordered_multimap<const Value*, std::size_t> by_value_;
};

/// Runs a model over the samples as it is written.
void run_samples(const Pair& pair, const Side& side, const Reference& reference, Trials& trials) {
  ExecuteOptions options = pair.execute_options(Mode::as_written);
  options.observe = [&](const Node& node, const std::vector<Datum>& outputs) {
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (node.output(k) != nullptr) trials.watch(*node.output(k), outputs[k]);
    }
  };
  const std::unique_ptr<Session> session = pair.open(side, std::move(options));
  for (std::size_t s = 0; s < reference.samples().size() && trials.are_open(); ++s) {
    pair.steps->next("numbers apart");
    const Inputs& inputs = reference.inputs_of(s);
    for (const auto& [name, datum] : inputs) {
      const Value* const input = side.model->graph().find(name);
      if (input != nullptr) trials.watch(*input, datum);
    }
    (void)session->run(inputs);
  }
}

std::string entry_of(const Change& change, const ProofResult& proof) {
  return change.entries.empty() ? "output " + quote(change.b->name()) + " is made in another way"
                                : proof.unexplained[change.entries.front()].text;
}

std::string told_of(const Trial& trial, const ProofResult& proof) {
  const Piece& piece = trial.piece;
  const bool is_result = piece.watched == piece.node->output(0);
  return entry_of(*trial.change, proof) + ", and no sample reaches that: node " + piece.node->label() + " of " +
         (trial.is_of_a ? "A" : "B") + (is_result ? " is never " : " gets no ") + piece.text() +
         " (--samples N makes more, --input gives your own)";
}

std::string told_of(const CastsBeyond::Found& found, const ProofResult& proof) {
  return entry_of(*found.change, proof) + ", and node " + found.cast->label() + " of " + (found.is_of_a ? "A" : "B") +
         " gets numbers beyond " + found.type + ", which ONNX leaves to the implementation";
}

}  // namespace

void judge_untried(const Pair& pair, const Reference& reference, VerifyResult& result) {
  if (result.outcome != Outcome::same || !result.proof || pair.proved) return;
  Trials trials(pair, reference, *result.proof);
  if (trials.are_open()) run_samples(pair, pair.a, reference, trials);
  if (trials.are_open()) run_samples(pair, pair.b, reference, trials);
  if (const CastsBeyond::Found found = trials.casts().find(); found.cast != nullptr) return doubt(result, told_of(found, *result.proof));
  for (const Feeding feeding : {Feeding::near, Feeding::far}) {
    if (trials.find_open() == nullptr) return;
    if (feeding == Feeding::far && pair.narrow != DataType::undefined) break;
    const std::map<const Change*, Trial> open = trials.open_by_change();
    const auto watch = [&](const Value& value, const Datum& datum) { trials.watch(value, datum); };
    for (const LayerResult& layer : compare_nodes(pair, reference, 0, &*result.proof, feeding, watch)) {
      const auto found = open.find(trials.change_of(layer));
      if (found != open.end() && convicts(layer)) return doubt(result, told_of(found->second, *result.proof));
    }
  }
  if (const Trial* const trial = trials.find_open()) doubt(result, told_of(*trial, *result.proof));
}

}  // namespace relayout
