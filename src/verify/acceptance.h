#pragma once

#include "relayout/verify.h"

namespace relayout {

/// Σ a · b / √(Σ a² · Σ b²); 1 where both are zero.
[[nodiscard]] double cosine(const LossSums& sums);
/// 10 · log10(Σ a² / Σ (a − b)²) in dB; infinite without a difference.
[[nodiscard]] double signal_to_noise(const LossSums& sums);

/// Loss of an output over its samples; nullopt if no sample was compared element by element.
[[nodiscard]] std::optional<Loss> loss_of(const OutputComparison& output);

/// "29.6 dB, top-1 100 %": loss of the output with the lowest signal to noise; empty without one.
[[nodiscard]] std::string describe_loss(const VerifyResult& result);

/// Why the loss of an output is beyond the limits that apply to its type; empty: it is within them.
[[nodiscard]] std::string beyond_limits(const Acceptance& accept, const OutputComparison& output);
/// Why the outputs, each decided, do not meet the limits: one is beyond, or a limit applies to none. Empty: they do.
[[nodiscard]] std::string missed_by_loss(const Acceptance& accept, const VerifyResult& result);
/// The limits of `--accept` that apply to the outputs: "snr=…,top1=…".
[[nodiscard]] std::string limits_for(const VerifyResult& result);

}  // namespace relayout
