// Tests B1 to B6 and B49 to B54: files that cannot be read, places that cannot be written.
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "command/command_test.h"
#include "support/process.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class BadPlaces : public CommandTest {
 protected:
  BadPlaces() { save_model(conv_batch_norm(), folder_ / "good.onnx"); }

  /// No command can read this file.
  void expect_unreadable(const std::string& name) {
    const auto before = folder_.entries();
    expect_refusal(run({"convert", name, "-o", "out.onnx"}), 5, name);
    expect_refusal(run({"inspect", name}), 5, name);
    expect_refusal(run({"verify", name, "good.onnx"}), 5, name);
    expect_refusal(run({"verify", "good.onnx", name}), 5, name);
    EXPECT_EQ(folder_.entries(), before);
  }

  /// No command writes to this place.
  void expect_unwritable(const std::string& name, int code, ProcessOptions options = {}) {
    const auto before = folder_.entries();
    expect_refusal(run({"convert", "good.onnx", "-o", name}, std::move(options)), code, "");
    EXPECT_EQ(folder_.entries(), before);
  }

  /// A model whose weights take `megabytes`.
  void write_large(const std::string& name, int64_t megabytes) {
    onnx::ModelProto model = conv_batch_norm();
    *model.mutable_graph()->add_initializer() = float_tensor("ballast", {megabytes << 18}, 1);
    add_node(*model.mutable_graph(), "Identity", {"ballast"}, {"z"});
    set_tensor_type(*model.mutable_graph()->add_output(), "z", 1, {megabytes << 18});
    save_model(model, folder_ / name);
  }
};

/// In the child: no longer root, so that permissions count.
void become_nobody() {
  if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(125);
}

TEST_F(BadPlaces, B1MissingFile) {
  expect_unreadable("missing.onnx");
}

TEST_F(BadPlaces, B1MissingFolder) {
  expect_unreadable("no/such/folder.onnx");
}

TEST_F(BadPlaces, B1MissingFolderOfTheModelIsNotTheResults) {
  EXPECT_EQ(run({"convert", "no/such/"}).err, "relayout: no/such/: No such file or directory\n");
  EXPECT_EQ(run({"convert", "no/such/net.onnx"}).err, "relayout: no/such/net.onnx: No such file or directory\n");
  EXPECT_EQ(run({"convert", "good.onnx", "-o", "no/such/"}).err, "relayout: no/such/: no such folder (mkdir -p no/such makes it)\n");
}

TEST_F(BadPlaces, B2Directory) {
  fs::create_directory(folder_ / "folder.onnx");
  expect_unreadable("folder.onnx");
}

TEST_F(BadPlaces, B3DanglingAndLoopingSymlinks) {
  fs::create_symlink("nowhere", folder_ / "dangling.onnx");
  fs::create_symlink("loop.onnx", folder_ / "loop.onnx");
  expect_unreadable("dangling.onnx");
  expect_unreadable("loop.onnx");
}

TEST_F(BadPlaces, B4FifoAndDevice) {
  ASSERT_EQ(mkfifo((folder_ / "fifo.onnx").c_str(), 0600), 0);
  expect_unreadable("fifo.onnx");
  EXPECT_EQ(
      run({"inspect", "fifo.onnx"}).err,
      "relayout: fifo.onnx: is a pipe, and models are read from files or from standard input (lead it into the command, with - for the "
      "model)\n");
  expect_unreadable("/dev/zero");
  expect_unreadable("/dev/null");
}

TEST_F(BadPlaces, B5NoPermission) {
  fs::permissions(folder_.path(), fs::perms::owner_all | fs::perms::group_all | fs::perms::others_all);
  fs::permissions(folder_ / "good.onnx", fs::perms::none);
  const ProcessResult result = run({"inspect", "good.onnx"}, {.in_child = become_nobody});
  if (result.code >= 125) GTEST_SKIP() << "SKIPPED: another user cannot start the program here";
  expect_refusal(result, 5, "good.onnx");
}

