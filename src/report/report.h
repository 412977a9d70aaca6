// Declares what a command has found as one value, and its renderings.

#pragma once

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// IWYU pragma: begin_exports
#include "report/json.h"
#include "report/junit.h"
#include "report/table.h"
// IWYU pragma: end_exports

namespace relayout {

/// The markup of a picture or of what else only pages show.
struct Markup {
  std::string html;
};

/// One part of a report: a table, text as it stands, or markup. It is made for each form that shows it; an empty one is left out.
struct Section {
  using Part = std::variant<Table, std::string, Markup>;
  Form forms = Form::every;
  std::string title = {};  ///< above the part in pages and Markdown
  std::function<Part(const ReportStyle&)> part;
  std::string boxes = {};  ///< for pages: checkboxes that show rows of the table by their second cell
};

/// What a command has found. Parts and the document are made only where a form asks for them.
struct Report {
  /// A file besides the forms: its path, "-" for standard output or empty for none, and its contents.
  using File = std::pair<std::string, std::function<std::string()>>;

  Cell verdict = "";                       ///< in a word; a page shows its style (good, bad, warning) also as a sign
  std::string subject = {};                ///< of the verdict: the models
  std::string title = {};                  ///< of the window; empty: verdict and subject
  std::string footer = {};                 ///< program, version and context of the run
  std::vector<Section> sections = {};      ///< in their order
  std::function<Json()> document = {};     ///< the complete result
  std::vector<JunitSuite> suites = {};     ///< test cases
  std::function<std::string()> page = {};  ///< a page of its own form, in place of that of the sections
  std::vector<File> files = {};            ///< others
  int code = 0;                            ///< exit code
};

/// A report that has text and a document alone.
[[nodiscard]] Report text_report(std::function<std::string(const ReportStyle&)> text, std::function<Json()> document, int code = 0);

/// The sections of the style's form, one below the other.
[[nodiscard]] std::string text_of(const Report& report, const ReportStyle& style);
/// A page with the verdict, followed by its evidence, with the document for programs (see html_page() for properties of all pages).
[[nodiscard]] std::string html_of(const Report& report);
/// Subject, verdict and sections; where none is for Markdown, the summary of the test cases.
[[nodiscard]] std::string markdown_of(const Report& report);

}  // namespace relayout
