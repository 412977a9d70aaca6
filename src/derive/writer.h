// Declares how nodes of standard operators are written into a graph, one after the other.

#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "derive/sizes.h"
#include "ops/body.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout::derive {

/// Values are names; "" is an absent one, and as a tangent or cotangent it is zero.
using Name = std::string;
using Names = std::vector<Name>;
using NamedAttributes = BodyCall::NamedAttributes;

/// The oldest opset that has all operators which rows write.
inline constexpr int64_t kLeastOpset = 16;

/// A dim of a shape to be written: a number, or the size of another value along an axis.
struct Dim {
  int64_t size = -1;
  Name of = {};
  std::size_t axis = 0;
  Dim(int64_t number) : size(number) {}  // NOLINT(google-explicit-constructor): a number is a dim
  Dim(int64_t known, Name value, std::size_t along) : size(known), of(std::move(value)), axis(along) {}
};

/// Writes nodes before a position that only moves towards the end. Equal nodes are written once.
class Writer {
 public:
  explicit Writer(Graph& graph) : graph_(graph), position_(graph.nodes().end()) {}
  void stand_before(std::list<Node>::iterator position) { position_ = position; }
  /// The beginning of the names of what is written next.
  void name_after(std::string prefix) { prefix_ = std::move(prefix); }

  Name make(std::string_view op, const Names& inputs, const NamedAttributes& attributes = {});
  /// A node without outputs and a name, which it gets.
  Names make(onnx::NodeProto message, std::size_t outputs);
  Names make(std::string_view op, const Names& inputs, std::size_t outputs, const NamedAttributes& attributes = {});
  /// A node's operator and attributes, some of them changed, with other operands; its output `index`.
  Name make_like(const Node& node, const Names& inputs, std::size_t index = 0, const NamedAttributes& changes = {});
  Names make_all_like(const Node& node, const Names& inputs, const NamedAttributes& changes = {});

  // Constants.
  Name integers(const std::vector<int64_t>& values);  ///< a vector
  Name integer(int64_t value);                        ///< a scalar
  Name real(double value, DataType type);             ///< a scalar
  Name cast(const Name& value, DataType type) { return make("Cast", {value}, {{"to", static_cast<int64_t>(type)}}); }

  // Sums and products of tangents; absent ones are zero. Products of one tangent become one, of the tangent with all that it is multiplied
  // by: the factors follow from the model's values alone, so that runtimes compute them side by side.
  Name add(const Name& a, const Name& b);
  Name subtract(const Name& a, const Name& b);
  Name scale(const Name& tangent, const Name& factor) { return product(tangent, factor, "Mul"); }
  Name divide(const Name& tangent, const Name& divisor) { return product(tangent, divisor, "Div"); }
  /// Whether a product is that of this tangent with numbers that do not depend on tangents.
  [[nodiscard]] bool is_product_of(const Name& product, const Name& tangent) const;
  /// What a value was made of by repetition, which broadcasts to its dims; or the value itself.
  [[nodiscard]] Name before_expand(const Name& value) const;
  Name negative(const Name& a) { return a.empty() ? a : make("Neg", {a}); }
  /// A reduction that keeps its dims as 1.
  Name reduce(std::string_view op, const Name& value, const std::vector<int64_t>& axes, bool keep = true);

  // Shapes.
  Name shape(const Name& value) { return make("Shape", {value}); }
  Name shape(const std::vector<Dim>& dims);
  Name reshape(const Name& value, const std::vector<Dim>& dims) { return make("Reshape", {value, shape(dims)}); }
  Name unsqueeze(const Name& value, const std::vector<int64_t>& axes) {
    return axes.empty() ? value : make("Unsqueeze", {value, integers(axes)});
  }
  Name transpose(const Name& value, const std::vector<int64_t>& permutation) { return make("Transpose", {value}, {{"perm", permutation}}); }
  /// An Identity whose output has exactly this name.
  void make_named(const Name& value, const std::string& name);

  [[nodiscard]] Graph& graph() noexcept { return graph_; }

 private:
  struct Product {
    Name tangent, factor;
    bool divides = false;
  };
  Name product(const Name& tangent, const Name& factor, const char* op);
  Name sum(const Name& a, const Name& b, const char* op);
  Names insert(onnx::NodeProto message, std::size_t outputs, bool at_front = false);

  Graph& graph_;
  std::list<Node>::iterator position_;
  std::string prefix_;
  std::map<std::string, Names> made_;  ///< by the message without its names
  std::map<Name, Product> products_;   ///< by the result
};

}  // namespace relayout::derive
