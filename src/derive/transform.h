// Declares one run of a transform over a model.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "derive/linearizer.h"
#include "derive/sizes.h"
#include "relayout/derive.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace onnx {
class TypeProto;
class ValueInfoProto;
}  // namespace onnx

namespace relayout::derive {

/// Writes derivatives into a graph and makes them outputs: one of the transforms, once.
class Transform {
 public:
  /// `by_weights`: by all weights where the options name nothing, else by all inputs.
  Transform(Model& model, bool by_weights, const DeriveOptions& options, DeriveResult& result);
  void jvp();
  void vjp();
  /// Forward over reverse: the tangent of the gradient.
  void hvp();
  void jacobian();
  void hessian();
  void per_sample_gradients();

 private:
  using Values = std::vector<const Value*>;
  /// Dims of values that are there: each of a value along an axis.
  using Shape = std::vector<std::pair<const Value*, std::size_t>>;

  void add_reals(const std::vector<Value*>& values, Values& out);
  void check_types(std::string_view option, const Values& values);
  /// Facts of the graph as it is now.
  void look_again();
  [[nodiscard]] Shape shape_of(const Value& value, std::size_t begin = 0);
  [[nodiscard]] std::vector<Dim> dims_of(const Shape& shape);
  /// An entry with the type and the dims of a value; or with others.
  [[nodiscard]] onnx::ValueInfoProto entry_of(const Value& value, const std::string& name);
  [[nodiscard]] onnx::ValueInfoProto entry_of(DataType type, const Shape& shape, const std::string& name);
  const Value& add_input(const Value& like, std::string_view suffix, bool is_shown);
  /// Removes an input with all nodes that depend on it.
  void erase_input(const Value& input);
  /// Writes the tangents of `of_` by new inputs, which are returned.
  Values forward(const Values& wrt, std::string_view suffix, bool is_shown);
  /// The gradient by each of `wrt_`, "" for zero, of the products of `of_` and their cotangents.
  std::vector<std::pair<const Value*, Name>> backward(const std::vector<std::string>& cotangents);
  /// The gradients of the sum of a value.
  std::vector<std::pair<const Value*, Name>> gradients_of_sum(const Value& value);
  /// Makes a derivative, or zeros, an output: of the dims of a value, or of others.
  void give(const Value& like, Name derivative, std::string_view suffix);
  void give(DataType type, const Shape& shape, Name derivative, const std::string& base);
  void add_output(const onnx::ValueInfoProto& entry, const Name& derivative);

  /// Calls this for each of `of_` by each of `wrt_`, which then are these alone.
  void for_each_pair(void (Transform::*write)(const Value& y, const Value& x));
  /// Gives what was made for each element of some value, in front, with that axis at another place, in these dims.
  void give_whole(DataType type, const Shape& shape, Name made, std::size_t place, std::size_t rank, const std::string& name);
  void jacobian(const Value& y, const Value& x);
  void hessian(const Value& y, const Value& x);
  [[nodiscard]] bool keeps_samples(const Value& x, const Value& y);
  [[nodiscard]] int64_t count_of(const Shape& shape);
  /// What comes to `result` for each element of `source`, an input with the dims of `like`, which is removed; in front. "": zero.
  [[nodiscard]] Name by_each(const Value& source, const Name& result, const Value& like, bool is_per_sample);
  [[nodiscard]] Values data_inputs();
  [[nodiscard]] const Value* loss_of_samples(const Value* value, const Values& data);

  Model& model_;
  Graph& graph_;
  DeriveResult& result_;
  std::unique_ptr<Sizes> sizes_;
  std::optional<Linearizer> linear_;
  Values wrt_, of_;
};

}  // namespace relayout::derive
