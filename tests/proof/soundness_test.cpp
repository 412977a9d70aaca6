// Tests that a converted model with any change that is still proved still computes the same.

#include <cmath>
#include <iostream>

#include "base/log.h"
#include "base/random.h"
#include "model/save.h"
#include "passes/pass.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/compute.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

using Message = onnx::ModelProto;

/// A sample of each fold, with similar operators between.
Example network() {
  Example out(
      "g (float[2,4,6,6] x, float[2,4,6,6] z) => (float[2,5] y, float[2,4,6,6] v) {"
      " a = Conv <pads = [1, 1, 1, 1]> (x, w1) a1 = BatchNormalization (a, n1_scale, n1_bias, n1_mean, n1_var) a2 = Relu (a1)"
      " b = Conv <group = 2, pads = [1, 1, 1, 1]> (a2, w2, b2) b1 = BatchNormalization (b, n2_scale, n2_bias, n2_mean, n2_var)"
      " r = Add (b1, z) r1 = LeakyRelu <alpha: float = 0.2> (r)"
      " c = ConvTranspose <pads = [1, 1, 1, 1]> (r1, w3) v = BatchNormalization (c, n3_scale, n3_bias, n3_mean, n3_var)"
      " d = Conv <pads = [1, 1, 1, 1]> (a2, w1) e = Concat <axis = 1> (v, d) e1 = Relu (e)"
      " p = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (e1) q = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (e1)"
      " s = Sub (p, q) s1 = GlobalAveragePool (s) f = Flatten (s1) y = Gemm <transB = 1> (f, w4, b4) dead = Neg (x) }");
  out.add("w1", normal("w1", {4, 4, 3, 3})).add("w2", normal("w2", {4, 2, 3, 3})).add("b2", normal("b2", {4}));
  out.add("w3", normal("w3", {4, 4, 3, 3})).add("w4", normal("w4", {5, 8})).add("b4", normal("b4", {5}));
  for (const char* name : {"n1", "n2", "n3"}) out.add(name, BatchNorm(name, 4));
  return out;
}

Message convert(const Example& example) {
  const auto model = example.model();
  passes::PassContext context;
  std::vector<const passes::Pass*> passes;
  for (const passes::Pass& pass : passes::pass_table()) {
    if (pass.on_by_default()) passes.push_back(&pass);
  }
  passes::run_passes(*model, passes, context);
  Message out;
  out.ParseFromString(to_bytes(*model));
  return out;
}

/// A stream of random numbers.
class Dice {
 public:
  explicit Dice(uint64_t seed) : stream_(seed, "dice") {}
  int below(int bound) { return bound <= 0 ? 0 : static_cast<int>(stream_.below(next_++, static_cast<uint64_t>(bound))); }
  template <class Field>
  auto& pick(Field& field) {
    return *field.Mutable(below(field.size()));
  }

 private:
  RandomStream stream_;
  uint64_t next_ = 0;
};

void change_weight(Message& message, Dice& dice) {
  onnx::TensorProto& tensor = dice.pick(*message.mutable_graph()->mutable_initializer());
  auto* const values = reinterpret_cast<float*>(tensor.mutable_raw_data()->data());
  const int count = static_cast<int>(tensor.raw_data().size() / sizeof(float));
  if (tensor.data_type() != onnx::TensorProto::FLOAT || count == 0) return;
  const int at = dice.below(count);
  const int other = dice.below(count);
  switch (dice.below(3)) {
    case 0:
      values[at] *= 1.5F;
      break;
    case 1:
      std::swap(values[at], values[other]);
      break;
    default:
      for (int i = 0; i < count; ++i) values[i] *= 0.9F;
  }
}

void exchange_tensors(Message& message, Dice& dice) {
  onnx::TensorProto& a = dice.pick(*message.mutable_graph()->mutable_initializer());
  onnx::TensorProto& b = dice.pick(*message.mutable_graph()->mutable_initializer());
  if (&a != &b && a.raw_data().size() == b.raw_data().size()) a.mutable_raw_data()->swap(*b.mutable_raw_data());
}

void change_attribute(Message& message, Dice& dice) {
  onnx::NodeProto& node = dice.pick(*message.mutable_graph()->mutable_node());
  if (node.attribute_size() == 0) return;
  onnx::AttributeProto& attribute = dice.pick(*node.mutable_attribute());
  if (attribute.ints_size() > 1) {
    attribute.mutable_ints()->SwapElements(dice.below(attribute.ints_size()), dice.below(attribute.ints_size()));
  } else if (attribute.has_i()) {
    attribute.set_i(dice.below(3));
  } else if (attribute.has_f()) {
    attribute.set_f(attribute.f() * 2);
  }
}

