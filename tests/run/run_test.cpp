// Tests runs of single models: names and facts of inner values, the first that is not finite, numbers as inputs, archives of arrays.
#include "relayout/run.h"

#include <gmock/gmock.h>

#include <limits>

#include "base/file.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "run/array_files.h"
#include "run/watcher.h"
#include "support/refusal.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "verify/inputs/data_file.h"

namespace relayout::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::StartsWith;

/// A loop around a function of the model.
constexpr const char* kLoop = R"(
  g (float[2] x, int64 n) => (float[2] y) {
    go = Constant <value = bool {1}> ()
    y = Loop (n, go, x) <body = body (int64 i, bool c, float[2] s) => (bool c2, float[2] s2) {
      c2 = Identity (c)
      e = Exp (s)
      s2 = my.twice (e)
    }>
  }
  <domain: "my", opset_import: ["" : 17]>
  twice (a) => (b) {
    h = Abs (a)
    b = Add (h, h)
  })";

class RunTest : public testing::Test {
 protected:
  RunResult run(const std::string& graph, const RunOptions& options) {
    write_file(folder_ / "net.onnx", TextModel(graph, R"(<ir_version: 8, opset_import: ["" : 17, "my" : 1]>)").bytes());
    return run_model(folder_ / "net.onnx", options);
  }
  static std::vector<std::string> names_of(const RunResult& result) {
    std::vector<std::string> out;
    for (const RunTensor& tensor : result.tensors) out.push_back(tensor.name);
    return out;
  }
  TemporaryFolder folder_;
};

TEST_F(RunTest, NamesTellTheNodesAroundAndTheIteration) {
  RunOptions options;
  options.inputs["n"] = "2";
  EXPECT_THAT(names_of(run(kLoop, options)), ElementsAre("y"));
  options.tensors = {"e", "y › s2 › h#1"};
  EXPECT_THAT(names_of(run(kLoop, options)), ElementsAre("y › e#0", "y › e#1", "y › s2 › h#1"));
  options.tensors = {"*"};
  const RunResult all = run(kLoop, options);
  EXPECT_THAT(names_of(all), IsSupersetOf({"x", "n", "y › i#0", "y › s#1", "y › s2 › b#1", "y › s2#1", "y"}));
  EXPECT_EQ(all.values, static_cast<int64_t>(all.tensors.size()));
  options.tensors = {"elsewhere"};
  EXPECT_THAT(refusal_of(ErrorKind::usage, [&] { return run(kLoop, options); }), HasSubstr("no value has a name like that"));
}

TEST_F(RunTest, OnlyWhatChosenValuesDependOnRuns) {
  constexpr const char* kNet = R"(
    g (float[2] x, int64 n) => (float[2] z) {
      a = Abs (x)
      b = Exp (a)
      y = Loop (n, , b) <body = body (int64 i, bool c, float[2] s) => (bool c2, float[2] s2) {
        c2 = Identity (c)
        e = Sqrt (s)
        s2 = Neg (e)
      }>
      u = my.unknown (y)
      z = Add (u, y)
    })";
  RunOptions options;
  options.inputs["n"] = "1";
  for (const auto& [glob, values] : {std::pair<std::string, int64_t>{"a", 3}, {"b", 4}, {"e", 11}, {"y", 11}}) {
    options.tensors = {glob};
    const RunResult result = run(kNet, options);
    EXPECT_EQ(result.tensors.size(), 1U) << glob;
    EXPECT_EQ(result.values, values) << glob;
  }
  // What has no kernel is in the way of what depends on it alone.
  options.tensors = {"z"};
  EXPECT_THAT(refusal_of(ErrorKind::unsupported, [&] { return run(kNet, options); }), HasSubstr("my:unknown"));
}

TEST_F(RunTest, ConstantsAreValuesToo) {
  RunOptions options;
  options.tensors = {"*"};
  EXPECT_THAT(
      names_of(run("g (float[2,3] x) => (int64[1] y) { s = Shape(x)  t = Size(x)  u = Add(s, t)  a = Constant <value_ints = [0]> () "
                   "y = Gather (u, a) }",
                   options)),
      testing::UnorderedElementsAre("x", "s", "t", "u", "y"));
}

