
#include "exec/model_builder.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

constexpr Mode kModes[] = {Mode::reference, Mode::as_written, Mode::optimized};

template <class T>
Tensor typed(DataType type, const Dims& dims, const std::vector<T>& values) {
  Tensor out(type, dims);
  std::copy(values.begin(), values.end(), out.data<T>());
  return out;
}
Tensor integers(const Dims& dims, const std::vector<int64_t>& values) {
  return typed(DataType::int64, dims, values);
}
Tensor truth(bool value) {
  return typed<uint8_t>(DataType::boolean, {}, {static_cast<uint8_t>(value ? 1 : 0)});
}

std::vector<double> numbers(const Datum& datum) {
  const Tensor dense = contiguous(datum.tensor);
  std::vector<double> out;
  for (int64_t i = 0; i < dense.element_count(); ++i) {
    out.push_back(dense.type() == DataType::int64 ? static_cast<double>(dense.data<int64_t>()[i]) : dense.data<float>()[i]);
  }
  return out;
}

/// Runs the model several times with each executor (plans are kept), in all modes.
class Program {
 public:
  explicit Program(const std::string& body, const std::string& head = R"(<ir_version: 8, opset_import: ["" : 17]>)")
      : Program(TextModel(body, head).load()) {}
  explicit Program(std::unique_ptr<Model> model) : model_(std::move(model)) {}

  void expect(const Inputs& inputs, const std::vector<std::pair<Dims, std::vector<double>>>& wanted) {
    for (const Mode mode : kModes) {
      ExecuteOptions options;
      options.mode = mode;
      options.threads = 1;
      auto [found, is_new] = executors_.try_emplace(mode, nullptr);
      if (is_new) found->second = std::make_unique<Executor>(model_->graph(), options);
      for (int round = 0; round < 2; ++round) {
        const Outputs outputs = found->second->run(inputs);
        ASSERT_EQ(outputs.size(), wanted.size());
        for (std::size_t k = 0; k < wanted.size(); ++k) {
          EXPECT_EQ(outputs[k].tensor.dims(), wanted[k].first) << to_string(mode) << " output " << k;
          EXPECT_EQ(numbers(outputs[k]), wanted[k].second) << to_string(mode) << " output " << k;
        }
      }
    }
  }
  [[nodiscard]] const Model& model() const { return *model_; }

 private:
  std::unique_ptr<Model> model_;
  std::map<Mode, std::unique_ptr<Executor>> executors_;
};

TEST(If, TakesOneBranchOrTheOtherWithCapturedValues) {
  Program program(R"(
    net (float[2] x, bool c) => (float[N] y) {
      w = Add(x, x)
      y = If(c) <
        then_branch = t () => (float[N] a) { a = Mul(w, x) },
        else_branch = e () => (float[N] b) { k = Constant<value = float[1] {10.0}>() b = Concat<axis = 0>(w, k) }
      >
    })");
  program.expect({{"x", tensor_of({2}, {3, 4})}, {"c", truth(true)}}, {{{2}, {18, 32}}});
  program.expect({{"x", tensor_of({2}, {3, 4})}, {"c", truth(false)}}, {{{3}, {6, 8, 10}}});
  program.expect({{"x", tensor_of({2}, {1, 0})}, {"c", truth(true)}}, {{{2}, {2, 0}}});
}

TEST(If, BranchesMayReturnACapturedValueAndTheirOwnInitializer) {
  Program program(R"(
    net (float[2] x, bool c) => (float[2] y, float[2] z) {
      y, z = If(c) <
        then_branch = t () => (float[2] x, float[2] own) <float[2] own = {5.0, 6.0}> { },
        else_branch = e () => (float[2] b, float[2] x) { b = Neg(x) }
      >
    })");
  program.expect({{"x", tensor_of({2}, {3, 4})}, {"c", truth(true)}}, {{{2}, {3, 4}}, {{2}, {5, 6}}});
  program.expect({{"x", tensor_of({2}, {3, 4})}, {"c", truth(false)}}, {{{2}, {-3, -4}}, {{2}, {3, 4}}});
}

