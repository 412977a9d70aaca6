#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/positions.h"
#include "ops/loops/dtypes.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

/// The element types of an operator's operands and results, as ONNX's schema of that version defines them: each is fixed, or a variable
/// that several share.
class OpSignature {
 public:
  struct Port {
    int variable = -1;                     ///< index into allowed(); -1: none
    DataType fixed = DataType::undefined;  ///< if there is no variable; undefined: not a tensor, or each of a list has its own
  };
  [[nodiscard]] Port input(std::size_t index) const { return port(inputs_, index, repeats_input_); }
  [[nodiscard]] Port output(std::size_t index) const { return port(outputs_, index, repeats_output_); }
  /// Tensor element types that variable number `variable` may be.
  [[nodiscard]] TypeSet allowed(int variable) const { return element_at(allowed_, variable); }
  /// First version of the operator that has this signature.
  [[nodiscard]] int since() const noexcept { return since_; }

 private:
  friend class OpSignatures;
  static Port port(const std::vector<Port>& ports, std::size_t index, bool repeats) {
    if (index < ports.size()) return ports[index];
    return repeats ? ports.back() : Port{};
  }
  std::vector<Port> inputs_, outputs_;
  std::vector<TypeSet> allowed_;
  bool repeats_input_ = false, repeats_output_ = false;
  int since_ = 0;
};

/// Signatures by operator, read from the linked ONNX library on demand.
class OpSignatures {
 public:
  /// The signature of the default domain's operator at the opset of the node's model; nullptr for other domains and for unknown operators.
  [[nodiscard]] const OpSignature* find(const Node& node);
  /// The first opset whose version of the operator allows this type for input `index`, if one does.
  [[nodiscard]] static std::optional<int> first_opset(const std::string& op_type, std::size_t index, DataType type);

 private:
  std::unordered_map<std::string, std::unique_ptr<OpSignature>> known_;  ///< by name and opset
};

}  // namespace relayout
