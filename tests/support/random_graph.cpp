// Generates random graphs, and runs passes, planner and executor on them.
#include "support/random_graph.h"

#include <cmath>
#include <set>

#include "base/random.h"
#include "exec/model_builder.h"
#include "model/save.h"
#include "passes/pass.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::test {
namespace {

class Generator {
 public:
  Generator(uint64_t seed, std::span<const uint8_t> choices)
      : random_(seed, "layout"), choices_(choices), ones_(choices.empty() ? seed % 3 == 0 : from(0, 2) == 0) {
    const Dims dims =
        ones_ ? Dims{from(1, 2), 1 + 2 * from(0, 2), 1 + from(0, 1) * from(1, 6), 1 + from(0, 1) * from(1, 4)} : Dims{2, 3, 7, 5};
    builder_.input("x", dims);
    input_ = tensor_of(dims, small_integers(element_count(dims), random_, 1'000'000));
    values_.push_back({"x", dims});
    convolution(values_.back(), "stem");
    const int64_t nodes = from(4, 14);
    for (int64_t i = 0; i < nodes; ++i) add_node();
    std::set<std::string> read;
    for (const auto& node : builder_.message().graph().node()) read.insert(node.input().begin(), node.input().end());
    for (const Entry& value : values_) {
      if (!read.contains(value.name) || (value.name != "x" && from(1, 8) == 1)) builder_.output(value.name);
    }
  }
  [[nodiscard]] onnx::ModelProto& message() { return builder_.message(); }
  [[nodiscard]] const Tensor& input() const { return input_; }

 private:
  struct Entry {
    std::string name;
    Dims dims;
  };
  using Maker = void (Generator::*)(const Entry& x, const std::string& y);

  /// The next choice: from the seed, or from the next byte; the first possibility when no bytes are left.
  int64_t from(int64_t low, int64_t high) {
    const auto count = static_cast<uint64_t>(high - low + 1);
    if (choices_.empty()) return low + static_cast<int64_t>(random_.below(next_++, count));
    return at_ < choices_.size() ? low + static_cast<int64_t>(choices_[at_++] % count) : low;
  }
  const Entry& pick() {
    const auto last = static_cast<int64_t>(values_.size()) - 1;
    return values_[static_cast<std::size_t>(from(0, 2) == 0 ? from(0, last) : from(std::max<int64_t>(0, last - 2), last))];
  }
  ModelBuilder& node(const std::string& op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    return builder_.node(op, inputs, outputs);
  }
  void made(const std::string& name, const Dims& dims) { values_.push_back({name, dims}); }
  /// Adds a value clipped to a small range: sums of products stay exact.
  void made_large(const std::string& name, const Dims& dims) {
    builder_.constant<float>(name + "lo", {}, {-5}).constant<float>(name + "hi", {}, {6});
    node("Clip", {name, name + "lo", name + "hi"}, {name + "c"});
    made(name + "c", dims);
  }
  std::string floats(const Dims& dims) {
    const std::string name = "w" + std::to_string(++count_);
    builder_.constant(name, dims, small_integers(element_count(dims), random_, next_ += 1000, 2));
    return name;
  }
  std::string integers(const std::vector<int64_t>& values) {
    const std::string name = "i" + std::to_string(++count_);
    builder_.constant<int64_t>(name, {static_cast<int64_t>(values.size())}, values);
    return name;
  }
  /// Number of channels of a result, unlike other dims.
  int64_t channels() {
    constexpr int64_t kPrimes[] = {2, 3, 5, 7, 11, 13};
    return ones_ && from(0, 2) == 0 ? 1 : kPrimes[from(0, 5)];
  }
  std::size_t axis_of(const Entry& x) { return static_cast<std::size_t>(from(0, static_cast<int64_t>(x.dims.size()) - 1)); }
  /// An axis as a model may write it: counted from the start or from the end.
  int64_t spelled(const Entry& x, std::size_t axis) {
    return static_cast<int64_t>(axis) - (from(0, 1) == 0 ? static_cast<int64_t>(x.dims.size()) : 0);
  }

