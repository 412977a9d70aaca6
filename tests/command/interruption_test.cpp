// Tests B55 to B60: interruption from outside, and concurrent use.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "command/command_test.h"
#include "support/process.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

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