/// Sum of i · x over the trips, the partial sums stacked.
constexpr const char* kLoop = R"(
    net (float[2] x, int64 trips, bool go) => (float[2] last, float[N,2] all) {
      zero = Sub(x, x)
      last, all = Loop(trips, go, zero) <
        body = b (int64 i, bool c, float[2] sum) => (bool on, float[2] next, float[2] scan) {
          f = Cast<to = 1>(i)
          term = Mul(f, x)
          next = Add(sum, term)
          scan = Identity(next)
          limit = Constant<value = int64 {3}>()
          on = Less(i, limit)
        }
      >
    })";

TEST(Loop, CountsTripsAndHeedsTheCondition) {
  Program program(kLoop);
  const Tensor x = tensor_of({2}, {1, 10});
  program.expect({{"x", x}, {"trips", integers({}, {2})}, {"go", truth(true)}}, {{{2}, {1, 10}}, {{2, 2}, {0, 0, 1, 10}}});
  program.expect({{"x", x}, {"trips", integers({}, {100})}, {"go", truth(true)}}, {{{2}, {6, 60}}, {{4, 2}, {0, 0, 1, 10, 3, 30, 6, 60}}});
  program.expect({{"x", x}, {"trips", integers({}, {0})}, {"go", truth(true)}}, {{{2}, {0, 0}}, {{0, 2}, {}}});
  program.expect({{"x", x}, {"trips", integers({}, {5})}, {"go", truth(false)}}, {{{2}, {0, 0}}, {{0, 2}, {}}});
}

TEST(Loop, WithoutATripTheScanOutputsAreOfTheTypeThatATripWouldGive) {
  TextModel text(kLoop);
  text.edit([](onnx::ModelProto& model) {  // exporters leave out inferred types
    auto& body = *model.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g();
    body.mutable_output(2)->clear_type();
  });
  Program program(text.load());
  const Tensor x = tensor_of({2}, {1, 10});
  program.expect({{"x", x}, {"trips", integers({}, {0})}, {"go", truth(true)}}, {{{2}, {0, 0}}, {{0, 2}, {}}});
  program.expect({{"x", x}, {"trips", integers({}, {1})}, {"go", truth(true)}}, {{{2}, {0, 0}}, {{1, 2}, {0, 0}}});
}

TEST(Loop, CarriedValuesMayGrow) {
  Program program(R"(
    net (int64 trips) => (int64[N] y) {
      start = Constant<value = int64[1] {7}>()
      go = Constant<value = bool {1}>()
      y = Loop(trips, go, start) <
        body = b (int64 i, bool c, int64[M] v) => (bool d, int64[K] w) {
          d = Identity(c)
          axes = Constant<value = int64[1] {0}>()
          j = Unsqueeze(i, axes)
          w = Concat<axis = 0>(v, j)
        }
      >
    })");
  program.expect({{"trips", integers({}, {3})}}, {{{4}, {7, 0, 1, 2}}});
  program.expect({{"trips", integers({}, {1})}}, {{{2}, {7, 0}}});
}

TEST(Loop, CarriesSequences) {
  Program program(R"(
    net (float[4] x) => (float[4] y, int64 n) {
      empty = SequenceEmpty<dtype = 1>()
      trips = Constant<value = int64 {4}>()
      go = Constant<value = bool {1}>()
      s = Loop(trips, go, empty) <
        body = b (int64 i, bool c, seq(float[1]) v) => (bool d, seq(float[1]) w) {
          d = Identity(c)
          e = Gather<axis = 0>(x, i)
          axes = Constant<value = int64[1] {0}>()
          f = Unsqueeze(e, axes)
          front = Constant<value = int64 {0}>()
          w = SequenceInsert(v, f, front)
        }
      >
      y = ConcatFromSequence<axis = 0>(s)
      n = SequenceLength(s)
    })");
  program.expect({{"x", tensor_of({4}, {1, 2, 3, 4})}}, {{{4}, {4, 3, 2, 1}}, {{}, {4}}});
}

TEST(Loop, NestsWithCapturesThroughTwoLevels) {
  Program program(R"(
    net (float[1] x) => (float[1] y) {
      two = Constant<value = int64 {2}>()
      three = Constant<value = int64 {3}>()
      go = Constant<value = bool {1}>()
      y = Loop(three, go, x) <
        body = outer (int64 i, bool c, float[1] v) => (bool d, float[1] w) {
          d = Identity(c)
          w = Loop(two, c, v) <
            body = inner (int64 j, bool cc, float[1] a) => (bool dd, float[1] b) {
              dd = Identity(cc)
              f = Cast<to = 1>(i)
              g = Add(f, x)
              b = Add(a, g)
            }
          >
        }
      >
    })");
  // Twice (0 + x), twice (1 + x), twice (2 + x) on top of x.
  program.expect({{"x", tensor_of({1}, {5})}}, {{{1}, {41}}});
}

