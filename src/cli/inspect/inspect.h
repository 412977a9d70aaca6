// Declares the reports of this command, and those of layout plans.
#pragma once

// IWYU pragma: begin_exports
#include "cli/common/report.h"
#include "relayout/inspect.h"
#include "relayout/layout.h"
#include "relayout/types.h"
// IWYU pragma: end_exports

namespace relayout::cli {

[[nodiscard]] std::string inspect_text(const InspectResult& result, const ReportStyle& style);
[[nodiscard]] Json inspect_json(const InspectResult& result);
/// A line per node.
[[nodiscard]] Table node_table(const std::vector<NodeSummary>& nodes);
/// The list of nodes as comma-separated values, with a line of titles.
[[nodiscard]] std::string nodes_csv(const InspectResult& result);
/// Statements about a model, and whether they hold.
[[nodiscard]] std::string assertions_text(const std::vector<Assertion>& assertions, const ReportStyle& style);
/// The document of a model, with statements about it if there are any.
[[nodiscard]] Json with_assertions(Json document, const std::vector<Assertion>& assertions);
[[nodiscard]] JunitSuite assertion_suite(const InspectResult& result, const std::vector<Assertion>& assertions);
/// A table of several models, a line each.
[[nodiscard]] std::string inspect_table(const std::vector<InspectResult>& results, const ReportStyle& style);

/// A drawing of the main graph from top to bottom, as a picture of its own.
[[nodiscard]] std::string graph_svg(const InspectResult& result);
/// Adds what the page shows besides the text: the drawing and a line per node.
void add_graph(Report& report, const InspectResult& result);

/// The plan in one screen; -v lists every operator.
[[nodiscard]] std::string layout_text(const LayoutReport& report, const ReportStyle& style);
[[nodiscard]] Json layout_json(const LayoutReport& report);
/// A graph for Graphviz: operators with their regions coloured, reorders on the edges.
[[nodiscard]] std::string layout_dot(const LayoutReport& report, const std::string& model);
/// A page in one file, with the graph next to a line per operator.
[[nodiscard]] std::string layout_html(const LayoutReport& report, const std::string& model);

}  // namespace relayout::cli
