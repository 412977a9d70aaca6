// Tests sums of convolutions of one operand that run as one convolution, against the reference mode, which computes every node on its own.
// Whole numbers make the sums exact in any order.

#include <set>

#include "exec/draw.h"
#include "exec/model_builder.h"
#include "relayout/execute.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::test {
namespace {

/// Groups of nodes that a convolution computes.
std::size_t convolutions_of(const Executor& executor) {
  std::set<std::string> out;
  for (const StepInfo& step : executor.plan_info().steps) {
    if (step.op_type.starts_with("Conv")) out.insert(step.node);
  }
  return out.size();
}

/// A network of branches over "x" that are added up.
class Branches {
 public:
  explicit Branches(Draw& draw) : draw_(draw) {
    const std::size_t rank = as_size(draw.from(1, 3));
    groups_ = draw.yes() ? 1 : draw.from(2, 4);
    inputs_ = draw.from(2, 3), outputs_ = draw.yes() ? inputs_ : draw.from(2, 4);
    dims_ = {draw.from(1, 2), groups_ * inputs_};
    for (std::size_t i = 0; i < rank; ++i) {
      kernel_.push_back(draw.from(1, 4));
      strides_.push_back(draw.yes(3) ? 2 : 1);
      dilations_.push_back(draw.yes(3) ? 2 : 1);
      before_.push_back(draw.from(0, 2)), after_.push_back(draw.from(0, 2));
      dims_.push_back((kernel_[i] - 1) * dilations_[i] + draw.from(1, 6));
    }
    builder_.input("x", dims_);
  }

  static std::size_t as_size(int64_t number) { return static_cast<std::size_t>(number); }

  /// A branch whose window has the dims `kernel` and begins `first` elements into the largest window.
  std::string convolve(const Dims& first, const Dims& kernel) {
    Dims weights{groups_ * outputs_, inputs_}, pads;
    weights.insert(weights.end(), kernel.begin(), kernel.end());
    for (std::size_t i = 0; i < kernel.size(); ++i) pads.push_back(before_[i] - first[i] * dilations_[i]);
    for (std::size_t i = 0; i < kernel.size(); ++i) pads.push_back(after_[i] - (kernel_[i] - first[i] - kernel[i]) * dilations_[i]);
    if (std::ranges::any_of(pads, [](int64_t pad) { return pad < 0; })) return {};
    const std::string y = name();
    builder_.constant(y + "w", weights, draw_.integers(element_count(weights)));
    std::vector<std::string> inputs{"x", y + "w"};
    if (draw_.yes()) {
      builder_.constant(y + "b", {weights[0]}, draw_.integers(weights[0]));
      inputs.push_back(y + "b");
    }
    builder_.node("Conv", inputs, {y}).integers("strides", strides_).integers("dilations", dilations_).integers("pads", pads);
    builder_.integer("group", groups_);
    return draw_.yes() ? normalize(y) : y;
  }
  std::string convolve() { return convolve(Dims(kernel_.size(), 0), kernel_); }
  /// A smaller window; empty if the drawn one would have negative pads.
  std::string convolve_less() {
    Dims first, kernel;
    for (const int64_t size : kernel_) {
      kernel.push_back(draw_.from(1, size));
      first.push_back(draw_.from(0, size - kernel.back()));
    }
    return convolve(first, kernel);
  }

  /// BatchNormalization by 1/2, 1 and 2, exactly.
  std::string normalize(const std::string& x) {
    const std::string y = name();
    const int64_t channels = groups_ * (x == "x" ? inputs_ : outputs_);
    std::vector<float> variance;
    for (int64_t i = 0; i < channels; ++i) variance.push_back(draw_.yes() ? 1.0F : draw_.yes() ? 4.0F : 0.25F);
    for (const char* const part : {"s", "b", "m"}) builder_.constant(y + part, {channels}, draw_.integers(channels));
    builder_.constant(y + "v", {channels}, variance);
    builder_.node("BatchNormalization", {x, y + "s", y + "b", y + "m", y + "v"}, {y}).real("epsilon", 0);
    return y;
  }

  /// A number, or one per channel.
  std::string shift() {
    const std::string y = name();
    Dims dims;
    if (draw_.yes()) {
      if (draw_.yes()) dims.push_back(1);
      dims.push_back(groups_ * outputs_);
      dims.resize(dims.size() + kernel_.size(), 1);
    }
    builder_.constant(y, dims, draw_.integers(element_count(dims)));
    return y;
  }

  /// Adds the terms in a drawn order and nesting.
  std::string add(std::vector<std::string> terms) {
    while (terms.size() > 1) {
      const auto a = as_size(draw_.from(0, static_cast<int64_t>(terms.size()) - 1));
      std::swap(terms[a], terms.back());
      const std::string last = terms.back();
      terms.pop_back();
      const auto b = as_size(draw_.from(0, static_cast<int64_t>(terms.size()) - 1));
      const std::string y = name();
      builder_.node(draw_.yes(4) ? "Sum" : "Add", {terms[b], last}, {y});
      terms[b] = y;
    }
    return terms.front();
  }
  void append(const std::string& op, const std::string& x, const std::string& y) { builder_.node(op, {x}, {y}); }
  ModelBuilder& finish() { return builder_.output("y"); }
  [[nodiscard]] const Dims& dims() const { return dims_; }
  /// Makes the operand itself a possible term: an element of the window is aligned with it.
  bool take_operand() {
    for (std::size_t i = 0; i < kernel_.size(); ++i) {
      strides_[i] = 1;
      before_[i] = draw_.from(0, kernel_[i] - 1) * dilations_[i];
      after_[i] = (kernel_[i] - 1) * dilations_[i] - before_[i];
    }
    return inputs_ == outputs_;
  }

