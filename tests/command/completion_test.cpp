// Tests completions in the shells themselves: each is queried for its completions of a command line.

#include "command/command_test.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Not;
using testing::UnorderedElementsAre;

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  std::string word;
  for (const char c : text) {
    if (c != '\n' && c != '\r') {
      word += c;
      continue;
    }
    if (const std::size_t tab = word.find('\t'); tab != std::string::npos) word.resize(tab);  // fish appends a description after a tab
    while (word.ends_with(' ')) word.pop_back();
    if (!word.empty()) out.push_back(word);
    word.clear();
  }
  return out;
}

class Completion : public CommandTest {
 protected:
  Completion() {
    for (const char* const name : {"net.onnx", "net.json", "notes.txt"}) write_file(folder_ / name, "");
    fs::create_directory(folder_ / "models");
  }

  static bool has(const std::string& shell) { return run_process({"/bin/sh", "-c", "command -v " + shell}).code == 0; }

  std::vector<std::string> ask(std::vector<std::string> command) {
    command.insert(command.begin(), "/usr/bin/env");
    const std::string path = fs::path(program()).parent_path().string() + ":/usr/local/bin:/usr/bin:/bin";
    const ProcessResult result =
        run_process(command, {.directory = folder_.path(), .environment = {{"PATH", path}, {"HOME", folder_.path().string()}}});
    EXPECT_EQ(result.code, 0) << result.err;
    return words_of(result.out);
  }

  /// The completions of bash for `line`, split as by readline.
  std::vector<std::string> bash(const std::string& line) {
    const std::string script = R"(source "$1"; compopt() { :; }
      COMP_WORDS=($(sed 's/=/ = /g' <<<"$2")); [[ $2 == *' ' || $2 == *= ]] && [[ $2 != *= ]] && COMP_WORDS+=('')
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _relayout; printf '%s\n' "${COMPREPLY[@]}")";
    return ask({"bash", "--norc", "-c", script, "bash", source_folder() + "/cmake/completions/relayout.bash", line});
  }

  std::vector<std::string> fish(const std::string& line) {
    return ask({"fish", "--no-config", "-c", "source " + source_folder() + "/cmake/completions/relayout.fish; complete -C '" + line + "'"});
  }

  /// zsh completes in a terminal only: a zsh inside one receives keys, and the completions that it inserts or lists are captured.
  std::vector<std::string> zsh(const std::string& line) {
    const std::string script = R"(
      zmodload zsh/zpty
      zpty z zsh -f
      zpty -w z "PROMPT=; stty -echo; autoload -Uz compinit; fpath=($1 \$fpath); compinit -u -D -d $PWD/.zcompdump"
      zpty -w z "compadd() { builtin compadd -A hits \"\$@\" 2>/dev/null; print -l -- BEGIN \$hits END >> $PWD/.hits; builtin compadd \"\$@\"; }"
      zpty -w z 'echo READY'
      zpty -r z reply '*READY'
      zpty -n -w z "$2"$'\t'
      sleep 2
      zpty -d z
      sed -e '/^BEGIN$/d' -e '/^END$/d' .hits 2>/dev/null | sort -u
      rm -f .hits .zcompdump)";
    return ask({"zsh", "-f", "-c", script, "zsh", source_folder() + "/cmake/completions", line});
  }
};