TEST(Loop, ConvolvesWithWeightsFromOutside) {
  Program program(R"(
    net (float[1,1,3,3] x) => (float[1,1,3,3] y) <float[1,1,3,3] w = {0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0}> {
      trips = Constant<value = int64 {3}>()
      go = Constant<value = bool {1}>()
      y = Loop(trips, go, x) <
        body = b (int64 i, bool c, float[1,1,3,3] v) => (bool d, float[1,1,3,3] u) {
          d = Identity(c)
          u = Conv<pads = [1, 1, 1, 1]>(v, w)
        }
      >
    })");
  program.expect({{"x", tensor_of({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})}}, {{{1, 1, 3, 3}, {8, 16, 24, 32, 40, 48, 56, 64, 72}}});
}

TEST(Scan, WalksAxesAndDirections) {
  // Columns from the last to the first, results stacked along axis 1 in reverse.
  Program program(R"(
    net (float[2] s, float[2,3] x) => (float[2] last, float[2,M] all) {
      last, all = Scan<num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1],
                       scan_output_axes = [1], scan_output_directions = [1],
        body = b (float[2] a, float[2] e) => (float[2] n, float[2] o) { n = Add(a, e) o = Identity(n) }
      >(s, x)
    })");
  program.expect({{"s", tensor_of({2}, {0, 100})}, {"x", tensor_of({2, 3}, {1, 2, 3, 10, 20, 30})}},
                 {{{2}, {6, 160}}, {{2, 3}, {6, 5, 3, 160, 150, 130}}});
}

TEST(Scan, EightHasABatch) {
  TextModel text(R"(
    net (float[2,1] s, float[2,3,1] x) => (float[2,1] last, float[2,3,1] all) {
      last, all = Scan<num_scan_inputs = 1,
        body = b (float[1] a, float[1] e) => (float[1] n, float[1] o) { n = Add(a, e) o = Identity(n) }
      >(s, x)
    })",
                 R"(<ir_version: 3, opset_import: ["" : 8]>)");
  text.edit([](onnx::ModelProto& model) {  // sequence_lens is absent
    auto& inputs = *model.mutable_graph()->mutable_node(0)->mutable_input();
    inputs.Add();
    for (int i = inputs.size(); --i > 0;) inputs.SwapElements(i, i - 1);
  });
  Program program(text.load());
  program.expect({{"s", tensor_of({2, 1}, {0, 100})}, {"x", tensor_of({2, 3, 1}, {1, 2, 3, 10, 20, 30})}},
                 {{{2, 1}, {6, 160}}, {{2, 3, 1}, {1, 3, 6, 110, 130, 160}}});
}

TEST(Scan, EightHasSequencesOfDifferentLengths) {
  Program program(R"(
    net (int64[2] lengths, float[2,1] s, float[2,3,1] x) => (float[2,1] last, float[2,3,1] all) {
      last, all = Scan<num_scan_inputs = 1,
        body = b (float[1] a, float[1] e) => (float[1] n, float[1] o) { n = Add(a, e) o = Identity(n) }
      >(lengths, s, x)
    })",
                  R"(<ir_version: 3, opset_import: ["" : 8]>)");
  const Inputs inputs{
      {"lengths", integers({2}, {1, 3})}, {"s", tensor_of({2, 1}, {0, 100})}, {"x", tensor_of({2, 3, 1}, {1, 2, 3, 10, 20, 30})}};
  program.expect(inputs, {{{2, 1}, {1, 160}}, {{2, 3, 1}, {1, 0, 0, 110, 130, 160}}});
}

