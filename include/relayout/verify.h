#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/execute.h"
#include "relayout/inputs.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/proof.h"

namespace relayout {

/// Verdict of a comparison. `accepted`: a difference beyond rounding, but within the limits of VerifyOptions::accept.
enum class Outcome { same, different, inconclusive, accepted };
[[nodiscard]] std::string_view to_string(Outcome outcome) noexcept;

/// A difference up to this multiple of the noise floor counts as rounding. Over 725 pairs of right and wrong files of 25 architectures,
/// right pairs stay below 1.6, and most wrong pairs are above 10.
inline constexpr int kFloorFactor = 5;

/// Whether elements of a type are compared by distance: floats and complex numbers (their parts). All others must be equal.
[[nodiscard]] bool is_measured(DataType type) noexcept;

/// Limits of accepted loss; unset limits do not apply. Each applies to every output of a floating-point type, `match` to all other outputs.
struct Acceptance {
  std::optional<double> snr;         ///< minimum, in dB: 20 · log10(‖a‖ / ‖a − b‖) over all samples
  std::optional<double> cosine;      ///< minimum, over all samples
  std::optional<double> error;       ///< maximum: the largest |a − b| of a sample, over the sample's range
  std::optional<double> top1, top5;  ///< minimum: share of rows whose best entry of a is b's best, or among b's five best
  std::optional<double> match;       ///< minimum: share of equal elements
  [[nodiscard]] bool is_given() const noexcept { return snr || cosine || error || top1 || top5 || match; }
};

struct VerifyOptions : InputOptions {
  LoadOptions load;
  int samples = 0;                   ///< 0: as many as the pair needs: one where the proof is complete, four or more elsewhere
  std::optional<double> rtol, atol;  ///< additional element-wise limit |a − b| ≤ atol + rtol · |a|; never loosens the bound
  std::filesystem::path save_data;   ///< folder in which inputs and a's outputs are saved as test_data_set_N; empty: not saved
  std::optional<Mode> mode;          ///< verify_data(): only this mode
  /// float16 or bfloat16: b may compute in this type where a does not, and is judged by the rounding of this type. int8 or int4: b may
  /// quantize to this type.
  DataType precision = DataType::undefined;
  std::map<std::string, std::string> renames;  ///< names of b's inputs and outputs, by the corresponding names in a
  bool match_position = false;                 ///< match inputs and outputs by position, whatever their names
  /// Allow inputs and outputs of b with a different floating-point type, or with fixed dims where a's are free.
  bool allow_interface = false;
  Acceptance accept;          ///< limits of b's loss; empty: rounding only
  bool proof_only = false;    ///< run nothing: the two files alone decide
  bool strict = false;        ///< unexplained differences make the verdict `different`, whatever the samples show
  bool outputs_only = false;  ///< judge the outputs only; do not check unexplained differences at their nodes
  bool allow_inconclusive = false;
  std::set<std::string, std::less<>> allow;  ///< doubts, by name, that do not fail a run: see doubt_names()
  bool images_last = false;                  ///< one model has channels-last image inputs and outputs, as written by convert --io nhwc
  ByteImages bytes;                          ///< b takes bytes, as written by convert --input-u8: a gets the numbers computed from them
  ByteImages output_bytes;                   ///< b gives bytes, as written by convert --output-u8: those of a's numbers are compared
  bool run_identical = false;                ///< execute even when both files are identical
  bool digests = false;                      ///< put the SHA-256 of both files in the result
  /// Seconds of processor time beyond which runs that may be left out are; unset: a number of runs or of seconds, whichever is more.
  std::optional<double> budget;
  bool thorough = false;  ///< leave nothing out
  bool layers = false;    ///< compare node by node even when the outputs are the same, with errors by depth
  int threads = 0;
  /// Called with the current stage and the numbers of completed and of all runs.
  std::function<void(std::string_view what, int64_t done, int64_t total)> progress;
};

/// A difference in the interface, visible without running: names, order, types, ranks, dims.
struct InterfaceDifference {
  enum class Field : uint8_t { missing, added, renamed, order, has_default, kind, type, shape, rank, dim };
  std::string side;  ///< "input" or "output"
  std::string name;
  Field field = Field::type;             ///< in which they differ
  std::string a, b;                      ///< the declaration in each file; empty where there is none
  bool remark = false;                   ///< does not make the verdict `different`
  bool adapted = false;                  ///< both were run nevertheless, after a cast, a binding of a free dim, or a renaming
  std::optional<std::size_t> axis = {};  ///< of a dim
};
/// "missing", "default", "type", "dim 0"
[[nodiscard]] std::string field_text(const InterfaceDifference& difference);

/// Sums over the elements of one output that are finite on both sides. Sums of several samples can be added.
struct LossSums {
  double squares_a = 0, squares_b = 0, product = 0, squares_error = 0;  ///< Σ a², Σ b², Σ a · b, Σ (a − b)²
  int64_t elements = 0;                                                 ///< number of elements of all types, non-finite ones included
  int64_t rows = 0, top1 = 0, top5 = 0;  ///< rows of scores; rows whose best entry of a is b's best, or among b's five best
  LossSums& operator+=(const LossSums& other);
};

/// Distance of an output of b from that of a over all samples together.
struct Loss {
  double snr = 0, worst_snr = 0;     ///< 10 · log10(Σ a² / Σ (a − b)²) in dB: of all samples together, and of the worst sample
  double cosine = 1;                 ///< Σ a · b / √(Σ a² · Σ b²)
  double error = 0;                  ///< largest |a − b| of a sample over the sample's range
  double match = 1;                  ///< share of equal elements, for types that are compared exactly
  std::optional<double> top1, top5;  ///< share of rows (see Acceptance), for outputs that look like rows of scores
};

/// The largest error over the range of one sample of a, and the root mean square error over its standard deviation. If the sample is
/// constant, its magnitude replaces both.
struct ErrorLimits {
  double max = 0, rms = 0;
};

/// Numbers of elements that are not finite in a, in b, or in both.
struct NonFinite {
  int64_t nan_a = 0, nan_b = 0, nan_both = 0;  ///< NaN only in a, only in b, in both at the same place
  int64_t infinite = 0;                        ///< ±Inf in one and a different value, but not NaN, in the other
  int64_t infinite_a = 0;                      ///< elements among these that are infinite in a and finite in b

