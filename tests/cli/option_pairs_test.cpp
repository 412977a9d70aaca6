// Tests every pair of options of each command: what their declarations leave without effect is refused, all others are read.
#include <gtest/gtest.h>

#include <fstream>

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
  std::map<std::string, std::string> values;  ///< of options that take one
  Forms form = 0;                             ///< which the models choose
  bool runs = false;                          ///< forms are known only when the command runs; its models do not exist
};

/// The options of a command as it declares them, and common ones.
struct Declared {
  explicit Declared(const Command& command) : options(command.name, "", "", ""), run(command.prepare(options, common)) {
    options.flag("--json", json, "");
    options.finish({});
  }

  Common common;
  bool json = false;
  OptionSet options;
  std::function<int()> run;
};

/// The options of a command except those common to all commands.
Names options_of(const OptionSet& options) {
  Names out;
  for (const std::string& name : options.names()) {
    const bool is_common = name == "--no-fold" || name == "--json" || name == "--config" || name == "--help";
    if (name.starts_with("--") && !is_common) out.push_back(name);
  }
  return out;
}

bool is_refused(const Table& table, const Words& words) {
  Declared declared(*table.command);
  try {
    (void)declared.options.parse(words);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
    return true;
  }
  if (!table.runs) return false;
  try {
    (void)declared.run();
  } catch (const Error& error) {
    return error.kind() == ErrorKind::usage;
  }
  return false;
}

