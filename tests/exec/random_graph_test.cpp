// Tests random graphs of image operators: layouts, views, reused memory, fusions. The modes must agree up to rounding; a wrong offset or a
// tensor overwritten too early shows as a gross error.

#include <cmath>

#include "exec/model_builder.h"
#include "relayout/execute.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout::test {
namespace {

class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : random_(seed, "graph") {
    const Dims dims{from(1, 2), 4 * from(1, 4), from(4, 9), from(4, 9)};
    builder_.input("x", dims);
    input_ = tensor_of(dims, normal_values(element_count(dims), random_, 1'000'000));
    values_.push_back({"x", dims});
    const int64_t nodes = from(3, 16);
    for (int64_t i = 0; i < nodes; ++i) add_node();
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (i + 1 == values_.size() || (i > 0 && from(1, 6) == 1)) builder_.output(values_[i].name);
    }
  }
  [[nodiscard]] std::unique_ptr<Model> model() const { return builder_.build(); }
  [[nodiscard]] Inputs inputs() const { return {{"x", input_}}; }

 private:
  struct Entry {
    std::string name;
    Dims dims;
  };

  int64_t from(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_.below(next_++, static_cast<uint64_t>(high - low + 1)));
  }
  std::string fresh() { return "v" + std::to_string(++count_); }
  const Entry& pick() {
    return values_[static_cast<std::size_t>(
        from(from(0, 1) == 0 ? 0 : static_cast<int64_t>(values_.size()) - 1, static_cast<int64_t>(values_.size()) - 1))];
  }
  std::string weights(const Dims& dims, double scale) {
    std::vector<float> values = normal_values(element_count(dims), random_, next_ += 100'000);
    for (float& value : values) value *= static_cast<float>(scale);
    const std::string name = fresh();
    builder_.constant(name, dims, values);
    return name;
  }
  void made(const std::string& name, const Dims& dims) { values_.push_back({name, dims}); }

  void add_node() {
    const Entry x = pick();
    const std::string y = fresh();
    if (x.dims.size() != 4) {
      builder_.node("Relu", {x.name}, {y});
      return made(y, x.dims);
    }
    switch (from(0, 14)) {
      case 0:
      case 1:
        return convolution(x, y);
      case 2:
        return unary(x, y);
      case 3:
      case 4:
        return addition(x, y);
      case 5:
        return batch_norm(x, y);
      case 6:
        return pool(x, y);
      case 7:
        return concat(x, y);
      case 8:
        return slice(x, y);
      case 9:
        return shuffle(x, y);
      case 10:
        return gate(x, y);
      case 11:
        return transposes(x, y);
      case 12:
        return flatten(x, y);
      case 13:
        return split(x, y);
      default:
        return deconvolution(x, y);
    }
  }

  void convolution(const Entry& x, const std::string& y) {
    const int64_t kernel = from(0, 1) == 0 ? 1 : 3, kind = from(0, 2);
    const int64_t groups = kind == 0 ? x.dims[1] : kind == 1 && x.dims[1] % 4 == 0 ? 4 : 1;
    const int64_t outputs = kind == 0 ? x.dims[1] : 4 * from(1, 4);
    const double scale = 1 / std::sqrt(static_cast<double>(x.dims[1] / groups * kernel * kernel));
    std::vector<std::string> inputs{x.name, weights({outputs, x.dims[1] / groups, kernel, kernel}, scale)};
    if (from(0, 1) == 0) inputs.push_back(weights({outputs}, 1));
    builder_.node("Conv", inputs, {y}).integer("group", groups).integers("pads", Dims(4, kernel / 2));
    made(y, {x.dims[0], outputs, x.dims[2], x.dims[3]});
  }
  void deconvolution(const Entry& x, const std::string& y) {
    if (x.dims[2] > 12) return unary(x, y);
    const int64_t outputs = 4 * from(1, 2);
    builder_.node("ConvTranspose", {x.name, weights({x.dims[1], outputs, 2, 2}, 1 / std::sqrt(static_cast<double>(x.dims[1])))}, {y});
    builder_.integers("strides", {2, 2});
    made(y, {x.dims[0], outputs, 2 * x.dims[2], 2 * x.dims[3]});
  }
  void unary(const Entry& x, const std::string& y) {
    static constexpr const char* kOps[] = {"Relu", "Sigmoid", "HardSwish", "Tanh", "LeakyRelu", "Abs", "Softplus", "Elu"};
    builder_.node(kOps[from(0, 7)], {x.name}, {y});
    made(y, x.dims);
  }
  void addition(const Entry& x, const std::string& y) {
    static constexpr const char* kOps[] = {"Add", "Sub", "Mul", "Max"};
    const auto same = std::ranges::find_if(values_, [&](const Entry& other) { return other.dims == x.dims && from(0, 1) == 0; });
    const std::string other = same != values_.end() ? same->name : x.name;
    builder_.node(kOps[from(0, 3)], from(0, 1) == 0 ? std::vector<std::string>{x.name, other} : std::vector<std::string>{other, x.name},
                  {y});
    made(y, x.dims);
  }
  void batch_norm(const Entry& x, const std::string& y) {
    const Dims channels{x.dims[1]};
    std::vector<float> variance = normal_values(x.dims[1], random_, next_ += 1000);
    for (float& value : variance) value = value * value + 0.5F;
    builder_.constant(y + "variance", channels, variance);
    builder_.node("BatchNormalization", {x.name, weights(channels, 1), weights(channels, 1), weights(channels, 0.3), y + "variance"}, {y});
    made(y, x.dims);
  }
  void pool(const Entry& x, const std::string& y) {
    builder_.node(from(0, 1) == 0 ? "MaxPool" : "AveragePool", {x.name}, {y})
        .integers("kernel_shape", {3, 3})
        .integers("pads", {1, 1, 1, 1});
    made(y, x.dims);
  }
  void concat(const Entry& x, const std::string& y) {
    if (x.dims[1] > 40) return unary(x, y);
    std::vector<std::string> parts{x.name};
    int64_t channels = x.dims[1];
    for (const Entry& other : values_) {
      if (other.dims.size() != 4 || parts.size() > 3 || from(0, 1) == 0 || other.dims[1] > 20) continue;
      if (other.dims[0] != x.dims[0] || other.dims[2] != x.dims[2] || other.dims[3] != x.dims[3]) continue;
      parts.push_back(other.name);
      channels += other.dims[1];
    }
    builder_.node("Concat", parts, {y}).integer("axis", 1);
    made(y, {x.dims[0], channels, x.dims[2], x.dims[3]});
  }
  void slice(const Entry& x, const std::string& y) {
    const int64_t half = x.dims[1] / 2;
    builder_.constant<int64_t>(y + "s", {1}, {half}).constant<int64_t>(y + "e", {1}, {x.dims[1]}).constant<int64_t>(y + "a", {1}, {1});
    builder_.node("Slice", {x.name, y + "s", y + "e", y + "a"}, {y});
    made(y, {x.dims[0], x.dims[1] - half, x.dims[2], x.dims[3]});
  }
  void split(const Entry& x, const std::string& y) {
    const int64_t half = x.dims[1] / 2;
    builder_.constant<int64_t>(y + "n", {2}, {half, x.dims[1] - half}).node("Split", {x.name, y + "n"}, {y, y + "b"}).integer("axis", 1);
    made(y, {x.dims[0], half, x.dims[2], x.dims[3]});
    made(y + "b", {x.dims[0], x.dims[1] - half, x.dims[2], x.dims[3]});
  }
  void shuffle(const Entry& x, const std::string& y) {
    if (x.dims[1] % 2 != 0) return unary(x, y);
    builder_.constant<int64_t>(y + "p", {5}, {x.dims[0], 2, x.dims[1] / 2, x.dims[2], x.dims[3]}).constant<int64_t>(y + "q", {4}, x.dims);
    builder_.node("Reshape", {x.name, y + "p"}, {y + "r"}).node("Transpose", {y + "r"}, {y + "t"}).integers("perm", {0, 2, 1, 3, 4});
    builder_.node("Reshape", {y + "t", y + "q"}, {y});
    made(y, x.dims);
  }
  void gate(const Entry& x, const std::string& y) {
    builder_.node("GlobalAveragePool", {x.name}, {y + "g"}).node("HardSigmoid", {y + "g"}, {y + "h"}).node("Mul", {y + "h", x.name}, {y});
    made(y, x.dims);
  }
  void transposes(const Entry& x, const std::string& y) {
    builder_.node("Transpose", {x.name}, {y + "l"}).integers("perm", {0, 2, 3, 1}).node("Relu", {y + "l"}, {y + "r"});
    builder_.node("Transpose", {y + "r"}, {y}).integers("perm", {0, 3, 1, 2});
    made(y, x.dims);
  }
  void flatten(const Entry& x, const std::string& y) {
    builder_.node("Flatten", {x.name}, {y});
    made(y, {x.dims[0], x.dims[1] * x.dims[2] * x.dims[3]});
  }

  RandomStream random_;
  uint64_t next_ = 0;
  int count_ = 0;
  ModelBuilder builder_;
  std::vector<Entry> values_;
  Tensor input_;
};

