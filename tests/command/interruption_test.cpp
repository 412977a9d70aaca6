// Tests B55 to B60: interruption from outside, and concurrent use.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <iterator>
#include <thread>

#include "base/random.h"
#include "command/command_test.h"
#include "relayout/types.h"
#include "support/process.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

/// Converts a model that takes a few milliseconds to write.
class Interruption : public CommandTest {
 protected:
  Interruption() {
    onnx::ModelProto model = conv_batch_norm();
    auto& graph = *model.mutable_graph();
    for (int i = 0; i < 6; ++i) {
      const std::string weight = "W" + std::to_string(i), out = "y" + std::to_string(i);
      *graph.add_initializer() = float_tensor(weight, {256, 256, 3, 3}, static_cast<uint64_t>(i));
      add_node(graph, "Conv", {"image", weight.c_str()}, {out.c_str()});
      set_tensor_type(*graph.add_output(), out, 1, {1, 256, 6, 6});
    }
    set_tensor_type(*graph.add_input(), "image", 1, {1, 256, 8, 8});
    save_model(model, folder_ / "in.onnx");
    const ProcessResult whole = run({"convert", "in.onnx", "-o", "whole.onnx"});
    EXPECT_EQ(whole.code, 0) << whole.err;
    seconds_ = whole.seconds;
    whole_ = read_file(folder_ / "whole.onnx");
    fs::remove(folder_ / "whole.onnx");
  }

  ProcessResult convert_with_signal(double after, int signal) {
    return run({"convert", "in.onnx", "-o", "out.onnx"}, {.signal_after = std::make_pair(after, signal)});
  }

  /// The entries of the folder once a pending rename has completed.
  std::vector<std::string> settled_entries() {
    const auto is_temporary = [](const std::string& name) { return name.starts_with(".relayout-"); };
    for (int i = 0; i < 1000 && std::ranges::any_of(folder_.entries(), is_temporary); ++i) ::usleep(1000);
    return folder_.entries();
  }

  /// Kills `count` saves at moments spread over a whole run; the target is complete or unchanged, and no other file is left.
  void kill_saves(int count, bool replacing) {
    const RandomStream random(42, replacing ? "replaced" : "new");
    const std::string old = replacing ? "the old content" : "";
    int killed = 0;
    double span = seconds_;  // of a whole run, as busy as the machine is now
    for (int i = 0; i < count; ++i) {
      if (replacing) write_file(folder_ / "out.onnx", old);
      const ProcessResult result = convert_with_signal(random.uniform(static_cast<uint64_t>(i)) * span, SIGKILL);
      if (result.signal == SIGKILL) {
        ++killed;
      } else {
        span = result.seconds;
      }
      const bool there = fs::exists(folder_ / "out.onnx");
      const std::string content = read_file(folder_ / "out.onnx");
      ASSERT_TRUE(content == whole_ || (content == old && there == replacing)) << "run " << i << ": " << content.size() << " bytes";
      if (there) {
        ASSERT_THAT(settled_entries(), ElementsAre("in.onnx", "out.onnx")) << "run " << i;
        fs::remove(folder_ / "out.onnx");
      } else {
        ASSERT_THAT(settled_entries(), ElementsAre("in.onnx")) << "run " << i;
      }
    }
    EXPECT_GT(killed, 0) << "the kills came too late to test anything";
  }

  std::string whole_;
  double seconds_ = 0;
};

TEST_F(Interruption, B55KilledSavesOfANewTarget) {
  kill_saves(100, false);
}
TEST_F(Interruption, B55KilledSavesOfAReplacedTarget) {
  kill_saves(100, true);
}

class SlowInterruption : public Interruption {};
TEST_F(SlowInterruption, B55KilledSavesOfANewTarget1000Times) {
  kill_saves(1000, false);
}
TEST_F(SlowInterruption, B55KilledSavesOfAReplacedTarget1000Times) {
  kill_saves(1000, true);
}

TEST_F(Interruption, B56SignalsLeaveNothingBehind) {
  const RandomStream random(7, "signals");
  int interrupted = 0;
  double span = seconds_;
  for (uint64_t i = 0; i < 60; ++i) {
    const int signal = i % 2 == 0 ? SIGINT : SIGTERM;
    const ProcessResult result = convert_with_signal(random.uniform(i) * span, signal);
    if (result.code == 0) {
      span = result.seconds;
      EXPECT_EQ(read_file(folder_ / "out.onnx"), whole_);
      fs::remove(folder_ / "out.onnx");
      continue;
    }
    ASSERT_THAT(folder_.entries(), ElementsAre("in.onnx"));
    // Before main() installs its handlers, signals end the process themselves.
    if (result.signal == signal) continue;
    ++interrupted;
    expect_refusal(result, signal == SIGINT ? 130 : 143, signal == SIGINT ? "interrupted" : "terminated");
  }
  EXPECT_GT(interrupted, 0);
}

