#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/indexed.h"
#include "exec/constant_store.h"
#include "exec/program.h"
#include "relayout/error.h"

namespace relayout::exec {

/// TypeError: the types in a file contradict each other, which makes it invalid for all inputs. Other invalid operands may be those of one
/// run only.
class TypeError : public Error {
 public:
  explicit TypeError(const std::string& message) : Error(ErrorKind::invalid, message) {}
};

/// Facts about one value before it is computed.
struct ValueState {
  std::optional<DatumInfo> info;            ///< type and dims; empty until its producer is inferred
  std::shared_ptr<KnownConstant> constant;  ///< its contents, when they are known at plan time
  std::optional<Dims> strides;              ///< of a value made by an earlier segment or the caller; contiguous when not set
  [[nodiscard]] bool is_tensor() const { return info && info->kind == Datum::Kind::tensor; }
};

/// The nodes that inference covered.
struct Inference {
  std::vector<NodeId> nodes;    ///< nodes to run, in order: those whose outputs are not constant
  NodeId next{};                ///< the node whose outputs' shapes depend on data; end_id() of the nodes when there is none
  std::vector<ValueId> values;  ///< values whose states the walk set
};

/// Walks the nodes from `first` on: infers types and dims, and folds constant values (including all shape arithmetic that follows from
/// dims). Stops before the first node whose outputs' shapes depend on data. `states` has one entry per value of the program.
[[nodiscard]] Inference infer(const Program& program, NodeId first, IdVector<ValueId, ValueState>& states, ConstantStore& store);

/// Runs one node on data at hand, as the op table computes it.
[[nodiscard]] std::vector<Datum> compute_now(const ProgramNode& node, std::span<const Datum* const> inputs);

}  // namespace relayout::exec
