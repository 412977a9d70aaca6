#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mutations.h"
#include "networks.h"
#include "support/network.h"

namespace relayout::testing {

/// Folds each BatchNormalization directly downstream of a convolution without a second reader.
inline void fold_all(Network& network, const test::FoldOptions& options = {}) {
  for (const std::string& value : network.outputs_of("BatchNormalization")) {
    const std::string x = network.producer(value).input(0);
    int64_t readers = 0;
    for (const auto& node : network.graph().node()) readers += std::ranges::count(node.input(), x);
    if (readers == 1 && network.producer(x).op_type().starts_with("Conv")) fold_batch_norm(network, value, options);
  }
}

inline void channels_last_weights(Network& n) {
  for (const std::string& value : n.outputs_of("Conv")) {
    auto& convolution = n.producer(value);
    const std::string name = convolution.input(1);
    auto& tensor = n.tensor(name);
    if (tensor.dims_size() != 4) continue;
    const std::vector<int64_t> d(tensor.dims().begin(), tensor.dims().end());
    const auto w = n.values(name);
    std::vector<float> moved;
    for (int64_t o = 0; o < d[0]; ++o)
      for (int64_t h = 0; h < d[2]; ++h)
        for (int64_t v = 0; v < d[3]; ++v)
          for (int64_t i = 0; i < d[1]; ++i) moved.push_back(w[static_cast<std::size_t>(((o * d[1] + i) * d[2] + h) * d[3] + v)]);
    n.remove_initializer(name);
    n.floats(name + ".channels_last", {d[0], d[2], d[3], d[1]}, moved);
    n.node("Transpose", {name + ".channels_last"}, {name}, {"perm=0,3,1,2"});
  }
  n.sort();
}

inline void weights_as_constants(Network& n) {
  const std::vector<onnx::TensorProto> all(n.graph().initializer().begin(), n.graph().initializer().end());
  n.graph().clear_initializer();
  for (const auto& tensor : all) {
    auto& node = n.node("Constant", {}, {tensor.name()});
    auto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    *attribute.mutable_t() = tensor;
  }
  n.sort();
}

inline void rename_everything(Network& n) {
  std::vector<std::string> made;
  for (const auto& node : n.graph().node()) made.insert(made.end(), node.output().begin(), node.output().end());
  int number = 0;
  for (const std::string& value : made) {
    if (n.is_graph_output(value)) continue;
    const std::string name = "renamed" + std::to_string(number++);
    n.replace_uses(value, name);
    std::ranges::replace(*n.producer(value).mutable_output(), value, name);
  }
  for (auto& node : *n.graph().mutable_node()) node.set_name("node" + std::to_string(number++));
}

/// y = conv(x; W) as two convolutions over half of the output channels each.
inline void split_outputs(Network& n) {
  if (n.outputs_of("Conv").empty()) return;
  const std::string value = n.outputs_of("Conv").front();
  const onnx::NodeProto old = n.producer(value);
  bool grouped = false;
  for (const auto& attribute : old.attribute()) grouped = grouped || attribute.name() == "group";
  if (grouped) return;
  std::vector<int64_t> dims(n.tensor(old.input(1)).dims().begin(), n.tensor(old.input(1)).dims().end());
  const auto w = n.values(old.input(1)), b = n.values(old.input(2));
  const auto half = static_cast<std::ptrdiff_t>(dims[0] / 2);
  const auto row = static_cast<std::ptrdiff_t>(w.size()) / dims[0];
  n.remove_node(value);
  for (int part = 0; part < 2; ++part) {
    const std::ptrdiff_t begin = part == 0 ? 0 : half, end = part == 0 ? half : static_cast<std::ptrdiff_t>(dims[0]);
    const std::string suffix = ".part" + std::to_string(part);
    std::vector<int64_t> own = dims;
    own[0] = end - begin;
    n.floats(old.input(1) + suffix, own, {w.begin() + begin * row, w.begin() + end * row});
    n.floats(old.input(2) + suffix, {end - begin}, {b.begin() + begin, b.begin() + end});
    onnx::NodeProto& node = *n.graph().add_node();
    node = old;
    node.set_name(old.name() + suffix);
    node.set_input(1, old.input(1) + suffix);
    node.set_input(2, old.input(2) + suffix);
    node.set_output(0, value + suffix);
  }
  n.node("Concat", {value + ".part0", value + ".part1"}, {value}, {"axis=1"});
  n.sort();
}

inline void batch_norm_as_mul_add(Network& n) {
  for (const std::string& value : n.outputs_of("BatchNormalization")) {
    const onnx::NodeProto norm = n.producer(value);
    const auto scales = n.values(norm.input(1)), shift = n.values(norm.input(2)), mean = n.values(norm.input(3)),
               variance = n.values(norm.input(4));
    std::vector<float> factor, offset;
    for (std::size_t c = 0; c < scales.size(); ++c) {
      const double f = static_cast<double>(scales[c]) / std::sqrt(static_cast<double>(variance[c]) + 1e-5F);
      factor.push_back(static_cast<float>(f));
      offset.push_back(static_cast<float>(static_cast<double>(shift[c]) - static_cast<double>(mean[c]) * f));
    }
    // Normalizations have as many axes as the input.
    const auto rank = static_cast<std::size_t>(n.graph().input(0).type().tensor_type().shape().dim_size());
    std::vector<int64_t> dims(rank, 1);
    dims[1] = static_cast<int64_t>(factor.size());
    n.floats(value + ".f", dims, factor).floats(value + ".o", dims, offset);
    n.remove_node(value);
    n.node("Mul", {norm.input(0), value + ".f"}, {value + ".m"}), n.node("Add", {value + ".m", value + ".o"}, {value});
  }
  n.sort();
}

inline void bias_as_add(Network& n) {
  for (const std::string& value : n.outputs_of("Conv")) {
    auto& convolution = n.producer(value);
    const std::string bias = convolution.input(2);
    std::vector<int64_t> dims(static_cast<std::size_t>(n.tensor(convolution.input(1)).dims_size()), 1);
    dims[1] = n.tensor(bias).dims(0);
    convolution.mutable_input()->RemoveLast();
    n.floats(value + ".bias", dims, n.values(bias));
    n.insert_after(value, "Add", {value + ".bias"});
  }
}

inline void commute(Network& n) {
  for (auto& node : *n.graph().mutable_node()) {
    if (node.op_type() == "Add" || node.op_type() == "Mul") node.mutable_input()->SwapElements(0, 1);
  }
}

inline void relu_as_clip(Network& n) {
  n.floats("relu.zero", {}, {0});
  for (auto& node : *n.graph().mutable_node()) {
    if (node.op_type() != "Relu") continue;
    node.set_op_type("Max");
    node.add_input("relu.zero");
  }
}

inline void identities(Network& n) {
  std::vector<std::string> made;
  for (const auto& node : n.graph().node()) made.push_back(node.output(0));
  for (const std::string& value : made) n.insert_after(value, "Identity");
}

inline void typed_data(Network& n) {
  for (auto& tensor : *n.graph().mutable_initializer()) {
    if (tensor.data_type() != onnx::TensorProto::FLOAT) continue;
    const auto values = n.values(tensor.name());
    tensor.clear_raw_data();
    for (const float value : values) tensor.add_float_data(value);
  }
}

inline void initializers_reversed(Network& n) {
  std::vector<onnx::TensorProto> all(n.graph().initializer().rbegin(), n.graph().initializer().rend());
  n.graph().clear_initializer();
  for (auto& tensor : all) *n.graph().add_initializer() = tensor;
}

inline void sums_in_double(Network& n) {
  for (const std::string& value : n.outputs_of("Add")) {
    auto& node = n.producer(value);
    const std::string x = node.input(0), y = node.input(1);
    n.node("Cast", {x}, {value + ".x"}, {"to=11"}), n.node("Cast", {y}, {value + ".y"}, {"to=11"});
    auto& add = n.producer(value);
    add.set_input(0, value + ".x"), add.set_input(1, value + ".y"), add.set_output(0, value + ".d");
    n.node("Cast", {value + ".d"}, {value}, {"to=1"});
  }
  n.sort();
}

inline void global_pool_as_mean(Network& n) {
  for (const std::string& value : n.outputs_of("GlobalAveragePool")) {
    auto& node = n.producer(value);
    node.set_op_type("ReduceMean");
    Network::set_attribute(node, "axes=2,3");
  }
}

inline void gemm_as_matmul(Network& n) {
  for (const std::string& value : n.outputs_of("Gemm")) {
    const onnx::NodeProto gemm = n.producer(value);
    n.remove_node(value);
    std::string b = gemm.input(1);
    if (gemm.attribute_size() > 0) {
      n.node("Transpose", {b}, {b + ".t"}, {"perm=1,0"});
      b += ".t";
    }
    n.node("MatMul", {gemm.input(0), b}, {value + ".m"}), n.node("Add", {value + ".m", gemm.input(2)}, {value});
  }
  n.sort();
}

inline void softmax_by_hand(Network& n) {
  if (n.model().opset_import(0).version() < 13) return;
  for (const std::string& value : n.outputs_of("Softmax")) {
    const std::string x = n.producer(value).input(0);
    n.remove_node(value);
    n.integers(value + ".ax", {1}, {-1});
    n.node("ReduceMax", {x}, {value + ".max"}, {"axes=-1,"}), n.node("Sub", {x, value + ".max"}, {value + ".s"});
    n.node("Exp", {value + ".s"}, {value + ".e"}), n.node("ReduceSum", {value + ".e", value + ".ax"}, {value + ".sum"});
    n.node("Div", {value + ".e", value + ".sum"}, {value});
  }
  n.sort();
}

inline void one_ulp_everywhere(Network& n) {
  for (auto& tensor : *n.graph().mutable_initializer()) {
    // Factors of a Resize are sizes.
    if (tensor.data_type() != onnx::TensorProto::FLOAT || tensor.dims_size() == 0 || tensor.name() == "twice") continue;
    n.edit(tensor.name(), [](auto& v) {
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::nextafter(v[i], i * 2654435761U % 64 < 32 ? 1e30F : -1e30F);
    });
  }
}

inline void other_metadata(Network& n) {
  n.model().set_doc_string("other");
  n.model().set_producer_name("somebody");
  n.model().set_ir_version(9);
  n.normal("unused", {3}, 1);
  const std::string dead = n.graph().node(0).output(0);
  n.node("Identity", {dead}, {"dead"});
}

/// Raises the opset to 18 if no operator changes its meaning.
inline void newer_opset(Network& n) {
  const bool changes = std::ranges::any_of(n.graph().node(), [](const auto& node) {
    return node.op_type() == "ReduceMean" || node.op_type() == "Split" || node.op_type() == "Softmax" || node.op_type() == "Resize";
  });
  if (!changes) n.model().mutable_opset_import(0)->set_version(18);
}

inline int64_t attribute_count(const onnx::NodeProto& node, const std::string& name) {
  return std::ranges::count(node.attribute(), name, &onnx::AttributeProto::name);
}

/// Convolutions as sums over two halves of their input channels.
inline void split_inputs(Network& n) {
  for (const std::string& value : n.outputs_of("Conv")) {
    const onnx::NodeProto old = n.producer(value);
    const std::vector<int64_t> dims(n.tensor(old.input(1)).dims().begin(), n.tensor(old.input(1)).dims().end());
    if (attribute_count(old, "group") > 0 || dims[1] < 2) continue;
    const auto w = n.values(old.input(1));
    const int64_t inner = static_cast<int64_t>(w.size()) / dims[0] / dims[1], half = dims[1] / 2;
    n.integers(value + ".first", {1}, {0}).integers(value + ".half", {1}, {half});
    n.integers(value + ".all", {1}, {dims[1]}).integers(value + ".axis", {1}, {1});
    n.remove_node(value);
    for (int part = 0; part < 2; ++part) {
      const std::string suffix = ".in" + std::to_string(part);
      const int64_t begin = part == 0 ? 0 : half, end = part == 0 ? half : dims[1];
      std::vector<float> own;
      for (int64_t o = 0; o < dims[0]; ++o) {
        const auto row = w.begin() + (o * dims[1] + begin) * inner;
        own.insert(own.end(), row, row + (end - begin) * inner);
      }
      std::vector<int64_t> own_dims = dims;
      own_dims[1] = end - begin;
      n.floats(value + ".w" + suffix, own_dims, own);
      n.node("Slice", {old.input(0), value + (part == 0 ? ".first" : ".half"), value + (part == 0 ? ".half" : ".all"), value + ".axis"},
             {value + ".x" + suffix});
      onnx::NodeProto& node = *n.graph().add_node();
      node = old;
      node.set_name(old.name() + suffix);
      node.set_input(0, value + ".x" + suffix);
      node.set_input(1, value + ".w" + suffix);
      if (part == 1) node.mutable_input()->RemoveLast();
      node.set_output(0, value + suffix);
    }
    n.node("Add", {value + ".in0", value + ".in1"}, {value});
  }
  n.sort();
}

/// Padding as a separate node.
inline void pads_apart(Network& n) {
  for (const std::string& value : n.outputs_of("Conv")) {
    auto& node = n.producer(value);
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.name() != "pads") continue;
      const int axes = attribute.ints_size() / 2;
      std::vector<int64_t> pads(static_cast<std::size_t>(2 * axes + 4), 0);
      for (int i = 0; i < axes; ++i) {
        pads[static_cast<std::size_t>(2 + i)] = attribute.ints(i);
        pads[static_cast<std::size_t>(4 + axes + i)] = attribute.ints(axes + i);
        attribute.set_ints(i, 0);
        attribute.set_ints(axes + i, 0);
      }
      n.integers(value + ".pads", {static_cast<int64_t>(pads.size())}, pads);
      const std::string x = node.input(0);
      node.set_input(0, value + ".padded");
      n.node("Pad", {x, value + ".pads"}, {value + ".padded"});
      break;
    }
  }
  n.sort();
}

