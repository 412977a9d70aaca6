// Checks the contents of stored tensors against their dims.

#include <onnx/onnx_pb.h>

#include "base/positions.h"
#include "base/text.h"
#include "model/check.h"
#include "model/origin.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout {
namespace {

using onnx::SparseTensorProto;
using onnx::TensorProto;

/// Checks sizes without keeping contents; strings are only counted.
void check_tensor(const Model& model, const TensorProto& tensor) {
  if (tensor.data_type() == TensorProto::STRING) {
    (void)load_tensor(model, tensor);
  } else {
    (void)tensor_data(model, tensor);
  }
}

class SparseCheck {
 public:
  SparseCheck(const Model& model, const SparseTensorProto& tensor) : model_(model), tensor_(tensor) {}

  void run() {
    if (is_external(tensor_.values()) || is_external(tensor_.indices())) {
      fail(ErrorKind::unsupported, name() + "external data in a sparse tensor");
    }
    dims_.assign(tensor_.dims().begin(), tensor_.dims().end());
    for (const int64_t dim : dims_) {
      if (dim <= 0) invalid("dims " + to_string(dims_));
    }
    try {
      (void)element_count(dims_);
    } catch (const Error& error) {
      invalid(error.what());
    }
    check_tensor(model_, tensor_.values());
    if (tensor_.values().dims_size() != 1) invalid("values of rank " + std::to_string(tensor_.values().dims_size()));
    check_indices();
  }

 private:
  [[nodiscard]] std::string name() const { return "sparse tensor " + quote(tensor_.values().name()) + ": "; }
  [[noreturn]] void invalid(const std::string& what) const { fail(ErrorKind::invalid, name() + what); }

  /// Checks linear positions, or one row of coordinates per value (SparseTensorProto.indices).
  void check_indices() {
    const TensorProto& indices = tensor_.indices();
    const int64_t count = tensor_.values().dims(0);
    if (count == 0 && indices.dims_size() == 0) return;
    if (indices.data_type() != TensorProto::INT64) invalid("indices that are not i64");
    const auto rank = static_cast<int64_t>(dims_.size());
    const bool linear = indices.dims_size() == 1;
    const bool fits = (linear || (indices.dims_size() == 2 && indices.dims(1) == rank)) && indices.dims(0) == count;
    if (!fits) {
      invalid("indices of dims " + to_string(Dims(indices.dims().begin(), indices.dims().end())) + " for " + std::to_string(count) +
              " values of rank " + std::to_string(rank));
    }
    const TensorData data = tensor_data(model_, indices);
    const int64_t width = linear ? 1 : rank;
    const int64_t rows_at_once = std::max<int64_t>(1, kPart / std::max<int64_t>(width, 1));
    std::vector<int64_t> part;
    for (int64_t row = 0; row < count; row += rows_at_once) {
      const int64_t rows = std::min(rows_at_once, count - row);
      part.resize(as_size(rows * width));
      data.read_rows(row, rows, std::as_writable_bytes(std::span(part)));
      for (int64_t i = 0; i < rows; ++i) check_position(std::span(part).subspan(as_size(i * width)), linear, row + i);
    }
  }

  void check_position(std::span<const int64_t> index, bool linear, int64_t number) {
    int64_t position = linear ? index[0] : 0;
    bool inside = !linear || (position >= 0 && position < element_count(dims_));
    for (std::size_t i = 0; !linear && i < dims_.size(); ++i) {
      inside &= index[i] >= 0 && index[i] < dims_[i];
      if (inside) position = position * dims_[i] + index[i];
    }
    if (!inside) invalid("index number " + std::to_string(number) + " is out of range");
    if (last_ && position <= *last_) invalid("index number " + std::to_string(number) + " is not above the one before it");
    last_ = position;
  }

  static constexpr int64_t kPart = int64_t{1} << 16;  ///< indices read at once
  const Model& model_;
  const SparseTensorProto& tensor_;
  Dims dims_;
  std::optional<int64_t> last_;
};

void check_attribute(const Model& model, const Node& node, const onnx::AttributeProto& attribute) {
  try {
    if (attribute.has_t()) check_tensor(model, attribute.t());
    for (const TensorProto& tensor : attribute.tensors()) check_tensor(model, tensor);
    if (attribute.has_sparse_tensor()) SparseCheck(model, attribute.sparse_tensor()).run();
    for (const SparseTensorProto& tensor : attribute.sparse_tensors()) SparseCheck(model, tensor).run();
  } catch (const Error& error) {
    fail(error.kind(), "node " + node.label() + ": " + error.what(), error.hint());
  }
}

}  // namespace

void check_initializers(const Graph& graph) {
  const Model& model = graph.model();
  for (const Initializer& initializer : graph.initializers()) {
    if (initializer.sparse != nullptr) {
      SparseCheck(model, *initializer.sparse).run();
    } else if (!initializer.data) {
      check_tensor(model, *initializer.message);
    }
  }
}

void check_tensors(const Node& node) {
  for (const onnx::AttributeProto& attribute : node.message().attribute()) check_attribute(node.graph().model(), node, attribute);
}

}  // namespace relayout
