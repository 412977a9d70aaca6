#pragma once

#include "relayout/execute.h"
#include "relayout/verify.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/noise.h"
#include "verify/run/reference.h"
#include "verify/run/session.h"

namespace relayout {

/// Distance between correct evaluations of the original, per output and sample, relative to the range of that sample alone.
class Floors {
 public:
  /// An output of the original that is far from its double-precision value.
  struct Suspicion {
    std::size_t output, sample;
    double error;  ///< over the range
  };

  Floors(const Pair& pair, const Reference& reference);

  /// Measures the samples that have no floor yet: one rounding, and the first draws. If the pair is not proved and a floor is not that of a
  /// healthy network, also the other draws of a full floor.
  void measure();
  /// Makes the draws of a full floor that measure() left out. Returns whether there were any.
  bool complete();
  /// Makes more draws for all samples: thresholds::kMoreDraws in any case, and as many as an output of this size needs for a firm floor.
  void firm_up(int64_t fewest_elements);
  /// Widens the floors of the samples [first, last) by the distance of the double-precision reference, where that is affordable.
  void join_reference(std::size_t first, std::size_t last);

  [[nodiscard]] const Floor& of(std::size_t output, std::size_t sample) const { return floors_[output][sample]; }
  [[nodiscard]] bool is_ill_conditioned(std::size_t output, std::size_t sample) const;
  /// Whether every floor is that of a healthy network.
  [[nodiscard]] bool are_healthy() const;
  /// Number of well-conditioned samples of the output with the fewest; outputs that are compared exactly are always well-conditioned.
  [[nodiscard]] int well_conditioned() const;
  [[nodiscard]] bool has_reference(std::size_t sample) const { return joined_[sample]; }
  [[nodiscard]] const std::vector<Suspicion>& suspicions() const noexcept { return suspicions_; }
  [[nodiscard]] int draws() const noexcept { return draws_; }
  [[nodiscard]] double seconds() const noexcept { return seconds_; }

 private:
  void draw(std::size_t first, int first_draw, int count);
  void widen_by(Session& session, const Inputs& inputs, std::size_t sample, bool is_reference);
  void suspect(std::size_t output, std::size_t sample, const Floor& apart);

  const Pair* pair_;
  const Reference* reference_;
  WeightNoise noise_;
  std::vector<std::vector<Floor>> floors_;  ///< by output and sample
  std::vector<bool> joined_;                ///< by sample: the double-precision reference is part of the floor
  std::vector<Suspicion> suspicions_;       ///< at most one per sample
  int draws_ = 0;                           ///< of every sample
  double seconds_ = 0;
};

/// Adds samples of smaller inputs in place of ill-conditioned ones, as long as these are well-conditioned.
void add_milder_samples(const Pair& pair, Reference& reference, Floors& floors, VerifyResult& result);

/// How far the rounding of their own values moves each of A's outputs over one sample, in A and in B, where that has it: by runs in which
/// constants and results move by one ULP, though not by more than one ULP of the largest number that both reach. They may sum numbers of
/// that size in different ways; a sum with larger ones in one of them is another rounding.
class OwnRounding {
 public:
  OwnRounding(const Pair& pair, const Reference& reference, std::size_t sample);
  OwnRounding(OwnRounding&&) noexcept;
  ~OwnRounding();
  /// The floors of A's outputs after so many draws of each side, which run when first asked for.
  [[nodiscard]] const std::vector<Floor>& floors(int draws);

 private:
  struct Moved;

  void run_exactly(Moved& moved) const;
  void widen_by(const Moved& moved);

  const Pair* pair_;
  const Reference* reference_;
  std::size_t sample_;
  std::vector<Moved> sides_;
  double largest_ = 0;
  std::vector<Floor> floors_;
  int draws_ = 0;
};

}  // namespace relayout
