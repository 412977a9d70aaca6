#pragma once

#include <compare>
#include <limits>
#include <map>
#include <set>

#include "ops/constants.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {

/// The largest relative difference between two guards that count as one.
using GuardTolerance = std::function<double(double guard)>;
/// Within the fourth root of 2: rounding to a narrow type changes guards a little.
[[nodiscard]] double rough_tolerance(double guard) noexcept;

/// Whether a node leaves the finite numbers, or changes without limit, where an operand is at the edge of its domain: a division by 0, a
/// logarithm of 0.
[[nodiscard]] bool has_edge(const Node& node);

/// What keeps an operand from the edge of a node's domain: numbers; without one, the operator that computes the operand.
struct Guards {
  std::vector<double> numbers;
  std::string operator_type;
  auto operator<=>(const Guards&) const = default;

  [[nodiscard]] bool is_like(const Guards& other, const GuardTolerance& tolerance) const;
};

/// The way upstream from the operand of a node with an edge: over guards, and over nodes that keep 0 or come to their edge with it.
struct GuardedWay {
  const Node* edge = nullptr;
  Guards guards;
  const Node* adds = nullptr;                              ///< the last guard; nullptr: none
  double least = std::numeric_limits<double>::infinity();  ///< the smallest guard
  std::vector<const Value*> values;                        ///< the operand, and what it is computed from
  const Node* difference = nullptr;                        ///< makes the last value: a variance as E[x²] − E[x]²
  std::size_t unguarded = 0;                               ///< index of the first value upstream of all small guards
  std::string form;                                        ///< upstream: r for a root, + for a number that is added, m for a least one
};

/// The ways of all operands with an edge in a model.
class GuardedWays {
 public:
  explicit GuardedWays(const Model& model);
  [[nodiscard]] const GuardedWay* of(const Node* edge) const;
  [[nodiscard]] double least_guard() const noexcept { return least_; }  ///< infinite: there is none
  /// The number of variances as E[x²] − E[x]² on the ways.
  [[nodiscard]] std::size_t count_differences() const noexcept { return differences_.size(); }
  /// A node with guards that no node of the other model has; nullptr: none.
  [[nodiscard]] const Node* first_alone(const GuardedWays& others, const GuardTolerance& tolerance) const;
  /// Whether one of two models has numbers as guards that the other one has not, or at other places.
  [[nodiscard]] bool has_other_numbers(const GuardedWays& others, const GuardTolerance& tolerance) const;

 private:
  using Guarded = std::multimap<Guards, const GuardedWay*>;
  [[nodiscard]] Guarded::const_iterator find_alone(const GuardedWays& others, const GuardTolerance& tolerance, bool by_numbers) const;

  std::unordered_map<const Node*, GuardedWay> ways_;
  Guarded guarded_;                   ///< each operand once
  std::multiset<std::string> forms_;  ///< of operands with numbers as guards that are on no other way
  std::set<const Node*> differences_;
  double least_ = std::numeric_limits<double>::infinity();
};

/// Where two ways that differ in their guards may both be at 0: a value of either model that may be any number, upstream of the guards.
struct Bases {
  const Value *a = nullptr, *b = nullptr;  ///< nullptr: there is none
  bool are_held = false;                   ///< one model's bias there may hold the guard of the other
};
[[nodiscard]] Bases bases_of(const GuardedWay& a, const GuardedWay& b, Constants& constants);

/// Whether a value may be any number: a linear operator's result, or an input, shifted by constants that are no guards, with `scaled` also
/// scaled.
[[nodiscard]] bool may_be_any_number(const Value& made, bool scaled, Constants& constants);

}  // namespace relayout