bool has(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// The forms of one choice that apply: one, unless the options contradict each other.
std::vector<OptionForm> chosen(const FormChoice& choice, const Words& words, Forms by_arguments) {
  const auto is_given = [&](const OptionForm& form) { return !form.chooser.empty() && has(words, form.chooser); };
  const auto whole = [&](const OptionForm& form) { return std::ranges::find(choice, form.within, &OptionForm::bit); };
  std::vector<OptionForm> out;
  for (const OptionForm& form : choice) {
    const bool has_case = std::ranges::any_of(choice, [&](const OptionForm& one) { return one.within == form.bit && is_given(one); });
    const bool is_whole_given = form.within == 0 || is_given(*whole(form));
    if (form.bit == by_arguments || (is_given(form) && is_whole_given && !has_case)) out.push_back(form);
  }
  if (out.empty()) out.push_back(choice.front());
  return out;
}

bool meets_any(const std::vector<OptionFacts::Conflict>& conflicts, const Words& words) {
  return std::ranges::any_of(conflicts, [&](const OptionFacts::Conflict& conflict) {
    return std::ranges::any_of(conflict.others, [&](const std::string& other) { return has(words, other); });
  });
}

/// Whether each option among the words has an effect: the forms that apply are its own, it has what it needs, and meets no contradiction.
bool all_have_effect(const OptionSet& options, const Words& words, Forms by_arguments) {
  return std::ranges::all_of(options_of(options), [&](const std::string& name) {
    if (!has(words, name)) return true;
    const OptionFacts& facts = options.facts(name);
    for (const FormChoice& choice : options.form_choices()) {
      for (const OptionForm& form : chosen(choice, words, by_arguments)) {
        if (form.chooser != name && !facts.is_for(form.bit, choice)) return false;
      }
    }
    const bool lacks = !facts.needed.empty() && std::ranges::none_of(facts.needed, [&](const std::string& one) { return has(words, one); });
    return !lacks && !meets_any(facts.excluded, words) && !meets_any(facts.idle, words);
  });
}

/// What an option needs: one of each list.
std::vector<Names> companions_of(const OptionSet& options, const std::string& name) {
  const OptionFacts& facts = options.facts(name);
  std::vector<Names> out;
  if (!facts.needed.empty()) out.push_back(facts.needed);
  for (const FormChoice& choice : options.form_choices()) {
    Names choosers;
    for (const OptionForm& form : choice) {
      if (!form.chooser.empty() && facts.is_for(form.bit, choice)) choosers.emplace_back(form.chooser);
    }
    if (!facts.is_for(choice.front().bit, choice) && !choosers.empty()) out.push_back(std::move(choosers));
  }
  return out;
}

void add(Words& words, const Table& table, const std::string& option) {
  if (has(words, option)) return;
  words.push_back(option);
  const auto value = table.values.find(option);
  if (value != table.values.end()) words.push_back(value->second);
}

/// Adds what options need, unless it is present; prefers what serves both.
void complete(Words& words, const Table& table, const OptionSet& options, const std::string& option, const std::string& other) {
  for (const std::string& name : {option, other}) {
    for (const Names& companions : companions_of(options, name)) {
      if (std::ranges::any_of(companions, [&](const std::string& one) { return has(words, one); })) continue;
      const auto serves_both = [&](const std::string& one) {
        return std::ranges::any_of(companions_of(options, name == option ? other : option),
                                   [&](const Names& list) { return has(list, one); });
      };
      const auto shared = std::ranges::find_if(companions, serves_both);
      const std::string companion = shared == companions.end() ? companions.front() : *shared;
      add(words, table, companion);
      complete(words, table, options, companion, companion);
    }
  }
}

std::string joined(const Words& words) {
  std::string out;
  for (const std::string& word : words) out += " " + word;
  return out;
}

void expect_pairs(const Table& table) {
  const Declared declared(*table.command);
  const Names options = options_of(declared.options);
  for (std::size_t i = 0; i < options.size(); ++i) {
    for (std::size_t k = i + 1; k < options.size(); ++k) {
      const std::string &a = options[i], &b = options[k];
      if (has(table.models, a) || has(table.models, b)) continue;
      Words words = table.models;
      add(words, table, a);
      add(words, table, b);
      complete(words, table, declared.options, a, b);
      const bool is_expected = !all_have_effect(declared.options, words, table.form);
      EXPECT_EQ(is_refused(table, words), is_expected) << table.command->name << joined(words);
    }
  }
}

/// Alone, an option that needs another is refused.
void expect_companions(const Table& table) {
  const Declared declared(*table.command);
  for (const std::string& option : options_of(declared.options)) {
    Words words = table.models;
    add(words, table, option);
    for (const Names& companions : companions_of(declared.options, option)) {
      EXPECT_TRUE(is_refused(table, words)) << joined(words);
      for (const std::string& companion : companions) {
        Words both = words;
        add(both, table, companion);
        complete(both, table, declared.options, option, companion);
        EXPECT_EQ(is_refused(table, both), !all_have_effect(declared.options, both, table.form)) << joined(both);
      }
    }
  }
}

void expect_table(const Table& table) {
  expect_pairs(table);
  expect_companions(table);
}

/// Whether a call is refused, by what users have been told; the tables above say only that declarations are heeded.
bool refuses(const Command& command, const Words& words) {
  return is_refused({&command, {}, {}}, words);
}

TEST(OptionForms, OfConvert) {
  EXPECT_FALSE(refuses(kConvert, {"--suite", "t", "--out-dir", "d", "--shard", "1/2", "--verify"}));
  EXPECT_FALSE(refuses(kConvert, {"--suite", "t", "--list", "--null"}));
  EXPECT_TRUE(refuses(kConvert, {"--suite", "t", "--list", "--verify"}));
  EXPECT_TRUE(refuses(kConvert, {"--suite", "t", "--output", "f"}));
  EXPECT_TRUE(refuses(kConvert, {"a.onnx", "--list-passes", "--fold"}));
  EXPECT_TRUE(refuses(kConvert, {"a.onnx", "--cache", "d", "--in-place"}));
  EXPECT_TRUE(refuses(kConvert, {"a.onnx", "--pass", "p", "--skip", "q"}));
}

TEST(OptionForms, OfVerify) {
  EXPECT_FALSE(refuses(kVerify, {"a", "b", "--samples", "2", "--input", "x=f", "--html", "h"}));
  EXPECT_FALSE(refuses(kVerify, {"--original", "p", "b", "--samples", "2", "--layers"}));
  EXPECT_TRUE(refuses(kVerify, {"--original", "p", "b", "--html", "h"}));
  EXPECT_FALSE(refuses(kVerify, {"a", "--data", "d", "--mode", "optimized", "--rtol", "1"}));
  EXPECT_TRUE(refuses(kVerify, {"a", "--data", "d", "--samples", "2"}));
  EXPECT_TRUE(refuses(kVerify, {"a", "--data", "d", "--suite", "t"}));
  EXPECT_TRUE(refuses(kVerify, {"--suite", "t", "--samples", "2"}));
  EXPECT_FALSE(refuses(kVerify, {"--suite", "t", "--against", "u", "--samples", "2", "--strict"}));
  EXPECT_TRUE(refuses(kVerify, {"--suite", "t", "--against", "u", "--mode", "optimized"}));
  EXPECT_TRUE(refuses(kVerify, {"--suite", "t", "--against", "u", "--layers"}));
  EXPECT_FALSE(refuses(kVerify, {"--suite", "t", "--list", "--case", "c"}));
  EXPECT_TRUE(refuses(kVerify, {"--suite", "t", "--list", "--jobs", "2"}));
  EXPECT_FALSE(refuses(kVerify, {"--suite", "t", "--against", "u", "--proof", "--jobs", "2", "--html", "h"}));
  EXPECT_TRUE(refuses(kVerify, {"a", "b", "--proof", "--samples", "2"}));
  EXPECT_TRUE(refuses(kVerify, {"a", "b", "--shard", "1/2"}));
}

TEST(OptionPairs, OfConvert) {
  expect_table({&kConvert,
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
                 {"--set-dim", "N=1"},
                 {"--set-shape", "x=1"},
                 {"--free-dim", "x:0=N"},
                 {"--rename", "x=y"},
                 {"--input-u8", "x"},
                 {"--mean", "0.5"},
                 {"--std", "0.5"},
                 {"--scale", "1"},
                 {"--output-u8", "y"},
                 {"--output-mean", "0.5"},
                 {"--output-std", "0.5"},
                 {"--output-scale", "1"},
                 {"--scramble", "1"},
                 {"--strip", "doc"},
                 {"--opset", "17"},
                 {"--ir-version", "8"},
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
                 {"--cache", "d"}}});
}

