#pragma once

#include <unordered_set>

#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

/// Moves weights of a model by one ULP up or down at random. The difference of the results estimates the distance between two correct
/// evaluations (measured: at most 1.6 times as large). Not moved: zeros, values that are not finite, sizes, thresholds, exponents, bounds,
/// and scalars that are whole numbers or powers of two. In a quantized model, whose weights are integers, inputs and every result of a
/// DequantizeLinear move as well.
class WeightNoise {
 public:
  explicit WeightNoise(const Graph& graph);

  /// For ExecuteOptions::edit_constant: moves constants as draw `number` does, by one ULP of `grain` where that is coarser than a tensor's
  /// own type.
  [[nodiscard]] std::function<void(const std::string&, Tensor&)> draw(uint64_t seed, int number,
                                                                      DataType grain = DataType::undefined) const;
  /// Makes `options` run the model as moved by draw `number`. In a quantized model, the observer moves results in place before the caller's
  /// `observe` sees them. `this` must outlive the run.
  void apply(ExecuteOptions& options, int number, DataType grain = DataType::undefined) const;
  /// The inputs of that run: `given`, or in a quantized model copies whose floating-point elements are moved.
  [[nodiscard]] Inputs inputs(Inputs given, uint64_t seed, int number, DataType grain = DataType::undefined) const;
  /// Whether the model rounds to quantized numbers somewhere.
  [[nodiscard]] bool is_quantized() const noexcept { return quantized_; }
  /// Whether a constant of this name may be moved, regardless of its contents.
  [[nodiscard]] bool moves(const std::string& name) const { return !exact_.contains(name); }

 private:
  std::unordered_set<std::string> exact_;  ///< names of constants that are not moved
  bool quantized_ = false;
};

/// Overwrites the elements of `to` with those of `from`; both contiguous, of one type and number of elements.
void overwrite(const Tensor& to, const Tensor& from);

/// A copy with every element moved by one ULP of its type (or of `grain`, a 16-bit type, where that is coarser), as draw `number` does; the
/// tensor itself if its type is not in kRealTypes, or it is a scalar that is a whole number or power of two.
[[nodiscard]] Tensor moved_by_one_ulp(const Tensor& tensor, uint64_t seed, const std::string& name, int number,
                                      DataType grain = DataType::undefined);

}  // namespace relayout