void rewire(Message& message, Dice& dice) {
  auto& nodes = *message.mutable_graph()->mutable_node();
  const int at = dice.below(nodes.size());
  onnx::NodeProto& node = nodes[at];
  if (node.input_size() == 0) return;
  const int from = dice.below(at + 2);
  const std::string name = from < at ? nodes[from].output(0) : from == at ? "x" : "z";
  node.set_input(dice.below(node.input_size()), name);
}

void exchange_inputs(Message& message, Dice& dice) {
  onnx::NodeProto& node = dice.pick(*message.mutable_graph()->mutable_node());
  if (node.input_size() > 1) node.mutable_input()->SwapElements(dice.below(node.input_size()), dice.below(node.input_size()));
}

void change_operator(Message& message, Dice& dice) {
  onnx::NodeProto& node = dice.pick(*message.mutable_graph()->mutable_node());
  const std::vector<std::string> unary = {"Relu", "Abs", "Neg", "Identity"};
  const std::vector<std::string> binary = {"Add", "Sub", "Mul", "Max"};
  if (node.input_size() == 1 && node.attribute_size() == 0) node.set_op_type(unary[static_cast<std::size_t>(dice.below(4))]);
  if (node.input_size() == 2 && node.attribute_size() == 0) node.set_op_type(binary[static_cast<std::size_t>(dice.below(4))]);
}

void insert_node(Message& message, Dice& dice) {
  auto& nodes = *message.mutable_graph()->mutable_node();
  onnx::NodeProto& node = dice.pick(nodes);
  if (node.input_size() == 0) return;
  std::string* const input = node.mutable_input(dice.below(node.input_size()));
  onnx::NodeProto& added = *nodes.Add();
  const std::vector<std::string> unary = {"Relu", "Identity", "Neg"};
  added.set_op_type(unary[static_cast<std::size_t>(dice.below(3))]);
  added.add_input(*input);
  added.add_output("added" + std::to_string(nodes.size()));
  *input = added.output(0);
}

void bypass_node(Message& message, Dice& dice) {
  const onnx::NodeProto node = dice.pick(*message.mutable_graph()->mutable_node());
  if (node.input_size() == 0) return;
  for (onnx::NodeProto& reader : *message.mutable_graph()->mutable_node()) {
    for (std::string& input : *reader.mutable_input()) {
      if (input == node.output(0)) input = node.input(0);
    }
  }
}

void change_numbers(Message& message, Dice& dice) {
  onnx::TensorProto& tensor = dice.pick(*message.mutable_graph()->mutable_initializer());
  const int count = static_cast<int>(tensor.raw_data().size() / sizeof(int64_t));
  if (tensor.data_type() != onnx::TensorProto::INT64 || count == 0) return;
  auto* const values = reinterpret_cast<int64_t*>(tensor.mutable_raw_data()->data());
  std::swap(values[dice.below(count)], values[dice.below(count)]);
}

using Mutation = void (*)(Message&, Dice&);
constexpr Mutation kMutations[] = {change_weight,   exchange_tensors, change_attribute, rewire,        exchange_inputs,
                                   change_operator, insert_node,      bypass_node,      change_numbers};

Tensor filled(std::string_view name, const Dims& dims) {
  const Array values = normal(name, dims);
  Tensor out(DataType::float32, dims);
  for (std::size_t i = 0; i < values.size(); ++i) out.data<float>()[i] = static_cast<float>(values[i]);
  return out;
}

/// Largest difference over the largest magnitude, or infinity for different shapes and NaN.
double distance(const std::vector<Datum>& a, const std::vector<Datum>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Tensor of_a = contiguous(a[i].tensor);
    const Tensor of_b = contiguous(b[i].tensor);
    if (of_a.dims() != of_b.dims()) return INFINITY;
    double most = 0, difference = 0;
    for (int64_t e = 0; e < of_a.element_count(); ++e) {
      const auto x = static_cast<double>(of_a.data<float>()[e]), y = static_cast<double>(of_b.data<float>()[e]);
      if (!(std::abs(x - y) <= difference)) difference = std::abs(x - y);
      most = std::max(most, std::abs(x));
    }
    if (!(difference / most <= worst)) worst = difference / most;
  }
  return std::isnan(worst) ? INFINITY : worst;
}

/// Two equivalent models, of which `after` is changed at random.
struct Pair {
  Example before;
  Message after;
  std::map<std::string, Datum> inputs;
};

