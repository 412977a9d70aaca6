#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare.h"
#include "verify/inputs.h"
#include "verify/judge.h"
#include "verify/session.h"
#include "verify/spill.h"

namespace relayout {

/// Runs with moved weights that make a floor.
inline constexpr int kNoiseDraws = 3;

/// An output of a, with everything known of it.
struct Tracked {
  ReferenceOutput reference;
  std::size_t index_a = 0;
  std::optional<std::size_t> index_b;
  std::vector<Spill::Stored> stored;             ///< per sample that ran
  std::vector<Yardstick> yardsticks;             ///< per sample that ran
  std::vector<Floor> floors;                     ///< per sample that ran, in units of its yardstick
  std::map<std::size_t, Spill::Stored> flipped;  ///< by sample: b's value of an exact type, where it differs

  [[nodiscard]] const Yardstick& yardstick(std::size_t s) const { return yardstick_of(yardsticks[s], reference.yardstick()); }
};

/// One sample that the reference could run.
struct Sample {
  int number = 0;
  FreeDims::Assignment assignment;
  int64_t macs = 0;
};

/// The whole comparison of two files, one step after the other: what follows from the files (verify.cpp), the reference and its floors
/// (verification_reference.cpp), the candidate against them (verification_candidate.cpp), where a difference comes from
/// (verification_explain.cpp).
class Verification {
 public:
  Verification(Side a, Side b, const VerifyOptions& options, OpenSession open = open_session)
      : a_(std::move(a)), b_(std::move(b)), options_(&options), open_(std::move(open)) {}
  VerifyResult run();

 private:
  using Clock = std::chrono::steady_clock;
  /// An output of a that is far from its double-precision reference.
  struct Suspicion {
    std::string output;
    std::size_t sample;
    double error;  ///< over the range
  };
  static double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