TEST_F(RunTest, StatisticsSeparateFiniteNumbers) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Tensor tensor(DataType::float64, {8});
  std::ranges::copy(std::vector<double>{0, 1, 3, 70000, -kInfinity, kInfinity, std::numeric_limits<double>::quiet_NaN(), 0},
                    tensor.data<double>());
  const TensorStatistics facts = statistics_of(tensor).value();
  EXPECT_EQ(facts.elements, 8);
  EXPECT_EQ(facts.zeros, 2);
  EXPECT_EQ(facts.nans, 1);
  EXPECT_EQ(facts.above, 1);
  EXPECT_EQ(facts.below, 1);
  EXPECT_EQ(facts.beyond_f16, 1);
  EXPECT_EQ(facts.least, 0);
  EXPECT_EQ(facts.greatest, 70000);
  EXPECT_DOUBLE_EQ(facts.mean, 70004.0 / 5);
  EXPECT_NEAR(facts.deviation, 27999.6, 0.1);
  EXPECT_FALSE(statistics_of(Tensor(DataType::string, {2})).has_value());
}

TEST_F(RunTest, OutputsThatAreNotFiniteAreNoticedUnasked) {
  const RunResult result = run("g (float[2] x) => (float[2] y, float[2] z) { e = Abs (x)  n = Neg (e)  y = Log (n)  z = Abs (x) }", {});
  ASSERT_EQ(result.tensors.size(), 2U);
  ASSERT_TRUE(result.tensors[0].faults.has_value());
  EXPECT_EQ(result.tensors[0].faults->nans, 2);
  EXPECT_FALSE(result.tensors[0].statistics.has_value());
  EXPECT_FALSE(result.tensors[1].faults.has_value());
}

TEST_F(RunTest, FirstFaultHasTheRangesOfItsOperands) {
  RunOptions options;
  options.require_finite = true;
  options.inputs["x"] = "200,1";
  const RunResult result = run("g (float[2] x) => (float[2] y) { a = Neg (x)  b = Exp (x)  c = Mul (a, b)  y = Sub (c, c) }", options);
  ASSERT_TRUE(result.not_finite.has_value());
  EXPECT_EQ(exit_code(result), 1);
  EXPECT_EQ(result.not_finite->value.name, "b");
  EXPECT_EQ(result.not_finite->value.op_type, "Exp");
  EXPECT_EQ(result.not_finite->value.statistics->above, 1);
  ASSERT_EQ(result.not_finite->operands.size(), 1U);
  EXPECT_EQ(result.not_finite->operands[0].statistics->greatest, 200);
  options.inputs["x"] = "2,1";
  EXPECT_EQ(exit_code(run("g (float[2] x) => (float[2] y) { y = Exp (x) }", options)), 0);
}

TEST_F(RunTest, WeightsAreOperands) {
  RunOptions options;
  options.require_finite = true;
  options.inputs["x"] = "1e30";
  const RunResult result = run("g (float[2] x) => (float[2] y) <float[2] w = {1e30, 1}> { y = Mul (x, w) }", options);
  ASSERT_TRUE(result.not_finite.has_value());
  ASSERT_EQ(result.not_finite->operands.size(), 2U);
  EXPECT_EQ(result.not_finite->operands[1].name, "w");
  EXPECT_NEAR(result.not_finite->operands[1].statistics->greatest, 1e30, 1e24);
}

TEST_F(RunTest, InfinitiesThatHideAreFinite) {
  RunOptions options;
  options.require_finite = true;
  options.inputs["k"] = "1,0,1";
  const auto masked = [](const std::string& end) {
    return "g (float[2,3] x, bool[3] k) => (float[2,3] y) { z = Constant <value = float {0}> ()  o = Log (z)  m = Where (k, z, o) "
           "s = Add (x, m) " +
           end + " }";
  };
  EXPECT_EQ(exit_code(run(masked("y = Softmax (s)"), options)), 0);
  const RunResult read = run(masked("t = Softmax (s)  y = Mul (t, s)"), options);
  ASSERT_TRUE(read.not_finite.has_value());
  EXPECT_EQ(read.not_finite->value.name, "o");
}

TEST_F(RunTest, RoundedRunsLeaveTheRange) {
  RunOptions options;
  options.require_finite = true;
  options.inputs["x"] = "300,1";
  const std::string square = "g (float[2] x) => (float[2] y) { a = Mul (x, x)  y = Sqrt (a) }";
  EXPECT_EQ(exit_code(run(square, options)), 0);
  options.as = DataType::bfloat16;
  EXPECT_EQ(exit_code(run(square, options)), 0);
  options.as = DataType::float16;
  const RunResult result = run(square, options);
  ASSERT_TRUE(result.not_finite.has_value());
  EXPECT_EQ(result.not_finite->value.name, "a");
  EXPECT_EQ(result.not_finite->value.statistics->greatest, 90000);
  options.mode = Mode::optimized;
  EXPECT_THAT(refusal_of(ErrorKind::usage, [&] { return run(square, options); }), HasSubstr("rounded between nodes"));
}