void expect_soundness(const Pair& pair, uint64_t seeds) {
  const auto original = pair.before.model();
  const auto expected = compute(*original, pair.inputs);
  ASSERT_TRUE(is_proved(relayout::prove(*original, *Model::from_bytes(pair.after.SerializeAsString()))));
  int proved = 0, refused = 0, invalid = 0, needless = 0;
  ProofOptions options;
  options.digests = false;
  set_log_level(LogLevel::quiet);  // unsorted models cause warnings
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    Dice dice(seed);
    Message message = pair.after;
    for (int count = 1 + dice.below(2); count > 0; --count) kMutations[dice.below(std::size(kMutations))](message, dice);
    bool is_proved_still = false;
    try {
      const auto model = Model::from_bytes(message.SerializeAsString());
      is_proved_still = relayout::prove(*original, *model, options).proved;
      const double apart = distance(expected, compute(*model, pair.inputs));
      (is_proved_still ? proved : refused) += 1;
      needless += !is_proved_still && apart < 1e-5 ? 1 : 0;
      ASSERT_TRUE(!is_proved_still || apart < 1e-5) << "seed " << seed << ": proved, but " << apart << " apart";
    } catch (const Error& error) {
      ASSERT_TRUE(error.kind() == ErrorKind::invalid || error.kind() == ErrorKind::unsupported) << seed << error.what();
      ASSERT_FALSE(is_proved_still) << "seed " << seed << ": proved, but it cannot run: " << error.what();
      ++invalid;
    }
  }
  set_log_level(LogLevel::normal);
  std::cout << proved << " proved, " << refused << " not (" << needless << " of them compute the same), " << invalid << " invalid\n";
  EXPECT_GT(proved, static_cast<int>(seeds / 30));
  EXPECT_GT(refused, static_cast<int>(seeds / 4));
}

TEST(ProofIsSound, ProvedModelsComputeTheSame) {
  const Example before = network();
  expect_soundness({before, convert(before), {{"x", filled("x", {2, 4, 6, 6})}, {"z", filled("z", {2, 4, 6, 6})}}}, 1500);
}

/// Products as exporters write them and as optimizers rewrite them: flattened, as Gemm, Reshapes merged or moved past elementwise nodes.
Pair products() {
  const Array w1 = normal("w1", {4, 5}), w2 = normal("w2", {5, 6}), w3 = normal("w3", {3, 3}), w4 = normal("w4", {5, 7});
  const auto add_all = [&](Example example) {
    example.add("w1", w1).add("b1", normal("b1", {5})).add("b2", normal("b2", {6})).add("w3", w3).add("w4", w4);
    example.add("b4", normal("b4", {7})).add("c", Array{DataType::float32, {}, {1.41421}}).add("one", Array{DataType::float32, {}, {1}});
    return example.add("half", Array{DataType::float32, {}, {0.5}});
  };
  const std::string head = "g (float[2,3,4] x, float[2,3,5] z) => (float[2,6,3] y, float[6,7] v) {";
  Example before(head +
                 " m = MatMul (x, w1) a = Add (b1, m) d = Div (a, c) e = Erf (d) f = Add (e, one) g = Mul (a, f) h = Mul (g, half)"
                 " r = Add (h, z) q = MatMul (r, w2) q1 = Add (b2, q) s = Reshape (q1, s4) t = Transpose <perm = [0, 2, 1, 3]> (s)"
                 " u = Reshape (t, s3) y = MatMul (u, w3) p = Reshape (h, f5) k = MatMul (p, w4) v = Add (k, b4) }");
  before.add("w2", w2).add("s4", {2, 3, 2, 3}).add("s3", {0, 6, -1}).add("f5", {-1, 5});
  Example after(head +
                " x2 = Reshape (x, f4) a = Gemm (x2, w1, b1) d = Div (a, c) e = Erf (d) f = Add (e, one) g = Mul (a, f) h2 = Mul (g, half)"
                " h = Reshape (h2, h3) r = Add (h, z) r2 = Reshape (r, f5) q = Gemm <transB = 1> (r2, w2t, b2) s = Reshape (q, s4)"
                " t = Transpose <perm = [0, 2, 1, 3]> (s) u2 = Reshape (t, f3) y2 = Gemm (u2, w3) y = Reshape (y2, s3)"
                " p = Reshape (h, f5) v = Gemm (p, w4, b4) }");
  after.add("w2t", permuted(w2, {1, 0})).add("f4", {6, 4}).add("h3", {2, 3, 5}).add("f5", {-1, 5}).add("s4", {2, 3, 2, 3});
  after.add("f3", {12, 3}).add("s3", {2, 6, 3});
  Message message;
  message.ParseFromString(to_bytes(*add_all(after).model()));
  return {add_all(before), std::move(message), {{"x", filled("x", {2, 3, 4})}, {"z", filled("z", {2, 3, 5})}}};
}

TEST(ProofIsSound, ProductsWrittenByOtherTools) {
  expect_soundness(products(), 3000);
}