  void describe_run();
  void execute();
  /// Files that differ by what nothing explains may differ where the samples do not reach (behind a Relu that passes none of them, in
  /// rows of a table): such pairs get more of them before they are called the same.
  void look_further();
  [[nodiscard]] bool has_unexplained_constants() const;
  /// Constants that nothing explains, and not a bit of any output that shows them.
  void note_unreached();
  [[nodiscard]] bool is_different() const;
  /// The samples to look at node by node: of a difference the first that shows it.
  [[nodiscard]] std::vector<std::size_t> samples_for_layers(bool narrow) const;
  /// Finds the nodes behind a difference; in 16-bit models also those whose error the outputs' floor hides. No Session is left.
  void compare_layers();
  /// Of a node that holds graphs (If, Loop, Scan): what the files alone say of the inside.
  void look_inside(LayerResult& layer) const;
  /// A node that differs though the outputs are the same. Only in 16 bits does that count, where their floor may hide anything; and only
  /// of values that are the same thing in both files, which a name alone does not make sure.
  void judge_hidden(LayerResult& layer);
  void track_outputs();
  /// Two values are the nature of what is cast from bool or one-hot, not a sign of saturation.
  [[nodiscard]] static bool may_saturate(const Value& output);
  void note_random_nodes();
  /// Whether b computes in coarser numbers than a: then those decide what may be rounding.
  void note_precision();
  [[nodiscard]] ExecuteOptions execute_options(Mode mode) const;
  [[nodiscard]] Inputs inputs_of(const Sample& sample) const;
  void progress(std::string_view what);
  /// Samples `first` and up, as far as planned.
  void run_reference(int first);
  /// Inputs and a's outputs, as --data reads them.
  void save_samples();
  /// The reference ran nothing: what that means depends on where the inputs come from.
  void report_rejection();
  void check_repeatable(Session& session, const Sample& sample, const Outputs& first);
  /// Of the samples from place `first` on, as the following do.
  void measure_floors(std::size_t first);
  void draw_noise(std::size_t first, int first_draw, int count);
  /// Three runs of one or two numbers may agree by chance: of an output with few elements, the floors of all samples count, each relative
  /// to the magnitude of its sample.
  static void pool_floors(Tracked& tracked);
  /// Runs a once more, in another way, and takes its distance from the reference into the floor.
  void widen_floors(std::size_t first, ExecuteOptions options, std::string_view what, bool is_reference);
  /// Notes an output that is farther from its double-precision reference than rounding explains.
  void check_reference(const Tracked& tracked, std::size_t s, const Floor& floor);
  /// What was noted is a defect only where a node alone errs, given the values as written. Where none does, a choice among numbers that are
  /// nearly equal fell the other way. No Session is left.
  void explain_references();
  [[nodiscard]] bool is_defect(const Suspicion& suspicion);
  /// The first node whose result in a mode differs from the one as written by more than rounding, each given the values as written.
  [[nodiscard]] std::optional<LayerResult> erring_node(const Side& side, const Sample& sample, Mode mode);
  void run_candidate(Mode mode, std::size_t first);
  /// An exact output that differs is looked at again when no Session is left: whether a tie explains it.
  void keep_flipped(Tracked& tracked, std::size_t s, const Datum& reference, const Datum& candidate);
  /// Choices among numbers that are nearly equal, like an ArgMax, may fall either way.
  void explain_flipped(std::size_t i, Mode mode);
  /// Figures of output `i` in a mode; those of the optimized run serve the verdict alone.
  [[nodiscard]] std::vector<SampleMetrics>& figures(std::size_t i, Mode mode);
  [[nodiscard]] static bool is_near_bound(const SampleMetrics& metrics);
  /// No Session is left: borderline figures get a firmer floor, then the outcomes stand.
  void settle(Mode mode);
  void decide_again(const Tracked& tracked, SampleMetrics& metrics);
  void report_optimized(std::size_t i, const SampleMetrics& metrics);
  /// Whether an optimized run is within the bound of what the file gives as written: how far that is from the reference is not the
  /// executor's doing.
  [[nodiscard]] bool is_error_of_the_file(std::size_t i, const SampleMetrics& optimized) const;
  void reject_candidate(const Sample& sample, const std::string& why, bool optimized);
  [[nodiscard]] SampleMetrics metrics_of(const Tracked& tracked, std::size_t s, const Datum& reference, const Datum& candidate,
                                         bool optimized) const;
  void compare_sample(std::size_t i, std::size_t s, const Datum& reference, const Datum& candidate);
  /// What b yields must be what b declares, unless a breaks its own word in the same way.
  void check_declared(std::size_t i, const Datum& reference, const Datum& candidate);
  [[nodiscard]] static bool contradicts(const Port& port, const Datum& value);
  void set_defect(const std::string& what);
  [[nodiscard]] bool agree(const Tracked& tracked, std::size_t s, const Datum& candidate) const;
  /// Names that were changed or exchanged: said, never matched silently. Looked for in the first sample, among few.
  void look_for_renames(std::size_t s, const Outputs& outputs);
  void hint_rename(std::size_t i, std::size_t s, const Outputs& outputs, const std::vector<bool>& taken);
  void hint_exchange(std::size_t i, std::size_t k, std::size_t s, const Outputs& outputs);
  /// The verdict over everything.
  void conclude();
  void mark_missing(const InterfaceDifference& difference);

  /// The type whose rounding an output's bounds allow: its own, or the coarser one that b computes in.
  [[nodiscard]] DataType type_of_floor(DataType type) const;

  Side a_, b_;
  const VerifyOptions* options_;
  OpenSession open_;
  VerifyResult result_;
  std::optional<InputMaker> inputs_;
  std::vector<Tracked> tracked_;
  std::vector<Sample> samples_;
  std::vector<bool> reference_runs_;                   ///< by sample
  std::vector<std::vector<SampleMetrics>> optimized_;  ///< by output
  std::size_t refined_ = 0;                            ///< so many samples' floors have their additional draws
  Spill spill_;
  DataType grain_ = DataType::undefined;  ///< the 16-bit type that b computes in where a does not
  std::string first_rejection_;
  std::vector<Suspicion> suspicions_;  ///< one a sample, not yet explained
  int planned_samples_ = 0;
  int attempt_ = 0;  ///< at sizes that the model takes
  int64_t done_ = 0, layer_runs_ = 0;
};

}  // namespace relayout