/// Reorders the channels between a convolution and the next one: sums are taken in a different order.
inline void permute_channels(Network& n) {
  for (const auto& [first, second] : {std::pair{"c1", "c2"}, std::pair{"c2", "c3"}}) {
    const auto has = [&](const std::string& name) {
      return std::ranges::count(n.graph().initializer(), name, &onnx::TensorProto::name) > 0;
    };
    if (!has(std::string(first) + ".w") || !has(std::string(second) + ".w")) continue;
    const std::string before = first, next = second;
    const std::string norm = "n" + before.substr(1);
    const int64_t channels = n.tensor(before + ".w").dims(0), inner = n.tensor(before + ".w").dims(1);
    // Only for the chain convolution, normalization, Relu, convolution.
    if (!has(norm + ".scale") || inner < 2 || n.tensor(next + ".w").dims(1) != channels) continue;
    if (n.producer(next + ".y").op_type() != "Conv" || n.producer(next + ".y").input(0) != "r" + before.substr(1)) continue;
    const std::string between[] = {before + ".y", norm + ".y", "r" + before.substr(1)};
    const auto is_read_once = [&](const std::string& value) {
      int64_t readers = n.is_graph_output(value) ? 1 : 0;
      for (const auto& node : n.graph().node()) readers += std::ranges::count(node.input(), value);
      return readers == 1;
    };
    if (!std::ranges::all_of(between, is_read_once)) continue;
    const auto rotate = [&](const std::string& name, int64_t blocks, int64_t size) {
      n.edit(name, [&](std::vector<float>& v) {
        for (int64_t b = 0; b < blocks; ++b) {
          const auto at = v.begin() + b * channels * size;
          std::rotate(at, at + size, at + channels * size);
        }
      });
    };
    rotate(before + ".w", 1, static_cast<int64_t>(n.values(before + ".w").size()) / channels);
    for (const std::string& name : {before + ".b", norm + ".scale", norm + ".bias", norm + ".mean", norm + ".var"}) rotate(name, 1, 1);
    const int64_t rows = n.tensor(next + ".w").dims(0);
    rotate(next + ".w", rows, static_cast<int64_t>(n.values(next + ".w").size()) / rows / channels);
  }
}

