#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ops/constants.h"
#include "relayout/graph.h"

namespace relayout {

/// A size that need not be known: a number times unknown ones.
struct SizeTerm {
  /// A dim of a value, or an element of a small one.
  struct Unknown {
    const Value* value = nullptr;
    int64_t index = 0;
    bool is_dim = true;
    auto operator<=>(const Unknown&) const = default;
  };
  int64_t factor = 1;
  std::vector<Unknown> unknowns = {};  ///< sorted

  [[nodiscard]] bool is_number() const noexcept { return unknowns.empty(); }
  /// Whether it is a product of dims, which is never negative.
  [[nodiscard]] bool is_size() const;
  bool operator==(const SizeTerm&) const = default;
};

using SizeTermList = std::vector<SizeTerm>;

/// Nothing when the product does not fit.
[[nodiscard]] std::optional<SizeTerm> times(const SizeTerm& a, const SizeTerm& b);
/// a / b where the division leaves nothing over, whatever the unknown sizes are; nothing otherwise.
[[nodiscard]] std::optional<SizeTerm> quotient(const SizeTerm& a, const SizeTerm& b);

/// Traces sizes to the values that decide them. Two sizes with one term are equal in every run that succeeds; equal sizes may have
/// different terms. The dims of an input of the main graph with the name of a dim are one size. Answers are remembered by value.
class SizeTerms {
 public:
  explicit SizeTerms(Constants& constants) : constants_(constants) {}
  /// One term for each dim; nothing when the rank is not certain.
  [[nodiscard]] const std::optional<SizeTermList>& dims(const Value& value) { return answer(value).dims; }
  /// The elements of a small tensor of whole numbers or conditions, in row-major order; nothing for other values.
  [[nodiscard]] const std::optional<SizeTermList>& contents(const Value& value) { return answer(value).contents; }
  /// The entries of a Reshape's request as terms: −1 for one that takes the rest. Nothing unless all are known.
  [[nodiscard]] std::optional<SizeTermList> request(const Node& reshape);
  void forget(const Value& value) { answers_.erase(&value); }

 private:
  struct Answer {
    std::optional<SizeTermList> dims, contents;
  };
  class Rules;
  const Answer& answer(const Value& value);
  [[nodiscard]] Answer look_at(const Value& value);

  Constants& constants_;
  std::unordered_map<const Value*, Answer> answers_;
};

}  // namespace relayout
