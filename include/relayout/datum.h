#pragma once

#include <vector>

#include "relayout/tensor.h"

namespace relayout {

/// A value of a graph at run time: a tensor, a sequence, an optional (zero or one element), or a map (its keys and its values, as two
/// vectors).
struct Datum {
  enum class Kind { tensor, sequence, optional, map };
  Kind kind = Kind::tensor;
  Tensor tensor;
  std::vector<Datum> elements;  ///< of a sequence, optional or map

  Datum() = default;
  Datum(Tensor t) : tensor(std::move(t)) {}  // NOLINT(google-explicit-constructor): a tensor is a datum
};

/// Known facts about a value before it is computed.
struct DatumInfo {
  Datum::Kind kind = Datum::Kind::tensor;
  DataType type = DataType::undefined;  ///< type of the tensor's elements, or of the tensors in a sequence; of a map of its values
  Dims dims;                            ///< tensors only
  std::vector<DatumInfo> elements;      ///< of a sequence, optional or map
  const Tensor* value = nullptr;        ///< contents if they are already known, else nullptr; not owned
};

/// Facts about a computed datum. `value` may point into `datum`, which must outlive the result.
[[nodiscard]] DatumInfo info_of(const Datum& datum);

}  // namespace relayout
