#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ops/constants.h"
#include "ops/partial_dims.h"
#include "proof/calls.h"  // IWYU pragma: export
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout::proof {

/// One of the two models, as the proof reads it.
class Side {
 public:
  explicit Side(const Model& model);

  [[nodiscard]] const Model& model() const noexcept { return model_; }
  /// Every node, nested graphs and functions included, in order; a node's nested graphs come right before it.
  [[nodiscard]] const std::vector<const Node*>& nodes() const noexcept { return nodes_; }
  /// Place in nodes(); of a node in an operator's body that of the operator.
  [[nodiscard]] int64_t order_of(const Node& node) const { return order_.at(&in_file(node)); }

  // See Calls.
  [[nodiscard]] const Node& in_file(const Node& node) const { return calls_.in_file(node); }
  [[nodiscard]] Ref resolve(Ref ref) const { return calls_.resolve(ref); }
  [[nodiscard]] const Graph* function_of(const Node& node) const { return calls_.function_of(node); }
  [[nodiscard]] std::optional<Ref> entered(Ref output) { return calls_.entered(output); }
  /// Operand `index` of the node that makes `of`, resolved.
  [[nodiscard]] Ref operand(Ref of, std::size_t index) const { return resolve({of.value->producer()->input(index), of.call}); }

  /// From now on an input's default is a constant.
  void freeze(const Value& value) { frozen_.insert(&value); }
  /// The constant, evaluated if need be; nothing when it is none.
  [[nodiscard]] std::optional<Constant> constant(Ref ref);
  /// Small contents, as far as they are certain for all calls of the function that makes them.
  [[nodiscard]] std::optional<PartialContents> partial_contents(Ref ref) { return constants_.contents(*ref.value); }
  /// The same for what is constant as long as no caller or training replaces it: overridable and trained initializers too.
  [[nodiscard]] std::optional<Constant> contents(Ref ref);
  /// Element type of a value; undefined where it does not follow from the model.
  [[nodiscard]] DataType type_of(Ref ref);
  /// Whether `ref` is a constant whose elements lie in the file: an initializer or Constant, also behind Identity and Transpose. The
  /// nodes on the way are appended to `path`, and the value of initializer or Constant is the result; else nullptr.
  [[nodiscard]] const Value* stored(Ref ref, std::vector<const Node*>* path = nullptr) const;

 private:
  void index(const Graph& graph);

  const Model& model_;
  Constants constants_;
  Calls calls_;
  std::unordered_set<const Value*> frozen_;
  std::vector<const Node*> nodes_;
  std::unordered_map<const Node*, int64_t> order_;
  std::unordered_map<Ref, DataType, RefHash> types_;
};

/// Elements of a constant of a float type, widened; nothing when it is none or larger than `limit` elements.
[[nodiscard]] std::optional<std::vector<double>> reals_of(Side& side, Ref ref, int64_t limit);
/// Elements of a constant of an integer type.
[[nodiscard]] std::optional<std::vector<int64_t>> integers_of(Side& side, Ref ref);

/// Reads a node's attributes as they stand within a call.
class AttributeReader {
 public:
  AttributeReader(const Node& node, const Call* call) : node_(node), call_(call) {}
  /// The attribute with references of entered functions resolved; nullptr when absent. A reference that nothing resolves comes back
  /// as it is, and `is_open()` holds from then on.
  [[nodiscard]] const onnx::AttributeProto* find(std::string_view name) const;
  [[nodiscard]] int64_t integer(std::string_view name, int64_t otherwise) const;
  [[nodiscard]] double real(std::string_view name, float otherwise) const;
  [[nodiscard]] std::string text(std::string_view name, std::string_view otherwise) const;
  [[nodiscard]] std::vector<int64_t> integers(std::string_view name) const;  ///< empty when absent
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] bool is_open() const noexcept { return open_; }

 private:
  const Node& node_;
  const Call* call_;
  mutable bool open_ = false;
};

/// Whether the node passes its first input on unchanged as its first output: Identity, Dropout where it does not drop, Transpose that
/// moves nothing, Concat, Sum, Max, Min, Mean of one operand, Cast to the type that is there.
[[nodiscard]] bool is_identity(Side& side, Ref output);

}  // namespace relayout::proof
