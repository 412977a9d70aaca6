#include "cli/common/help.h"

#include <gtest/gtest.h>

#include <sstream>

namespace relayout::cli {
namespace {

TEST(HelpText, AlignsAndWraps) {
  HelpText help("convert", "fold things", "MODEL [OPTIONS]\nA B", "relayout convert m.onnx");
  help.add("-o, --output", "FILE", "write here");
  help.begin_group("Empty");
  help.begin_group("More");
  help.add("--a-very-long-option", "WITH|LONG|VALUES", "below");
  help.add("--wrapped", "", std::string("word ") + std::string(40, 'x') + " " + std::string(20, 'y'));
  help.add("--hidden", "", "");
  EXPECT_EQ(help.to_text(80),
            "relayout convert: fold things\n"
            "\n"
            "Usage:\n"
            "  relayout convert MODEL [OPTIONS]\n"
            "  relayout convert A B\n"
            "\n"
            "Options:\n"
            "  -o, --output FILE         write here\n"
            "\n"
            "More:\n"
            "      --a-very-long-option WITH|LONG|VALUES\n"
            "                            below\n"
            "      --wrapped             word " +
                std::string(40, 'x') + "\n" + std::string(28, ' ') + std::string(20, 'y') +
                "\n"
                "\n"
                "Examples:\n"
                "  relayout convert m.onnx\n");
}

TEST(HelpText, NoLineIsWiderThanRequested) {
  HelpText help("convert", std::string(30, 's') + " " + std::string(30, 't'), "MODEL [OPTIONS]",
                "relayout convert a b c d e f g h i j k l m n o p");
  help.add("-o, --output", "FILE", "write here what is to be written, and say so in a sentence that is long enough to be broken");
  for (const std::size_t width : {60U, 73U, 80U}) {
    std::istringstream lines(help.to_text(width));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), width) << line;
  }
}

}  // namespace
}  // namespace relayout::cli
