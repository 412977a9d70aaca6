// Tests every pair of options of each subcommand against a table of conflicts: an option without effect is refused, all others are read.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/common/command.h"
#include "cli/common/options.h"
#include "relayout/error.h"
#include "support/temporary_folder.h"

namespace relayout::cli {
namespace {

using Words = std::vector<std::string>;
using Names = std::vector<std::string>;

struct Table {
  const Command* command;
  Words models;
  std::map<std::string, std::string> values;     ///< of options that take one
  std::map<std::string, Words> companions;       ///< one of which an option needs
  std::vector<std::pair<Names, Names>> refused;  ///< none of the left with any of the right
  Names never = {};                              ///< none of these with these models
  bool runs = false;                             ///< the rules are known only when the command runs; its models do not exist
};

/// The options of a command except those common to all commands.
Names options_of(const Command& command) {
  OptionSet options(command.name, "", "", "");
  const Common common;
  const auto run = command.prepare(options, common);
  Names out;
  for (const std::string& name : options.names()) {
    if (name.starts_with("--") && name != "--no-fold") out.push_back(name);
  }
  return out;
}

bool is_refused(const Table& table, const Words& words) {
  OptionSet options(table.command->name, "", "", "");
  const Common common;
  const auto run = table.command->prepare(options, common);
  bool json = false;  // common to all commands
  options.flag("--json", json, "");
  options.finish({});
  try {
    (void)options.parse(words);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
    return true;
  }
  if (!table.runs) return false;
  try {
    (void)run();
  } catch (const Error& error) {
    return error.kind() == ErrorKind::usage;
  }
  return false;
}

void add(Words& words, const Table& table, const std::string& option) {
  if (std::ranges::find(words, option) != words.end()) return;
  words.push_back(option);
  const auto value = table.values.find(option);
  if (value != table.values.end()) words.push_back(value->second);
}

bool has(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_listed(const Table& table, const std::string& a, const std::string& b) {
  if (has(table.never, a) || has(table.never, b)) return true;
  return std::ranges::any_of(table.refused, [&](const auto& entry) {
    return (has(entry.first, a) && has(entry.second, b)) || (has(entry.first, b) && has(entry.second, a));
  });
}

/// Adds a companion that an option needs, unless one is present; prefers one that serves both options.
void complete(Words& words, const Table& table, const std::string& option, const std::string& other) {
  for (const std::string& name : {option, other}) {
    const auto companions = table.companions.find(name);
    if (companions == table.companions.end()) continue;
    const bool has_one =
        std::ranges::any_of(companions->second, [&](const std::string& one) { return std::ranges::find(words, one) != words.end(); });
    if (has_one) continue;
    const auto others = table.companions.find(name == option ? other : option);
    const auto shared = std::ranges::find_if(companions->second, [&](const std::string& one) {
      return others != table.companions.end() && std::ranges::find(others->second, one) != others->second.end();
    });
    const std::string companion = shared == companions->second.end() ? companions->second.front() : *shared;
    add(words, table, companion);
    complete(words, table, companion, companion);
  }
}

void expect_table(const Table& table) {
  const Names options = options_of(*table.command);
  for (std::size_t i = 0; i < options.size(); ++i) {
    for (std::size_t k = i + 1; k < options.size(); ++k) {
      const std::string &a = options[i], &b = options[k];
      if (has(table.models, a) || has(table.models, b)) continue;
      Words words = table.models;
      add(words, table, a);
      add(words, table, b);
      complete(words, table, a, b);
      EXPECT_EQ(is_refused(table, words), is_listed(table, a, b)) << table.command->name << ": " << a << " with " << b;
    }
  }
}

/// Alone, an option that needs another is refused.
void expect_companions(const Table& table) {
  for (const auto& [option, companions] : table.companions) {
    if (has(table.never, option)) continue;
    Words words = table.models;
    add(words, table, option);
    EXPECT_TRUE(is_refused(table, words)) << option;
    for (const std::string& companion : companions) {
      Words both = words;
      add(both, table, companion);
      complete(both, table, companion, companion);
      EXPECT_FALSE(is_refused(table, both)) << option << " with " << companion;
    }
  }
}

TEST(OptionPairs, OfConvert) {
  const Names tree = {"--suite", "--list", "--null", "--case", "--cases-from", "--shard", "--durations"};
  const Table table{
      &kConvert,
      {"a.onnx"},
      {{"--layout", "keep"},
       {"--io", "nhwc"},
       {"--emit", "transposes"},
       {"--when", "never"},
       {"--precision", "fp16"},
       {"--pass", "none"},
       {"--skip", "fold-affine"},
       {"--only", "x"},
       {"--exclude", "y"},
       {"--stop-after", "1"},
       {"--dim", "N=1"},
       {"--shape", "x=1"},
       {"--output", "b.onnx"},
       {"--out-dir", "."},
       {"--format", "onnx"},
       {"--output-format", "onnx"},
       {"--external-data", "always"},
       {"--suite", "t"},
       {"--case", "c"},
       {"--cases-from", "f"},
       {"--shard", "1/2"},
       {"--durations", "r"},
       {"--cache", "d"}},
      {{"--io-precision", {"--precision"}},
       {"--dim", {"--emit", "--verify"}},
       {"--shape", {"--emit", "--verify"}},
       {"--when", {"--emit"}},
       {"--suite", {"--out-dir", "--list"}},
       {"--list", {"--suite"}},
       {"--null", {"--list"}},
       {"--case", {"--suite"}},
       {"--cases-from", {"--suite"}},
       {"--shard", {"--suite"}},
       {"--durations", {"--suite"}}},
      {{{"--output"}, {"--out-dir", "--in-place"}},
       {{"--in-place"}, {"--out-dir"}},
       {{"--pass"}, {"--simplify", "--fold", "--skip"}},
       {tree, {"--output", "--in-place", "--list-passes"}},
       {{"--list-passes"}, {"--out-dir"}},
       {{"--cache"}, {"--in-place", "--dry-run", "--share-data", "--list", "--null", "--list-passes"}},
       {{"--list-passes", "--list", "--null"}, {"--fold",   "--simplify",      "--layout",        "--io",         "--emit",
                                                "--when",   "--precision",     "--io-precision",  "--include-1d", "--pass",
                                                "--skip",   "--only",          "--exclude",       "--freeze",     "--require-all-folded",
                                                "--verify", "--dim",           "--shape",         "--output",     "--in-place",
                                                "--format", "--output-format", "--external-data", "--share-data", "--allow-newer-opset",
                                                "--sync",   "--stamp",         "--dry-run"}}}};
  expect_table(table);
  expect_companions(table);
}

TEST(OptionPairs, OfInspect) {
  const Table table{&kInspect,
                    {"a.onnx"},
                    {{"--dim", "N=1"}, {"--shape", "x=1"}, {"--when", "never"}, {"--dot", "a.dot"}, {"--html", "a.html"}},
                    {{"--when", {"--layout", "--measure", "--compare", "--dot", "--html"}}},
                    {}};
  expect_table(table);
  expect_companions(table);
}

TEST(OptionPairs, OfVerify) {
  const Names one_pair = {"--input", "--resize", "--mean", "--std", "--save-data", "--layers"};
  const Names pairs = {
      "--samples",      "--shape",  "--dim",    "--io",    "--allow-inconclusive", "--run-identical", "--strict", "--proof", "--precision",
      "--outputs-only", "--accept", "--rename", "--match", "--allow-interface"};
  const Names of_stored = {"--jobs",       "--timeout",   "--shard",  "--allow-empty", "--expected", "--list", "--case",
                           "--cases-from", "--durations", "--resume", "--cache",       "--suite",    "--null"};
  const Names suite = {"--jobs",       "--timeout",   "--shard",  "--allow-empty", "--expected", "--list", "--case",
                       "--cases-from", "--durations", "--resume", "--cache",       "--against",  "--pair", "--null"};
  const Names running = {"--samples",   "--seed",         "--input",  "--shape",  "--dim",   "--resize",         "--mean",
                         "--std",       "--save-data",    "--rtol",   "--atol",   "--io",    "--run-identical",  "--layers",
                         "--precision", "--outputs-only", "--accept", "--rename", "--match", "--allow-interface"};
  const Names not_listing = {"--html",
                             "--resume",
                             "--cache",
                             "--jobs",
                             "--timeout",
                             "--allow-empty",
                             "--expected",
                             "--junit",
                             "--markdown",
                             "--github",
                             "--mode",
                             "--reference",
                             "--seed",
                             "--rtol",
                             "--atol",
                             "--samples",
                             "--shape",
                             "--dim",
                             "--io",
                             "--strict",
                             "--proof",
                             "--allow-inconclusive",
                             "--run-identical",
                             "--accept",
                             "--rename",
                             "--match",
                             "--allow-interface",
                             "--precision",
                             "--outputs-only",
                             "--allow-newer-opset"};
  const Table table{&kVerify,
                    {},
                    {{"--data", "d"},      {"--samples", "2"},      {"--seed", "1"},         {"--input", "x=a.npy"},
                     {"--shape", "x=1"},   {"--dim", "N=1"},        {"--resize", "8"},       {"--mean", "0.5"},
                     {"--std", "0.5"},     {"--save-data", "s"},    {"--rtol", "1"},         {"--atol", "1"},
                     {"--io", "nhwc"},     {"--precision", "fp16"}, {"--mode", "optimized"}, {"--html", "h"},
                     {"--junit", "j"},     {"--markdown", "m"},     {"--suite", "t"},        {"--jobs", "1"},
                     {"--timeout", "1"},   {"--shard", "1/2"},      {"--expected", "e"},     {"--original", "{stem}.onnx"},
                     {"--resume", "r"},    {"--cache", "d"},        {"--case", "c"},         {"--cases-from", "f"},
                     {"--durations", "r"}, {"--against", "u"},      {"--pair", "p"},         {"--accept", "snr=25"},
                     {"--rename", "x=y"},  {"--match", "position"}},
                    {{"--resize", {"--input"}},
                     {"--mean", {"--input"}},
                     {"--std", {"--input"}},
                     {"--jobs", {"--suite"}},
                     {"--timeout", {"--suite"}},
                     {"--shard", {"--suite"}},
                     {"--allow-empty", {"--suite"}},
                     {"--expected", {"--suite"}},
                     {"--list", {"--suite"}},
                     {"--null", {"--list"}},
                     {"--case", {"--suite"}},
                     {"--cases-from", {"--suite"}},
                     {"--durations", {"--suite"}},
                     {"--against", {"--suite"}},
                     {"--resume", {"--suite"}},
                     {"--cache", {"--suite"}},
                     {"--pair", {"--against"}},
                     {"--mode", {"--data", "--suite"}},
                     {"--reference", {"--data", "--suite"}}},
                    {{one_pair, {"--data", "--suite"}},
                     {one_pair, suite},
                     {one_pair, {"--mode", "--reference"}},
                     {{"--html"}, {"--data", "--mode", "--reference"}},
                     {pairs, {"--data"}},
                     {pairs, of_stored},
                     {pairs, {"--mode", "--reference"}},
                     {suite, {"--data", "--original"}},
                     {{"--suite"}, {"--data", "--original"}},
                     {{"--against", "--pair"}, {"--mode", "--reference"}},
                     {{"--list", "--null"}, not_listing},
                     {{"--original"}, {"--data", "--mode", "--reference", "--html", "--save-data"}},
                     {{"--mode"}, {"--reference"}},
                     {{"--outputs-only"}, {"--strict"}},
                     {{"--accept"}, {"--strict"}},
                     {{"--rename"}, {"--match"}},
                     {{"--proof"}, running}}};
  expect_table(table);
  expect_companions(table);
}

/// `relayout profile` with these models and words.
Table table_of_profile(const test::TemporaryFolder& folder, Words models) {
  const auto file = [&](const char* name) { return (folder / name).string(); };
  return {&kProfile,
          std::move(models),
          {{"--repeat", "1"},
           {"--until", "5%"},
           {"--max-time", "1"},
           {"--mode", "reference"},
           {"--threads", "1"},
           {"--fail-on-slowdown", "5%"},
           {"--clock", "wall"},
           {"--seed", "1"},
           {"--input", "x=a.npy"},
           {"--shape", "x=1"},
           {"--dim", "N=1"},
           {"--resize", "8"},
           {"--mean", "0.5"},
           {"--std", "0.5"},
           {"--by", "op"},
           {"--top", "3"},
           {"--sort", "order"},
           {"--only", "x"},
           {"--exclude", "y"},
           {"--csv", file("t.csv")},
           {"--markdown", file("t.md")},
           {"--html", file("t.html")},
           {"--trace", file("t.json")},
           {"--trace-names", "node"},
           {"--peak", "100,10"},
           {"--stacks", file("t.txt")},
           {"--annotate", file("t.onnx")}},
          {{"--strict", {"--fail-on-slowdown"}},
           {"--trace-names", {"--trace"}},
           {"--resize", {"--input"}},
           {"--mean", {"--input"}},
           {"--std", {"--input"}}},
          {{{"--repeat"}, {"--until"}}, {{"--reference-columns"}, {"--by"}}},
          {},
          true};
}

const Names kOfOneProfile = {"--csv", "--markdown", "--trace", "--trace-names", "--stacks", "--annotate", "--peak", "--reference-columns"};

TEST(OptionPairs, OfProfile) {
  const test::TemporaryFolder folder;
  Table table = table_of_profile(folder, {"a.onnx"});
  table.never = {"--fail-on-slowdown", "--strict", "--clock"};
  expect_table(table);
  expect_companions(table);
}

TEST(OptionPairs, OfProfileOfTwoModels) {
  const test::TemporaryFolder folder;
  Table table = table_of_profile(folder, {"a.onnx", "b.onnx"});
  table.never = kOfOneProfile;
  table.never.insert(table.never.end(), {"--until", "--only", "--exclude", "--sort"});
  expect_table(table);
  expect_companions(table);
}

TEST(OptionPairs, OfProfileInSeveralSettings) {
  const test::TemporaryFolder folder;
  Table table = table_of_profile(folder, {"a.onnx", "--threads", "1,2"});
  table.never = kOfOneProfile;
  table.never.insert(table.never.end(),
                     {"--fail-on-slowdown", "--strict", "--clock", "--html", "--by", "--top", "--sort", "--only", "--exclude"});
  expect_table(table);
  expect_companions(table);
}

Table table_of_diff(const test::TemporaryFolder& folder, Words files) {
  const auto file = [&](const char* name) { return (folder / name).string(); };
  return {&kDiff,
          std::move(files),
          {{"--ignore", "metadata"},
           {"--profiles", "p.json,q.json"},
           {"--steps", "1"},
           {"--names", "op"},
           {"--fail-on", "slower:5%"},
           {"--junit", file("t.xml")},
           {"--top", "3"},
           {"--min-us", "1"},
           {"--only", "x"},
           {"--exclude", "y"},
           {"--csv", file("t.csv")},
           {"--markdown", file("t.md")},
           {"--html", file("t.html")}},
          {{"--allow-different-machine", {"--fail-on"}}, {"--junit", {"--fail-on", "--exit-code"}}},
          {{{"--exit-code"}, {"--fail-on", "--allow-different-machine"}}},
          {},
          true};
}

TEST(OptionPairs, OfDiffOfModels) {
  const test::TemporaryFolder folder;
  Table table = table_of_diff(folder, {"a.onnxtxt", "b.onnxtxt"});
  table.values["--fail-on"] = "changed";
  table.never = {"--steps", "--names", "--short-names", "--allow-different-machine", "--min-us", "--strict"};
  expect_table(table);
  expect_companions(table);
}

TEST(OptionPairs, OfDiffOfTraces) {
  const test::TemporaryFolder folder;
  for (const char* const name : {"a.json", "b.json"}) std::ofstream(folder / name) << "not yet";
  Table table = table_of_diff(folder, {(folder / "a.json").string(), (folder / "b.json").string()});
  table.never = {"--ignore", "--profiles", "--allow-newer-opset"};
  expect_table(table);
  expect_companions(table);
}

Table table_of_report(const test::TemporaryFolder& folder, const char* action) {
  const auto file = [&](const char* name) { return (folder / name).string(); };
  return {
      &kReport,
      {action, "none.json"},
      {{"--cases-from", "f"}, {"--expected", "e"}, {"--html", file("t.html")}, {"--junit", file("t.xml")}, {"--markdown", file("t.md")}},
      {},
      {},
      {},
      true};
}

TEST(OptionPairs, OfReport) {
  const test::TemporaryFolder folder;
  expect_table(table_of_report(folder, "merge"));
  Table show = table_of_report(folder, "show");
  show.never = {"--cases-from", "--allow-missing", "--expected"};
  expect_table(show);
}

}  // namespace
}  // namespace relayout::cli
