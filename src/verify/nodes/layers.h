#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "relayout/types.h"
#include "verify/compare.h"
#include "verify/nodes/pairing.h"
#include "verify/nodes/suspects.h"
#include "verify/session.h"
#include "verify/spill.h"

namespace relayout {

/// Compares two models node by node over one sample: every node of b is fed what a has in its place, so that one wrong node shows as
/// one. The yardstick of a node is its local floor: how far its value moves when the constants between the paired values of a move by
/// one ULP, and the values between them that have no partner, too. a's values lie in a temporary file; of a model never more than a
/// value at a time is held besides the running Session, and Sessions live one after the other.
class LayerComparison {
 public:
  using MakeInputs = std::function<Inputs()>;

  /// `grain`: the 16-bit type that b computes in where a does not, or undefined; `progress` is called before each run, if set; `open` makes
  /// the Sessions.
  LayerComparison(const Side& a, const Side& b, const VerifyOptions& options, DataType grain, std::function<void()> progress,
                  OpenSession open = open_session);

  /// Names the unexplained differences that each node's region holds, in LayerResult::unexplained. Must outlive this.
  void suspect(const Suspects* suspects) { suspects_ = suspects; }
  /// Feeds every node values that lie a little beside a's, the same for both models: constants that a's values of zero keep from being
  /// felt are felt then.
  void shake() { shaken_ = true; }
  /// In the order of b's nodes; what has no partner is not listed. `by_depth`: also the errors of b fed with its own values.
  [[nodiscard]] std::vector<LayerResult> run(const MakeInputs& inputs, int sample, bool by_depth);
  /// The same for b in another mode, without a judgement of who is right: every node's distance and floor. Values inside a fused step of
  /// that mode are not seen; the floor of the step is that of all its nodes, and never below the floor in front of a saturating end.
  [[nodiscard]] std::vector<LayerResult> run_alone(const MakeInputs& inputs, int sample, Mode mode);

 private:
  /// Two values that should be equal.
  struct Layer {
    const Value* a;
    const Value* b;
    bool by_structure;
    bool before_jump;                                   ///< not fed, unless a jump behind it differs
    std::optional<Spill::Stored> reference, candidate;  ///< a's value, b's fed one
    Yardstick yardstick;
    Floor floor;
    SampleMetrics metrics;
    LayerResult result;
    double gain = 0, gain_floor = 0;
    double correlation = 1;  ///< when b goes on from its own values
    bool compared = false;
    bool trusted = false;  ///< means in b the same as in a: see trust_right_readers
    bool apart = false;    ///< for now not fed to anything
  };
  using Observer = std::function<void(const Value& value, const Datum& datum)>;
  using Edit = std::function<void(const std::string&, Tensor&)>;

  void execute(const Side& side, const MakeInputs& inputs, const Observer& observer, Edit edit = {}, Mode mode = Mode::as_written) const;
  void capture(const MakeInputs& inputs);
  void measure_floors(const MakeInputs& inputs, int first, int count);
  void feed_candidate(const MakeInputs& inputs, Mode mode = Mode::as_written);
  void compare(Layer& layer, const Datum& datum);
  void decide_gain(Layer& layer) const;
  /// Lets results that jump, and differ, be fed a's operands: rounding upstream of them may be the reason. Whether there are any.
  bool feed_before_flips();
  void compare_before_jumps(const MakeInputs& inputs);
  [[nodiscard]] bool is_end(const Value& value, const std::unordered_map<const Value*, std::size_t>& by_value) const;
  void look_closer(const MakeInputs& inputs);
  void confirm(const MakeInputs& inputs);
  [[nodiscard]] std::vector<std::size_t> feeding(const Layer& layer) const;
  void widen_by_candidate(const MakeInputs& inputs, int draw);
  void trust_right_readers();
  void run_unfed(const MakeInputs& inputs, bool by_depth);
  void describe(Layer& layer) const;
  void reset(Layer& layer) const;
  [[nodiscard]] bool is_in_doubt(const Layer& layer) const;
  void widen_through_contraction(Layer& layer);
  /// Of a pair that is not fed for now, too.
  [[nodiscard]] Layer* layer_of_a(const Value& value);
  [[nodiscard]] Layer* layer_of_b(const Value& value);
  [[nodiscard]] DataType type_of_floor(DataType type) const;
  void move(const Value& value, const Datum& datum, int draw) const;
  /// Puts the value that readers of a layer are fed in the place of `datum`.
  void feed(const Layer& layer, const Datum& datum, const Datum& reference) const;

  const Side* a_;
  const Side* b_;
  const VerifyOptions* options_;
  DataType grain_;
  std::function<void()> progress_;
  OpenSession open_;
  const Suspects* suspects_ = nullptr;
  std::vector<Layer> layers_;
  std::unordered_map<const Value*, std::size_t> by_a_, by_b_;
  std::unique_ptr<Spill> spill_;
  bool shaken_ = false;
  double coarsest_ = 0;  ///< unit roundoff of the narrowest type among a's values
};

}  // namespace relayout