/// Relu on the other layout, between two Transposes.
inline void relu_channels_last(Network& n) {
  const int rank = n.graph().input(0).type().tensor_type().shape().dim_size();
  if (rank < 4) return;
  const std::string to = rank == 4 ? "perm=0,2,3,1" : "perm=0,2,3,4,1", back = rank == 4 ? "perm=0,3,1,2" : "perm=0,4,1,2,3";
  for (const std::string& value : n.outputs_of("Relu")) {
    auto& node = n.producer(value);
    const std::string x = node.input(0);
    node.set_input(0, value + ".in");
    n.node("Transpose", {x}, {value + ".in"}, {to});
    n.insert_after(value, "Transpose", {}, {back});
  }
  n.sort();
}

inline void layer_norm_by_hand(Network& n) {
  for (const std::string& value : n.outputs_of("LayerNormalization")) {
    const onnx::NodeProto norm = n.producer(value);
    n.remove_node(value);
    n.floats(value + ".eps", {}, {1e-5F}).node("ReduceMean", {norm.input(0)}, {value + ".mean"}, {"axes=-1,"});
    n.node("Sub", {norm.input(0), value + ".mean"}, {value + ".d"}), n.node("Mul", {value + ".d", value + ".d"}, {value + ".dd"});
    n.node("ReduceMean", {value + ".dd"}, {value + ".v"}, {"axes=-1,"}), n.node("Add", {value + ".v", value + ".eps"}, {value + ".ve"});
    n.node("Sqrt", {value + ".ve"}, {value + ".root"}), n.node("Div", {value + ".d", value + ".root"}, {value + ".n"});
    n.node("Mul", {value + ".n", norm.input(1)}, {value + ".s"}), n.node("Add", {value + ".s", norm.input(2)}, {value});
  }
  n.sort();
}

