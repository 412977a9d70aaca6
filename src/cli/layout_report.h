#pragma once

#include <string>

#include "cli/report.h"
#include "relayout/layout.h"
#include "report/json.h"

namespace relayout::cli {

/// The word of --when.
[[nodiscard]] LayoutChoice choice_of(const std::string& word);

/// The plan on one screen; -v: every operator.
[[nodiscard]] std::string layout_text(const LayoutReport& report, const ReportStyle& style);
[[nodiscard]] Json layout_json(const LayoutReport& report);
/// A graph for Graphviz: operators with their regions coloured, reorders on the edges.
[[nodiscard]] std::string layout_dot(const LayoutReport& report, const std::string& model);
/// A page of one file with the graph beside a line per operator.
[[nodiscard]] std::string layout_html(const LayoutReport& report, const std::string& model);

}  // namespace relayout::cli
