#pragma once

#include <string>

#include "cli/report.h"
#include "relayout/layout.h"
#include "report/json.h"

namespace relayout::cli {

/// The choice for a word of --when.
[[nodiscard]] LayoutChoice choice_of(const std::string& word);

/// The plan in one screen; -v lists every operator.
[[nodiscard]] std::string layout_text(const LayoutReport& report, const ReportStyle& style);
[[nodiscard]] Json layout_json(const LayoutReport& report);
/// A graph for Graphviz: operators with their regions coloured, reorders on the edges.
[[nodiscard]] std::string layout_dot(const LayoutReport& report, const std::string& model);
/// A page in one file, with the graph next to a line per operator.
[[nodiscard]] std::string layout_html(const LayoutReport& report, const std::string& model);

}  // namespace relayout::cli