TEST(Scan, OverNoStepsGivesTheDimsOfOneStep) {
  TextModel text(R"(
    net (float[2] s, float[N,2] x) => (float[2] last, float[M,1] all) {
      last, all = Scan<num_scan_inputs = 1,
        body = b (float[2] a, float[2] e) => (float[2] n, float[1] o) { n = Add(a, e) o = ReduceSum(n) }
      >(s, x)
    })");
  text.edit([](onnx::ModelProto& model) {
    for (auto& attribute : *model.mutable_graph()->mutable_node(0)->mutable_attribute()) {
      if (attribute.has_g()) attribute.mutable_g()->mutable_output(1)->clear_type();
    }
  });
  Program program(text.load());
  program.expect({{"s", tensor_of({2}, {3, 4})}, {"x", tensor_of({0, 2}, {})}}, {{{2}, {3, 4}}, {{0, 1}, {}}});
}

TEST(SequenceMap, MapsSequencesTogetherWithTensors) {
  Program program(R"(
    net (float[2] a, float[3] b, float[1] k) => (float[N] y) {
      s = SequenceConstruct(a, b)
      t = SequenceMap(s, k) < body = m (float[N] e, float[1] f) => (float[N] g) { g = Mul(e, f) } >
      y = ConcatFromSequence<axis = 0>(t)
    })");
  program.expect({{"a", tensor_of({2}, {1, 2})}, {"b", tensor_of({3}, {3, 4, 5})}, {"k", tensor_of({1}, {10})}},
                 {{{5}, {10, 20, 30, 40, 50}}});
}

TEST(DataDependent, ShapesFlowThroughSeveralSegments) {
  Program program(R"(
    net (float[N] x) => (float[M] y, int64[1] n) {
      at = NonZero(x)
      flat = Squeeze(at)
      z = Gather(x, flat)
      at2 = NonZero(z)
      w = Add(z, z)
      n = Shape(w)
      one = Constant<value = float {1.0}>()
      big = Greater(w, one)
      y = Compress(w, big)
    })");
  program.expect({{"x", tensor_of({4}, {0, 3, 0, 4})}}, {{{2}, {6, 8}}, {{1}, {2}}});
  program.expect({{"x", tensor_of({4}, {0, 0.25F, 2, 4})}}, {{{2}, {4, 8}}, {{1}, {3}}});
  program.expect({{"x", tensor_of({5}, {0, 3, 0, 4, 0})}}, {{{2}, {6, 8}}, {{1}, {2}}});
}

TEST(DataDependent, AResultOfUnknownDimsIsNoGate) {
  Program program(R"(
    net (float[N] x) => (float[N] r, float[M] y) {
      t = Abs(x)
      r = Sign(t)
      at = NonZero(t)
      y = Cast<to = 1>(at)
    })");
  program.expect({{"x", tensor_of({3}, {1, 0, -2})}}, {{{3}, {1, 0, 1}}, {{1, 2}, {0, 2}}});
}

TEST(DataDependent, ManySegmentsAreTakenApartWithoutDeepRecursion) {
  std::string body = "net (float[4] x0) => (float[N] y) {\n";
  constexpr int kSegments = 3000;
  for (int i = 0; i < kSegments; ++i) {
    const std::string at = std::to_string(i), next = std::to_string(i + 1);
    body += "c" + at + " = Cast<to = 9>(x" + at + ")\nx" + next + " = Compress(x" + at + ", c" + at + ")\n";
  }
  Program program(body + "y = Neg(x" + std::to_string(kSegments) + ")\n}");
  ExecuteOptions options;
  options.threads = 1;
  Executor executor(program.model().graph(), options);
  EXPECT_EQ(numbers(executor.run({{"x0", tensor_of({4}, {1, 0, 2, 0})}})[0]), (std::vector<double>{-1, -2}));
}

constexpr const char* kFunctionHead = R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>)";

TEST(Functions, NestAndTakeAttributesByReference) {
  Program program(R"(
    net (float[2,3] x) => (float[2,3] y, float[3,2] z) {
      y = local.outer<slope = 0.5>(x)
      z = local.swap<perm = [1, 0]>(x)
    }
    <domain: "local", opset_import: ["" : 17, "local" : 1]>
    outer <slope> (a) => (d) {
      b = local.inner<alpha : float = @slope>(a)
      d = Add(b, b)
    }
    <domain: "local", opset_import: ["" : 17]>
    inner <alpha> (v) => (w) { w = LeakyRelu<alpha : float = @alpha>(v) }
    <domain: "local", opset_import: ["" : 17]>
    swap <perm> (v) => (w) { w = Transpose<perm : ints = @perm>(v) }
  )",
                  kFunctionHead);
  program.expect({{"x", tensor_of({2, 3}, {-4, 2, 3, 4, 5, 6})}}, {{{2, 3}, {-4, 4, 6, 8, 10, 12}}, {{3, 2}, {-4, 4, 2, 5, 3, 6}}});
}

