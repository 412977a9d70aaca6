#pragma once

#include <string>
#include <vector>

#include "report/html_table.h"
#include "report/json.h"
#include "report/table.h"

namespace relayout {

/// A page with a verdict, followed by its evidence (see page.h for properties of all pages).
struct VerdictPage {
  struct Section {
    std::string title;  ///< may be empty
    std::string body;   ///< markup: html_table(), html_lines(), pictures; a section with an empty body is omitted
  };
  std::string title;           ///< title of the window
  std::string verdict;         ///< the verdict in a word
  Style style = Style::plain;  ///< style of the verdict: good, bad, warning; also shown as a sign
  std::string subject;         ///< the subject of the verdict
  std::string footer;          ///< program, version and context of the run
  std::vector<Section> sections;
  Json data;  ///< the complete result, for programs that read the page
};
[[nodiscard]] std::string html_page(const VerdictPage& page);

}  // namespace relayout