TEST(OptionPairs, OfInspect) {
  expect_table({&kInspect,
                {"a.onnx"},
                {{"--dim", "N=1"},
                 {"--shape", "x=1"},
                 {"--when", "never"},
                 {"--dot", "a.dot"},
                 {"--html", "a.html"},
                 {"--svg", "a.svg"},
                 {"--csv", "a.csv"},
                 {"--assert", "Conv=0"},
                 {"--junit", "a.xml"}}});
}

TEST(OptionPairs, OfVerify) {
  expect_table({&kVerify, {}, {{"--data", "d"},           {"--samples", "2"},
                               {"--seed", "1"},           {"--input", "x=a.npy"},
                               {"--shape", "x=1"},        {"--dim", "N=1"},
                               {"--resize", "8"},         {"--mean", "0.5"},
                               {"--std", "0.5"},          {"--save-data", "s"},
                               {"--save-repro", "r"},     {"--scramble", "1"},
                               {"--rtol", "1"},           {"--atol", "1"},
                               {"--io", "nhwc"},          {"--precision", "fp16"},
                               {"--mode", "optimized"},   {"--html", "h"},
                               {"--junit", "j"},          {"--markdown", "m"},
                               {"--suite", "t"},          {"--jobs", "1"},
                               {"--timeout", "1"},        {"--shard", "1/2"},
                               {"--expected", "e"},       {"--original", "{stem}.onnx"},
                               {"--resume", "r"},         {"--cache", "d"},
                               {"--case", "c"},           {"--cases-from", "f"},
                               {"--durations", "r"},      {"--against", "u"},
                               {"--pair", "p"},           {"--accept", "snr=25"},
                               {"--rename", "x=y"},       {"--match", "position"},
                               {"--allow", "guard-lost"}, {"--derivative", "e"},
                               {"--combine", "sum"},      {"--map", "y=x"},
                               {"--budget", "5"},         {"--input-u8", "x"},
                               {"--scale", "1"},          {"--output-u8", "y"},
                               {"--output-mean", "0.5"},  {"--output-std", "0.5"},
                               {"--output-scale", "1"}}});
}

