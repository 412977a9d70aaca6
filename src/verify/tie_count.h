#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "relayout/tensor.h"
#include "verify/ties.h"

namespace relayout {

/// Counts elements that differ as rounding may have decided them, and remembers what to say of the first.
class TieCount {
 public:
  void tie(const std::string& text) {
    if (ties_++ == 0) first_tie_ = text;
  }
  void unexplained(const std::string& text) {
    if (unexplained_.empty()) unexplained_ = text;
  }
  /// A tie of two numbers that are no further apart than this, which rounding may be; else an element that no tie explains.
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

[[nodiscard]] std::vector<double> doubles_of(const Tensor& tensor);

/// Scores that a decider decided by.
class DeciderOperands {
 public:
  explicit DeciderOperands(const std::vector<DeciderOperand>& all) : all_(&all) {}
  /// One without a value where it is absent.
  [[nodiscard]] const DeciderOperand& operator[](std::size_t i) const;
  /// Nothing where it is absent or not of real numbers.
  [[nodiscard]] std::optional<std::vector<double>> numbers(std::size_t i) const;
  [[nodiscard]] double scalar(std::size_t i, double otherwise) const;

 private:
  const std::vector<DeciderOperand>* all_;
};

}  // namespace relayout
