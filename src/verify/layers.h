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
#include "verify/pairing.h"
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

  /// Runs that one sample takes, for progress; one that looks closer takes more.
  [[nodiscard]] static int runs(bool by_depth) { return by_depth ? 7 : 5; }
  /// In the order of b's nodes; what has no partner is not listed. `by_depth`: also the errors of b fed with its own values.
  [[nodiscard]] std::vector<LayerResult> run(const MakeInputs& inputs, int sample, bool by_depth);
  /// The same for b in another mode, without a judgement of who is right: every node's distance and floor.
  [[nodiscard]] std::vector<LayerResult> run_alone(const MakeInputs& inputs, int sample, Mode mode);

 private:
  /// Two values that should be equal.
  struct Layer {
    const Value* a;
    const Value* b;
    bool by_structure;
    std::optional<Spill::Stored> reference, candidate;  ///< a's value, b's fed one
    Yardstick yardstick;
    Floor floor;
    SampleMetrics metrics;
    LayerResult result;
    double gain = 0, gain_floor = 0;
    double correlation = 1;  ///< when b goes on from its own values
    bool compared = false;
    bool apart = false;  ///< for now not a pair
  };
  using Observer = std::function<void(const Value& value, const Datum& datum)>;
  using Edit = std::function<void(const std::string&, Tensor&)>;

  void execute(const Side& side, const MakeInputs& inputs, const Observer& observer, Edit edit = {}, Mode mode = Mode::as_written) const;
  void capture(const MakeInputs& inputs);
  void measure_floors(const MakeInputs& inputs, int first, int count);
  void feed_candidate(const MakeInputs& inputs, Mode mode = Mode::as_written);
  void compare(Layer& layer, const Datum& datum);
  void decide_gain(Layer& layer) const;
  void look_closer(const MakeInputs& inputs);
  void confirm(const MakeInputs& inputs);
  [[nodiscard]] std::vector<std::size_t> feeding(const Layer& layer) const;
  void widen_by_candidate(const MakeInputs& inputs, int draw);
  void run_unfed(const MakeInputs& inputs, bool by_depth);
  void describe(Layer& layer) const;
  void reset(Layer& layer) const;
  [[nodiscard]] bool is_in_doubt(const Layer& layer) const;
  [[nodiscard]] Layer* layer_of_a(const Value& value);
  [[nodiscard]] Layer* layer_of_b(const Value& value);
  [[nodiscard]] DataType type_of_floor(DataType type) const;
  void move(const Value& value, const Datum& datum, int draw) const;

  const Side* a_;
  const Side* b_;
  const VerifyOptions* options_;
  DataType grain_;
  std::function<void()> progress_;
  OpenSession open_;
  std::vector<Layer> layers_;
  std::unordered_map<const Value*, std::size_t> by_a_, by_b_;
  std::unique_ptr<Spill> spill_;
  double coarsest_ = 0;  ///< unit roundoff of the narrowest type among a's values
};

/// Numbers of 16 bits in a graph: the floor of its outputs hides what a single layer may do wrong.
struct NarrowFloats {
  DataType coarsest = DataType::undefined;  ///< undefined: none
  int64_t values = 0;                       ///< inputs, constants and results of nodes, of that kind
};
[[nodiscard]] NarrowFloats narrow_floats(const Graph& graph);

}  // namespace relayout