  void add_node() {
    static constexpr Maker kImages[] = {&Generator::convolution, &Generator::convolution, &Generator::depthwise, &Generator::transposed,
                                        &Generator::max_pool,    &Generator::mean_pool,   &Generator::global,    &Generator::resize,
                                        &Generator::depth,       &Generator::nhwc,        &Generator::tokens,    &Generator::shuffle};
    static constexpr Maker kOthers[] = {
        &Generator::unary,   &Generator::binary,    &Generator::binary,   &Generator::concat,   &Generator::split,   &Generator::slice,
        &Generator::pad,     &Generator::transpose, &Generator::reshape,  &Generator::reduce,   &Generator::arg_max, &Generator::tile,
        &Generator::expand,  &Generator::gather,    &Generator::top_k,    &Generator::cumulate, &Generator::choose,  &Generator::trilu,
        &Generator::squeeze, &Generator::hardmax,   &Generator::identity, &Generator::scatter};
    const Entry x = pick();
    const std::string y = "v" + std::to_string(++count_);
    if (element_count(x.dims) > 20'000 || x.dims.empty()) return unary(x, y);
    const bool image = x.dims.size() == 4 && from(0, 1) == 0;
    const Maker maker = image ? kImages[from(0, std::size(kImages) - 1)] : kOthers[from(0, std::size(kOthers) - 1)];
    (this->*maker)(x, y);
  }

  // Images.
  void convolution(const Entry& x, const std::string& y) {
    const int64_t outputs = channels(), kernel = from(0, 1) == 0 ? 1 : 3;
    node("Conv", {x.name, floats({outputs, x.dims[1], kernel, kernel})}, {y}).integers("pads", Dims(4, kernel / 2));
    made_large(y, {x.dims[0], outputs, x.dims[2], x.dims[3]});
  }
  void depthwise(const Entry& x, const std::string& y) {
    node("Conv", {x.name, floats({x.dims[1], 1, 3, 3})}, {y}).integers("pads", {1, 1, 1, 1}).integer("group", x.dims[1]);
    made_large(y, x.dims);
  }
  void transposed(const Entry& x, const std::string& y) {
    const int64_t outputs = channels();
    node("ConvTranspose", {x.name, floats({x.dims[1], outputs, 2, 1})}, {y}).integers("strides", {2, 1});
    made_large(y, {x.dims[0], outputs, 2 * x.dims[2], x.dims[3]});
  }
  void max_pool(const Entry& x, const std::string& y) {
    const bool indices = from(0, 2) == 0;
    node("MaxPool", {x.name}, indices ? std::vector<std::string>{y, y + "i"} : std::vector<std::string>{y});
    builder_.integers("kernel_shape", {3, 3}).integers("pads", {1, 1, 1, 1});
    made(y, x.dims);
    if (!indices) return;
    node("Cast", {y + "i"}, {y + "f"}).integer("to", onnx::TensorProto::FLOAT);
    made_large(y + "f", x.dims);
  }
  void mean_pool(const Entry& x, const std::string& y) {
    if (x.dims[2] < 2 || x.dims[3] < 2) return unary(x, y);
    node("AveragePool", {x.name}, {y + "a"}).integers("kernel_shape", {2, 2});
    node("Floor", {y + "a"}, {y});
    made(y, {x.dims[0], x.dims[1], x.dims[2] - 1, x.dims[3] - 1});
  }
  void global(const Entry& x, const std::string& y) {
    node("GlobalMaxPool", {x.name}, {y});
    made(y, {x.dims[0], x.dims[1], 1, 1});
  }
  void resize(const Entry& x, const std::string& y) {
    const int64_t deep = from(0, 2) == 0 ? 2 : 1;
    builder_.constant<float>(y + "s", {4}, {1, static_cast<float>(deep), 2, 3});
    node("Resize", {x.name, "", y + "s"}, {y})
        .text("mode", "nearest")
        .text("nearest_mode", "floor")
        .text("coordinate_transformation_mode", "asymmetric");
    made(y, {x.dims[0], deep * x.dims[1], 2 * x.dims[2], 3 * x.dims[3]});
  }
  void depth(const Entry& x, const std::string& y) {
    if (x.dims[1] % 4 == 0) {
      node("DepthToSpace", {x.name}, {y}).integer("blocksize", 2).text("mode", from(0, 1) == 0 ? "DCR" : "CRD");
      return made(y, {x.dims[0], x.dims[1] / 4, 2 * x.dims[2], 2 * x.dims[3]});
    }
    if (x.dims[2] % 2 != 0 || x.dims[3] % 2 != 0) return unary(x, y);
    node("SpaceToDepth", {x.name}, {y}).integer("blocksize", 2);
    made(y, {x.dims[0], 4 * x.dims[1], x.dims[2] / 2, x.dims[3] / 2});
  }
  void nhwc(const Entry& x, const std::string& y) {
    node("Transpose", {x.name}, {y + "l"}).integers("perm", {0, 2, 3, 1});
    node("Neg", {y + "l"}, {y + "n"});
    made(y + "n", {x.dims[0], x.dims[2], x.dims[3], x.dims[1]});
    node("Transpose", {y + "n"}, {y}).integers("perm", {0, 3, 1, 2});
    made(y, x.dims);
  }
  void tokens(const Entry& x, const std::string& y) {
    node("Reshape", {x.name, integers({x.dims[0], x.dims[1], x.dims[2] * x.dims[3]})}, {y + "f"});
    node("Transpose", {y + "f"}, {y + "t"}).integers("perm", {0, 2, 1});
    node("MatMul", {y + "t", floats({x.dims[1], 3})}, {y});
    made_large(y, {x.dims[0], x.dims[2] * x.dims[3], 3});
  }
  void shuffle(const Entry& x, const std::string& y) {
    const int64_t groups = x.dims[1] % 3 == 0 ? 3 : x.dims[1] % 2 == 0 ? 2 : x.dims[1];
    node("Reshape", {x.name, integers({x.dims[0], groups, x.dims[1] / groups, x.dims[2], x.dims[3]})}, {y + "o"});
    node("Transpose", {y + "o"}, {y + "t"}).integers("perm", {0, 2, 1, 3, 4});
    node("Reshape", {y + "t", integers(x.dims)}, {y});
    made(y, x.dims);
  }

  // Any rank.
  void unary(const Entry& x, const std::string& y) {
    static constexpr const char* kOps[] = {"Relu", "Neg", "Abs", "Sign", "Identity", "LeakyRelu", "Ceil"};
    const std::string op = kOps[from(0, 6)];
    node(op, {x.name}, {y});
    if (op == "LeakyRelu") builder_.real("alpha", 2);
    made(y, x.dims);
  }
  void identity(const Entry& x, const std::string& y) {
    node("Dropout", {x.name}, {y});
    made(y, x.dims);
  }
  void binary(const Entry& x, const std::string& y) {
    static constexpr const char* kOps[] = {"Add", "Sub", "Mul", "Max", "Min"};
    std::string other;
    for (const Entry& value : values_) {
      if (value.dims == x.dims && from(0, 1) == 0) other = value.name;
    }
    if (other.empty()) {
      Dims dims = x.dims;
      for (int64_t& dim : dims) dim = from(0, 1) == 0 ? dim : 1;
      dims.erase(dims.begin(), dims.begin() + from(0, static_cast<int64_t>(dims.size())));
      other = floats(dims);
    }
    node(kOps[from(0, 4)], from(0, 1) == 0 ? std::vector<std::string>{x.name, other} : std::vector<std::string>{other, x.name}, {y});
    made_large(y, x.dims);
  }
  void concat(const Entry& x, const std::string& y) {
    const std::size_t axis = axis_of(x);
    std::vector<std::string> parts{x.name};
    Dims dims = x.dims;
    for (const Entry& other : values_) {
      Dims same = other.dims;
      if (parts.size() > 2 || same.size() != dims.size()) continue;
      same[axis] = x.dims[axis];
      if (same != x.dims) continue;
      parts.insert(from(0, 1) == 0 ? parts.begin() : parts.end(), other.name);
      dims[axis] += other.dims[axis];
    }
    node("Concat", parts, {y}).integer("axis", spelled(x, axis));
    made(y, dims);
  }
  void split(const Entry& x, const std::string& y) {
    const std::size_t axis = axis_of(x);
    const int64_t first = x.dims[axis] / 2;
    if (first == 0) return unary(x, y);
    node("Split", {x.name, integers({first, x.dims[axis] - first})}, {y, y + "b"}).integer("axis", spelled(x, axis));
    Dims dims = x.dims;
    dims[axis] = first;
    made(y, dims);
    dims[axis] = x.dims[axis] - first;
    made(y + "b", dims);
  }
  void slice(const Entry& x, const std::string& y) {
    const std::size_t axis = axis_of(x);
    const bool backwards = from(0, 3) == 0;
    Dims dims = x.dims;
    if (backwards) {
      node("Slice", {x.name, integers({-1}), integers({INT64_MIN}), integers({spelled(x, axis)}), integers({-1})}, {y});
    } else {
      const int64_t step = from(1, 2), start = from(0, 1) * (dims[axis] > 1 ? 1 : 0);
      node("Slice", {x.name, integers({start}), integers({dims[axis]}), integers({spelled(x, axis)}), integers({step})}, {y});
      dims[axis] = (dims[axis] - start + step - 1) / step;
    }
    made(y, dims);
  }
  void pad(const Entry& x, const std::string& y) {
    const std::size_t axis = axis_of(x), rank = x.dims.size();
    std::vector<int64_t> pads(2 * rank, 0);
    pads[axis] = from(0, 2);
    pads[rank + axis] = from(0, 2);
    node("Pad", {x.name, integers(pads)}, {y}).text("mode", from(0, 1) == 0 ? "constant" : "edge");
    Dims dims = x.dims;
    dims[axis] += pads[axis] + pads[rank + axis];
    made(y, dims);
  }
  void transpose(const Entry& x, const std::string& y) {
    Dims permutation;
    for (std::size_t i = 0; i < x.dims.size(); ++i)
      permutation.insert(permutation.begin() + from(0, static_cast<int64_t>(i)), static_cast<int64_t>(i));
    node("Transpose", {x.name}, {y}).integers("perm", permutation);
    Dims dims;
    for (const int64_t axis : permutation) dims.push_back(x.dims[static_cast<std::size_t>(axis)]);
    made(y, dims);
  }
  void reshape(const Entry& x, const std::string& y) {
    Dims dims = x.dims;
    if (dims.size() > 1 && from(0, 1) == 0) {
      const auto at = static_cast<std::size_t>(from(0, static_cast<int64_t>(dims.size()) - 2));
      dims[at] *= dims[at + 1];
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    } else {
      const std::size_t at = axis_of(x);
      const int64_t factor = dims[at] % 2 == 0 ? 2 : dims[at] % 3 == 0 ? 3 : 1;
      dims[at] /= factor;
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), factor);
    }
    if (dims.size() > 5) return unary(x, y);
    node("Reshape", {x.name, integers(dims)}, {y});
    made(y, dims);
  }
  void squeeze(const Entry& x, const std::string& y) {
    const auto one = std::ranges::find(x.dims, 1);
    Dims dims = x.dims;
    if (one != x.dims.end() && from(0, 1) == 0) {
      node("Squeeze", {x.name, integers({one - x.dims.begin()})}, {y});
      dims.erase(dims.begin() + (one - x.dims.begin()));
    } else if (dims.size() < 5) {
      const std::size_t axis = axis_of(x);
      node("Unsqueeze", {x.name, integers({static_cast<int64_t>(axis)})}, {y});
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    } else {
      return unary(x, y);
    }
    made(y, dims);
  }
  void reduce(const Entry& x, const std::string& y) {
    static constexpr const char* kOps[] = {"ReduceMax", "ReduceMin", "ReduceL1"};
    const std::size_t axis = axis_of(x);
    const bool keep = from(0, 1) == 0;
    node(kOps[from(0, 2)], {x.name}, {y}).integers("axes", {spelled(x, axis)}).integer("keepdims", keep ? 1 : 0);
    Dims dims = x.dims;
    dims[axis] = 1;
    if (!keep) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
    made_large(y, dims);
  }
  void arg_max(const Entry& x, const std::string& y) {
    const std::size_t axis = axis_of(x);
    node("ArgMax", {x.name}, {y + "i"}).integer("axis", spelled(x, axis)).integer("select_last_index", from(0, 1));
    node("Cast", {y + "i"}, {y}).integer("to", onnx::TensorProto::FLOAT);
    Dims dims = x.dims;
    dims[axis] = 1;
    made(y, dims);
  }
  void tile(const Entry& x, const std::string& y) {
    std::vector<int64_t> repeats(x.dims.size(), 1);
    const std::size_t axis = axis_of(x);
    repeats[axis] = 2;
    node("Tile", {x.name, integers(repeats)}, {y});
    Dims dims = x.dims;
    dims[axis] *= 2;
    made(y, dims);
  }
  void expand(const Entry& x, const std::string& y) {
    Dims dims = x.dims;
    for (int64_t& dim : dims) dim = dim == 1 ? from(1, 3) : dim;
    node("Expand", {x.name, integers(dims)}, {y});
    made(y, dims);
  }
  void gather(const Entry& x, const std::string& y) {
    const std::size_t axis = axis_of(x);
    const int64_t last = x.dims[axis] - 1, kind = from(0, 2);
    Dims dims = x.dims;
    if (kind == 0) {
      builder_.constant<int64_t>(y + "i", {}, {from(0, last)});
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
    } else if (kind == 1) {
      builder_.constant<int64_t>(y + "i", {3}, {last, 0, -1});
      dims[axis] = 3;
    } else {
      if (dims.size() > 4) return unary(x, y);
      builder_.constant<int64_t>(y + "i", {2, 1}, {last, 0});
      dims[axis] = 2;
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
    }
    node("Gather", {x.name, y + "i"}, {y}).integer("axis", spelled(x, axis));
    made(y, dims);
  }
  void scatter(const Entry& x, const std::string& y) {
    const std::size_t axis = axis_of(x);
    Dims dims = x.dims;
    dims[axis] = 1;
    builder_.constant<int64_t>(y + "i", dims, std::vector<int64_t>(static_cast<std::size_t>(element_count(dims)), x.dims[axis] - 1));
    node("GatherElements", {x.name, y + "i"}, {y + "g"}).integer("axis", spelled(x, axis));
    node("ScatterElements", {x.name, y + "i", floats(dims)}, {y}).integer("axis", spelled(x, axis));
    made(y + "g", dims);
    made(y, x.dims);
  }
  void top_k(const Entry& x, const std::string& y) {
    const std::size_t axis = axis_of(x);
    node("TopK", {x.name, integers({1})}, {y, y + "i"}).integer("axis", spelled(x, axis));
    Dims dims = x.dims;
    dims[axis] = 1;
    made(y, dims);
  }
  void cumulate(const Entry& x, const std::string& y) {
    builder_.constant<int64_t>(y + "a", {}, {spelled(x, axis_of(x))});
    node("CumSum", {x.name, y + "a"}, {y}).integer("reverse", from(0, 1));
    made_large(y, x.dims);
  }
  void choose(const Entry& x, const std::string& y) {
    node("Greater", {x.name, floats({1})}, {y + "g"});
    node("Where", {y + "g", x.name, floats({})}, {y});
    made(y, x.dims);
  }
  void trilu(const Entry& x, const std::string& y) {
    if (x.dims.size() < 2) return unary(x, y);
    node("Trilu", {x.name}, {y}).integer("upper", from(0, 1));
    made(y, x.dims);
  }
  void hardmax(const Entry& x, const std::string& y) {
    node("Hardmax", {x.name}, {y}).integer("axis", spelled(x, axis_of(x)));
    made(y, x.dims);
  }

