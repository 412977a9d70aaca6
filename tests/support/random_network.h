#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "relayout/types.h"

namespace relayout::test {

/// Decisions drawn from a seed, one after the other.
class Dice {
 public:
  Dice(uint64_t seed, std::string_view name) : random_(seed, name) {}
  /// Uniform in [low, high].
  [[nodiscard]] int64_t from(int64_t low, int64_t high);
  [[nodiscard]] bool one_in(int64_t n) { return from(1, n) == 1; }
  [[nodiscard]] double normal() { return random_.normal(next_++); }
  [[nodiscard]] double uniform(double least, double most) { return least + (most - least) * random_.uniform(next_++); }
  template <class T>
  [[nodiscard]] const T& pick(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(from(0, static_cast<int64_t>(choices.size()) - 1))];
  }

 private:
  RandomStream random_;
  uint64_t next_ = 0;
};

/// A valid model of linear operators, affines around them in every form, operators between them, second consumers, graph outputs in the
/// middle, nested graphs, and parts that look foldable but are not. Opset, IR version, element type and everything else follow from the
/// seed. All dims are small and often equal, so that a wrong axis passes every check of sizes.
class RandomNetwork {
 public:
  explicit RandomNetwork(uint64_t seed);
  [[nodiscard]] const onnx::ModelProto& model() const { return model_; }

 private:
  struct Entry {
    std::string name;
    Dims dims;
  };
  using Attributes = std::vector<std::pair<std::string, Dims>>;  ///< an integer when the name ends with '!'

  // random_network.cpp: the frame, constants, choices.
  void add_input(const std::string& name, const Dims& dims);
  void add_outputs();
  void declare(onnx::TypeProto& type, const Dims& dims);
  void finish_initializers();
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                        const Attributes& attributes = {});
  static void real(onnx::NodeProto& node, const std::string& name, double value);
  static void text(onnx::NodeProto& node, const std::string& name, const std::string& value);
  std::string fresh(const std::string& base = "v") { return base + std::to_string(++count_); }
  std::string initializer(DataType type, const Dims& dims, const std::vector<double>& values);
  /// A constant in one of the forms that ONNX offers; sometimes an existing one of the same `role` and dims.
  std::string constant(const std::string& role, const Dims& dims, const std::vector<double>& values, DataType type = DataType::undefined);
  std::string spelled(DataType type, const Dims& dims, const std::vector<double>& values);
  std::string integers(const Dims& values) {
    return initializer(DataType::int64, {static_cast<int64_t>(values.size())}, {values.begin(), values.end()});
  }
  std::vector<double> normal_values(const Dims& dims, double scale);
  /// Values away from zero, of either sign.
  std::vector<double> factors(const Dims& dims);
  [[nodiscard]] const Entry& pick();
  void made(const std::string& name, const Dims& dims) { values_.push_back({name, dims}); }
  void add_node();
  void add_linear(const Entry& x);
  void add_affine(const Entry& x);
  void add_movement(const Entry& x);
  void add_other(const Entry& x);

  // random_linear.cpp
  void convolution(const Entry& x);
  void deconvolution(const Entry& x);
  void gemm(const Entry& x);
  void matmul(const Entry& x);
  std::string bias(int64_t channels);

  // random_affine.cpp
  void batch_norm(const Entry& x);
  void elementwise(const Entry& x);
  void decomposed(const Entry& x);
  void negation(const Entry& x);
  void old_elementwise(const Entry& x);
  [[nodiscard]] Dims operand_dims(const Dims& x);

  // random_between.cpp
  void identity(const Entry& x);
  void dropout(const Entry& x);
  void transpose(const Entry& x);
  void reshape(const Entry& x);
  void flatten(const Entry& x);
  void squeeze(const Entry& x);
  void concat(const Entry& x);
  void pad(const Entry& x);
  void pool(const Entry& x);
  void global_pool(const Entry& x);
  void unary(const Entry& x);
  void residual(const Entry& x);
  void branch(const Entry& x);
  void call(const Entry& x);

  Dice dice_;
  int64_t opset_ = 17;
  DataType type_ = DataType::float32;
  onnx::ModelProto model_;
  bool has_free_dims_ = false;
  int count_ = 0;
  std::vector<Entry> values_;
  std::map<std::pair<std::string, Dims>, std::vector<std::string>> known_;  ///< constants by role and dims
};

}  // namespace relayout::test
