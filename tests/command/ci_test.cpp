// Tests the manual's pages ci and suites by running their commands as they are (tests/package has the files for CI services, and Dask).
#include <cstddef>
#include <iterator>
#include <regex>

#include "command/command_test.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// The first fenced block of a language after a marker of the manual.
std::string block_after(const std::string& marker, const std::string& language) {
  const std::string markdown =
      read_file(source_folder() + "/src/cli/manual/ci.md") + read_file(source_folder() + "/src/cli/manual/suites.md");
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

  /// Runs all lines of the script in one shell that stops at the first failure, as a CI runner does.
  ProcessResult shell(const std::string& script) {
    const std::string path = fs::path(program()).parent_path().string() + ":/usr/local/bin:/usr/bin:/bin";
    return run_process({"/bin/sh", "-e", "-c", script},
                       {.directory = folder_.path(), .environment = {{"PATH", path}, {"HOME", folder_.path().string()}}});
  }
  bool has(const std::string& program) { return shell("command -v " + program).code == 0; }
};

TEST_F(InCi, MakefileRule) {
  if (!has("make")) GTEST_SKIP() << "no make on this machine";
  write_file(folder_ / "Makefile", block_after("**make**", "make"));
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
  write_file(folder_ / ".git/hooks/pre-commit", block_after("**pre-commit**", "sh"));
  ASSERT_EQ(shell("chmod +x .git/hooks/pre-commit && relayout convert models/net.onnx && git add models").code, 0);
  const ProcessResult good = shell("git commit -q -m right");
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  // Both models of the pair are new, and compared once.
  const std::string said = good.out + good.err;
  EXPECT_NE(said.find("same   "), std::string::npos) << said;
  EXPECT_EQ(said.find("same   "), said.rfind("same   ")) << said;
  const ProcessResult bad = shell("cp wrong.onnx models/net.cl.onnx && git add models && git commit -q -m wrong");
  EXPECT_NE(bad.code, 0) << bad.out << bad.err;
  EXPECT_THAT(bad.out + bad.err, HasSubstr("different"));
  // The index counts: a good file in the work tree hides nothing. A changed original is compared with its conversion.
  EXPECT_NE(shell("git show HEAD:models/net.cl.onnx > models/net.cl.onnx && git commit -q -m hidden").code, 0);
  EXPECT_NE(shell("git add models && cp wrong.onnx models/net.onnx && git add models && git commit -q -m original").code, 0);
  EXPECT_EQ(shell("git reset -q --hard && mv models/net.onnx 'models/größe 1.onnx' && mv models/net.cl.onnx 'models/größe 1.cl.onnx' && "
                  "git add models && git commit -q -m renamed")
                .code,
            0);
}

/// A suite of six cases, two of which do not pass, with the report of a run on this machine alone.
class ManyMachines : public InCi {
 protected:
  void SetUp() override {
    InCi::SetUp();
    fs::remove_all(folder_ / "models");
    save_model(conv_batch_norm(), folder_ / "net.onnx");
    ASSERT_EQ(shell("relayout convert net.onnx && relayout verify net.onnx net.cl.onnx --samples 1 --save-data data").code, 0);
    for (const char* const name : {"a", "b", "two words", "d", "e", "f"}) {
      const fs::path folder = folder_ / ("models/" + std::string(name));
      fs::create_directories(folder);
      fs::copy(folder_ / "net.onnx", folder / "model.onnx");
      fs::copy(folder_ / "data", folder, fs::copy_options::recursive);
    }
    write_file(folder_ / "models/b/test_data_set_0/output_0.pb", "no tensor");
    write_file(folder_ / "models/two words/model.onnx", "no model");
    single_ = without_times(shell("relayout verify --suite models || [ $? = 1 ]").out);
    ASSERT_THAT(single_, HasSubstr("4 of 6 cases passed"));
  }
  std::string single_;
};

TEST_F(ManyMachines, GnuParallelLosesNoCaseWithAHost) {
  if (!has("parallel")) GTEST_SKIP() << "no GNU parallel on this machine";
  // Replaces ssh: hosts are this machine, and the first two jobs of the second host are killed together with their connection.
  write_file(folder_ / "ssh", R"sh(#!/bin/sh
host=$1; shift; [ "$1" = -- ] && shift
if [ "$host" = host2 ] && [ "$(ls killed 2>/dev/null | wc -l)" -lt 2 ]; then
  mkdir -p killed; : > "killed/$$"
  sh -c "$*" & sleep 0.02; kill -9 $! $$
fi
exec sh -c "$*"
)sh");
  fs::permissions(folder_ / "ssh", fs::perms::owner_all);
  fs::create_directory(folder_ / ".parallel");
  write_file(folder_ / ".parallel/will-cite", "");
  std::string recipe = block_after("**GNU parallel**", "sh");
  recipe.pop_back();
  ASSERT_THAT(recipe, HasSubstr("host1,host2"));
  // Numbers before hosts are jobs at a time: without them, parallel would query the hosts for their processors.
  const std::string here = std::regex_replace(recipe, std::regex("host1,host2"), "1/host1,1/host2 --ssh ./ssh");
  const ProcessResult result = shell(here + " || [ $? = 1 ]");
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "killed"), fs::directory_iterator()), 2) << result.err;
  EXPECT_EQ(without_times(result.out), single_);
  EXPECT_THAT(read_file(folder_ / "report.xml"), HasSubstr("tests=\"6\""));
}

TEST_F(ManyMachines, SlurmArraysMergeToTheSingleRun) {
  write_file(folder_ / "array.sh", block_after("**Slurm**", "sh"));
  // Set as Slurm does for --array=1-4; the second task is killed and queued again.
  const std::string task =
      "SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=4 SLURM_ARRAY_TASK_STEP=1 "
      "SLURM_ARRAY_TASK_ID=";
  const ProcessResult killed = shell(task + "2 timeout -s KILL 0.02 sh array.sh || true");
  EXPECT_FALSE(fs::exists(folder_ / "reports/2.json")) << killed.err;
  for (const char* const index : {"1", "2", "3", "4"}) EXPECT_EQ(shell(task + index + " sh array.sh").code, 0) << index;
  const ProcessResult merged = shell("relayout report merge reports || [ $? = 1 ]");
  EXPECT_EQ(merged.code, 0) << merged.err;
  EXPECT_EQ(without_times(merged.out), single_);
}

}  // namespace
}  // namespace relayout::test
