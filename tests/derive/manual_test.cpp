// Tests the manual's table of operators against the tables of derive: it names all standard operators, each where it belongs.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "derive/row.h"
#include "ops/op.h"
#include "support/paths.h"

namespace relayout::test {
namespace {

/// What is in the manual's first column for an operator.
std::string column_of(std::string_view op) {
  if (derive::find_linearize(op) != nullptr) return "tangents and gradients";
  if (derive::is_opened(op)) return "tangents and gradients, by the nodes of which they are made";
  const std::string_view why = derive::why_refused(op);
  return why.empty() ? "no numbers that could have any" : "refused: " + std::string(why);
}

TEST(DeriveManual, TableNamesAllOperators) {
  std::map<std::string, std::set<std::string>> rows;
  for (const Op& op : op_table()) {
    if (op.domain.empty()) rows[column_of(op.name)].emplace(op.name);
  }
  for (const char* name : {"If", "Loop", "Scan", "SequenceMap"}) rows[column_of(name)].emplace(name);
  std::ifstream file(std::filesystem::path(source_folder()) / "src/cli/manual/derive.md");
  std::set<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.insert(line);
  for (const auto& [column, names] : rows) {
    std::string line;
    for (const std::string& name : names) line += (line.empty() ? "| " + column + " | " : ", ") + "`" + name + "`";
    line += " |";
    EXPECT_TRUE(lines.contains(line)) << line;
  }
}

}  // namespace
}  // namespace relayout::test
