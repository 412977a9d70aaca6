// Which of several obstacles to a rewrite is reported: the first in the order of Reason in include/relayout/findings.h.

#pragma once

#include <optional>
#include <string>
#include <utility>

#include "passes/match.h"
#include "passes/pass.h"

namespace relayout::passes {

/// The obstacle to one rewrite. Of several, the first in the order of Reason is reported.
class Obstacles {
 public:
  void note(Skip skip) {
    if (!first_ || skip.reason < first_->reason) first_ = std::move(skip);
  }
  void note(Reason reason, std::string detail) { note(Skip{reason, std::move(detail)}); }
  void note(const Obstacles& others) {
    if (others.first_) note(*others.first_);
  }
  [[nodiscard]] bool any() const noexcept { return first_.has_value(); }
  /// any() must hold.
  [[nodiscard]] const Skip& first() const { return *first_; }

 private:
  std::optional<Skip> first_;
};

}  // namespace relayout::passes