/// The same for a batch of any size: matrices in the middle, of which each Reshape knows the number of rows.
Pair products_of_any_batch() {
  const auto add_all = [](Example example) {
    example.add("w1", normal("w1", {4, 5})).add("b1", normal("b1", {5})).add("w2", normal("w2", {5, 6}));
    return example.add("b2", normal("b2", {6})).add("f4", {-1, 4}).add("h3", {-1, 3, 5}).add("f5", {-1, 5}).add("s3", {-1, 3, 6});
  };
  const std::string head = "g (float[N,3,4] x, float[N,3,5] z) => (float[N,3,6] y) {";
  const Example before(head +
                       " m = MatMul (x, w1) a = Add (b1, m) d = Erf (a) t = Tanh (d) r = Add (t, z)"
                       " q = MatMul (r, w2) q1 = Add (b2, q) y = Relu (q1) }");
  const Example after(head +
                      " x2 = Reshape (x, f4) a = Gemm (x2, w1, b1) d2 = Erf (a) d = Reshape (d2, h3) t = Tanh (d) r = Add (t, z)"
                      " r2 = Reshape (r, f5) q = Gemm (r2, w2, b2) q1 = Reshape (q, s3) y = Relu (q1) }");
  Message message;
  message.ParseFromString(to_bytes(*add_all(after).model()));
  return {add_all(before), std::move(message), {{"x", filled("x", {2, 3, 4})}, {"z", filled("z", {2, 3, 5})}}};
}

TEST(ProofIsSound, ProductsOfAnyBatch) {
  expect_soundness(products_of_any_batch(), 3000);
}

/// Formulas as exporters write them, and the operators equivalent to them.
Pair formulas() {
  const auto add_all = [](Example example) {
    for (const auto& [name, value] :
         std::map<std::string, double>{{"one", 1}, {"two", 2}, {"half", 0.5}, {"root", 1.41421356}, {"eps", 1e-5}}) {
      example.add(name, Array{DataType::float32, {}, {value}});
    }
    for (const char* name : {"s1", "b1", "b2", "s3"}) example.add(name, normal(name, {4}));
    example.add("last", {2}).add("zero", {0}).add("middle", {2}).add("end", {4});
    return example.add("sizes", {2, 2});
  };
  const std::string head = "g (float[2,3,4] x, float[2,3,4] z) => (float[2,3,4] y, float[2,3,2] v) {";
  const Example before(
      head +
      " a = Add (x, z) am = ReduceMean <axes = [-1]> (a) ad = Sub (a, am) aq = Pow (ad, two) av = ReduceMean <axes = [-1]> (aq)"
      " ae = Add (av, eps) as = Sqrt (ae) an = Div (ad, as) ak = Mul (an, s1) n = Add (ak, b1)"
      " t = Transpose <perm = [0, 2, 1]> (n) m = MatMul (n, t) mh = Mul (m, half) p = Softmax (mh) o = MatMul (p, n)"
      " c = Add (o, b2) d = Div (c, root) e = Erf (d) f = Add (e, one) g0 = Mul (c, f) g1 = Mul (g0, half)"
      " w = Add (g1, a) wq = Mul (w, w) wv = ReduceMean <axes = [-1]> (wq) we = Add (wv, eps) ws = Sqrt (we) wr = Div (one, ws)"
      " wn = Mul (w, wr) y = Mul (s3, wn) h = HardSwish (a) i = Sigmoid (h) j = Mul (h, i)"
      " k1 = Slice (j, zero, middle, last) k2 = Slice (j, middle, end, last) v = Sub (k1, k2) }");
  const Example after(
      head +
      " n, , , a = com.microsoft.SkipLayerNormalization <epsilon = 0.00001> (x, z, s1, b1)"
      " m = com.microsoft.FusedMatMul <alpha = 0.5, transB = 1> (n, n) p = Softmax (m) o = MatMul (p, n) g1 = com.microsoft.BiasGelu (o, "
      "b2)"
      " y = com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 0.00001> (g1, a, s3)"
      " i = HardSigmoid <alpha = 0.16666667163372, beta = 0.5> (a) h = Mul (i, a) j = com.microsoft.QuickGelu <alpha = 1.0> (h)"
      " k1, k2 = Split <axis = 2> (j, sizes) v = Sub (k1, k2) }");
  Message message;
  message.ParseFromString(to_bytes(*add_all(after).model()));
  return {add_all(before), std::move(message), {{"x", filled("x", {2, 3, 4})}, {"z", filled("z", {2, 3, 4})}}};
}

TEST(ProofIsSound, OperatorsForFormulas) {
  expect_soundness(formulas(), 3000);
}

}  // namespace
}  // namespace relayout::test
