#include "cli/common/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "cli/common/input_options.h"
#include "relayout/error.h"

namespace relayout::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

/// A command with one option of each kind.
class OptionsTest : public testing::Test {
 protected:
  OptionsTest() {
    options_.positional("MODEL...", models_, 0, 3, "models");
    facts_["--json"] = &options_.flag("-j, --json", json_, "document");
    options_.toggle("fold", fold_, "fold");
    facts_["--output"] = &options_.text("-o, --output", "FILE", output_, "file");
    facts_["--layout"] = &options_.choice("--layout", {"keep", "contiguous"}, layout_, "layout");
    options_.integer("--samples", "N", 1, samples_, "samples");
    facts_["--seed"] = &options_.integer("--seed", "S", 0, seed_, "seed");
    facts_["--rtol"] = &options_.real("--rtol", "X", rtol_, "tolerance");
    options_.list("--only", "GLOB", only_, "globs");
    options_.list("--pass", "NAME", passes_, "passes", ',');
    options_.assignments("--dim", "N=2", dims_, "dims");
    options_.finish({"convert", "verify"});
  }

  OptionFacts& of(const std::string& name) { return *facts_.at(name); }

  bool parse(const std::vector<std::string>& arguments) { return options_.parse(arguments); }

  /// The message of the usage error that the arguments cause.
  std::string complaint(const std::vector<std::string>& arguments) {
    try {
      (void)parse(arguments);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
  }

  std::string config(const std::string& text) {
    const std::string path = testing::TempDir() + "relayout_options_test_" + std::to_string(getpid()) + ".toml";
    std::ofstream(path) << text;
    return path;
  }

  std::map<std::string, OptionFacts*> facts_;
  OptionSet options_{"convert", "summary", "MODEL", "relayout convert m.onnx"};
  std::vector<std::string> models_, only_, passes_;
  std::vector<std::pair<std::string, std::string>> dims_;
  bool json_ = false, fold_ = true;
  std::string output_, layout_ = "keep";
  int samples_ = 4;
  int64_t seed_ = 1;
  std::optional<double> rtol_;
};

TEST_F(OptionsTest, ReadsEveryKind) {
  EXPECT_TRUE(parse({"a.onnx",    "-j",
                     "--no-fold", "-o",
                     "out",       "--layout=contiguous",
                     "b.onnx",    "--samples",
                     "8",         "--seed=9223372036854775807",
                     "--rtol",    "1e-3",
                     "--only",    "a*",
                     "--only",    "b,c",
                     "--pass",    "x,y",
                     "--pass",    "z",
                     "--dim",     "N=2",
                     "--dim",     "a=b=3"}));
  EXPECT_THAT(models_, ElementsAre("a.onnx", "b.onnx"));
  EXPECT_TRUE(json_);
  EXPECT_FALSE(fold_);
  EXPECT_EQ(output_, "out");
  EXPECT_EQ(layout_, "contiguous");
  EXPECT_EQ(samples_, 8);
  EXPECT_EQ(seed_, INT64_MAX);
  EXPECT_EQ(rtol_, 1e-3);
  EXPECT_THAT(only_, ElementsAre("a*", "b,c"));
  EXPECT_THAT(passes_, ElementsAre("x", "y", "z"));
  EXPECT_THAT(dims_, ElementsAre(Pair("N", "2"), Pair("a=b", "3")));
}

TEST_F(OptionsTest, LeavesDefaultsAlone) {
  EXPECT_TRUE(parse({}));
  EXPECT_TRUE(models_.empty());
  EXPECT_TRUE(fold_);
  EXPECT_EQ(layout_, "keep");
  EXPECT_EQ(samples_, 4);
  EXPECT_FALSE(rtol_);
}

TEST_F(OptionsTest, BothSidesOfAToggleAreRefused) {
  EXPECT_EQ(complaint({"--no-fold", "--fold"}), "--fold and --no-fold exclude each other");
  EXPECT_EQ(complaint({"--fold", "--no-fold", "--fold"}), "--fold and --no-fold exclude each other");
  EXPECT_TRUE(parse({"--no-fold", "--no-fold"}));
  EXPECT_FALSE(fold_);
}

TEST_F(OptionsTest, ADashIsAnArgumentAndAValue) {
  EXPECT_TRUE(parse({"-", "-o", "-"}));
  EXPECT_THAT(models_, ElementsAre("-"));
  EXPECT_EQ(output_, "-");
}

TEST_F(OptionsTest, AfterTwoDashesEverythingIsAnArgument) {
  EXPECT_TRUE(parse({"--", "--json", "-x"}));
  EXPECT_FALSE(json_);
  EXPECT_THAT(models_, ElementsAre("--json", "-x"));
}

TEST_F(OptionsTest, TakesNamesThatLookLikeLists) {
  EXPECT_TRUE(parse({"[a,b]", "--only", "[ab]", "--only", "{}", "--output", "{a}"}));
  EXPECT_THAT(models_, ElementsAre("[a,b]"));
  EXPECT_THAT(only_, ElementsAre("[ab]", "{}"));
  EXPECT_EQ(output_, "{a}");
}

TEST_F(OptionsTest, NamesTheNearestOption) {
  EXPECT_THAT(complaint({"--layuot", "keep"}), AllOf(HasSubstr("'--layuot'"), HasSubstr("did you mean '--layout'?")));
  EXPECT_THAT(complaint({"--jsn"}), HasSubstr("did you mean '--json'?"));
  EXPECT_EQ(complaint({"--zzzzzzzzzzz=1"}), "unknown option '--zzzzzzzzzzz' of convert");
  EXPECT_THAT(complaint({"-q"}), HasSubstr("unknown option '-q'"));
}

TEST_F(OptionsTest, RefusesValuesThatDoNotFit) {
  EXPECT_THAT(complaint({"--samples", "many"}), HasSubstr("--samples: 'many' is not a whole number"));
  EXPECT_THAT(complaint({"--samples", "4x"}), HasSubstr("not a whole number"));
  EXPECT_THAT(complaint({"--samples", "0"}), HasSubstr("less than 1"));
  EXPECT_THAT(complaint({"--samples", "99999999999"}), HasSubstr("too large"));
  EXPECT_THAT(complaint({"--seed", "99999999999999999999"}), HasSubstr("64 bits"));
  EXPECT_THAT(complaint({"--rtol", "1,5"}), HasSubstr("--rtol: '1,5'"));
  EXPECT_THAT(complaint({"--rtol", "nan"}), HasSubstr("'nan'"));
  EXPECT_THAT(complaint({"--layout", "nhwc"}), HasSubstr("'nhwc' is none of keep, contiguous"));
  EXPECT_THAT(complaint({"--dim", "N"}), HasSubstr("'N' is not of the form N=2"));
}

TEST_F(OptionsTest, RefusesWrongCounts) {
  EXPECT_THAT(complaint({"-", "a.onnx", "-"}), HasSubstr("standard input is there twice"));
  EXPECT_THAT(complaint({"--output"}), HasSubstr("--output needs a value"));
  EXPECT_THAT(complaint({"--output", "--json"}), HasSubstr("--output needs a value"));
  for (const auto& words : std::vector<std::vector<std::string>>{{"--output", ""}, {"-o", ""}, {"--output="}}) {
    EXPECT_THAT(complaint(words), HasSubstr("--output needs a value")) << words.front();
  }
  EXPECT_THAT(complaint({"--output", "a", "-o", "b"}), HasSubstr("more than once"));
  EXPECT_THAT(complaint({"a", "b", "c", "d"}), HasSubstr("no further argument: 'd'"));
}

TEST_F(OptionsTest, RulesApplyToTheCommandLine) {
  for (const char* const name : {"--seed", "--rtol"}) of(name).needs({"--samples", "--only"});
  of("--json").excludes({"--output", "--layout"});
  EXPECT_EQ(complaint({"--rtol", "1"}), "--rtol has no effect without --samples or --only");
  EXPECT_EQ(complaint({"-j", "--layout", "keep"}), "--json and --layout exclude each other");
  of("--seed").excludes({"--only"}, "names have no seed");
  EXPECT_EQ(complaint({"--samples", "1", "--seed", "1", "--only", "a"}), "--seed and --only exclude each other: names have no seed");
}

TEST_F(OptionsTest, RulesAcceptCompatibleOptions) {
  for (const char* const name : {"--seed", "--rtol"}) of(name).needs({"--samples", "--only"});
  for (const char* const name : {"--output", "--layout"}) of(name).idle_with({"--json"});
  EXPECT_TRUE(parse({"--seed", "1", "--only", "a", "--json", "--config", config("layout = \"keep\"\n")}));
  EXPECT_TRUE(options_.is_given("--json"));
  EXPECT_FALSE(options_.is_given("--layout"));
}

TEST_F(OptionsTest, ContradictionsAreRefusedWhereverTheyComeFrom) {
  of("--json").excludes({"--layout", "--only"});
  EXPECT_THAT(complaint({"--json", "--config", config("\nlayout = \"keep\"\n")}), HasSubstr("--json and --layout ("));
  EXPECT_THAT(complaint({"--layout", "keep", "--config", config("\njson = true\n")}),
              AllOf(HasSubstr("--json ("), HasSubstr(".toml:2) and --layout exclude each other")));
  EXPECT_THAT(complaint({"--config", config("only = [\"a\"]\n[convert]\njson = true\n")}),
              AllOf(HasSubstr(".toml:3) and --only ("), HasSubstr(".toml:1) exclude each other")));
}

TEST_F(OptionsTest, AnOptionThatIsSwitchedOffContradictsNothing) {
  of("--json").excludes({"--layout"});
  EXPECT_TRUE(parse({"--layout", "keep", "--config", config("json = false\n")}));
  EXPECT_TRUE(parse({"--layout", "keep", "--json=false", "--config", config("json = true\n")}));
  EXPECT_FALSE(json_);
}

TEST_F(OptionsTest, AnotherOptionOfAFileCountsAsGiven) {
  of("--seed").needs({"--samples"});
  of("--rtol").idle_with({"--json"}, "documents have no tolerance");
  EXPECT_TRUE(parse({"--seed", "1", "--config", config("samples = 3\n")}));
  EXPECT_TRUE(parse({"--config", config("seed = 1\n")}));
  EXPECT_THAT(complaint({"--rtol", "1", "--config", config("json = true\n")}),
              AllOf(HasSubstr("--rtol and --json ("), HasSubstr("documents have no tolerance")));
}

/// What the option --layout chooses, and what --json chooses of that.
constexpr Forms kUsual = 1, kOther = 2, kCase = 4, kRuns = 8, kLists = 16;

TEST_F(OptionsTest, AnOptionIsForItsForms) {
  options_.forms(
      {{kUsual}, {.bit = kOther, .chooser = "--layout", .why = "of no layout"}, {.bit = kCase, .chooser = "--json", .within = kOther}});
  of("--seed").only(kUsual | kCase);
  of("--rtol").only(kUsual);
  of("--output").only(kOther);
  of("--json").only(kOther | kCase);
  EXPECT_TRUE(parse({"--seed", "1", "--rtol", "1"}));
  EXPECT_EQ(complaint({"--seed", "1", "--layout", "keep"}), "--seed and --layout exclude each other without --json: of no layout");
  EXPECT_TRUE(parse({"--seed", "1", "--layout", "keep", "--json"}));
  EXPECT_EQ(complaint({"--rtol", "1", "--layout", "keep", "--json"}), "--rtol and --layout exclude each other: of no layout");
  EXPECT_EQ(complaint({"--output", "f"}), "--output has no effect without --layout");
  EXPECT_EQ(complaint({"--output", "f", "--layout", "keep", "--json"}), "--output and --json exclude each other");
  EXPECT_EQ(complaint({"--json"}), "--json has no effect without --layout");
}

TEST_F(OptionsTest, AFormOfAFileLeavesOptionsOfTheCommandLineWithoutEffect) {
  options_.forms({{kUsual}, {.bit = kOther, .chooser = "--layout"}});
  of("--rtol").only(kUsual).because(kOther, "layouts are exact");
  EXPECT_THAT(complaint({"--rtol", "1", "--config", config("layout = \"keep\"\n")}),
              AllOf(HasSubstr("--rtol and --layout ("), HasSubstr(":1) exclude each other: layouts are exact")));
  EXPECT_TRUE(parse({"--layout", "keep", "--config", config("rtol = 1\n")}));
}

TEST_F(OptionsTest, ArgumentsMayChooseTheForm) {
  options_.forms({{.bit = kUsual, .why = "is of others"}, {.bit = kOther, .why = "is of the usual"}});
  of("--seed").only(kUsual);
  EXPECT_TRUE(parse({"--seed", "1", "--json"}));
  EXPECT_NO_THROW(options_.check_form(kUsual));
  try {
    options_.check_form(kOther);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--seed is of the usual");
  }
}

TEST_F(OptionsTest, ArgumentsOfAnotherCallAreTheOptionsThatDecideInItsForms) {
  options_.forms({{kUsual}, {.bit = kOther, .chooser = "--layout"}});
  options_.forms({{kRuns}, {.bit = kLists, .chooser = "--output"}});
  of("--seed").only(kRuns);
  of("--rtol").only(kUsual | kRuns);
  of("--json").beside_results();
  EXPECT_TRUE(parse(
      {"--no-fold", "--seed", "3", "--rtol", "1e-3", "--only", "a", "--only", "b", "--json", "--config", config("dim = [\"N=2\"]\n")}));
  EXPECT_THAT(options_.given_for(kOther | kRuns), ElementsAre("--no-fold", "--seed", "3", "--only", "a", "--only", "b", "--dim", "N=2"));
  EXPECT_THAT(options_.given_for(kUsual | kLists), ElementsAre("--no-fold", "--only", "a", "--only", "b", "--dim", "N=2"));
}

TEST_F(OptionsTest, AFlagTakesNoValue) {
  EXPECT_EQ(complaint({"a.onnx", "--json", "keep"}), "--json takes no value: 'keep'");
  EXPECT_EQ(complaint({"a.onnx", "-j", "true"}), "--json takes no value: 'true'");
  EXPECT_EQ(complaint({"--json=contiguous"}), "--json takes no value: 'contiguous'");
  EXPECT_EQ(complaint({"--no-fold", "false"}), "--no-fold takes no value: 'false'");
  EXPECT_TRUE(parse({"--json", "b.onnx", "--layout", "keep"}));
  EXPECT_THAT(models_, ElementsAre("b.onnx"));
  EXPECT_TRUE(parse({"--json", "--", "keep"}));
  EXPECT_THAT(models_, ElementsAre("keep"));
}

TEST_F(OptionsTest, HelpComesBeforeEveryComplaint) {
  EXPECT_FALSE(parse({"--nonsense", "--samples", "many", "--help"}));
  EXPECT_FALSE(parse({"-h"}));
  EXPECT_TRUE(parse({"--", "--help"}));
}

TEST_F(OptionsTest, ConfigurationSetsOptionsMissingFromTheCommandLine) {
  const std::string path = config(
      "# for all commands\nseed = 7\n\n[convert]\nfold = false\nlayout = \"contiguous\"\nsamples = 2\nonly = [\"a\", \"b*\"]\njson = true\n"
      "[verify]\nunheard-of = 3\n");
  EXPECT_TRUE(parse({"--config", path, "--samples", "5"}));
  EXPECT_EQ(seed_, 7);
  EXPECT_FALSE(fold_);
  EXPECT_EQ(layout_, "contiguous");
  EXPECT_EQ(samples_, 5);
  EXPECT_THAT(only_, ElementsAre("a", "b*"));
  EXPECT_TRUE(json_);
}

TEST_F(OptionsTest, TheSectionOfTheCommandWinsOverCommonKeys) {
  EXPECT_TRUE(parse({"--config", config("samples = 2\nonly = [\"a\"]\n[convert]\nsamples = 3\nonly = [\"b\"]\n")}));
  EXPECT_EQ(samples_, 3);
  EXPECT_THAT(only_, ElementsAre("b"));
}

TEST_F(OptionsTest, ConfigurationKnowsNegativeToggles) {
  EXPECT_TRUE(parse({"--config", config("[convert]\nno-fold = true\n")}));
  EXPECT_FALSE(fold_);
}

TEST_F(OptionsTest, ConfigurationIsCheckedLikeTheCommandLine) {
  EXPECT_THAT(complaint({"--config", config("[convert]\nlayuot = \"keep\"\n")}),
              HasSubstr(".toml:2: unknown option 'layuot' of convert; did you mean 'layout'?"));
  EXPECT_THAT(complaint({"--config", config("[convert]\nsamples = \"x\"\n")}), HasSubstr(".toml:2: --samples: 'x'"));
  EXPECT_THAT(complaint({"--config", config("[convert]\njson = 3\n")}), HasSubstr(".toml:2: 'json' is true or false"));
  EXPECT_THAT(complaint({"--config", config("\n\nlayout = true\n")}), HasSubstr(".toml:3: 'layout' needs a value"));
  EXPECT_THAT(complaint({"--config", config("layout = [\"keep\", \"contiguous\"]\n")}),
              HasSubstr(".toml:1: 'layout' takes one value, not 2"));
  EXPECT_THAT(complaint({"--config", config("--layout = \"keep\"\n")}), HasSubstr("options are written here without dashes: 'layout'"));
  EXPECT_THAT(complaint({"--config", config("[convrt]\n")}), HasSubstr(".toml:1: unknown section 'convrt'; did you mean 'convert'?"));
  EXPECT_THAT(complaint({"--config", config("help = true\n")}), HasSubstr("unknown option 'help'"));
}

TEST_F(OptionsTest, ConfigurationThatCannotBeReadIsAnInputError) {
  for (const std::string path : {"/nonexistent/relayout.toml", "/dev/zero", "/"}) {
    try {
      (void)parse({"--config", path});
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_THAT(error.what(), HasSubstr(path));
    }
  }
}

TEST_F(OptionsTest, HelpShowsEveryOptionOnce) {
  const std::string help = options_.help(80);
  for (const char* part : {"relayout convert: summary", "MODEL...", "-j, --json", "--fold, --no-fold", "-o, --output FILE",
                           "--layout keep|contiguous", "--dim N=2", "--config FILE", "-h, --help", "Examples:"}) {
    EXPECT_THAT(help, HasSubstr(part));
  }
  EXPECT_EQ(help.find("--samples"), help.rfind("--samples"));
}

TEST(ParseDims, ReadsAListOfSizes) {
  EXPECT_THAT(parse_dims("--shape x", "1,3,224,224"), ElementsAre(1, 3, 224, 224));
  EXPECT_THAT(parse_dims("--shape x", ""), ElementsAre());
  EXPECT_THROW((void)parse_dims("--shape x", "1,,2"), Error);
  EXPECT_THROW((void)parse_dims("--shape x", "1,-2"), Error);
  EXPECT_THROW((void)parse_dims("--shape x", "1,2,"), Error);
}

}  // namespace
}  // namespace relayout::cli
