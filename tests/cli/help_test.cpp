#include "cli/help.h"

#include <gtest/gtest.h>

#include <string>

namespace relayout::cli {
namespace {

TEST(HelpText, AlignsAndWraps) {
  HelpText help("convert", "fold things", "MODEL [OPTIONS]\nA B", "relayout convert m.onnx");
  help.add("-o, --output", "FILE", "write here");
  help.begin_group("Empty");
  help.begin_group("More");
  help.add("--a-very-long-option", "WITH|LONG|VALUES", "below");
  help.add("--wrapped", "", std::string("word ") + std::string(60, 'x') + " " + std::string(20, 'y'));
  help.add("--hidden", "", "nobody sees this");
  help.hide_last();
  EXPECT_EQ(help.to_text(),
            "relayout convert: fold things\n"
            "\n"
            "Usage:\n"
            "  relayout convert MODEL [OPTIONS]\n"
            "  relayout convert A B\n"
            "\n"
            "Options:\n"
            "  -o, --output FILE           write here\n"
            "\n"
            "More:\n"
            "      --a-very-long-option WITH|LONG|VALUES\n"
            "                              below\n"
            "      --wrapped               word " +
                std::string(60, 'x') + "\n" + std::string(30, ' ') + std::string(20, 'y') +
                "\n"
                "\n"
                "Examples:\n"
                "  relayout convert m.onnx\n");
}

}  // namespace
}  // namespace relayout::cli
