// Declares the thresholds of the verdict, each with its unit and source.
#pragma once

#include <cstdint>

namespace relayout::thresholds {

// The thresholds of the verdict, each with its unit and its source; kFloorFactor is in relayout/verify.h, as reports state it, and limits
// of work are where the work is. "Measured" means: over right and wrong pairs of files (`cmake/dev bench pairs`), in f32 unless another
// type is named.

/// Relative to the range of a sample: above this floor the sample is ill-conditioned. It may convict, but does not acquit. In f32 and f64
/// (a healthy network of 100 layers has 1e-6 to 1e-5), and in types of 16 bits or fewer (1e-3 to 2e-2).
inline constexpr double kIllConditionedFloor = 1e-3, kIllConditionedFloorNarrow = 0.1;
/// Relative to the range of a sample: the widest floor that acquits by itself. A wider one allows no larger error; in types of 16 bits or
/// fewer whatever the nodes say: a spectrum in front of a logarithm has floors of a third of the range, and is no longer of use.
inline constexpr double kWidestFloor = 0.01;
/// Relative to the standard deviation of a sample: the RMS error up to which values of 16 bits agree on the whole, whatever the floor,
/// where files show that rounding alone can set them apart. Right f16 files of nine detectors and recognizers of text have 0.001 to 0.03 on
/// images.
inline constexpr double kWholeAgreement = 0.02;
/// Least bounds: the error, relative to the range of a sample, below which two results are the same whatever the floor. Measured on right
/// pairs in each type; narrower types have twice their unit roundoff.
inline constexpr double kLeastBoundF64 = 1e-13, kLeastBoundF32 = 2e-7, kLeastBoundF16 = 1e-3, kLeastBoundBf16 = 8e-3;
/// Of an output that is the same, a report remarks on a ratio above this (in floors; the bound is kFloorFactor), and on a floor above this
/// share of the range, which makes the output weak evidence.
inline constexpr double kUnusualRatio = 3, kHighFloor = 0.05;
/// Standard deviations of the inputs that replace those of ill-conditioned samples, tried in this order.
inline constexpr double kMildDeviations[] = {0.25, 0.01};
/// The same of those that replace inputs whose values leave the range of the narrower model.
inline constexpr double kHeldDeviations[] = {1, 0.25};

/// The double-precision reference runs plain loops: above this number of multiply-accumulates per sample it takes too long.
inline constexpr int64_t kReferenceMacs = 2'000'000'000;
/// A model as written and in double precision should agree: their difference was never seen to exceed the noise of perturbed weights by
/// more than 3 times. Above the larger of kReferenceFloors floors and kReferenceLeastBounds least bounds of the type, the executor may be
/// wrong.
inline constexpr double kReferenceFloors = 50, kReferenceLeastBounds = 5e4;
/// The least bound of a node alone, in least bounds of the type: nothing upstream has enlarged its error.
inline constexpr double kAloneLeastBounds = 50;

/// Relative to the range: no rounding of f32 or f64 that is worth running B again for.
inline constexpr double kLargestOwnRounding = 0.1;
/// An error of more floors than this, after a draw of the own rounding of both models: more draws do not widen the floor that far.
inline constexpr double kHopelessRatio = 1000;

/// Values of one name in both files with a lower Pearson correlation are not the same thing.
inline constexpr double kSameThingCorrelation = 0.9;
/// A value is a different thing under an old name if its reader's error falls below this share of itself once the reader is not fed it.
inline constexpr double kOtherThingErrorShare = 0.25;
/// A factor common to all elements of a 16-bit value: the least number of roundings, and of elements, from which it counts.
inline constexpr double kGainInRoundings = 4;
inline constexpr double kFewestElementsForGain = 64;
/// For values with fewer elements, draws may agree by chance: they convict only beyond kBoundsForFewElements bounds. The largest of nine
/// normal deviates, one for each draw, is above one standard deviation (5 % quantile): twice kFloorFactor × the floor covers 10 of them.
inline constexpr int64_t kFewestElements = 8;
inline constexpr double kBoundsForFewElements = 2;

/// Processor time of a comparison, in seconds, and plain runs of each model: about from the larger of both on, no runs begin that may be
/// left out.
inline constexpr double kBudgetSeconds = 10;
inline constexpr int64_t kBudgetRuns = 20;
/// Cost of a run whose values are compared one by one, in plain runs. Measured: 2 to 3 in networks of 100 to 400 nodes.
inline constexpr int64_t kPlainRunsPerWatchedRun = 2;
/// Watched runs of a comparison node by node, at least.
inline constexpr int64_t kRunsByNode = 5;

/// Next to scores of common size, e to this power is 0 in double precision: masks write numbers below it for minus infinity.
inline constexpr double kMaskedScore = -750;

/// An unexplained constant whose elements differ by no more than this, relatively, may be rounding: it is no reason for doubt if no sample
/// shows it.
inline constexpr double kRoundedConstantDifference = 1e-6;
/// Nodes of a constant that no sample shows are fed values that deviate from the original's at random, by this many standard deviations.
inline constexpr double kShakenDeviations = 0.25;

/// Magnitudes, as powers of two, of the numbers that replace a model's values if an operator differs and no sample shows it. Near one:
/// activations bend there. Middle: limits that rounding next to far numbers hides. Far: beyond the shift of a bias and the limits of a
/// Clip. In 16 bits, sums of products of numbers that are not near one would overflow.
struct Powers {
  double lowest, highest;
};
inline constexpr Powers kNearPowers{-4, 4}, kMiddlePowers{-2, 11}, kFarPowers{-10, 26};
/// The same, next to which guards of 1e-3, 1e-6, 1e-9 and 1e-12, and in front of a square those of 1e-6 to 1e-24, keep some of their bits.
inline constexpr Powers kSmallPowers{-12, -8}, kTinyPowers{-22, -18}, kFaintPowers{-32, -28}, kFaintestPowers{-42, -38};
/// Least magnitude of numbers of one sign that show what a pooling takes from its padding: beyond usual paddings, but not beyond those that
/// stand for minus infinity. In 16 bits, sums of products of such numbers would overflow.
inline constexpr double kLeastBeyondPadding = 256, kLeastBeyondPaddingNarrow = 16;
/// One in this many numbers near one is 0, where Greater and GreaterOrEqual differ, and Sign and a comparison.
inline constexpr uint64_t kNumbersPerZero = 16;

/// Sizes of free dims, besides those of the samples, at which a Slice or a condition may decide differently: 1, sizes that networks can
/// halve five times, up to the longest published sequences, and the least integers that bf16 and f16 do not hold.
inline constexpr int64_t kOtherSizes[] = {1, 32, 64, 128, 256, 257, 512, 1024, 2048, 2049, 4096, 8192, 65536, 1 << 20};

/// An output with a larger share of elements at its smallest and largest value shows nothing of the nodes upstream.
inline constexpr double kSaturatedShare = 0.99;

/// For stored f32 outputs of other programs: error over the range that passes whatever the floor is.
inline constexpr double kStoredLeastBound = 1e-5;

/// A node of a quantized model is at fault if it loses more than three times the loss by rounding: the rest then has more than 3² − 1 times
/// its energy. It is also at fault if its results are larger or smaller by a factor that alone has the energy of rounding.
inline constexpr double kExcessLossEnergy = 8;
/// A loss better than this, in dB, is float32's own rounding, not that of grids.
inline constexpr double kFloatLossDecibels = 100;

}  // namespace relayout::thresholds