inline void quotients_as_products(Network& n) {
  for (const std::string& value : n.outputs_of("Div")) {
    auto& node = n.producer(value);
    const std::string divisor = node.input(1);
    node.set_op_type("Mul");
    node.set_input(1, value + ".inverse");
    n.node("Reciprocal", {divisor}, {value + ".inverse"});
  }
  n.sort();
}

inline void differences_as_sums(Network& n) {
  for (const std::string& value : n.outputs_of("Sub")) {
    auto& node = n.producer(value);
    const std::string minus = node.input(1);
    node.set_op_type("Add");
    node.set_input(1, value + ".negated");
    n.node("Neg", {minus}, {value + ".negated"});
  }
  n.sort();
}

/// Weights stored in double and cast at their readers: exact.
inline void weights_in_double(Network& n) {
  const std::vector<onnx::TensorProto> all(n.graph().initializer().begin(), n.graph().initializer().end());
  for (const auto& tensor : all) {
    if (tensor.data_type() != onnx::TensorProto::FLOAT || tensor.dims_size() < 2) continue;
    const auto values = n.values(tensor.name());
    n.remove_initializer(tensor.name());
    auto& wide = *n.graph().add_initializer();
    wide.set_name(tensor.name() + ".double");
    wide.set_data_type(onnx::TensorProto::DOUBLE);
    *wide.mutable_dims() = tensor.dims();
    for (const float value : values) wide.add_double_data(static_cast<double>(value));
    n.node("Cast", {tensor.name() + ".double"}, {tensor.name()}, {"to=1"});
  }
  n.sort();
}

