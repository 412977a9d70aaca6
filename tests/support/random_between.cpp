#include <numeric>

#include "relayout/types.h"
#include "support/random_network.h"

namespace relayout::test {
namespace {

bool is_image(const Dims& dims) {
  return dims.size() >= 3 && dims.size() <= 5;
}

}  // namespace

void RandomNetwork::identity(const Entry& x) {
  const std::string y = fresh();
  node("Identity", {x.name}, {y});
  made(y, x.dims);
}

void RandomNetwork::dropout(const Entry& x) {
  const std::string y = fresh();
  std::vector<std::string> outputs{y};
  if (opset_ >= 10 && dice_.one_in(5)) outputs.push_back(fresh("mask"));
  if (opset_ >= 12) {
    std::vector<std::string> inputs{x.name};
    if (dice_.one_in(2)) inputs.push_back(constant("ratio", {}, {0.25}, DataType::float32));
    node("Dropout", inputs, outputs);
  } else {
    auto& dropout = node("Dropout", {x.name}, outputs, opset_ < 7 ? Attributes{{"is_test!", {1}}} : Attributes{});
    if (dice_.one_in(2)) real(dropout, "ratio", 0.5);
  }
  made(y, x.dims);
}

void RandomNetwork::transpose(const Entry& x) {
  const auto rank = static_cast<int64_t>(x.dims.size());
  if (rank < 2) return identity(x);
  Dims permutation(x.dims.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  if (rank > 3 && dice_.one_in(2)) {
    std::swap(permutation[2], permutation[3]);  // the channel stays
  } else {
    for (std::size_t i = permutation.size(); i > 1; --i) {
      std::swap(permutation[i - 1], permutation[static_cast<std::size_t>(dice_.from(0, static_cast<int64_t>(i) - 1))]);
    }
  }
  const auto apply = [&](const Entry& from, const Dims& order) {
    const std::string y = fresh();
    Dims dims;
    for (const int64_t d : order) dims.push_back(from.dims[static_cast<std::size_t>(d)]);
    node("Transpose", {from.name}, {y}, {{"perm", order}});
    made(y, dims);
  };
  apply(x, permutation);
  if (!dice_.one_in(3)) return;
  Dims back(permutation.size());
  for (std::size_t i = 0; i < back.size(); ++i) back[static_cast<std::size_t>(permutation[i])] = static_cast<int64_t>(i);
  apply(Entry(values_.back()), back);
}

void RandomNetwork::reshape(const Entry& x) {
  Dims dims = x.dims, spelled;
  switch (dice_.from(1, 5)) {
    case 1:  // trailing axes become one
      while (dims.size() > 3) {
        const int64_t last = dims.back();
        dims.pop_back();
        dims.back() *= last;
      }
      break;
    case 2:  // the channel in two
      if (dims.size() < 2 || dims.size() > 4 || dims[1] % 2 != 0) break;
      dims[1] /= 2;
      dims.insert(dims.begin() + 1, 2);
      break;
    case 3:  // batch and channel into one
      if (dims.size() < 3) break;
      dims[1] *= dims[0];
      dims.erase(dims.begin());
      break;
    case 4:  // a new axis at the end
      if (dims.size() < 5) dims.push_back(1);
      break;
    default:  // two axes exchanged in size only
      if (dims.size() > 2) std::swap(dims[1], dims[2]);
      break;
  }
  spelled = dims;
  if (dice_.one_in(3)) spelled.back() = -1;
  if (dice_.one_in(3) && dims[0] == x.dims[0]) spelled[0] = 0;
  const std::string y = fresh();
  node("Reshape", {x.name, integers(spelled)}, {y});
  made(y, dims);
}

void RandomNetwork::flatten(const Entry& x) {
  const auto rank = static_cast<int64_t>(x.dims.size());
  if (rank < 2) return identity(x);
  const int64_t axis = dice_.one_in(4) ? dice_.from(0, rank - 1) : 1;
  Dims dims{1, 1};
  for (int64_t d = 0; d < rank; ++d) dims[d < axis ? 0 : 1] *= x.dims[static_cast<std::size_t>(d)];
  const std::string y = fresh();
  node("Flatten", {x.name}, {y}, {{"axis!", {axis}}});
  made(y, dims);
}

void RandomNetwork::squeeze(const Entry& x) {
  Dims axes, dims;
  for (std::size_t d = 0; d < x.dims.size(); ++d) {
    if (x.dims[d] == 1 && x.dims.size() - axes.size() > 2) {
      axes.push_back(static_cast<int64_t>(d));
    } else {
      dims.push_back(x.dims[d]);
    }
  }
  std::string op = "Squeeze";
  if (axes.empty()) {
    if (x.dims.size() > 4) return identity(x);
    op = "Unsqueeze";
    axes = {dice_.from(0, static_cast<int64_t>(x.dims.size()))};
    dims.insert(dims.begin() + axes[0], 1);
  }
  const std::string y = fresh();
  if (opset_ < 13) {
    node(op, {x.name}, {y}, {{"axes", axes}});
  } else {
    node(op, {x.name, integers(axes)}, {y});
  }
  made(y, dims);
}

void RandomNetwork::concat(const Entry& x) {
  const auto rank = static_cast<int64_t>(x.dims.size());
  const int64_t axis = rank < 2 || dice_.one_in(4) ? dice_.from(0, rank - 1) : 1;
  std::vector<std::string> parts{x.name};
  Dims dims = x.dims;
  const auto at = static_cast<std::size_t>(axis);
  for (std::size_t i = values_.size(); i-- > 0 && parts.size() < 4;) {
    const Entry& other = values_[i];
    if (other.dims.size() != x.dims.size() || dice_.one_in(4) || (other.name == x.name && !dice_.one_in(4))) continue;
    Dims rest = other.dims;
    rest[at] = x.dims[at];
    if (rest != x.dims || dims[at] + other.dims[at] > 12) continue;
    parts.insert(dice_.one_in(2) ? parts.begin() : parts.end(), other.name);
    dims[at] += other.dims[at];
  }
  const std::string y = fresh();
  node("Concat", parts, {y}, {{"axis!", {opset_ >= 11 && dice_.one_in(3) ? axis - rank : axis}}});
  made(y, dims);
}

void RandomNetwork::pad(const Entry& x) {
  const std::size_t rank = x.dims.size();
  const std::string mode = dice_.pick<std::string>({"constant", "constant", "reflect", "edge"});
  Dims pads(2 * rank, 0), dims = x.dims;
  for (std::size_t d = 0; d < rank; ++d) {
    if (d < 2 && (mode != "constant" || !dice_.one_in(10))) continue;
    if (mode == "reflect" && x.dims[d] < 2) continue;
    pads[d] = dice_.from(0, 1);
    pads[d + rank] = dice_.from(0, 1);
    dims[d] += pads[d] + pads[d + rank];
  }
  const std::string y = fresh();
  const double value = dice_.one_in(3) ? 0.75 : 0;
  std::vector<std::string> inputs{x.name};
  if (opset_ >= 11) {
    inputs.push_back(integers(pads));
    if (mode == "constant" && dice_.one_in(2)) inputs.push_back(constant("padding", {}, {value}));
  }
  auto& pad = node("Pad", inputs, {y}, opset_ < 11 ? Attributes{{"pads", pads}} : Attributes{});
  text(pad, "mode", mode);
  if (opset_ < 11) real(pad, "value", value);
  made(y, dims);
}

void RandomNetwork::pool(const Entry& x) {
  if (!is_image(x.dims)) return unary(x);
  const std::size_t spatial = x.dims.size() - 2;
  Dims kernel, pads(2 * spatial, 0), dims{x.dims[0], x.dims[1]};
  for (std::size_t d = 0; d < spatial; ++d) {
    kernel.push_back(std::min<int64_t>(2, x.dims[d + 2]));
    if (kernel.back() == 2 && dice_.one_in(3)) pads[d] = pads[d + spatial] = 1;
    dims.push_back(x.dims[d + 2] + 2 * pads[d] - kernel.back() + 1);
  }
  const bool is_average = dice_.one_in(2);
  Attributes attributes{{"kernel_shape", kernel}, {"strides", Dims(spatial, 1)}, {"pads", pads}};
  if (is_average && opset_ >= 7) attributes.push_back({"count_include_pad!", {dice_.from(0, 1)}});
  const std::string y = fresh();
  node(is_average ? "AveragePool" : "MaxPool", {x.name}, {y}, attributes);
  made(y, dims);
}

void RandomNetwork::global_pool(const Entry& x) {
  if (!is_image(x.dims)) return unary(x);
  Dims dims(x.dims.size(), 1);
  std::copy_n(x.dims.begin(), 2, dims.begin());
  const std::string y = fresh();
  node(dice_.one_in(5) ? "GlobalMaxPool" : "GlobalAveragePool", {x.name}, {y});
  made(y, dims);
}

void RandomNetwork::unary(const Entry& x) {
  static const std::vector<std::string> kOps = {"Relu", "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Abs"};
  const std::string y = fresh();
  node(dice_.pick(kOps), {x.name}, {y});
  made(y, x.dims);
}

void RandomNetwork::residual(const Entry& x) {
  std::vector<const Entry*> same;
  for (const Entry& other : values_) {
    if (other.dims == x.dims) same.push_back(&other);
  }
  const std::string other = dice_.pick(same)->name, y = fresh();
  node(dice_.one_in(4) ? "Mul" : "Add", {x.name, other}, {y});
  made(y, x.dims);
}

/// An If whose branches capture the value: an affine in one, a convolution of one point with a BatchNormalization in the other.
void RandomNetwork::branch(const Entry& x) {
  if (!is_image(x.dims) || opset_ < 7) return unary(x);
  const std::string condition = fresh("flag");
  auto& input = *model_.mutable_graph()->add_input();
  input.set_name(condition);
  input.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::BOOL);
  input.mutable_type()->mutable_tensor_type()->mutable_shape();
  const int64_t channels = x.dims[1];
  Dims weight(x.dims.size(), 1), along(x.dims.size() - 1, 1);
  weight[0] = weight[1] = along[0] = channels;
  const Dims each{channels};
  std::vector<double> variance(static_cast<std::size_t>(channels), 0.75);
  const std::string w = constant("weight", weight, normal_values(weight, 0.5)), factor = constant("factor", along, factors(along)),
                    s = constant("scale", each, normal_values(each, 1)), b = constant("shift", each, normal_values(each, 0.5)),
                    m = constant("mean", each, normal_values(each, 0.5)), v = constant("variance", each, variance), y = fresh();
  const std::string one = fresh(), two = fresh(), convolved = fresh();
  const int first = model_.graph().node_size();
  node("Mul", {x.name, factor}, {one});
  node("Conv", {x.name, w}, {convolved});
  node("BatchNormalization", {convolved, s, b, m, v}, {two});
  onnx::GraphProto branches[2];
  *branches[0].add_node() = model_.graph().node(first);
  *branches[1].add_node() = model_.graph().node(first + 1);
  *branches[1].add_node() = model_.graph().node(first + 2);
  model_.mutable_graph()->mutable_node()->DeleteSubrange(first, 3);
  auto& choice = node("If", {condition}, {y});
  const std::pair<const char*, std::string> results[2] = {{"then_branch", one}, {"else_branch", two}};
  for (std::size_t i = 0; i < 2; ++i) {
    branches[i].set_name(results[i].first);
    branches[i].add_output()->set_name(results[i].second);
    declare(*branches[i].mutable_output(0)->mutable_type(), x.dims);
    auto& attribute = *choice.add_attribute();
    attribute.set_name(results[i].first);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = branches[i];
  }
  made(y, x.dims);
}

/// A call of a model-local function: a BatchNormalization of its parameters, perhaps downstream of a convolution of one point.
void RandomNetwork::call(const Entry& x) {
  if (!is_image(x.dims) || model_.ir_version() < 8) return unary(x);
  const bool convolves = dice_.one_in(2);
  const int64_t channels = x.dims[1];
  const Dims each{channels};
  const std::vector<double> variance(static_cast<std::size_t>(channels), 0.75);
  std::vector<std::string> inputs{x.name};
  std::vector<std::string> names{"p"};
  if (convolves) {
    Dims weight(x.dims.size(), 1);
    weight[0] = weight[1] = channels;
    inputs.push_back(constant("weight", weight, normal_values(weight, 0.5)));
    names.emplace_back("w");
  }
  inputs.insert(inputs.end(), {constant("scale", each, normal_values(each, 1)), constant("shift", each, normal_values(each, 0.5)),
                               constant("mean", each, normal_values(each, 0.5)), constant("variance", each, variance)});
  names.insert(names.end(), {"s", "b", "m", "v"});
  const std::string name = convolves ? "Block" : "Norm", y = fresh();
  node(name, inputs, {y}).set_domain("local");
  made(y, x.dims);
  for (const auto& known : model_.functions()) {
    if (known.name() == name) return;
  }
  if (model_.functions_size() == 0) {
    model_.add_opset_import()->set_domain("local");
    model_.mutable_opset_import(1)->set_version(1);
  }
  onnx::FunctionProto& function = *model_.add_functions();
  function.set_name(name);
  function.set_domain("local");
  function.add_opset_import()->set_version(opset_);
  for (const std::string& input : names) function.add_input(input);
  function.add_output("q");
  if (convolves) {
    onnx::NodeProto& convolution = *function.add_node();
    convolution.set_op_type("Conv");
    convolution.add_input("p");
    convolution.add_input("w");
    convolution.add_output("c");
  }
  onnx::NodeProto& norm = *function.add_node();
  norm.set_op_type("BatchNormalization");
  for (const char* const input : {convolves ? "c" : "p", "s", "b", "m", "v"}) norm.add_input(input);
  norm.add_output("q");
}

}  // namespace relayout::test