TEST_F(Interruption, B56ASignalStopsTheRestOfSeveral) {
  std::vector<std::string> arguments = {"convert", "--out-dir", "out"};
  for (int i = 0; i < 20; ++i) {
    const std::string name = "in" + std::to_string(i) + ".onnx";
    fs::create_symlink("in.onnx", folder_ / name);
    arguments.push_back(name);
  }
  // If the machine has become faster since one conversion was timed, all of them may be complete: the signal is then sent earlier.
  ProcessResult result;
  for (double delay = seconds_ * 3; delay > seconds_ / 10; delay /= 2) {
    fs::remove_all(folder_ / "out");
    fs::create_directory(folder_ / "out");
    result = run(arguments, {.signal_after = std::make_pair(delay, SIGINT)});
    if (result.code != 0) break;
  }
  EXPECT_EQ(result.code, 130) << result.err;
  EXPECT_EQ(line_count(result.err), 1U) << result.err;
  EXPECT_LT(std::distance(fs::directory_iterator(folder_ / "out"), fs::directory_iterator()), 20);
}

TEST_F(Interruption, B57TwoConversionsOfOneTarget) {
  for (int i = 0; i < 6; ++i) {
    ProcessResult first, second;
    std::thread other([&] { second = run({"convert", "in.onnx", "-o", "out.onnx"}); });
    first = run({"convert", "in.onnx", "-o", "out.onnx"});
    other.join();
    EXPECT_EQ(first.code, 0) << first.err;
    EXPECT_EQ(second.code, 0) << second.err;
    EXPECT_EQ(read_file(folder_ / "out.onnx"), whole_);
    EXPECT_THAT(folder_.entries(), ElementsAre("in.onnx", "out.onnx"));
    fs::remove(folder_ / "out.onnx");
  }
}

TEST_F(Interruption, B58ReadOnlyInput) {
  fs::permissions(folder_ / "in.onnx", fs::perms::owner_read);
  EXPECT_EQ(run({"convert", "in.onnx", "-o", "out.onnx"}).code, 0);
  EXPECT_EQ(read_file(folder_ / "out.onnx"), whole_);
}

TEST_F(Interruption, AStreamIsVerifiedAsAFileIs) {
  // The nodes of the branch, which no sample enters, are compared in a copy of both models, which is read a second time.
  const auto model = [](const std::string& divisor) {
    return "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N, 8] x, int64 s) => (float[N, 8] y) <int64 one = {1}, float e = {1e-6}, "
           "int64[1] ax = {-1}> { c = Equal(s, one)\n y = If(c) <then_branch = a () => (float[N, 8] p) { u = Mul(x, x)\n q = "
           "ReduceSum<keepdims = 1>(u, ax)\n r = Sqrt(q)\n t = Add(r, e)\n p = Div(x, " +
           divisor + ") }, else_branch = b () => (float[N, 8] o) { o = Neg(x) }> }";
  };
  write_file(folder_ / "a.onnxtxt", model("t"));
  write_file(folder_ / "b.onnxtxt", model("r"));
  const ProcessResult of_file = run({"verify", "a.onnxtxt", "b.onnxtxt"});
  const ProcessResult of_stream = run({"verify", "-", "b.onnxtxt"}, {.input = model("t")});
  EXPECT_THAT(of_file.out, HasSubstr("graph-alone"));
  EXPECT_THAT(of_stream.out, HasSubstr("graph-alone")) << of_stream.err;
  EXPECT_EQ(of_stream.code, of_file.code);
}

TEST_F(Interruption, B59Streams) {
  const std::string in = read_file(folder_ / "in.onnx");
  const ProcessResult piped = run({"convert", "-", "-o", "-"}, {.input = in});
  EXPECT_EQ(piped.code, 0) << piped.err;
  EXPECT_EQ(piped.out, whole_);
  EXPECT_THAT(piped.err, HasSubstr("standard input → standard output"));  // the report is written where the model is not
  const ProcessResult to_file = run({"convert", "-", "-o", "out.onnx"}, {.input = in});
  EXPECT_EQ(to_file.code, 0) << to_file.err;
  EXPECT_EQ(read_file(folder_ / "out.onnx"), whole_);
  EXPECT_EQ(run({"inspect", "-"}, {.input = in}).code, 0);
  expect_refusal(run({"inspect", "-"}, {.input = ""}), 3, "standard input");
  expect_refusal(run({"convert", "-"}, {.input = in}), 2, "--output");
  const ProcessResult both = run({"convert", "in.onnx", "-o", "-", "--json"});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("--json and --output - both want standard output"));
}

