// Declares models of single operators in double precision, their derivatives, and data for them.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/random.h"
#include "derive/derive.h"
#include "support/evaluate.h"
#include "support/text_model.h"

namespace relayout::test {

/// A model of few nodes, in double precision, and the range of its inputs.
struct RowCase {
  std::string name, text;
  double low = -2, high = 2;
  bool only_forward = false;  ///< without a transpose
};

inline void PrintTo(const RowCase& one, std::ostream* out) {  // NOLINT(readability-identifier-naming): the name that GoogleTest calls
  *out << one.name;
}

[[nodiscard]] const std::vector<RowCase>& row_cases();

using Data = std::map<std::string, Datum>;

/// Sizes of the free dims.
inline const std::map<std::string, int64_t> kFree = {{"N", 2}, {"M", 3}, {"H", 7}, {"W", 6}, {"L", 4}};

inline Tensor random_tensor(DataType type, const Dims& dims, const std::string& key, double low, double high) {
  Tensor out(type, dims);
  const RandomStream random(1, key);
  for (int64_t i = 0; i < out.element_count(); ++i) {
    const double drawn = low + (high - low) * random.uniform(static_cast<uint64_t>(i));
    if (type == DataType::int64) {
      out.data<int64_t>()[i] = 0;
    } else if (type == DataType::float32) {
      out.data<float>()[i] = static_cast<float>(drawn);
    } else {
      out.data<double>()[i] = drawn;
    }
  }
  return out;
}

inline Dims dims_of(const Value& value) {
  const ShapeInfo info = value.declared().value();
  Dims out = info.dims;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] < 0) out[i] = kFree.at(info.symbols[i]);
  }
  return out;
}

inline double dot(const Datum& a, const Datum& b) {
  EXPECT_EQ(a.tensor.dims(), b.tensor.dims());
  if (a.tensor.dims() != b.tensor.dims()) return NAN;
  const Tensor left = contiguous(a.tensor), right = contiguous(b.tensor);
  double out = 0;
  for (int64_t i = 0; i < left.element_count(); ++i) out += left.data<double>()[i] * right.data<double>()[i];
  return out;
}

inline double size_of(const Datum& a) {
  return std::sqrt(dot(a, a));
}

/// x + step × direction
inline Datum moved(const Datum& x, const Datum& direction, double step) {
  Tensor out(DataType::float64, x.tensor.dims());
  const Tensor from = contiguous(x.tensor), by = contiguous(direction.tensor);
  for (int64_t i = 0; i < out.element_count(); ++i) out.data<double>()[i] = from.data<double>()[i] + step * by.data<double>()[i];
  return out;
}

/// Sample n of a batch, as a batch of one.
inline Datum sample_of(const Datum& batch, int64_t n) {
  const Tensor all = contiguous(batch.tensor);
  Dims dims = all.dims();
  const int64_t size = all.element_count() / dims.at(0);
  dims[0] = 1;
  Tensor out(DataType::float64, dims);
  std::copy_n(all.data<double>() + n * size, size, out.data<double>());
  return out;
}

inline Datum batch_of_one(const Datum& value) {
  const Tensor from = contiguous(value.tensor);
  Dims dims = from.dims();
  dims.insert(dims.begin(), 1);
  Tensor out(DataType::float64, dims);
  std::copy_n(from.data<double>(), from.element_count(), out.data<double>());
  return out;
}

inline Datum ones_like(const Datum& like) {
  Tensor out(DataType::float64, like.tensor.dims());
  std::fill_n(out.data<double>(), out.element_count(), 1.0);
  return out;
}

/// A model, its derivative, and data for its inputs.
class Derived {
 public:
  /// A transform with its options.
  struct Asked {
    Derivative what = Derivative::jvp;
    std::vector<std::string> wrt = {}, of = {};
  };
  Derived(const RowCase& from, Derivative what) : Derived(from, Asked{.what = what}) {}
  Derived(const RowCase& from, const Asked& asked) : from_(from), model_(TextModel(from.text, kHead).load()) {
    for (const Value* input : model_->graph().inputs()) {
      if (input->initializer() != nullptr) continue;
      inputs_[input->name()] = random_tensor(input->declared()->type, dims_of(*input), input->name(), from.low, from.high);
      if (input->declared()->type == DataType::float64) reals_.push_back(input->name());
    }
    derived_ = TextModel(from.text, kHead).load();
    DeriveOptions options;
    options.wrt = asked.wrt;
    options.of = asked.of;
    derive::transform(*derived_, asked.what, options, result_);
    derived_->graph().validate();
  }

  static constexpr const char* kHead = R"(<ir_version: 10, opset_import: ["" : 24]>)";
  [[nodiscard]] const Data& inputs() const { return inputs_; }
  std::vector<Datum> original(const Data& inputs) { return evaluate(model_->graph(), inputs); }
  std::vector<Datum> derived(Data added) {
    added.insert(inputs_.begin(), inputs_.end());
    return evaluate(derived_->graph(), added);
  }
  std::vector<Datum> derived_at(Data added, const Data& inputs) {
    added.insert(inputs.begin(), inputs.end());
    return evaluate(derived_->graph(), added);
  }
  /// A direction for each input of floating point.
  [[nodiscard]] Data directions() const {
    Data out;
    for (const std::string& name : reals_) {
      out[name + ".tangent"] = random_tensor(DataType::float64, inputs_.at(name).tensor.dims(), name + "'", -1, 1);
    }
    return out;
  }
  [[nodiscard]] Data moved_inputs(const Data& directions, double step) const {
    Data out = inputs_;
    for (const std::string& name : reals_) out[name] = moved(out[name], directions.at(name + ".tangent"), step);
    return out;
  }
  [[nodiscard]] const std::vector<std::string>& reals() const { return reals_; }
  [[nodiscard]] Model& model() { return *model_; }
  [[nodiscard]] const DeriveResult& result() const { return result_; }

 private:
  RowCase from_;
  std::unique_ptr<Model> model_, derived_;
  DeriveResult result_;
  Data inputs_;
  std::vector<std::string> reals_;
};

}  // namespace relayout::test