TEST(Functions, DefaultsOfAttributesAndAbsentInputs) {
  Program program(R"(
    net (float[3] x) => (float[3] y, float[3] z) {
      y = local.f(x)
      z = local.f<alpha = 3.0>(x)
    }
    <domain: "local", opset_import: ["" : 17]>
    f <alpha : float = 2.0> (v, low, high) => (w) {
      r = LeakyRelu<alpha : float = @alpha>(v)
      w = Clip(r, low, high)
    }
  )",
                  kFunctionHead);
  program.expect({{"x", tensor_of({3}, {-1, 0, 5})}}, {{{3}, {-2, 0, 5}}, {{3}, {-3, 0, 5}}});
}

TEST(Functions, RunUnderTheirOwnOpset) {
  // Softmax 11 flattens the dims from its axis on, Softmax 13 does not.
  Program program(R"(
    net (float[1,2,2] x) => (float[1,2,2] y) { y = local.f(x) }
    <domain: "local", opset_import: ["" : 11]>
    f (v) => (w) { w = Softmax<axis = 1>(v) }
  )",
                  kFunctionHead);
  program.expect({{"x", tensor_of({1, 2, 2}, {7, 7, 7, 7})}}, {{{1, 2, 2}, {0.25, 0.25, 0.25, 0.25}}});
}

TEST(Functions, ControlFlowInsideThemReadsTheirValues) {
  Program program(R"(
    net (float[2] x, bool c) => (float[2] y) { y = local.f<by = 3.0>(x, c) }
    <domain: "local", opset_import: ["" : 17]>
    f <by> (v, c) => (w) {
      k = Constant<value_float : float = @by>()
      w = If(c) <
        then_branch = t () => (float[2] a) { a = Mul(v, k) },
        else_branch = e () => (float[2] b) { m = Constant<value_float : float = @by>() b = Sub(v, m) }
      >
    }
  )",
                  kFunctionHead);
  program.expect({{"x", tensor_of({2}, {1, 2})}, {"c", truth(true)}}, {{{2}, {3, 6}}});
  program.expect({{"x", tensor_of({2}, {1, 2})}, {"c", truth(false)}}, {{{2}, {-2, -1}}});
}

TEST(Functions, OverrideOperatorsOfTheSameName) {
  Program program(R"(
    net (float[2] x) => (float[2] y) { y = local.Relu(x) }
    <domain: "local", opset_import: ["" : 17]>
    Relu (v) => (w) { w = Neg(v) }
  )",
                  kFunctionHead);
  program.expect({{"x", tensor_of({2}, {-1, 2})}}, {{{2}, {1, -2}}});
}

TEST(Unsupported, NodesOfNestedGraphsAndFunctionsAreListed) {
  Program program(R"(
    net (float[2] x, bool c) => (float[2] y) {
      y = If(c) <
        then_branch = t () => (float[2] a) { a = acme.One(x) },
        else_branch = e () => (float[2] b) { b = local.f(x) }
      >
    }
    <domain: "local", opset_import: ["" : 17, "acme" : 1]>
    f (v) => (w) { u = acme.Two(v) w = Neg(u) }
  )",
                  R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1, "acme" : 1]>)");
  const std::vector<Unsupported> nodes = Executor::unsupported(program.model().graph());
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].op_type, "One");
  EXPECT_EQ(nodes[1].op_type, "Two");
  EXPECT_EQ(nodes[1].domain, "acme");
}

TEST(ControlFlow, ErrorsNameTheNode) {
  std::string body = kLoop;
  body.replace(body.find("int64 trips"), 11, "int64[N] trips");
  Program program(body);
  try {
    ExecuteOptions options;
    options.threads = 1;
    (void)Executor(program.model().graph(), options)
        .run({{"x", tensor_of({2}, {1, 2})}, {"trips", integers({2}, {1, 2})}, {"go", truth(true)}});
    FAIL() << "two trip counts";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid);
    EXPECT_TRUE(std::string(error.what()).starts_with("node output 'last' (Loop): ")) << error.what();
  }
}

}  // namespace
}  // namespace relayout::test