/// Three pairs of Conv and BatchNormalization, of which the fold of one leaves the range of its type: in the block `place` of what is
/// written.
TextModel out_of_range(int place, DataType type) {
  TextModel model(R"(g (float[1, 64, 4, 4] x) => (float[1, 64, 4, 4] y)
    <float[64, 64, 9, 9] W0, float[64, 64, 9, 9] W1, float[64, 64, 9, 9] W2, float[64] s, float[64] zero, float[64] var> {
    c0 = Conv <pads = [4, 4, 4, 4]> (x, W0)
    n0 = BatchNormalization (c0, s, zero, zero, var)
    r0 = Relu (n0)
    c1 = Conv <pads = [4, 4, 4, 4]> (r0, W1)
    n1 = BatchNormalization (c1, s, zero, zero, var)
    r1 = Relu (n1)
    c2 = Conv <pads = [4, 4, 4, 4]> (r1, W2)
    y = BatchNormalization (c2, s, zero, zero, var)
  })");
  for (int i = 0; i < 3; ++i) {
    std::vector<double> values(std::size_t{64} * 64 * 81, 0.01);
    if (i == place) values[values.size() / 2] = type == DataType::float16 ? 60000 : 3e38;
    model.set("W" + std::to_string(i), values);
  }
  model.set("s", std::vector<double>(64, 2)).set("zero", std::vector<double>(64, 0)).set("var", std::vector<double>(64, 1));
  return model.cast(type);
}

TEST_F(Interruption, AStreamHoldsOneModelWhicheverFoldLeavesItsRange) {
  for (const DataType type : {DataType::float16, DataType::bfloat16, DataType::float32}) {
    for (const int place : {-1, 0, 1, 2}) {
      save_model(out_of_range(place, type).message(), folder_ / "range.onnx");
      ASSERT_EQ(run({"convert", "range.onnx", "-o", "range.file"}).code, 0);
      const std::string file = read_file(folder_ / "range.file");
      onnx::ModelProto written;
      ASSERT_TRUE(written.ParseFromString(file));
      const auto is_left = [](const onnx::NodeProto& node) { return node.op_type() == "BatchNormalization"; };
      EXPECT_EQ(std::ranges::count_if(written.graph().node(), is_left), place < 0 ? 0 : 1);
      for (const char* threads : {"1", "2"}) {
        const ProcessResult piped = run({"convert", "range.onnx", "-o", "-", "--threads", threads});
        EXPECT_EQ(piped.code, 0) << piped.err;
        EXPECT_TRUE(piped.out == file) << name_of(type) << place << ": " << piped.out.size() << " bytes, not " << file.size();
      }
      const ProcessResult both = run({"convert", "-", "-o", "-"}, {.input = read_file(folder_ / "range.onnx")});
      EXPECT_EQ(both.code, 0) << both.err;
      EXPECT_TRUE(both.out == file) << name_of(type) << place;
    }
  }
}

TEST_F(Interruption, AStreamOfExternalWeightsAndOneThatCloses) {
  onnx::ModelProto model = out_of_range(2, DataType::float32).message();
  std::string data;
  for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
    const std::string bytes = tensor.raw_data();
    make_external(tensor, "range.data", std::to_string(data.size()), std::to_string(bytes.size()));
    data += bytes;
  }
  write_file(folder_ / "range.data", data);
  save_model(model, folder_ / "range.onnx");
  ASSERT_EQ(run({"convert", "range.onnx", "-o", "range.file", "--external-data", "never"}).code, 0);
  const ProcessResult piped = run({"convert", "range.onnx", "-o", "-"});
  EXPECT_EQ(piped.code, 0) << piped.err;
  EXPECT_TRUE(piped.out == read_file(folder_ / "range.file"));
  EXPECT_EQ(run({"convert", "range.onnx", "-o", "-"}, {.output_closed_pipe = true}).signal, SIGPIPE);
}

TEST_F(Interruption, B60LocalesDoNotMatter) {
  for (const char* locale : {"de_DE.UTF-8", "tr_TR.UTF-8", "C"}) {
    const ProcessResult result = run({"convert", "in.onnx", "-o", "out.onnx", "--json"}, {.environment = {{"LC_ALL", locale}}});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("\"seconds\": 0."));
    EXPECT_EQ(read_file(folder_ / "out.onnx"), whole_);
  }
}

}  // namespace
}  // namespace relayout::test
