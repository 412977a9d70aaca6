// Tests B12: bytes flipped and files cut anywhere. One process forks per input and calls the command in the child.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>

#include "base/random.h"
#include "cli/common/command.h"
#include "command/command_test.h"
#include "support/many.h"

namespace relayout::test {
namespace {

constexpr double kPatience = 30;  ///< seconds per input

struct Ending {
  int code = -1, signal = 0;
  std::string err;
};

std::string contents(int descriptor) {
  std::string out(static_cast<std::size_t>(lseek(descriptor, 0, SEEK_END)), '\0');
  const ssize_t got = pread(descriptor, out.data(), out.size(), 0);
  out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return out;
}

/// Runs the program's function in a child.
Ending run_forked(const std::vector<std::string>& arguments, const std::filesystem::path& directory) {
  const int err = memfd_create("err", 0), out = memfd_create("out", 0);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    if (chdir(directory.c_str()) != 0) _exit(126);
    alarm(static_cast<unsigned>(kPatience));
    _exit(cli::run_program(arguments));
  }
  int status = 0;
  waitpid(pid, &status, 0);
  Ending ending{WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0, contents(err)};
  close(err);
  close(out);
  return ending;
}

/// A model with a sample of everything that is walked and checked: typed data, a Constant with a tensor.
onnx::ModelProto rich_model() {
  onnx::ModelProto model = conv_batch_norm();
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.mutable_node(2)->set_output(0, "relu");
  auto& value = *add_node(graph, "Constant", {}, {"flag"}, "flag0").add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(onnx::TensorProto::BOOL);
  value.mutable_t()->add_int32_data(1);
  onnx::TensorProto& bias = initializer(model, "b");
  bias.clear_raw_data();
  for (int i = 0; i < 4; ++i) bias.add_float_data(static_cast<float>(i));
  return model;
}

/// Completes the model by plain operators, all of which verify runs.
std::string runnable_model() {
  onnx::ModelProto model = rich_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  set_int(add_node(graph, "Cast", {"flag"}, {"one"}, "cast0"), "to", onnx::TensorProto::FLOAT);
  add_node(graph, "Mul", {"relu", "one"}, {"y"}, "mul0");
  return model.SerializeAsString();
}

/// Completes the model by nested graphs that read outer values.
std::string nested_model() {
  onnx::ModelProto model = rich_model();
  auto& if_node = add_node(*model.mutable_graph(), "If", {"flag"}, {"y"}, "if0");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& branch = *if_node.add_attribute();
    branch.set_name(name);
    branch.set_type(onnx::AttributeProto::GRAPH);
    onnx::GraphProto& body = *branch.mutable_g();
    body.set_name(name);
    add_node(body, "Relu", {"relu"}, {name});
    set_tensor_type(*body.add_output(), name, 1, {1, 4, 8, 8});
  }
  return model.SerializeAsString();
}

using Command = std::vector<std::string>;

const Command kConvert = {"convert", "model.onnx", "-o", "out.onnx"};
const Command kInspect = {"inspect", "model.onnx"};
const Command kVerify = {"verify", "good.onnx", "model.onnx", "--samples", "1"};
const Command kVerifyAgainstItself = {"verify", "model.onnx", "model.onnx", "--samples", "1", "--run-identical"};

class Flips : public testing::Test {
 protected:
  Flips() { write_file(folder_ / "good.onnx", runnable_model()); }

  /// Passes `bytes` to a command: the result is right or a refusal, never a crash.
  void expect_documented_end(const std::string& bytes, const std::vector<std::string>& command) {
    write_file(folder_ / "model.onnx", bytes);
    const Ending ending = run_forked(command, folder_.path());
    const bool refused = ending.code != 0 && ending.code != 1;
    ASSERT_EQ(ending.signal, 0) << command[0] << "\n" << ending.err;
    // 2: verify requests a shape that the flipped model no longer declares.
    ASSERT_THAT(ending.code, testing::AnyOf(0, 1, 2, 3, 4, 5)) << command[0] << "\n" << ending.err;
    std::string line = ending.err;
    while (line.starts_with("relayout: warning: ")) line.erase(0, line.find('\n') + 1);
    ASSERT_EQ(line_count(line), refused ? 1U : 0U) << command[0] << "\n" << ending.err;
    const std::filesystem::path out = folder_ / "out.onnx";
    ASSERT_EQ(std::filesystem::exists(out), command[0] == "convert" && ending.code == 0);
    std::filesystem::remove(out);
  }