  RandomStream random_;
  std::span<const uint8_t> choices_;
  std::size_t at_ = 0;
  uint64_t next_ = 0;
  bool ones_;
  int count_ = 0;
  ModelBuilder builder_;
  std::vector<Entry> values_;
  Tensor input_;
};

/// The first output that differs, or nothing.
std::string difference(const Outputs& expected, const Outputs& found) {
  if (expected.size() != found.size()) return "another number of outputs";
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].tensor.dims() != found[i].tensor.dims()) return "output " + std::to_string(i) + " has other dims";
    const std::vector<float> a = values_of(expected[i].tensor), b = values_of(found[i].tensor);
    if (!std::ranges::equal(a, b, [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); })) {
      return "output " + std::to_string(i) + " has other values";
    }
  }
  return {};
}

Outputs run(const Model& model, const Inputs& inputs, Mode mode, LayoutChoice layout) {
  ExecuteOptions options;
  options.mode = mode;
  options.layout = layout;
  options.threads = 1;
  return Executor(model.graph(), options).run(inputs);
}

/// The model after all passes that these options select, validated after each.
std::string converted(const RandomGraph& graph, LayoutChoice choice) {
  const auto model = graph.model();
  passes::PassContext context;
  context.options.simplify = context.options.include_1d = context.options.export_transposes = true;
  context.options.choice = choice;
  context.options.threads = 1;
  for (const passes::Pass& pass : passes::pass_table()) {
    if (!pass.wanted(context.options)) continue;
    const passes::Pass* const one = &pass;
    passes::run_passes(*model, {&one, 1}, context);
    model->graph().validate();
  }
  return to_bytes(*model);
}

