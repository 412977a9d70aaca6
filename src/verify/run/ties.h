#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/run/session.h"

namespace relayout {

struct Pair;

/// The node whose choice among nearly equal numbers an exact output shows: ArgMax, TopK, a comparison, a rounding, NonMaxSuppression.
struct Decider {
  const Node* node = nullptr;
  int output = 0;
};
/// Searched for upstream through operators that keep elements in order; nullopt if the output shows no such choice.
[[nodiscard]] std::optional<Decider> decider_of(const Value& output);

/// Operand of a decider in one sample of the reference.
struct DeciderOperand {
  Tensor value;            ///< empty: absent
  double tolerance = 0;    ///< largest distance between two correct evaluations of it; 0 for inputs and constants
  double share_below = 0;  ///< of a quantizer: the candidate rounds each element minus this share of itself
};

/// Whether each element in which two results of the decider differ could as well have been decided the other way.
struct TieVerdict {
  bool explained = false;
  int64_t ties = 0;  ///< elements (NonMaxSuppression: boxes) that differ
  std::string text;  ///< of the first tie, or of the first element that no tie explains
};
[[nodiscard]] TieVerdict explain_ties(const Decider& decider, const std::vector<DeciderOperand>& operands, const Tensor& reference,
                                      const Tensor& candidate);

/// The operands of a decider in a run of a over one sample, with their tolerances from `draws` runs with moved weights (in a quantized
/// model, moved inputs and dequantized values too): by ULPs of the pair's grain if b computes in that coarser type.
[[nodiscard]] std::vector<DeciderOperand> decider_operands(const Pair& pair, const Decider& decider, const std::function<Inputs()>& inputs,
                                                           int draws);

/// Counts differing elements that rounding may have decided, and keeps the text about the first.
class TieCount {
 public:
  void tie(const std::string& text) {
    if (ties_++ == 0) first_tie_ = text;
  }
  void unexplained(const std::string& text) {
    if (unexplained_.empty()) unexplained_ = text;
  }
  /// A tie if two numbers are at most `tolerance` apart, as rounding may be; otherwise an element that no tie explains.
  void weigh(double x, double y, double tolerance, const char* what);
  [[nodiscard]] TieVerdict verdict() const {
    return {unexplained_.empty() && ties_ > 0, ties_, unexplained_.empty() ? first_tie_ : unexplained_};
  }

 private:
  int64_t ties_ = 0;
  std::string first_tie_, unexplained_;
};

/// "scores 0.51 and 0.52 are 0.01 apart, rounding may be 1.0e-05"
[[nodiscard]] std::string competitors(const char* what, double x, double y, double tolerance);

/// Operands by which a decider decided.
class DeciderOperands {
 public:
  explicit DeciderOperands(const std::vector<DeciderOperand>& all) : all_(&all) {}
  /// Has no value if it is absent.
  [[nodiscard]] const DeciderOperand& operator[](std::size_t i) const;
  /// nullopt if it is absent or not of real numbers.
  [[nodiscard]] std::optional<std::vector<double>> numbers(std::size_t i) const;
  [[nodiscard]] double scalar(std::size_t i, double otherwise) const;

 private:
  const std::vector<DeciderOperand>* all_;
};

/// Explains boxes that only one of two results of a NonMaxSuppression keeps.
[[nodiscard]] TieVerdict explain_boxes(const Node& node, const std::vector<DeciderOperand>& operands, const Tensor& reference,
                                       const Tensor& candidate);

}  // namespace relayout