TEST_F(BadPlaces, B49FolderMissing) {
  expect_unwritable("no/such/out.onnx", 5);
}

TEST_F(BadPlaces, B49MissingFolderIsReportedBeforeTheModelIsRead) {
  write_file(folder_ / "broken.onnx", "not a model");
  expect_refusal(run({"convert", "broken.onnx", "-o", "no/such/out.onnx"}), 5, "no such folder");
}

TEST_F(BadPlaces, B49OutputFolderOfSeveralIsMade) {
  fs::copy(folder_ / "good.onnx", folder_ / "two.onnx");
  EXPECT_EQ(run({"convert", "good.onnx", "two.onnx", "--out-dir", "no/where", "--dry-run"}).code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "no"));
  EXPECT_EQ(run({"convert", "good.onnx", "two.onnx", "--out-dir", "no/where"}).code, 0);
  EXPECT_TRUE(fs::exists(folder_ / "no/where/good.cl.onnx") && fs::exists(folder_ / "no/where/two.cl.onnx"));
  // The folder is not created without a result, nor in the place of a file.
  write_file(folder_ / "broken.onnx", "not a model");
  EXPECT_EQ(run({"convert", "broken.onnx", "--out-dir", "empty"}).code, 3);
  EXPECT_FALSE(fs::exists(folder_ / "empty"));
  expect_refusal(run({"convert", "good.onnx", "two.onnx", "--out-dir", "broken.onnx"}), 5, "broken.onnx: is not a folder");
  expect_refusal(run({"convert", "good.onnx", "--out-dir", "broken.onnx/out"}), 5, "broken.onnx/out");
}

TEST_F(BadPlaces, B50OutputIsADirectory) {
  fs::create_directory(folder_ / "out.onnx");
  expect_unwritable("out.onnx", 5);
  EXPECT_EQ(run({"convert", "good.onnx", "-o", "out.onnx"}).err,
            "relayout: out.onnx: is a directory (--out-dir out.onnx writes into it)\n");
}

TEST_F(BadPlaces, B50OutputIsADevice) {
  expect_unwritable("/dev/null", 5);
}