void expect_close(const Tensor& got, const Tensor& wanted, const std::string& what) {
  ASSERT_EQ(got.dims(), wanted.dims()) << what;
  const std::vector<float> a = values_of(got), b = values_of(wanted);
  float largest = 1e-3F;
  for (const float value : b) largest = std::max(largest, std::fabs(value));
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4F * largest) << what << ", element " << i;
}

TEST(RandomGraphs, ModesAgree) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const RandomGraph graph(seed);
    const auto model = graph.model();
    const RunResult reference = run_in(Mode::reference, *model, graph.inputs());
    for (const Mode mode : {Mode::as_written, Mode::optimized}) {
      ExecuteOptions options;
      options.mode = mode;
      options.threads = 1 + static_cast<int>(seed % 2);
      Executor executor(model->graph(), options);
      const Outputs first = executor.run(graph.inputs()), second = executor.run(graph.inputs());
      for (std::size_t i = 0; i < reference.outputs.size(); ++i) {
        const std::string what = "seed " + std::to_string(seed) + ", " + std::string(to_string(mode)) + ", output " + std::to_string(i);
        ASSERT_NO_FATAL_FAILURE(expect_close(first[i].tensor, reference.outputs[i], what)) << to_text(*model);
        ASSERT_EQ(values_of(first[i].tensor), values_of(second[i].tensor)) << what << " differs run to run";
      }
      ASSERT_EQ(executor.plan_info().reorders, executor.plan_info().planned_reorders) << "seed " << seed << "\n" << to_text(*model);
    }
  }
}

}  // namespace
}  // namespace relayout::test