TEST_F(Completion, Bash) {
  if (!has("bash")) GTEST_SKIP() << "SKIPPED: no bash here";
  EXPECT_THAT(bash("relayout "), IsSupersetOf({"convert", "verify", "inspect", "profile", "diff", "derive", "run"}));
  EXPECT_THAT(bash("relayout conv"), ElementsAre("convert"));
  EXPECT_THAT(bash("relayout help "), IsSupersetOf({"convert", "verdicts", "layout"}));
  EXPECT_THAT(bash("relayout convert --lay"), ElementsAre("--layout"));
  EXPECT_THAT(bash("relayout convert --layout "), UnorderedElementsAre("channels-last", "contiguous", "keep"));
  EXPECT_THAT(bash("relayout convert --layout co"), ElementsAre("contiguous"));
  EXPECT_THAT(bash("relayout convert --precision="), UnorderedElementsAre("bf16", "fp16", "fp32"));
  EXPECT_THAT(bash("relayout convert --precision=f"), UnorderedElementsAre("fp16", "fp32"));
  EXPECT_THAT(bash("relayout verify --precision "), UnorderedElementsAre("bf16", "fp16", "int4", "int8"));
  EXPECT_THAT(bash("relayout verify --match "), ElementsAre("position"));
  EXPECT_THAT(bash("relayout convert --external-data "), UnorderedElementsAre("auto", "always", "never"));
  EXPECT_THAT(bash("relayout convert --io "), ElementsAre("nhwc"));
  EXPECT_THAT(bash("relayout convert --pass fold-b"), ElementsAre("fold-batch-norm"));
  EXPECT_THAT(bash("relayout inspect --when "), UnorderedElementsAre("auto", "always", "never"));
  EXPECT_THAT(bash("relayout verify --color "), UnorderedElementsAre("auto", "always", "never"));
  EXPECT_THAT(bash("relayout convert --out-dir "), ElementsAre("models"));
  EXPECT_THAT(bash("relayout convert "), UnorderedElementsAre("net.onnx", "net.json", "models"));
  EXPECT_THAT(bash("relayout convert --simplify net.o"), ElementsAre("net.onnx"));
  EXPECT_THAT(bash("relayout verify --sam"), ElementsAre("--samples"));
  EXPECT_THAT(bash("relayout report "), UnorderedElementsAre("merge", "show"));
  EXPECT_THAT(bash("relayout report merge "), Contains("net.json"));
}

TEST_F(Completion, Fish) {
  if (!has("fish")) GTEST_SKIP() << "SKIPPED: no fish here";
  EXPECT_THAT(fish("relayout "), IsSupersetOf({"convert", "verify", "inspect", "profile", "diff"}));
  EXPECT_THAT(fish("relayout help "), IsSupersetOf({"convert", "verdicts", "layout"}));
  EXPECT_THAT(fish("relayout convert --lay"), ElementsAre("--layout"));
  EXPECT_THAT(fish("relayout convert --layout "), UnorderedElementsAre("channels-last", "contiguous", "keep"));
  EXPECT_THAT(fish("relayout convert --external-data "), UnorderedElementsAre("auto", "always", "never"));
  EXPECT_THAT(fish("relayout convert --pass fold-b"), ElementsAre("fold-batch-norm"));
  EXPECT_THAT(fish("relayout convert --out-dir "), ElementsAre("models/"));
  EXPECT_THAT(fish("relayout convert "), UnorderedElementsAre("net.onnx", "net.json", "models/"));
  EXPECT_THAT(fish("relayout convert net.onnx -o "), Contains("notes.txt"));
  EXPECT_THAT(fish("relayout report "), UnorderedElementsAre("merge", "show"));
  EXPECT_THAT(fish("relayout report merge "), Contains("net.json"));
}

TEST_F(Completion, Zsh) {
  if (!has("zsh")) GTEST_SKIP() << "SKIPPED: no zsh here";
  EXPECT_THAT(zsh("relayout help "), IsSupersetOf({"convert", "verdicts", "layout"}));
  EXPECT_THAT(zsh("relayout convert --layout "), IsSupersetOf({"channels-last", "contiguous", "keep"}));
  EXPECT_THAT(zsh("relayout convert --pass fold-b"), Contains("fold-batch-norm"));
  EXPECT_THAT(zsh("relayout convert --lay"), Contains("--layout"));
  EXPECT_THAT(zsh("relayout report "), IsSupersetOf({"merge", "show"}));
  const std::vector<std::string> models = zsh("relayout convert n");
  EXPECT_THAT(models, IsSupersetOf({"net.onnx", "net.json"}));
  EXPECT_THAT(models, Not(Contains("notes.txt")));
}

}  // namespace
}  // namespace relayout::test
