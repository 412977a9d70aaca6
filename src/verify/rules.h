#pragma once

#include <cstdint>

namespace relayout::rules {

// Every number of the verdict, with its unit and its source; kFloorFactor is in relayout/verify.h, as reports tell it. "Measured" means:
// over 725 pairs of right and wrong files of 25 architectures, in f32 unless another type is named.

/// Runs of the original with moved weights that make a floor. They begin with kFirstDraws: a figure within kNearFloors of a healthy floor
/// needs no more, as floors only grow with draws; all others get the rest before they are judged.
inline constexpr int kNoiseDraws = 3, kFirstDraws = 1;
inline constexpr double kNearFloors = 2;
/// A figure above its bound by less than kNearBound gets so many draws more before it is called different: where few elements carry the
/// error (a saturated output), three draws may all miss them.
inline constexpr int kMoreDraws = 6;
inline constexpr double kNearBound = 10;
/// The largest of n normal deviates is a firm estimate of the spread from about 96 deviates on (its 5 % quantile lies above twice the
/// standard deviation, so that kFloorFactor × the floor covers 10 standard deviations). Outputs of fewer elements get draws until elements
/// × draws reach this, and figures above their bound by less than kNearBoundOfFew wait for them.
inline constexpr int64_t kFirmElements = 96;
inline constexpr double kNearBoundOfFew = 1000;

/// Relative to the range of a sample: above this floor the sample is ill-conditioned. It may convict, it does not acquit. In f32 and
/// f64 (a healthy network of 100 layers lies at 1e-6 to 1e-5), and in types of 16 bits or fewer (1e-3 to 2e-2).
inline constexpr double kIllConditioned = 1e-3, kIllConditionedNarrow = 0.1;
/// So many least bounds of its type are the floor of a healthy network (1e-5 in f32). Beyond, runs that differ may have made it.
inline constexpr double kHealthyFloor = 50;
/// Standard deviations of the inputs that take the place of those of ill-conditioned samples, tried in this order.
inline constexpr double kMildDeviations[] = {0.25, 0.01};

/// Samples when something is unexplained; and when the proof is complete, or but for constants that rounding may have changed.
inline constexpr int kSamples = 4, kSamplesOfProved = 1;
/// Samples over which nodes are compared one by one: of the usual size, and reaching far. So many are all where the proof is complete but
/// for constants that nearly agree.
inline constexpr int kLayerSamples = 2;

/// The double-precision reference runs plain loops: beyond so many multiply-accumulates per sample it takes too long.
inline constexpr int64_t kReferenceMacs = 2'000'000'000;
/// As written and in double precision, a model should agree; neither was seen to exceed the noise of moved weights by more than 3 times.
/// Beyond the larger of so many floors and so many least bounds of the type, the executor may be wrong.
inline constexpr double kReferenceFactor = 50, kReferenceMinimum = 5e4;
/// The least bound of a node alone, in least bounds of the type: nothing upstream has enlarged its error.
inline constexpr double kAloneMinimum = 50;

/// Values of one name in both files with a lower Pearson correlation are not the same thing.
inline constexpr double kSameThing = 0.9;
/// A value is another thing under an old name when its reader's error falls below so much of what it was, once the reader is not fed it.
inline constexpr double kMuchBetter = 0.25;
/// A factor common to all elements of a 16-bit value: at least so many roundings, and enough elements to tell.
inline constexpr double kGainRoundings = 4;
inline constexpr double kElementsForGain = 64;
/// Of values with fewer elements, three draws may agree by chance: they convict only far beyond their bound.
inline constexpr int64_t kFewestElements = 8;

/// Beside scores of common size, e to this power is 0 in double precision: what masks write for minus infinity lies below.
inline constexpr double kMasked = -750;

/// An unexplained constant whose elements differ by no more than this, relatively, may be rounding: one that no sample feels is no
/// reason to doubt.
inline constexpr double kRoundedConstant = 1e-6;
/// Constants that differ by no more than this, relatively, nearly agree: fewer samples are run.
inline constexpr double kNearConstant = 1e-4;

/// Nodes with such a constant are fed values that deviate from the original's by so many of their standard deviations, at random.
inline constexpr double kShake = 0.25;

/// Powers of two between which magnitudes lie that take the place of a model's values where an operator is another and no sample shows it:
/// near one, where activations bend; in the middle, where a limit stands that rounding beside far numbers hides; and far, beyond what a
/// bias shifts or a Clip cuts. Where 16 bits are computed in, sums of products of numbers that are not near one would overflow.
struct Powers {
  double lowest, highest;
};
inline constexpr Powers kNearPowers{-4, 4}, kMiddlePowers{-2, 11}, kFarPowers{-10, 26};
/// One of so many numbers near one is 0, where Greater and GreaterOrEqual, Sign and a comparison part.
inline constexpr uint64_t kZeros = 16;

/// Sizes of free dims besides those of the samples at which a Slice or a condition may decide otherwise: of one element, and what networks
/// halve five times, up to the longest sequences that are published.
inline constexpr int64_t kOtherSizes[] = {1, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 65536, 1 << 20};

/// Above this share of elements at the smallest and largest value an output shows nothing of the nodes upstream.
inline constexpr double kSaturated = 0.99;

/// Stored outputs of other programs in f32: error over the range that passes whatever the floor is.
inline constexpr double kStoredMinimum = 1e-5;

/// A node of a quantized model is at fault when it loses more than three times what rounding costs: what comes to that then has more than
/// 3² − 1 times its energy; or when it makes results larger or smaller by a factor that alone has its energy.
inline constexpr double kExcessLoss = 8;
/// Better than this, in dB, is float32's own rounding and no loss by grids.
inline constexpr double kFloatLoss = 100;

}  // namespace relayout::rules
