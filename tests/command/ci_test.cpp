// README's section "In CI": what it proposes for make and git is run as it stands there (tests/package tries the doors of CI services).
#include <cstddef>
#include <filesystem>
#include <string>

#include "command/command_test.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// The first fenced block of a language behind a marker of README.md.
std::string block_behind(const std::string& marker, const std::string& language) {
  const std::string markdown = read_file(source_folder() + "/README.md");
  const std::size_t at = markdown.find(marker);
  const std::string fence = "```" + language + "\n";
  const std::size_t begin = at == std::string::npos ? at : markdown.find(fence, at);
  if (begin == std::string::npos) return {};
  const std::size_t first = begin + fence.size();
  return markdown.substr(first, markdown.find("```", first) - first);
}

class InCi : public CommandTest {
 protected:
  void SetUp() override {
    fs::create_directory(folder_ / "models");
    onnx::ModelProto model = conv_batch_norm();
    save_model(model, folder_ / "models/net.onnx");
    ProcessResult converted = run({"convert", "models/net.onnx", "-o", "wrong.onnx"});
    model = load_model(folder_ / "wrong.onnx");
    model.mutable_graph()->mutable_initializer(0)->mutable_raw_data()->at(3) ^= 1;
    save_model(model, folder_ / "wrong.onnx");
  }

  /// As a runner does: every line of the script in one shell that stops at the first failure.
  ProcessResult shell(const std::string& script) {
    const std::string path = fs::path(program()).parent_path().string() + ":/usr/local/bin:/usr/bin:/bin";
    return run_process({"/bin/sh", "-e", "-c", script},
                       {.directory = folder_.path(), .environment = {{"PATH", path}, {"HOME", folder_.path().string()}}});
  }
  bool has(const std::string& program) { return shell("command -v " + program).code == 0; }
};

TEST_F(InCi, MakefileRule) {
  if (!has("make")) GTEST_SKIP() << "no make on this machine";
  write_file(folder_ / "Makefile", block_behind("**make**", "make"));
  const ProcessResult good = shell("make verified");
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_TRUE(fs::exists(folder_ / "models/net.cl.onnx"));
  EXPECT_THAT(shell("make verified").out, HasSubstr("Nothing to be done"));
  write_file(folder_ / "models/text.onnx", "no model");
  EXPECT_NE(shell("make verified").code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "models/text.cl.onnx"));
}

TEST_F(InCi, PreCommitHook) {
  if (!has("git")) GTEST_SKIP() << "no git on this machine";
  ASSERT_EQ(shell("git init -q . && git config user.email a@b && git config user.name a").code, 0);
  write_file(folder_ / ".git/hooks/pre-commit", block_behind("**pre-commit**", "sh"));
  ASSERT_EQ(shell("chmod +x .git/hooks/pre-commit && relayout convert models/net.onnx && git add models").code, 0);
  const ProcessResult good = shell("git commit -q -m right");
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  const ProcessResult bad = shell("cp wrong.onnx models/net.cl.onnx && git add models && git commit -q -m wrong");
  EXPECT_NE(bad.code, 0) << bad.out << bad.err;
  EXPECT_THAT(bad.out + bad.err, HasSubstr("different"));
}

}  // namespace
}  // namespace relayout::test