TEST_F(RunTest, NumbersAreInputs) {
  RunOptions options;
  options.statistics = true;
  options.tensors = {"x"};
  const auto x = [&](const std::string& type, const std::string& words) {
    options.inputs["x"] = words;
    return run("g (" + type + " x) => (" + type + " y) { y = Identity (x) }", options).tensors.at(0);
  };
  EXPECT_EQ(x("int64", "16000").statistics->mean, 16000);
  EXPECT_EQ(x("float[2,3]", "0.5").statistics->mean, 0.5);
  EXPECT_EQ(x("float[N,4]", "-1").dims, (Dims{1, 4}));
  EXPECT_EQ(x("int32[N]", "640,480").dims, (Dims{2}));
  EXPECT_EQ(x("bool[2]", "1,0").statistics->mean, 0.5);
  const auto refusal = [&](const std::string& type, const std::string& words, ErrorKind kind = ErrorKind::usage) {
    return refusal_of(kind, [&] { return x(type, words); });
  };
  EXPECT_THAT(refusal("int8[2]", "300"), HasSubstr("--input x=300: no number of type i8"));
  EXPECT_THAT(refusal("int8[2]", "0.5"), HasSubstr("no number of type i8"));
  EXPECT_THAT(refusal("bool[2]", "2"), HasSubstr("no number of type bool"));
  EXPECT_THAT(refusal("float[3]", "1,2", ErrorKind::invalid), HasSubstr("2 numbers for f32[3]"));
  EXPECT_THAT(refusal("float[N,M]", "1,2"), HasSubstr("numbers do not tell the free dims"));
  EXPECT_THAT(refusal("float[2]", "1.2.3", ErrorKind::io), HasSubstr("1.2.3"));
}

TEST_F(RunTest, ArchivesAreReadAsNumpyWritesThem) {
  Tensor halves(DataType::bfloat16, {3, 1}), texts(DataType::string, {2}), bytes(DataType::int8, {});
  for (int i = 0; i < 3; ++i) halves.data<uint16_t>()[i] = static_cast<uint16_t>(0x3F80 + i);
  texts.data<std::string>()[0] = "ä›";
  bytes.data<int8_t>()[0] = -3;
  Datum sequence;
  sequence.kind = Datum::Kind::sequence;
  sequence.elements = {bytes, halves};
  ArrayFiles files(folder_ / "a.npz");
  EXPECT_THAT(files.add("loop › h#1", halves), ElementsAre("loop › h#1"));
  EXPECT_THAT(files.add("/t", texts), ElementsAre("/t"));
  EXPECT_THAT(files.add("s", sequence), ElementsAre("s[0]", "s[1]"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.npz"));
  const int64_t bytes_written = files.commit();
  EXPECT_EQ(bytes_written, static_cast<int64_t>(std::filesystem::file_size(folder_ / "a.npz")));

  const auto file = File::open(folder_ / "a.npz");
  const std::vector<ZipEntry> entries = zip_directory(*file);
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[0].name, "loop › h#1.npy");
  const auto array = [&](std::size_t i) {
    const std::string contents = zip_read(*file, entries[i]);
    return parse_npy(std::as_bytes(std::span(contents)));
  };
  EXPECT_EQ(array(0).type(), DataType::float32);
  EXPECT_EQ(array(0).dims(), (Dims{3, 1}));
  EXPECT_EQ(array(0).data<float>()[1], 1.0078125F);
  EXPECT_EQ(array(1).data<std::string>()[0], "ä›");
  EXPECT_EQ(array(2).dims(), Dims{});
  EXPECT_EQ(array(2).data<int8_t>()[0], -3);
}

TEST_F(RunTest, FoldersHaveAnIndexAndAreNew) {
  RunOptions options;
  options.inputs["n"] = "2";
  options.tensors = {"e"};
  options.save = folder_ / "values";
  EXPECT_THAT(run(kLoop, options).tensors.at(1).saved, ElementsAre("00002-y_e#1.npy"));
  EXPECT_THAT(read_file(folder_ / "values" / "index.tsv"), StartsWith("file\ttensor\ttype\tdims\n00001-y_e#0.npy\ty › e#0\tf32\t[2]\n"));
  EXPECT_THAT(refusal_of(ErrorKind::usage, [&] { return run(kLoop, options); }), HasSubstr("is there already"));
}

TEST_F(RunTest, NothingIsSavedWhereTheRunFails) {
  RunOptions options;
  options.save = folder_ / "a.npz";
  options.inputs["i"] = "7";
  EXPECT_THAT(refusal_of(ErrorKind::invalid, [&] { return run("g (float[2] x, int64 i) => (float y) { y = Gather (x, i) }", options); }),
              HasSubstr("Gather"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.npz"));
}

}  // namespace
}  // namespace relayout::test
