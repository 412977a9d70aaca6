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

/// Findings of a comparison by other means, for the proof to use. Hints decide what an answer of "not proved" says, they
/// cannot make one of "proved".
struct Hints {
  /// Another reading of a plain claim than the one that was found, or nothing.
  std::function<std::optional<Look>(Sides& sides, const Claim& claim, const Look& found)> realign;
  /// The node of the first model that a node of the second stands for, or nullptr.
  std::function<const Node*(const Node& node)> partner;
};

/// The proof: claims about pairs of values, from the graph outputs down. A claim holds when both values are made by the same operator of
/// operands for which claims hold; affines that only one model has are carried along until a linear operator accounts for them.
/// Names are hints (which of several readings to try first), never evidence. A claim that fails is written down and then taken for
/// granted, so that one wrong node shows as one.
class Prover {
 public:
  Prover(const Model& a, const Model& b) : sides_(a, b) {}
  /// Before find(). Only readings with issues may take the place of others.
  void take_hints(Hints hints) { hints_ = std::move(hints); }
  [[nodiscard]] ProofResult run();
  /// Everything but the answer: account() has what there is to say of single nodes and constants.
  void find();
  [[nodiscard]] Sides& sides() noexcept { return sides_; }
  [[nodiscard]] const Account& account() const noexcept { return account_; }

 private:
  void claim_interface();
  void claim_versions();
  void settle_all();
  void settle(Claim claim);
  [[nodiscard]] Ref namesake(const Claim& claim) const;
  void accept(Look look);
  /// leftovers.cpp: what no output of the second model needs is compared with what the first one calls by the same name.
  void claim_leftovers();
  void claim_functions();
  void claim_nodes();
  void claim_initializers();

  Sides sides_;
  Account account_;
  Hints hints_;
  std::vector<Claim> open_;
  std::unordered_set<RefPair, RefPairHash> claimed_, claimed_flat_;
  int64_t settled_ = 0;
};

}  // namespace relayout::proof