/// A rewrite that keeps the function of a network.
struct Rewrite {
  const char* name;
  Change change;
};

inline const std::vector<Rewrite> kRewrites{
    {"Unchanged", [](Network&) {}},
    {"Folded", [](Network& n) { fold_all(n); }},
    {"FoldedInFloat", [](Network& n) { fold_all(n, {.in_float = true}); }},
    {"FoldedAndChannelsLast", [](Network& n) { fold_all(n), channels_last_weights(n); }},
    {"ChannelsLast", channels_last_weights},
    {"Constants", weights_as_constants},
    {"Renamed", rename_everything},
    {"FoldedAndRenamed", [](Network& n) { fold_all(n), rename_everything(n); }},
    {"SplitOutputs", split_outputs},
    {"SplitInputs", split_inputs},
    {"MulAdd", batch_norm_as_mul_add},
    {"BiasAsAdd", bias_as_add},
    {"Commuted", commute},
    {"ReluAsMax", relu_as_clip},
    {"ReluChannelsLast", relu_channels_last},
    {"Identities", identities},
    {"TypedData", typed_data},
    {"InitializersReversed", initializers_reversed},
    {"SumsInDouble", sums_in_double},
    {"GlobalPoolAsMean", global_pool_as_mean},
    {"GemmAsMatMul", gemm_as_matmul},
    {"SoftmaxByHand", softmax_by_hand},
    {"LayerNormByHand", layer_norm_by_hand},
    {"QuotientsAsProducts", quotients_as_products},
    {"DifferencesAsSums", differences_as_sums},
    {"PadsApart", pads_apart},
    {"ChannelsPermuted", permute_channels},
    {"WeightsInDouble", weights_in_double},
    {"V25OneUlpEverywhere", one_ulp_everywhere},
    {"V19Metadata", other_metadata},
    {"V19NewerOpset", newer_opset},
};

}  // namespace relayout::testing