TEST_F(BadPlaces, B50NotWritable) {
  fs::create_directory(folder_ / "closed");
  fs::permissions(folder_.path(), fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  fs::permissions(folder_ / "closed", fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
  const ProcessResult result = run({"convert", "good.onnx", "-o", "closed/out.onnx"}, {.in_child = become_nobody});
  if (result.code >= 125) GTEST_SKIP() << "SKIPPED: another user cannot start the program here";
  expect_refusal(result, 5, "closed/out.onnx");
  EXPECT_TRUE(fs::is_empty(folder_ / "closed"));
}

TEST_F(BadPlaces, B51OutputIsTheInput) {
  const std::string before = read_file(folder_ / "good.onnx");
  expect_unwritable("good.onnx", 2);
  expect_unwritable("./good.onnx", 2);
  fs::create_symlink("good.onnx", folder_ / "symlink.onnx");
  expect_unwritable("symlink.onnx", 2);
  fs::create_hard_link(folder_ / "good.onnx", folder_ / "hardlink.onnx");
  expect_unwritable("hardlink.onnx", 2);
  EXPECT_EQ(read_file(folder_ / "good.onnx"), before);
}

TEST_F(BadPlaces, B51InPlaceReplacesTheInput) {
  EXPECT_EQ(run({"convert", "good.onnx", "-o", "out.onnx"}).code, 0);
  EXPECT_EQ(run({"convert", "good.onnx", "--in-place"}).code, 0);
  EXPECT_EQ(read_file(folder_ / "good.onnx"), read_file(folder_ / "out.onnx"));
}

TEST_F(BadPlaces, B52DataFileThatWouldOverwriteTheInputsOwn) {
  onnx::ModelProto model = conv_batch_norm();
  const std::string weight = initializer(model, "W").raw_data();
  make_external(initializer(model, "W"), "out.onnx.data", "0", "432");
  write_file(folder_ / "out.onnx.data", weight);
  save_model(model, folder_ / "in.onnx");
  const auto before = folder_.entries();
  const ProcessResult result = run({"convert", "in.onnx", "-o", "out.onnx"});
  // Either the command is refused, or the data of in.onnx is unchanged.
  if (result.code != 0) expect_refusal(result, 2, "out.onnx.data");
  EXPECT_EQ(read_file(folder_ / "out.onnx.data"), weight);
  if (result.code != 0) {
    EXPECT_EQ(folder_.entries(), before);
  }
}

TEST_F(BadPlaces, B53DiskFull) {
  write_large("large.onnx", 8);
  fs::create_directory(folder_ / "disk");
  const std::string mount_point = folder_ / "disk";
  const ProcessResult result = run({"convert", "large.onnx", "-o", "disk/out.onnx"}, {.in_child = [&] {
                                     if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
                                         mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=4m") != 0) {
                                       _exit(125);
                                     }
                                   }});
  if (result.code == 125) GTEST_SKIP() << "SKIPPED: no small disk can be mounted here";
  expect_refusal(result, 5, "disk/out.onnx");
  EXPECT_THAT(result.err, HasSubstr("space"));
}

TEST_F(BadPlaces, B53QuotaOfFileSizes) {
  write_large("large.onnx", 8);
  const auto before = folder_.entries();
  expect_refusal(run({"convert", "large.onnx", "-o", "out.onnx"}, {.file_size_limit = 1 << 20}), 5, "out.onnx");
  EXPECT_EQ(folder_.entries(), before);
}

TEST_F(BadPlaces, B53StandardOutputToAFullDevice) {
  expect_refusal(run({"convert", "good.onnx", "-o", "-"}, {.output = "/dev/full"}), 5, "standard output");
  expect_refusal(run({"inspect", "good.onnx"}, {.output = "/dev/full"}), 5, "standard output");
  expect_refusal(run({"--help"}, {.output = "/dev/full"}), 5, "standard output");
}

TEST_F(BadPlaces, B54NameTooLong) {
  expect_unwritable(std::string(300, 'n') + ".onnx", 5);
}

TEST_F(BadPlaces, B54ClosedPipe) {
  // As other filters end when `head` has read enough.
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"convert", "good.onnx", "-o", "-"}, {"inspect", "good.onnx"}, {"inspect", "good.onnx", "--json"}}) {
    const ProcessResult result = run(arguments, {.output_closed_pipe = true});
    EXPECT_EQ(result.signal, SIGPIPE) << arguments[0];
    EXPECT_EQ(result.err, "") << arguments[0];
  }
}

TEST_F(BadPlaces, OneFailureDoesNotStopTheOthers) {
  write_file(folder_ / "bad.onnx", "text");
  fs::copy(folder_ / "good.onnx", folder_ / "other.onnx");
  fs::create_directory(folder_ / "out");
  const ProcessResult result = run({"convert", "bad.onnx", "good.onnx", "missing.onnx", "other.onnx", "--out-dir", "out"});
  EXPECT_EQ(result.code, 5) << result.err;  // worse than the 3 of bad.onnx
  EXPECT_EQ(line_count(result.err), 3U) << result.err;
  EXPECT_THAT(result.err, HasSubstr("\nhint: textual models are known by their extension"));
  EXPECT_TRUE(fs::exists(folder_ / "out" / "good.cl.onnx"));
  EXPECT_TRUE(fs::exists(folder_ / "out" / "other.cl.onnx"));
  EXPECT_FALSE(fs::exists(folder_ / "out" / "bad.cl.onnx"));
}

}  // namespace
}  // namespace relayout::test
