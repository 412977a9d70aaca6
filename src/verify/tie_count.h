#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "relayout/tensor.h"
#include "verify/ties.h"

namespace relayout {

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

}  // namespace relayout