 private:
  std::string name() { return "t" + std::to_string(count_++); }

  Draw& draw_;
  ModelBuilder builder_;
  Dims dims_, kernel_, strides_, dilations_, before_, after_;
  int64_t groups_ = 1, inputs_ = 1, outputs_ = 1;  ///< channels of a group
  int count_ = 0;
};

void expect_same(const Model& model, const Dims& dims, Draw& draw, std::size_t convolutions) {
  const auto source = tensor_of(dims, draw.integers(element_count(dims)));
  const auto wanted = run_in(Mode::reference, model, {{"x", source}});
  for (const LayoutChoice layout : {LayoutChoice::always, LayoutChoice::never, LayoutChoice::automatic}) {
    ExecuteOptions options;
    options.layout = layout, options.threads = draw.yes() ? 1 : 2;
    Executor executor(model.graph(), options);
    ASSERT_EQ(values_of(executor.run({{"x", source}}).at(0).tensor), values_of(wanted.outputs.at(0))) << to_text(model);
    ASSERT_EQ(convolutions_of(executor), convolutions) << to_text(model);
  }
}

TEST(ConvolutionSum, OfWholeNumbersIsOneExactConvolution) {
  Draw draw(11, "branches");
  for (int i = 0; i < 150; ++i) {
    Branches branches(draw);
    const bool takes_operand = draw.yes() && branches.take_operand();
    std::vector<std::string> terms{branches.convolve()};
    for (int more = 0; more < 3 || terms.size() < 2; ++more) {
      const std::string term = draw.yes() ? branches.convolve() : branches.convolve_less();
      if (!term.empty()) terms.push_back(term);
    }
    if (takes_operand && draw.yes()) terms.emplace_back("x");
    if (takes_operand && draw.yes()) terms.push_back(branches.normalize("x"));
    if (draw.yes()) terms.push_back(branches.shift());
    std::string sum = branches.add(terms);
    if (draw.yes()) sum = branches.normalize(sum);
    branches.append(draw.yes() ? "Relu" : "Neg", sum, "y");
    ASSERT_NO_FATAL_FAILURE(expect_same(*branches.finish().build(), branches.dims(), draw, 1));
  }
}

/// Two convolutions of "x" by 3 × 3 windows with pads of 1, added; tests change one thing.
struct Pair {
  Dims first{4, 4, 3, 3}, second{4, 4, 3, 3}, pads{1, 1, 1, 1}, second_pads{1, 1, 1, 1}, dilations{1, 1};
  Dims strides{1, 1};
  std::string second_operand = "x";
  bool shows_second = false;

  [[nodiscard]] std::unique_ptr<Model> build(Draw& draw) const {
    ModelBuilder builder;
    builder.input("x", {1, 4, 7, 7}).node("Neg", {"x"}, {"n"});
    builder.constant("a", first, draw.integers(element_count(first))).constant("b", second, draw.integers(element_count(second)));
    builder.node("Conv", {"x", "a"}, {"p"}).integers("pads", pads).integers("strides", strides);
    builder.node("Conv", {second_operand, "b"}, {"q"}).integers("pads", second_pads).integers("dilations", dilations);
    builder.integer("group", first[1] / second[1]).node("Add", {"p", "q"}, {"s"}).node("Relu", {"s"}, {"y"}).output("y");
    if (shows_second) builder.output("q");
    return builder.build();
  }
};

TEST(ConvolutionSum, StaysTwoConvolutionsWhereOneWouldDiffer) {
  Draw draw(12, "pairs");
  const Dims dims{1, 4, 7, 7};
  const auto expect = [&](const Pair& pair, std::size_t convolutions) { expect_same(*pair.build(draw), dims, draw, convolutions); };
  expect({}, 1);
  expect({.second = {4, 4, 1, 1}, .second_pads = {0, 0, 0, 0}}, 1);
  // A window that is shifted beyond the other.
  expect({.first = {4, 4, 3, 3}, .second = {4, 4, 3, 3}, .pads = {1, 1, 1, 1}, .second_pads = {2, 1, 0, 1}}, 2);
  // Windows neither of which contains the other.
  expect({.first = {4, 4, 3, 1}, .second = {4, 4, 1, 3}, .pads = {1, 0, 1, 0}, .second_pads = {0, 1, 0, 1}}, 2);
  expect({.second_pads = {2, 2, 2, 2}, .dilations = {2, 2}}, 2);
  expect({.second = {4, 1, 3, 3}}, 2);  // other groups
  expect({.second_operand = "n"}, 2);   // a different operand
  expect({.shows_second = true}, 2);    // a result that is read
  // Windows with different strides.
  expect({.second = {4, 4, 4, 4}, .second_pads = {0, 0, 0, 0}, .strides = {2, 2}}, 2);
}

/// Before opset 7, attributes state the dims of a constant: here those of images.
TEST(ConvolutionSum, TakesNoConstantAlongOtherDims) {
  Draw draw(13, "images");
  const Dims x{2, 2, 4, 4}, w{2, 2, 3, 3};
  ModelBuilder builder(6);
  builder.input("x", x).constant("a", w, draw.integers(36)).constant("b", w, draw.integers(36)).constant<float>("c", {2, 1, 1}, {1, 5});
  builder.node("Conv", {"x", "a"}, {"p"}).node("Conv", {"x", "b"}, {"q"}).node("Add", {"p", "q"}, {"s"});
  builder.node("Add", {"s", "c"}, {"t"}).integer("axis", 0).integer("broadcast", 1).node("Relu", {"t"}, {"y"}).output("y");
  expect_same(*builder.build(), x, draw, 2);
}

}  // namespace
}  // namespace relayout::test
