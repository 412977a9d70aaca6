#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/execute.h"
#include "relayout/inputs.h"
#include "relayout/model.h"
#include "relayout/proof.h"

namespace relayout {

/// `accepted`: beyond what rounding explains, but within what VerifyOptions::accept allows.
enum class Outcome { same, different, inconclusive, accepted };
[[nodiscard]] std::string_view to_string(Outcome outcome) noexcept;

/// A difference is rounding up to so many times the noise floor. Over 725 pairs of right and wrong files of 25 architectures, right pairs
/// stay below 1.6, and most wrong ones lie above 10.
inline constexpr int kFloorFactor = 5;

/// The losses that are accepted, as far as they are set. Each holds for every output of a floating-point type; `match` for all others.
struct Acceptance {
  std::optional<double> snr;         ///< at least, in dB: 20 · log10(‖a‖ / ‖a − b‖) over all samples
  std::optional<double> cosine;      ///< at least, over all samples
  std::optional<double> error;       ///< at most: the largest |a − b| of a sample, over the sample's range
  std::optional<double> top1, top5;  ///< at least: share of rows whose best entry of a is b's best, or among b's five best
  std::optional<double> match;       ///< at least: share of equal elements
  [[nodiscard]] bool is_given() const noexcept { return snr || cosine || error || top1 || top5 || match; }
};

struct VerifyOptions : InputOptions {
  LoadOptions load;
  int samples = 0;                   ///< 0: four, or one where the proof is complete
  std::optional<double> rtol, atol;  ///< element-wise |d| ≤ atol + rtol · |a|; added, never loosen
  std::filesystem::path save_data;   ///< inputs and a's outputs go there as test_data_set_N; empty: nowhere
  std::optional<Mode> mode;          ///< --data: only this mode
  /// float16 or bfloat16: b may compute in this type where a does not, and is judged by its rounding. int8 or int4: b may quantize to it.
  DataType precision = DataType::undefined;
  std::map<std::string, std::string> renames;  ///< names of b's inputs and outputs, by those that a has for them
  bool match_position = false;                 ///< b's inputs and outputs are a's in this order, whatever their names
  bool allow_interface = false;                ///< inputs and outputs may have another floating-point type, or fewer sizes, in b
  Acceptance accept;                           ///< what b's loss may be; empty: rounding alone
  bool outputs_only = false;                   ///< judge the outputs alone, not what the proof leaves unexplained at its nodes
  bool allow_inconclusive = false;
  bool images_last = false;    ///< one of the two takes and gives images channels-last, as convert --io nhwc writes it
  bool run_identical = false;  ///< execute even when both files are the same
  bool digests = false;        ///< name both files by SHA-256 in the result
  bool layers = false;         ///< compare node by node also when the outputs are the same, with errors by depth
  int threads = 0;
  /// The current step, and how many of all runs are done.
  std::function<void(std::string_view what, int64_t done, int64_t total)> progress;
};

/// A difference in what can be seen without running: names, order, types, ranks, dims.
struct InterfaceDifference {
  std::string side;  ///< "input" or "output"
  std::string name;
  std::string field;     ///< "missing", "added", "renamed", "order", "type", "rank", "dim 0" …
  std::string a, b;      ///< what each file says; empty where it says nothing
  bool remark = false;   ///< does not make the verdict `different`
  bool adapted = false;  ///< both were run all the same: a cast, a free dim bound, a name taken
};

/// Sums over one output, finite elements of both sides only: those of several samples add up.
struct LossSums {
  double squares_a = 0, squares_b = 0, product = 0, squares_error = 0;  ///< Σ a², Σ b², Σ a · b, Σ (a − b)²
  int64_t elements = 0;                                                 ///< of all types, those that are not finite included
  int64_t rows = 0, top1 = 0, top5 = 0;  ///< rows of scores; those whose best entry of a is b's best, or among b's five best
  LossSums& operator+=(const LossSums& other);
};

/// How far an output lies from a's over all samples together.
struct Loss {
  double snr = 0, worst_snr = 0;     ///< 10 · log10(Σ a² / Σ (a − b)²) in dB: of all samples together, and of the worst one
  double cosine = 1;                 ///< Σ a · b / √(Σ a² · Σ b²)
  double error = 0;                  ///< the largest |a − b| of a sample over the sample's range
  double match = 1;                  ///< share of equal elements, of types that are compared exactly
  std::optional<double> top1, top5;  ///< share of rows (see Acceptance); of outputs that look like rows of scores
};

/// The largest and the root mean square error, over range and standard deviation of one sample of a; of a constant, its magnitude takes the
/// place of both.
struct ErrorLimits {
  double max = 0, rms = 0;
};

/// Elements that are not finite in one of both or in both.
struct NonFinite {
  int64_t nan_a = 0, nan_b = 0, nan_both = 0;  ///< NaN only in a, only in b, in both at one place
  int64_t infinite = 0;                        ///< ±Inf against anything else but NaN
  int64_t infinite_a = 0;                      ///< of those: infinite in a, finite in b
  /// Those that differ.
  [[nodiscard]] int64_t unequal() const noexcept { return nan_a + nan_b + infinite; }
};

/// The element that differs most.
struct WorstElement {
  Dims at;
  double a = 0, b = 0;
};

/// Numbers of one output over one sample.
struct SampleMetrics {
  int sample = 0;
  Dims dims;                                         ///< what the reference gave (a sequence: of its first element)
  double max_abs = 0, max_error = 0, rms_error = 0;  ///< the last two as in ErrorLimits
  ErrorLimits floor, bound;
  double ratio = 0;                    ///< max_error / floor.max
  bool ill_conditioned = false;        ///< the floor is so large that agreement shows little: may convict, does not acquit
  bool least_bound = false;            ///< bound.max is the least of the type, as kFloorFactor × floor.max is less
  double cosine = 1, psnr = 0;         ///< psnr: 20 · log10(range / RMS error), infinite when equal
  std::vector<int64_t> ulp_histogram;  ///< bin 0: equal; bin k: distance in [2^(k-1), 2^k)
  NonFinite non_finite;
  int64_t mismatches = 0;        ///< of types compared exactly: elements that differ
  int64_t ties = 0;              ///< of those: decided by numbers that rounding may exchange, as `reason` says
  int64_t beyond_tolerance = 0;  ///< elements beyond --rtol, --atol, where those were given
  WorstElement worst;
  std::optional<bool> top1, top5;  ///< rows of scores: every row counts for top1 or top5 of LossSums
  LossSums sums;
  bool reference_run = false;  ///< the double-precision reference joined the floor
  Outcome outcome = Outcome::same;
  std::string reason;
};

struct OutputComparison {
  std::string name;
  DataType type = DataType::undefined;
  std::string shape;  ///< declared by a, as printed: "[N, 1000]", "seq(…)"
  Dims dims;          ///< of the first sample
  Outcome outcome = Outcome::same;
  std::string reason;
  std::string hint;         ///< what would make them agree, or where they differ
  std::size_t telling = 0;  ///< which of `samples` says most against it: the figures here and the reason are its own
  double max_error = 0, rms_error = 0, floor = 0, bound = 0, ratio = 0;
  bool least_bound = false;  ///< as in SampleMetrics
  std::optional<Loss> loss;  ///< where samples were compared
  std::vector<SampleMetrics> samples;
};

/// The findings of the proof on a node; empty without a proof.
struct LayerProof {
  std::vector<std::size_t> unexplained;  ///< entries of ProofResult::unexplained that change this node, or one that it replaces
  bool unreached = false;                ///< the node, or one in its place, is of ProofResult::unreached
  int64_t products = 0;                  ///< convolutions and matrix products that make the value together
  std::string inside;                    ///< of a node that holds graphs: what is unexplained inside
};

/// Errors of a value with all that came before, over its range.
struct DepthError {
  std::optional<double> error;  ///< when b goes on from its own values
  std::optional<double> floor;  ///< the same of a with moved weights
};

/// One value of b that a has too, made by its node out of a's values.
struct LayerResult {
  int sample = 0;
  std::string node, op_type;          ///< of b; its output's name where it has none
  std::string tensor, reference;      ///< the value in b and in a
  bool by_structure = false;          ///< paired by operators and positions, not by name
  bool finite = true;                 ///< false: elements are NaN or infinite in one of both; the error is that of the others
  std::vector<std::string> replaces;  ///< of one that differs: a's nodes that do what this one does, when they are more or others
  DataType type = DataType::undefined;
  Dims dims;
  double error = 0, rms = 0;    ///< as in SampleMetrics, of this node alone
  ErrorLimits floor;            ///< what correct evaluations of this node alone differ by
  double bound = 0, ratio = 0;  ///< 0 where the value is equal to the bit
  DepthError depth;
  double correlation = 1;  ///< of one that differs: the smallest Pearson correlation between a's and b's values of this tensor and of its
                           ///< node's operands, with b running on its own values; of this tensor 1 where all nodes downstream
                           ///< make a's results when they are fed a's value
  LayerProof proof;
  int64_t flips = 0;             ///< elements of a quantized or chosen result that fall to the neighbouring step by rounding upstream of it
  bool constant = false;         ///< all elements of a's value are equal: so may those of another node be
  bool other_structure = false;  ///< b's value has other dims or another type than a's: same where what reads it makes a's results of it
  bool mask = false;             ///< of one that is the same: other numbers for minus infinity, to the Softmaxes that read them
  Outcome outcome = Outcome::same;
  std::string reason;
};

/// The loss of a node of a quantized model that is fed a's values, over the samples whose nodes were looked at.
struct QuantizationLoss {
  std::string node, op_type, tensor;  ///< of b
  double snr = 0;                     ///< in dB, behind the node's quantizer
  std::optional<double> expected;     ///< in dB: of rounding, and of the ends of the operands' ranges, where all scales are constant and
                                      ///< everything rounded is found in a
  std::optional<double> clipped;      ///< share of a's elements beyond the ends of the node's quantizer
  std::string fault;                  ///< why it loses more than three times its rounding; empty: it does not
};

/// A difference that the proof leaves unexplained, judged at its node with a's values.
struct UnexplainedCheck {
  std::size_t entry = 0;      ///< of ProofResult::unexplained
  std::string node, op_type;  ///< the node of b that shows it most
  int sample = 0;
  double error = 0, floor = 0, bound = 0;  ///< of that node alone, as in LayerResult
  bool finite = true;                      ///< of that node alone, as in LayerResult
  bool felt = false;                       ///< in some sample it changes a bit of some node's result
  bool alone = true;                       ///< no node that shows it is changed in another way than by its constants
  bool together = true;                    ///< every value that shows it is made by several products, whose rounding may hide it
  bool acquitted = false;  ///< a node differs by it, and what reads that node's result expects so (channels in another order)
  Outcome outcome = Outcome::same;
};

/// One set of inputs.
struct SampleInputs {
  int sample = 0;
  std::map<std::string, Dims> shapes;
  std::map<std::string, int64_t> dims;                 ///< values of the free dimensions, by name
  std::map<std::string, std::filesystem::path> files;  ///< of inputs that come from folders
  double deviation = 0;  ///< of milder inputs, drawn because others were ill-conditioned: their standard deviation
  std::string rejected;  ///< why the reference could not run it; empty when it ran
};

struct VerifyResult {
  std::string a, b;
  std::string sha256_a, sha256_b;  ///< of the model files, with VerifyOptions::digests
  bool identical = false;          ///< the same bytes, external data included
  std::vector<InterfaceDifference> interface;
  std::optional<ProofResult> proof;  ///< what follows from the files alone; execution then confirms it. Not of identical files
  std::vector<OutputComparison> outputs;
  std::vector<SampleInputs> inputs;
  std::vector<UnexplainedCheck> checks;  ///< one for each unexplained difference that a node shows, unless the outputs differ
  /// Node by node, in the order of b: of a difference, or with VerifyOptions::layers. Without `layers` only nodes that differ are kept.
  std::vector<LayerResult> layers;
  /// The nodes of b that quantize where a does not, first those that compute something else, then those that lose most.
  std::vector<QuantizationLoss> losses;
  Outcome outcome = Outcome::same;
  std::string reason;  ///< of an outcome that no single output explains
  std::string defect;  ///< right as written, wrong optimized; or not deterministic: exit 70
  std::string lossy;   ///< what b computes in coarser numbers than a: "B quantizes 34 tensors to int8"; empty: nothing
  std::vector<std::string> remarks;
  std::vector<Unsupported> unsupported_a, unsupported_b;  ///< nodes that cannot run: nothing was executed, exit 4
  int draws = 0;                                          ///< runs with moved weights that made each floor
  bool reference_run = false;                             ///< whether the double-precision reference joined a floor
  int samples = 0;                                        ///< that were compared
  uint64_t seed = 0;
  int threads = 0;
  std::string onednn, isa;
  double seconds = 0, seconds_a = 0, seconds_b = 0, seconds_floor = 0;
  /// Whether nodes that cannot run keep the question open; the files alone may decide it.
  [[nodiscard]] bool is_blocked() const noexcept {
    return (!unsupported_a.empty() || !unsupported_b.empty()) && !identical && !(proof && proof->proved);
  }
};

/// Do two files compute the same function, as far as arithmetic of this precision can tell? Never two models in memory at once.
/// Mistakes in b are data in the result; Error is for requests and files that cannot be compared at all.
[[nodiscard]] VerifyResult verify(const std::filesystem::path& a, const std::filesystem::path& b, const VerifyOptions& options);

/// 70, 4, 1 or 0, in this order (the contract of exit codes).
[[nodiscard]] int exit_code(const VerifyResult& result, bool allow_inconclusive) noexcept;

/// One stored case of a model against its expected outputs.
struct DataCase {
  std::string name;    ///< "test_data_set_0 (as-written)"
  std::string status;  ///< passed, failed, pass-loose, unsupported
  std::string message;
  double seconds = 0, error = 0, bound = 0;  ///< worst error/range over its float outputs, and what it may be
  /// Of a quantized model that does not agree within the least bound: elements of its quantized tensors that values moved by one ULP put on
  /// another step, and the first node where one is.
  int64_t flips = 0;
  std::string flips_node = {};
  /// Each element may also be off by atol + rtol · |stored|; `by_tolerance`: that is what decided, and not the bound.
  double rtol = 0, atol = 0;
  bool by_tolerance = false;
};
struct DataResult {
  std::string model;
  std::vector<DataCase> cases;
  std::vector<Unsupported> unsupported = {};  ///< nodes that cannot run; then nothing ran
  [[nodiscard]] bool passed() const;
};

/// Runs a model on the stored inputs of `directory` (holds test_data_set_N, or is one) and compares with the stored outputs.
[[nodiscard]] DataResult verify_data(const std::filesystem::path& model, const std::filesystem::path& directory,
                                     const VerifyOptions& options);

/// 4 when a case is unsupported, else 1 when one did not pass, else 0.
[[nodiscard]] int exit_code(const DataResult& result) noexcept;

}  // namespace relayout