  /// Number of elements that differ.
  [[nodiscard]] int64_t unequal() const noexcept { return nan_a + nan_b + infinite; }
};

/// Index and values of the element that differs most.
struct WorstElement {
  Dims at;
  double a = 0, b = 0;
};

/// Metrics of one output over one sample.
struct SampleMetrics {
  int sample = 0;
  Dims dims;                                         ///< dims of the reference's output (for a sequence: of its first element)
  bool other_structure = false;                      ///< the candidate's value has another type, rank or dims: no numbers were compared
  double max_abs = 0, max_error = 0, rms_error = 0;  ///< the last two as in ErrorLimits
  ErrorLimits floor, bound;
  double ratio = 0;                    ///< max_error / floor.max
  bool ill_conditioned = false;        ///< the floor is so large that agreement shows little: a difference counts, agreement does not
  bool least_bound = false;            ///< bound.max is the least bound of the type, as kFloorFactor × floor.max is less
  double cosine = 1, psnr = 0;         ///< psnr: 20 · log10(range / RMS error), infinite when equal
  std::vector<int64_t> ulp_histogram;  ///< bin 0: equal; bin k: distance in [2^(k-1), 2^k)
  NonFinite non_finite;
  int64_t mismatches = 0;        ///< for types compared exactly: number of elements that differ
  int64_t ties = 0;              ///< mismatches decided by numbers that rounding may exchange; `reason` gives details
  int64_t beyond_tolerance = 0;  ///< number of elements beyond rtol and atol, where given
  WorstElement worst;
  std::optional<bool> top1, top5;  ///< for rows of scores: whether every row counts for top1 or top5 of LossSums
  LossSums sums;
  bool reference_run = false;  ///< the double-precision reference contributed to the floor
  Outcome outcome = Outcome::same;
  std::string reason;
};

struct OutputComparison {
  std::string name;
  DataType type = DataType::undefined;
  std::string shape;  ///< declared shape in a, as printed: "[N, 1000]", "seq(…)"
  Dims dims;          ///< dims in the first sample
  Outcome outcome = Outcome::same;
  std::string reason;
  std::string hint;         ///< suggestion that would make them agree, or the place where they differ
  std::size_t telling = 0;  ///< index of the sample that tells most against the output; figures and reason here are those of this sample
  double max_error = 0, rms_error = 0, floor = 0, bound = 0, ratio = 0;
  bool least_bound = false;  ///< as in SampleMetrics
  std::optional<Loss> loss;  ///< set if samples were compared
  std::vector<SampleMetrics> samples;
};

/// Whether an output's ratio is above what correct evaluations usually reach; it may still be within the bound.
[[nodiscard]] bool has_unusual_ratio(const OutputComparison& output) noexcept;
/// Remarks on an output that is `same`: its unusual ratio, and a floor so high that the output is weak evidence.
[[nodiscard]] std::vector<std::string> remarks_on(const OutputComparison& output);

/// The findings of the proof on a node; empty without a proof.
struct LayerProof {
  std::vector<std::size_t> unexplained;  ///< indices into ProofResult::unexplained of changes to this node, or to one that it replaces
  std::vector<std::size_t> misread;      ///< of changes upstream, where the node reads another value than the one in its place in `a`
  bool unreached = false;                ///< the node, or one in its place, is in ProofResult::unreached
  int64_t products = 0;                  ///< number of convolutions and matrix products that together compute the value
  std::string inside;                    ///< for a node with nested graphs: the unexplained difference inside
};

/// Accumulated errors of a value, including those of all nodes upstream, over its range.
struct DepthError {
  std::optional<double> error;  ///< error when b continues from its own values
  std::optional<double> floor;  ///< the same error of a with perturbed weights
};

/// One value of b that exists in a, too, computed by its node in b from a's values.
struct LayerResult {
  int sample = 0;
  std::string node, op_type;      ///< node of b, by its output's name if it has no name
  std::string tensor, reference;  ///< names of the value in b and in a
  bool by_structure = false;      ///< paired by operators and positions, not by names
  bool finite = true;             ///< false: elements are NaN or infinite in only one of the two; the error is that of the other elements
  std::vector<std::string> replaces;  ///< if it differs: a's nodes that this node replaces, when these are several or other operators
  DataType type = DataType::undefined;
  Dims dims;
  double error = 0, rms = 0;    ///< as in SampleMetrics, for this node alone
  ErrorLimits floor;            ///< difference between correct evaluations of this node alone
  double bound = 0, ratio = 0;  ///< 0 where the value is bit-equal
  DepthError depth;
  double correlation = 1;  ///< if it differs: the smallest Pearson correlation between a's and b's values of this tensor and of its
                           ///< node's operands, when b runs on its own values. That of this tensor counts as 1 where all nodes
                           ///< downstream compute a's results when they are fed a's value
  LayerProof proof;
  int64_t flips = 0;      ///< number of elements of a quantized or chosen result that rounding upstream moves to the neighbouring step
  bool constant = false;  ///< all elements of a's value are equal, as those of an unrelated node may be
  /// b's value has other dims or a different type. It is `same` if its consumers compute a's results from it.
  bool other_structure = false;
  bool mask = false;  ///< if it is the same: it differs only in numbers that act as minus infinity in the Softmaxes that read it
  Outcome outcome = Outcome::same;
  std::string reason;
};

/// The loss of a node of a quantized model that is fed a's values, over the samples compared node by node.
struct QuantizationLoss {
  std::string node, op_type, tensor;  ///< node of b
  double snr = 0;                     ///< in dB, after the node's quantizer
  std::optional<double> expected;  ///< in dB: expected from rounding and from the ends of the operands' ranges, if all scales are constant
                                   ///< and every rounded value exists in a
  std::optional<double> clipped;   ///< share of a's elements beyond the ends of the node's quantizer
  std::string fault;               ///< why the loss is more than three times that of rounding; empty if it is not
};

/// A difference that the proof leaves unexplained, judged at its node with a's values.
struct UnexplainedCheck {
  std::size_t entry = 0;      ///< index into ProofResult::unexplained
  std::string node, op_type;  ///< the node of b that shows the difference most
  int sample = 0;
  double error = 0, floor = 0, bound = 0;  ///< for that node alone, as in LayerResult
  bool finite = true;                      ///< for that node alone, as in LayerResult
  /// What it does to the results of nodes, over all samples.
  enum class Effect : uint8_t {
    none,      ///< it changes no bit
    rounding,  ///< it changes bits, or makes the node different
    expected,  ///< a node differs by it, as its consumers expect (channels in a different order)
  } effect = Effect::none;
  bool alone = true;     ///< all nodes that show it are changed by their constants only
  bool together = true;  ///< every value that shows it is computed by several products, whose rounding may hide it
  Outcome outcome = Outcome::same;
};

/// A reason why what was run does not show that two files compute the same.
struct Doubt {
  std::string name;      ///< of its rule, as VerifyOptions::allow takes it: one of doubt_names()
  std::string node;      ///< by its name or that of its first result; empty where it is about no single node
  std::string output;    ///< the output that it is about; empty: the models
  std::string text;      ///< one line
  bool allowed = false;  ///< by VerifyOptions::allow: by itself it leaves the exit code 0
};
/// The names of all doubts: of reasons why nothing was run or compared, of rules in the order of their weight, of the budget.
[[nodiscard]] std::vector<std::string_view> doubt_names();

/// One set of inputs.
struct SampleInputs {
  int sample = 0;
  std::map<std::string, Dims> shapes;
  std::map<std::string, int64_t> dims;                 ///< values of the free dimensions, by name
  std::map<std::string, std::filesystem::path> files;  ///< files of inputs given as folders
  double deviation = 0;  ///< standard deviation of smaller inputs, drawn because others were ill-conditioned, or `beyond`; else 0
  std::string beyond;    ///< what usual inputs lead to that the narrower model does not hold: "'conv.y' reaches 1.0e+05"; else empty
  std::string rejected;  ///< why the reference could not run the sample; empty when it ran
};

/// The runs of a comparison that were for one purpose.
struct VerifyStage {
  std::string what;
  int64_t runs_a = 0, runs_b = 0;
  double seconds = 0;  ///< of processor time, with what was done about their results
};

struct VerifyResult {
  std::string a, b;
  std::string sha256_a, sha256_b;  ///< digests of the model files, with VerifyOptions::digests
  bool identical = false;          ///< byte-equal, external data included
  std::vector<InterfaceDifference> interface;
  std::optional<ProofResult> proof;  ///< the proof from the files alone, which execution confirms; none for identical files
  /// The same across types (see ProofOptions), where it is not complete and options allow B numbers of 16 bits.
  std::optional<ProofResult> rounded_proof;
  std::vector<OutputComparison> outputs;
  std::vector<SampleInputs> inputs;
  std::vector<UnexplainedCheck> checks;  ///< one per unexplained difference that a node shows; none if the outputs differ
  /// Results node by node, in the order of b, if there is a difference or with VerifyOptions::layers. Without the option, only nodes that
  /// differ are kept.
  std::vector<LayerResult> layers;
  /// The nodes of b that quantize where a does not: first nodes that compute a different function, then others by decreasing loss.
  std::vector<QuantizationLoss> losses;
  /// All doubts. Where the outcome is `inconclusive`, the reason is the first about the whole that is not allowed, or else an output's.
  /// Pairs that differ are not doubted in all respects.
  std::vector<Doubt> doubts;
  Outcome outcome = Outcome::same;
  std::string reason;  ///< the reason of an outcome that no single output explains
  std::string defect;  ///< a defect of relayout (exit 70): right as written but wrong optimized, or not deterministic
  std::string lossy;   ///< description of b's computations in coarser numbers than a's: "B quantizes 34 tensors to int8"; empty: none
  std::vector<std::string> remarks;
  std::vector<Unsupported> unsupported_a, unsupported_b;  ///< nodes that cannot run; if any, nothing was executed (exit 4)
  int draws = 0;                                          ///< number of runs with perturbed weights for each floor
  bool reference_run = false;                             ///< whether the double-precision reference contributed to a floor
  int samples = 0;                                        ///< number of compared samples
  uint64_t seed = 0;
  int threads = 0;
  std::string onednn, isa;
  double seconds = 0, seconds_a = 0, seconds_b = 0, seconds_floor = 0;
  std::vector<VerifyStage> stages;
  std::vector<std::string> left_out;  ///< what the budget did not allow
  /// The proof that users are told of, which tells least that is unexplained; nullptr if there is none.
  [[nodiscard]] const ProofResult* told_proof() const noexcept { return rounded_proof ? &*rounded_proof : proof ? &*proof : nullptr; }
  /// Whether nodes that cannot run prevent a verdict, because the files alone do not decide it.
  [[nodiscard]] bool is_blocked() const noexcept {
    return (!unsupported_a.empty() || !unsupported_b.empty()) && !identical && !(proof && proof->proved);
  }
};

/// Decides whether two files compute the same function, to the precision of their arithmetic. Never holds two models in memory at once.
/// Faults of b are reported in the result; Error is thrown only for requests and files that cannot be compared at all.
[[nodiscard]] VerifyResult verify(const std::filesystem::path& a, const std::filesystem::path& b, const VerifyOptions& options);

/// The first that applies of 70 (defect), 4 (blocked), 1 (different, or inconclusive unless allowed), and 0.
[[nodiscard]] int exit_code(const VerifyResult& result, bool allow_inconclusive) noexcept;

/// One stored case of a model against its expected outputs.
struct DataCase {
  std::string name;    ///< "test_data_set_0 (as-written)"
  std::string status;  ///< passed, failed, pass-loose, unsupported
  std::string message;
  double seconds = 0, error = 0, bound = 0;  ///< worst error over range among its float outputs, and its bound
  /// For a quantized model that does not agree within the least bound: number of elements of its quantized tensors that move to a different
  /// step when values are moved by one ULP, and the first node with such an element.
  int64_t flips = 0;
  std::string flips_node = {};
  /// Additional tolerance of each element: atol + rtol · |stored|. `by_tolerance`: this tolerance decided, not the bound.
  double rtol = 0, atol = 0;
  bool by_tolerance = false;
};
struct DataResult {
  std::string model;
  std::vector<DataCase> cases;
  std::vector<Unsupported> unsupported = {};  ///< nodes that cannot run; if any, nothing was run
  [[nodiscard]] bool passed() const;
};

/// Runs a model on the stored inputs of `directory` and compares with the stored outputs. `directory` is or contains test_data_set_N
/// folders.
[[nodiscard]] DataResult verify_data(const std::filesystem::path& model, const std::filesystem::path& directory,
                                     const VerifyOptions& options);

/// 4 when a case is unsupported, else 1 when a case did not pass or there are no cases, else 0.
[[nodiscard]] int exit_code(const DataResult& result) noexcept;

}  // namespace relayout