/// The first fault of a model's results in any mode and layout, or nothing.
std::string fault_of_runs(const Model& model, const Inputs& inputs, const Outputs& expected) {
  for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
    for (const LayoutChoice layout : {LayoutChoice::automatic, LayoutChoice::always}) {
      const std::string found = difference(expected, run(model, inputs, mode, layout));
      if (!found.empty()) return std::string(to_string(mode)) + ": " + found;
    }
  }
  return {};
}

}  // namespace

RandomGraph::RandomGraph(uint64_t seed) {
  Generator generator(seed, {});
  message_ = std::move(generator.message());
  inputs_ = {{"x", generator.input()}};
}

RandomGraph::RandomGraph(std::span<const uint8_t> choices) {
  constexpr uint8_t kFirst[] = {0};
  Generator generator(0, choices.empty() ? std::span<const uint8_t>(kFirst) : choices);
  message_ = std::move(generator.message());
  inputs_ = {{"x", generator.input()}};
}

std::string find_fault(const RandomGraph& graph) {
  try {
    const auto original = graph.model();
    const Outputs expected = run(*original, graph.inputs(), Mode::reference, LayoutChoice::never);
    if (std::string fault = fault_of_runs(*original, graph.inputs(), expected); !fault.empty()) return "original, " + fault;
    for (const LayoutChoice choice : {LayoutChoice::automatic, LayoutChoice::always}) {
      const auto result = Model::from_bytes(converted(graph, choice), "converted");
      if (std::string fault = fault_of_runs(*result, graph.inputs(), expected); !fault.empty()) return "converted, " + fault;
    }
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace relayout::test
