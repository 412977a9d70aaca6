#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "model/save.h"
#include "model/segments.h"
#include "model/tensor_data.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "support/temporary_folder.h"

namespace relayout {
namespace {

using test::read_file;
using test::TemporaryFolder;
using test::write_file;
using testing::ElementsAre;
using testing::IsEmpty;

/// 24 MB: writing takes long enough to be interrupted in the middle.
std::string large_model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto& graph = *model.mutable_graph();
  graph.add_input()->set_name("x");
  auto& tensor = *graph.add_initializer();
  tensor.set_name("W");
  tensor.set_data_type(1);
  for (const int64_t dim : {1000, 6000}) tensor.add_dims(dim);
  tensor.mutable_raw_data()->resize(24'000'000, '\1');
  auto& node = *graph.add_node();
  node.set_op_type("MatMul");
  node.add_input("x");
  node.add_input("W");
  node.add_output("y");
  graph.add_output()->set_name("y");
  return model.SerializeAsString();
}

void convert(const std::filesystem::path& in, const std::filesystem::path& out) {
  const auto model = Model::load(in);
  Initializer& weight = *model->graph().find("W")->initializer();
  model->graph().set_data(weight, weight.data->scaled({1000, 1, std::vector<double>(1000, 1.5)}));
  save(*model, out);
}

/// Converts in a child process, sends it a signal after `microseconds`, and returns its status.
int hit(const std::filesystem::path& in, const std::filesystem::path& out, int signal, uint64_t microseconds) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (signal != SIGKILL) install_interrupt_handlers();
    int code = 0;
    try {
      convert(in, out);
    } catch (const Error& error) {
      code = exit_code(error.kind());
    }
    ::_exit(code);
  }
  ::usleep(static_cast<useconds_t>(microseconds));
  ::kill(child, signal);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

class InterruptedSave : public testing::Test {
 protected:
  InterruptedSave() {
    write_file(folder_ / "in.onnx", large_model());
    std::filesystem::create_directory(folder_ / "out");
    convert(folder_ / "in.onnx", folder_ / "expected.onnx");
    expected_ = read_file(folder_ / "expected.onnx");
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "out")) out.push_back(entry.path().filename().string());
    return out;
  }
  TemporaryFolder folder_;
  std::string expected_;
};

TEST_F(InterruptedSave, B55KilledWhileANewFileIsWritten) {
  const RandomStream random(55, "kill");
  int whole = 0;
  for (uint64_t i = 0; i < 24; ++i) {
    hit(folder_ / "in.onnx", folder_ / "out/m.onnx", SIGKILL, random.below(i, 40'000));
    if (std::filesystem::exists(folder_ / "out/m.onnx")) {
      EXPECT_TRUE(read_file(folder_ / "out/m.onnx") == expected_);
      EXPECT_THAT(names(), ElementsAre("m.onnx"));
      std::filesystem::remove(folder_ / "out/m.onnx");
      ++whole;
    }
    ASSERT_THAT(names(), IsEmpty());
  }
  RecordProperty("whole", whole);
}

TEST_F(InterruptedSave, B55KilledWhileAFileIsReplaced) {
  const RandomStream random(56, "kill");
  const std::string old = "the old contents";
  for (uint64_t i = 0; i < 24; ++i) {
    write_file(folder_ / "out/m.onnx", old);
    hit(folder_ / "in.onnx", folder_ / "out/m.onnx", SIGKILL, random.below(i, 60'000));
    const std::string now = read_file(folder_ / "out/m.onnx");
    EXPECT_TRUE(now == old || now == expected_);
    // A child of the killed process links and renames the whole file; it may still be at work.
    for (int wait = 0; wait < 500 && names().size() > 1; ++wait) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_THAT(names(), ElementsAre("m.onnx"));
  }
}

TEST_F(InterruptedSave, B57SignalsAreAnsweredInOrder) {
  const RandomStream random(57, "signal");
  for (uint64_t i = 0; i < 12; ++i) {
    const int signal = i % 2 == 0 ? SIGTERM : SIGINT;
    // Early enough to come before the end, late enough for the handlers to be installed.
    const int status = hit(folder_ / "in.onnx", folder_ / "out/m.onnx", signal, 5'000 + random.below(i, 20'000));
    if (WIFSIGNALED(status)) continue;  // before the handlers
    const int code = WEXITSTATUS(status);
    EXPECT_TRUE(code == 0 || code == (signal == SIGTERM ? 143 : 130)) << code;
    EXPECT_EQ(std::filesystem::exists(folder_ / "out/m.onnx"), code == 0);
    std::filesystem::remove(folder_ / "out/m.onnx");
    ASSERT_THAT(names(), IsEmpty());
  }
}

TEST(WritePipe, B54AClosedPipeIsAnError) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const auto handler = std::signal(SIGPIPE, SIG_IGN);
  Segments segments;
  segments.literal("some bytes");
  try {
    write_pipe(segments, ends[1], "standard output");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(std::string(error.what()), "standard output: Broken pipe");
  }
  std::signal(SIGPIPE, handler);
  ::close(ends[1]);
}

TEST(WritePipe, SendsAllPiecesInOrder) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string middle = "23456" + std::string(400, '-');  // too long to join the pieces next to it
  const auto file = File::from_bytes("01" + middle + "789", "memory");
  Segments segments;
  segments.literal("<");
  segments.copy(file, 2, 5);
  segments.copy(file, 5, 407);
  segments.literal(">");
  EXPECT_EQ(segments.list().size(), 3U);
  write_pipe(segments, ends[1], "standard output");
  ::close(ends[1]);
  char buffer[512] = {};
  EXPECT_EQ(::read(ends[0], buffer, sizeof buffer), 407);
  EXPECT_EQ(buffer, "<" + middle + ">");
  EXPECT_EQ(concatenate(segments), "<" + middle + ">");
  ::close(ends[0]);
}

}  // namespace
}  // namespace relayout
