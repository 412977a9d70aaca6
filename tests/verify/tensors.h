#pragma once

#include <string>
#include <vector>

#include "ops/loops/dtypes.h"
#include "relayout/datum.h"

namespace relayout::testing {

/// A tensor of any numeric type from doubles, each rounded once.
inline Tensor tensor(DataType type, Dims dims, const std::vector<double>& values) {
  Tensor out(type, std::move(dims));
  store<double>(type, out.bytes(), 1, static_cast<int64_t>(values.size()), values.data());
  return out;
}

inline Tensor floats(Dims dims, const std::vector<double>& values) {
  return tensor(DataType::float32, std::move(dims), values);
}

inline Tensor integers(Dims dims, const std::vector<int64_t>& values, DataType type = DataType::int64) {
  Tensor out(type, std::move(dims));
  store<int64_t>(type, out.bytes(), 1, static_cast<int64_t>(values.size()), values.data());
  return out;
}

inline Tensor strings(Dims dims, const std::vector<std::string>& values) {
  Tensor out(DataType::string, std::move(dims));
  for (std::size_t i = 0; i < values.size(); ++i) out.data<std::string>()[i] = values[i];
  return out;
}

inline std::vector<double> values_of(const Tensor& tensor) {
  const Tensor dense = contiguous(tensor);
  std::vector<double> out(static_cast<std::size_t>(dense.element_count()));
  load<double>(dense.type(), dense.bytes(), 1, dense.element_count(), out.data());
  return out;
}

inline std::vector<int64_t> integers_of(const Tensor& tensor) {
  const Tensor dense = contiguous(tensor);
  std::vector<int64_t> out(static_cast<std::size_t>(dense.element_count()));
  load<int64_t>(dense.type(), dense.bytes(), 1, dense.element_count(), out.data());
  return out;
}

inline Datum sequence(std::vector<Datum> elements) {
  Datum out;
  out.kind = Datum::Kind::sequence;
  out.elements = std::move(elements);
  return out;
}

inline Datum optional(std::vector<Datum> elements) {
  Datum out;
  out.kind = Datum::Kind::optional;
  out.elements = std::move(elements);
  return out;
}

}  // namespace relayout::testing
