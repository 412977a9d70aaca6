#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "relayout/execute.h"
#include "relayout/model.h"

namespace relayout::test {

/// A valid graph of convolutions and the operators around them, with data for its input "x". Its choices come from a seed, or one each from
/// bytes. All dims are different primes, or many are 1; all values are small integers, so that every correct evaluation gives the same
/// bits.
class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed);
  explicit RandomGraph(std::span<const uint8_t> choices);
  [[nodiscard]] std::unique_ptr<Model> model() const { return Model::from_bytes(message_.SerializeAsString(), "random graph"); }
  [[nodiscard]] const Inputs& inputs() const noexcept { return inputs_; }
  [[nodiscard]] const onnx::ModelProto& message() const noexcept { return message_; }

 private:
  onnx::ModelProto message_;
  Inputs inputs_;
};

/// Converts a graph by all passes that keep its interface, runs the original and the result in every mode and layout, and compares them
/// with plain loops. Returns the fault; empty: none.
[[nodiscard]] std::string find_fault(const RandomGraph& graph);

}  // namespace relayout::test
