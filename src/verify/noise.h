#pragma once

#include <functional>
#include <string>
#include <unordered_set>

#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

/// Moves weights of a model by one ULP up or down at random: the difference of the results estimates how far two correct evaluations may
/// lie apart (measured: within 1.6 times). Not moved: zeros, values that are not finite, sizes, thresholds, exponents and bounds, whole
/// scalars. In a quantized model the weights are integers: there its inputs and every result of a DequantizeLinear move as well.
class WeightNoise {
 public:
  explicit WeightNoise(const Graph& graph);

  /// For ExecuteOptions::edit_constant; every `draw` moves differently.
  /// One ULP of `grain` where that is coarser than a tensor's own type.
  [[nodiscard]] std::function<void(const std::string&, Tensor&)> draw(uint64_t seed, int number,
                                                                      DataType grain = DataType::undefined) const;
  /// Makes `options` run the model as moved by draw `number`; of a quantized model the observer moves results in place, before `observe`
  /// of the caller sees them. `this` must outlive the run.
  void apply(ExecuteOptions& options, int number, DataType grain = DataType::undefined) const;
  /// The inputs of that run: those given, or of a quantized model copies whose floating-point elements are moved.
  [[nodiscard]] Inputs inputs(Inputs given, uint64_t seed, int number, DataType grain = DataType::undefined) const;
  /// Whether the model rounds to quantized numbers somewhere.
  [[nodiscard]] bool is_quantized() const noexcept { return quantized_; }
  /// Whether a constant of this name may be moved, its contents aside.
  [[nodiscard]] bool moves(const std::string& name) const { return !exact_.contains(name); }

 private:
  std::unordered_set<std::string> exact_;  ///< names of constants that stay as they are
  bool quantized_ = false;
};

/// Whether a node rounds to a quantized type: the result is an integer that stands for a real number.
[[nodiscard]] bool quantizes(const Node& node);

/// Whether a value holds such integers, perhaps moved to other places.
[[nodiscard]] bool holds_steps(const Value& value);

/// Puts the elements of `from` where those of `to` lie; both contiguous, of one type and as many elements.
void overwrite(const Tensor& to, const Tensor& from);

/// A copy with every element moved by one ULP of its type (or of `grain`, a 16-bit type, where that is coarser), as `number` draws; the
/// tensor itself when it has no such type or is a scalar that is a whole number or power of two.
[[nodiscard]] Tensor moved_by_one_ulp(const Tensor& tensor, uint64_t seed, const std::string& name, int number,
                                      DataType grain = DataType::undefined);

}  // namespace relayout