  /// Places and values follow from `number` and RELAYOUT_SEED (0 when not set): other seeds, other flips.
  static RandomStream stream(uint64_t number, const Command& command) {
    const char* seed = std::getenv("RELAYOUT_SEED");
    return {number + (seed == nullptr ? 0 : 1000 * std::strtoull(seed, nullptr, 10)), command[0]};
  }

  /// Keeps an input that showed a defect for later inspection.
  static void keep(const std::string& bytes) {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    const std::string path = testing::TempDir() + "relayout-" + name + ".onnx";
    write_file(path, bytes);
    ADD_FAILURE() << "the input is kept as " << path;
  }

  /// Flips one bit, or replaces one byte, at a random place. Under the sanitizers, fuzz targets do more of the same without processes.
  void flip(const std::string& file, const Command& command, uint64_t number, uint64_t count) {
    if (kIsSanitized) count /= 10;
    const RandomStream random = stream(number, command);
    for (uint64_t i = 0; i < count; ++i) {
      std::string bytes = file;
      const uint64_t at = random.below(3 * i, bytes.size());
      const uint64_t kind = random.below(3 * i + 1, 9);
      const char before = bytes[at];
      bytes[at] = kind < 8 ? static_cast<char>(before ^ (1 << kind)) : static_cast<char>(random.bits(3 * i + 2));
      SCOPED_TRACE("flip " + std::to_string(i) + " at byte " + std::to_string(at) + ": " + std::to_string(before) + " to " +
                   std::to_string(bytes[at]));
      expect_documented_end(bytes, command);
      if (HasFatalFailure()) return keep(bytes);
    }
  }

  void truncate(const std::string& file, const Command& command, uint64_t number, uint64_t count) {
    if (kIsSanitized) count /= 10;
    const RandomStream random = stream(number, command);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t length = random.below(i, file.size());
      SCOPED_TRACE("cut to " + std::to_string(length) + " bytes");
      expect_documented_end(file.substr(0, length), command);
      if (HasFatalFailure()) return keep(file.substr(0, length));
    }
  }

  TemporaryFolder folder_;
};

TEST_F(Flips, TheModelsThemselvesAreRight) {
  const std::pair<std::string, Command> cases[] = {
      {nested_model(), kConvert}, {nested_model(), kInspect}, {runnable_model(), kVerify}, {runnable_model(), kVerifyAgainstItself}};
  for (const auto& [bytes, command] : cases) {
    write_file(folder_ / "model.onnx", bytes);
    const Ending ending = run_forked(command, folder_.path());
    EXPECT_EQ(ending.code, 0) << command[0] << "\n" << ending.err;
  }
}

TEST_F(Flips, B12FlippedBytesConvert) {
  flip(nested_model(), kConvert, 1, 1000);
}
TEST_F(Flips, B12FlippedBytesInspect) {
  flip(nested_model(), kInspect, 2, 1000);
}
TEST_F(Flips, B12FlippedBytesVerify) {
  flip(runnable_model(), kVerify, 3, 500);
}
TEST_F(Flips, B12FlippedBytesVerifyAgainstItself) {
  flip(runnable_model(), kVerifyAgainstItself, 4, 500);
}
TEST_F(Flips, B12TruncatedConvert) {
  truncate(nested_model(), kConvert, 5, 200);
}
TEST_F(Flips, B12TruncatedInspect) {
  truncate(nested_model(), kInspect, 6, 200);
}
TEST_F(Flips, B12TruncatedVerify) {
  truncate(runnable_model(), kVerify, 7, 200);
}

}  // namespace
}  // namespace relayout::test