/// `relayout profile` with these models and words.
Table table_of_profile(const test::TemporaryFolder& folder, Words models, Forms form) {
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
          form,
          true};
}

/// The forms of a command that its arguments choose.
Forms form_of(const Command& command, std::size_t number) {
  return Declared(command).options.form_choices().front().at(number).bit;
}

TEST(OptionPairs, OfProfile) {
  const test::TemporaryFolder folder;
  expect_table(table_of_profile(folder, {"a.onnx"}, form_of(kProfile, 0)));
  expect_table(table_of_profile(folder, {"a.onnx", "b.onnx"}, form_of(kProfile, 1)));
  expect_table(table_of_profile(folder, {"a.onnx", "--threads", "1,2"}, form_of(kProfile, 2)));
}

TEST(OptionPairs, OfDerive) {
  expect_table({&kDerive, {"jvp", "a.onnx", "--output", "b.onnx"}, {{"--output", "c.onnx"}, {"--wrt", "x"}, {"--of", "y"}}});
}

TEST(OptionPairs, OfMerge) {
  expect_table(
      {&kMerge, {"ensemble", "a.onnx", "b.onnx", "--output", "c.onnx"}, {{"--output", "d.onnx"}, {"--combine", "mean"}, {"--map", "y=x"}}});
}

TEST(OptionPairs, OfRun) {
  expect_table({&kRun,
                {"a.onnx"},
                {{"--mode", "reference"},
                 {"--tensors", "x"},
                 {"--save", "a.npz"},
                 {"--as", "fp16"},
                 {"--seed", "1"},
                 {"--input", "x=a.npy"},
                 {"--shape", "x=1"},
                 {"--dim", "N=1"},
                 {"--resize", "8"},
                 {"--mean", "0.5"},
                 {"--std", "0.5"}}});
}

TEST(OptionPairs, OfExtract) {
  expect_table({&kExtract, {"a.onnx"}, {{"--from", "x"}, {"--to", "y"}, {"--output", "b.onnx"}}});
}

Table table_of_diff(const test::TemporaryFolder& folder, Words files, const std::string& gate, Forms form) {
  const auto file = [&](const char* name) { return (folder / name).string(); };
  return {&kDiff,
          std::move(files),
          {{"--ignore", "metadata"},
           {"--profiles", "p.json,q.json"},
           {"--steps", "1"},
           {"--names", "op"},
           {"--fail-on", gate},
           {"--junit", file("t.xml")},
           {"--top", "3"},
           {"--min-us", "1"},
           {"--only", "x"},
           {"--exclude", "y"},
           {"--csv", file("t.csv")},
           {"--markdown", file("t.md")},
           {"--html", file("t.html")}},
          form,
          true};
}

TEST(OptionPairs, OfDiff) {
  const test::TemporaryFolder folder;
  expect_table(table_of_diff(folder, {"a.onnxtxt", "b.onnxtxt"}, "changed", form_of(kDiff, 0)));
  for (const char* const name : {"a.json", "b.json"}) std::ofstream(folder / name) << "not yet";
  expect_table(table_of_diff(folder, {(folder / "a.json").string(), (folder / "b.json").string()}, "slower:5%", form_of(kDiff, 1)));
}

TEST(OptionPairs, OfReport) {
  const test::TemporaryFolder folder;
  const auto file = [&](const char* name) { return (folder / name).string(); };
  const std::map<std::string, std::string> values = {
      {"--cases-from", "f"}, {"--expected", "e"}, {"--html", file("t.html")}, {"--junit", file("t.xml")}, {"--markdown", file("t.md")}};
  expect_table({&kReport, {"merge", "none.json"}, values, form_of(kReport, 0), true});
  expect_table({&kReport, {"show", "none.json"}, values, form_of(kReport, 1), true});
}

}  // namespace
}  // namespace relayout::cli
