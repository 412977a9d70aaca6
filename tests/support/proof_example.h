#pragma once

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/model.h"
#include "relayout/proof.h"

namespace relayout::test {

/// A tensor with its values in double, for arithmetic by hand. Stored values are rounded to `type`.
struct Array {
  DataType type = DataType::float32;
  Dims dims;
  std::vector<double> values;
  [[nodiscard]] double& operator[](std::size_t index) { return values[index]; }
  [[nodiscard]] double operator[](std::size_t index) const { return values[index]; }
  [[nodiscard]] std::size_t size() const { return values.size(); }
  /// Number of elements per index of dim 0.
  [[nodiscard]] std::size_t row() const { return dims[0] == 0 ? 0 : size() / static_cast<std::size_t>(dims[0]); }
};

/// Values that `type` represents exactly, from a stream of this name: N(0, 1), or uniform in [least, most).
[[nodiscard]] Array normal(std::string_view name, Dims dims, DataType type = DataType::float32);
[[nodiscard]] Array uniform(std::string_view name, Dims dims, double least, double most, DataType type = DataType::float32);
/// The value rounded to its type.
[[nodiscard]] double rounded(double value, DataType type);
/// The next value of the type away from zero.
[[nodiscard]] double next(double value, DataType type);
/// The array with its dims permuted: result dim i is dim permutation[i].
[[nodiscard]] Array permuted(const Array& array, const Dims& permutation);

/// Parameters of a BatchNormalization, with factor and shift of y = factor · x + shift by hand.
struct BatchNorm {
  Array scale, bias, mean, variance;
  double epsilon = static_cast<double>(1e-5F);
  BatchNorm(std::string_view name, int64_t channels, DataType type = DataType::float32);
  [[nodiscard]] double factor(std::size_t channel) const;
  [[nodiscard]] double shift(std::size_t channel) const;
};

/// A model in ONNX's textual syntax whose initializers are added by hand.
class Example {
 public:
  /// The graph alone, as `g (float[N,3,8,8] x) => (float[N,4,6,6] y) { … }`.
  explicit Example(std::string_view graph, int opset = 17);
  Example& add(std::string_view name, const Array& array);
  Example& add(std::string_view name, std::vector<int64_t> integers);
  /// The parameters under name + "_scale", "_bias", "_mean", "_var".
  Example& add(std::string_view name, const BatchNorm& batch_norm);
  Example& edit(const std::function<void(onnx::ModelProto&)>& change);
  [[nodiscard]] std::unique_ptr<Model> model() const;
  [[nodiscard]] onnx::TensorProto& tensor(std::string_view name);

 private:
  onnx::ModelProto message_;
};

[[nodiscard]] ProofResult prove(const Example& a, const Example& b);

/// Whether nothing is unexplained; a failure lists the unexplained differences.
[[nodiscard]] testing::AssertionResult is_proved(const ProofResult& result);
/// Whether there is exactly one unexplained difference: of this kind, and with `part` in its line.
[[nodiscard]] testing::AssertionResult names(const ProofResult& result, Unexplained::Kind kind, std::string_view part);

}  // namespace relayout::test
