#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "proof/account.h"
#include "proof/claim.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/model.h"
#include "relayout/proof.h"

namespace relayout::proof {

/// Findings of another kind of comparison for the proof to use. Hints affect the issues of an unproved result. They cannot make a result
/// proved.
struct Hints {
  /// An alternative to the look at a plain claim, or nothing.
  std::function<std::optional<Look>(Sides& sides, const Claim& claim, const Look& found)> realign;
  /// The node of the first model that corresponds to a node of the second, or nullptr.
  std::function<const Node*(const Node& node)> partner;
};

/// The proof: claims about pairs of values, from the graph outputs upstream. A claim holds if the same operator produces both values and
/// claims hold for its operands. Affines that only one model has are carried along until a linear operator absorbs them. Names are hints
/// (which of several readings to try first), never evidence. A failed claim is recorded and then assumed, so that one wrong node gives one
/// issue.
class Prover {
 public:
  /// `across_types`: see ProofOptions.
  Prover(const Model& a, const Model& b, bool across_types = false) : sides_(a, b, across_types) {}
  /// Call before find(). Only readings with issues may replace others.
  void take_hints(Hints hints) { hints_ = std::move(hints); }
  [[nodiscard]] ProofResult run(const ProofOptions& options);
  /// Everything except the result: account() then has the findings about single nodes and constants.
  void find();
  /// Of one model as both, instead of find(): whether the graphs of an If of its main graph give the same results for all inputs.
  [[nodiscard]] bool gives_one_result(const Node& node);
  [[nodiscard]] Sides& sides() noexcept { return sides_; }
  [[nodiscard]] const Account& account() const noexcept { return account_; }

 private:
  void note_overflows();
  void claim_interface();
  void claim_versions();
  void settle_all();
  void settle(Claim claim);
  [[nodiscard]] Ref namesake(const Claim& claim) const;
  void accept(Look look);
  /// Compares values that no output of the second model needs with the first model's values of the same names.
  void claim_leftovers();
  void claim_functions();
  void claim_nodes();
  void claim_initializers();

  Sides sides_;
  Account account_;
  Hints hints_;
  std::vector<Claim> open_;
  std::unordered_set<RefPair, RefPairHash> claimed_, claimed_flat_, claimed_numbers_;
  int64_t settled_ = 0;
  bool tells_ = false;  ///< which rules explained what
};

}  // namespace relayout::proof
