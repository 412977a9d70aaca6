#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace relayout::test {

/// A small network under construction or about to be changed: a ModelProto with short names for frequent operations.
class Network {
 public:
  explicit Network(uint64_t seed, int64_t opset = 17);

  [[nodiscard]] onnx::ModelProto& model() { return model_; }
  [[nodiscard]] onnx::GraphProto& graph() { return *model_.mutable_graph(); }

  // Building. A dim is a number, or a name when it is free.
  Network& input(const std::string& name, const std::vector<std::string>& dims, int type = onnx::TensorProto::FLOAT);
  Network& output(const std::string& name, const std::vector<std::string>& dims, int type = onnx::TensorProto::FLOAT);
  /// Attributes as "name=1", "name=1,2" (ints), "name=0.5" (float), "name='text'".
  onnx::NodeProto& node(const std::string& op_type, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                        const std::vector<std::string>& attributes = {});
  /// Values N(0, 1) · scale + shift from the seed and the name.
  Network& normal(const std::string& name, const std::vector<int64_t>& dims, double scale = 1, double shift = 0);
  /// Values between `least` and `most`.
  Network& uniform(const std::string& name, const std::vector<int64_t>& dims, double least, double most);
  Network& floats(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values);
  Network& integers(const std::string& name, const std::vector<int64_t>& dims, const std::vector<int64_t>& values);
  /// Conv named `name` with weights name.w (He's variance) and bias name.b; x is [N, channels, …].
  Network& convolution(const std::string& name, const std::string& x, const std::string& y, const std::vector<int64_t>& weight_dims,
                       const std::vector<std::string>& attributes, const std::string& op_type = "Conv");
  /// BatchNormalization named `name` with parameters name.scale, name.bias, name.mean, name.var.
  Network& batch_norm(const std::string& name, const std::string& x, const std::string& y, int64_t channels);

  // Changing. The named value, node or initializer must exist.
  [[nodiscard]] onnx::NodeProto& producer(const std::string& value);
  [[nodiscard]] onnx::TensorProto& tensor(const std::string& name);
  [[nodiscard]] std::vector<float> values(const std::string& name);
  void set_values(const std::string& name, const std::vector<float>& values);
  void edit(const std::string& name, const std::function<void(std::vector<float>&)>& change);
  /// Makes every consumer of `from` read `to`. Graph outputs keep their names.
  void replace_uses(const std::string& from, const std::string& to);
  /// Inserts a node downstream of the producer of `value`: all consumers of `value` read the output of the new node. A graph output keeps
  /// its name.
  onnx::NodeProto& insert_after(const std::string& value, const std::string& op_type, const std::vector<std::string>& more_inputs = {},
                                const std::vector<std::string>& attributes = {});
  void remove_node(const std::string& output);
  void remove_initializer(const std::string& name);
  /// Sets an attribute, in the notation of node().
  static void set_attribute(onnx::NodeProto& node, const std::string& attribute);
  /// Sorts the nodes into an order in which they can run.
  void sort();

  [[nodiscard]] std::vector<std::string> outputs_of(const std::string& op_type);
  [[nodiscard]] bool is_graph_output(const std::string& name);
  [[nodiscard]] std::string bytes() { return model_.SerializeAsString(); }

 private:
  uint64_t seed_;
  onnx::ModelProto model_;
};

/// Folds the BatchNormalization that produces `value` into the convolution upstream, in double with one rounding, by the textbook formula.
/// All options but `in_float` are for wrong folds.
struct FoldOptions {
  double epsilon_factor = 1;
  bool scale_bias = true;        ///< the convolution's own bias is multiplied too
  bool in_float = false;         ///< the factor is computed in f32
  bool epsilon_outside = false;  ///< its root is added to the root of the variance, instead of epsilon to the variance
};
void fold_batch_norm(Network& network, const std::string& value, const FoldOptions& options = {});

}  // namespace relayout::test
