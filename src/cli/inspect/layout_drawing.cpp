// Draws a layout plan as a graph and as a page of lanes. Line styles accompany colours: solid for channels-last, dashed for contiguous,
// dotted for both at once.

#include "base/positions.h"
#include "cli/inspect/inspect.h"
#include "report/page.h"

namespace relayout::cli {
namespace {

/// A double-quoted string of the DOT language.
std::string dot_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : escape(std::string(text))) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string_view dot_line(std::string_view layout) {
  if (layout == "channels-last") return "color=\"#1f6fb4\", style=solid";
  if (layout == "contiguous") return "color=\"#c45508\", style=dashed";
  return layout == "both" ? "color=\"#777777\", style=dotted" : "color=\"#2e8540\", style=solid";
}

/// Reorders by tensor and reader; "" denotes the caller.
class Reorders {
 public:
  explicit Reorders(const LayoutReport& report) {
    for (const TensorReorder& reorder : report.reorders) {
      for (const std::string& reader : reorder.readers) by_tensor_[reorder.tensor].emplace(reader, &reorder);
    }
  }
  /// The reorder through which a reader reads a tensor, or nullptr.
  [[nodiscard]] const TensorReorder* find(int tensor, const std::string& reader) const {
    const auto readers = by_tensor_.find(tensor);
    if (readers == by_tensor_.end()) return nullptr;
    const auto found = readers->second.find(reader);
    return found == readers->second.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<int, std::unordered_map<std::string, const TensorReorder*>> by_tensor_;
};

std::string dims_text(const TensorLayout& tensor) {
  return tensor.type == DataType::undefined ? "?" : std::string(name_of(tensor.type)) + " " + to_string(tensor.dims);
}

}  // namespace

std::string layout_dot(const LayoutReport& report, const std::string& model) {
  constexpr auto kFills = std::to_array<std::string_view>({"#d7e9f7", "#d9f0dc", "#efe0f5", "#fbeccd", "#dcefef"});
  std::string out = "digraph " + dot_quoted(model) + " {\n  node [shape=box, fontname=\"sans-serif\"];\n";
  const Reorders reorders(report);
  const auto edge = [&](int tensor, const std::string& reader) {
    const TensorReorder* const reorder = reorders.find(tensor, reader);
    if (reorder == nullptr) return " [" + std::string(dot_line(report.tensors[as_size(tensor)].layout)) + "];\n";
    return " [label=" + dot_quoted("reorder " + format_bytes(reorder->bytes)) + ", penwidth=3, " + std::string(dot_line(reorder->to)) +
           "];\n";
  };
  std::vector<int> makers(report.tensors.size(), -1);
  for (std::size_t i = 0; i < report.operators.size(); ++i) {
    const OperatorLayout& op = report.operators[i];
    int region = -1;
    for (const int tensor : op.outputs) {
      makers[as_size(tensor)] = static_cast<int>(i);
      if (op.layout != "contiguous") region = std::max(region, report.tensors[as_size(tensor)].region);
    }
    out += "  n" + std::to_string(i) + " [label=" + dot_quoted(op.node + " (" + op.op_type + ")");
    if (region >= 0) out += ", style=filled, fillcolor=\"" + std::string(kFills[as_size(region) % kFills.size()]) + "\"";
    if (op.loses) out += ", color=\"#b3261e\", penwidth=2, tooltip=" + dot_quoted(op.reason);
    out += "];\n";
  }
  for (std::size_t i = 0; i < report.tensors.size(); ++i) {
    const TensorLayout& tensor = report.tensors[i];
    if (makers[i] < 0) out += "  t" + std::to_string(i) + " [shape=ellipse, label=" + dot_quoted(tensor.name) + "];\n";
    if (!tensor.is_output || makers[i] < 0) continue;
    out += "  o" + std::to_string(i) + " [shape=ellipse, label=" + dot_quoted(tensor.name) + "];\n  n" + std::to_string(makers[i]) +
           " -> o" + std::to_string(i) + edge(static_cast<int>(i), "");
  }
  for (std::size_t i = 0; i < report.operators.size(); ++i) {
    for (const int tensor : report.operators[i].inputs) {
      const auto index = as_size(tensor);
      out += "  " + (makers[index] < 0 ? "t" + std::to_string(tensor) : "n" + std::to_string(makers[index])) + " -> n" + std::to_string(i) +
             edge(tensor, report.operators[i].node);
    }
  }
  return out + "}\n";
}

namespace {

constexpr std::size_t kMostRows = 5000, kLongestName = 56;
constexpr int kWidestLane = 12, kNarrowestLane = 3, kWidth = 120, kRow = 22, kMargin = 8, kMark = 4;

constexpr std::string_view kStyle =
    R"(.g{font-size:13px}.g td:last-child{white-space:normal;font-size:11px;line-height:1;min-width:11rem}.g td{padding:0 .6rem 0 0;height:22px}.g tr:hover{background:color-mix(in srgb,var(--line) 45%,transparent)}
svg{display:block}svg path{fill:none;stroke-width:2}.cl{stroke:#1f77b4}.co{stroke:#d9630a;stroke-dasharray:4 3}.bo{stroke:#8a8a8a;stroke-dasharray:1 3}
.ot{stroke:#2e8540;stroke-dasharray:8 3 2 3}circle{fill:var(--paper);stroke:var(--ink);stroke-width:1.5}circle.on{fill:#1f77b4}
circle.lo{stroke:var(--bad);stroke-width:3}.re{fill:var(--bad)}.key svg{display:inline;vertical-align:middle}
body{max-width:90rem}.wrap{white-space:pre-wrap;overflow-wrap:anywhere}
@media (max-width:600px){.g td:first-child,.key{display:none}.g td{height:auto;line-height:1.3}}
)";

std::string_view line_class(std::string_view layout) {
  if (layout == "channels-last") return "cl";
  if (layout == "contiguous") return "co";
  return layout == "both" || layout.empty() ? "bo" : "ot";
}

/// The graph as a column of rows, one per operator. Tensors are lanes that run down to their last reader.
class Lanes {
 public:
  explicit Lanes(const LayoutReport& report, int lane_width = kWidestLane)
      : report_(report), reorders_(report), lane_width_(lane_width), last_reader_(report.tensors.size(), -1) {
    for (std::size_t i = 0; i < report.operators.size(); ++i) {
      for (const int tensor : report.operators[i].inputs) last_reader_[as_size(tensor)] = static_cast<int>(i);
    }
  }

  /// The picture of row `index`, below those drawn so far.
  std::string row(int index) {
    const OperatorLayout& op = report_.operators[as_size(index)];
    std::string lines;
    for (const int tensor : op.inputs) {
      if (lane_of(tensor) < 0) (void)open(tensor);
    }
    const int at = op.inputs.empty() ? free_lane() : lane_of(op.inputs.front());
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      const int tensor = lanes_[lane];
      if (tensor < 0) continue;
      const bool is_read = std::ranges::find(op.inputs, tensor) != op.inputs.end();
      const bool ends = last_reader_[as_size(tensor)] <= index;
      const int x = x_of(static_cast<int>(lane));
      const std::string_view kind = line_class(report_.tensors[as_size(tensor)].layout);
      if (!ends || !is_read) lines += path(kind, x, 0, x, kRow);
      if (is_read) lines += path(kind, x, 0, x_of(at), kRow / 2);
      if (is_read && reorders_.find(tensor, op.node) != nullptr) lines += mark(x, kMark);
      if (ends) lanes_[lane] = -1;
    }
    for (const int tensor : op.outputs) {
      if (reorders_.find(tensor, "") != nullptr) lines += path("co", x_of(at), kRow / 2, x_of(at), kRow) + mark(x_of(at), kRow - kMark);
      if (last_reader_[as_size(tensor)] < 0) continue;
      const int lane = open(tensor);
      lines += path(line_class(report_.tensors[as_size(tensor)].layout), x_of(at), kRow / 2, x_of(lane), kRow);
    }
    const std::string_view state = op.loses ? "lo" : op.layout == "channels-last" ? "on" : "";
    lines += "<circle class=\"" + std::string(state) + "\" cx=\"" + std::to_string(x_of(at)) + "\" cy=\"" + std::to_string(kRow / 2) +
             "\" r=\"4\"/>";
    const std::string width = std::to_string(2 * kMargin + lane_width_ * static_cast<int>(std::max(lanes_.size(), as_size(at) + 1)));
    return "<svg width=\"" + width + "\" height=\"" + std::to_string(kRow) + "\" aria-hidden=\"true\">" + lines + "</svg>";
  }

  /// Number of lanes that the rows so far needed.
  [[nodiscard]] int count() const { return static_cast<int>(lanes_.size()); }

 private:
  [[nodiscard]] int x_of(int lane) const { return kMargin + lane * lane_width_; }
  static std::string path(std::string_view kind, int x0, int y0, int x1, int y1) {
    const std::string middle = std::to_string((y0 + y1) / 2);
    std::string out = "<path class=\"" + std::string(kind) + "\" d=\"M" + std::to_string(x0) + " " + std::to_string(y0);
    if (x0 == x1) return out + "V" + std::to_string(y1) + "\"/>";
    return out + "C" + std::to_string(x0) + " " + middle + " " + std::to_string(x1) + " " + middle + " " + std::to_string(x1) + " " +
           std::to_string(y1) + "\"/>";
  }
  static std::string mark(int x, int y) {
    return "<rect class=\"re\" x=\"" + std::to_string(x - 3) + "\" y=\"" + std::to_string(y - 3) +
           "\" width=\"6\" height=\"6\" transform=\"rotate(45 " + std::to_string(x) + " " + std::to_string(y) + ")\"/>";
  }

  [[nodiscard]] int lane_of(int tensor) const {
    const auto found = std::ranges::find(lanes_, tensor);
    return found == lanes_.end() ? -1 : static_cast<int>(found - lanes_.begin());
  }
  [[nodiscard]] int free_lane() const { return static_cast<int>(std::ranges::find(lanes_, -1) - lanes_.begin()); }
  int open(int tensor) {
    const int lane = free_lane();
    if (as_size(lane) == lanes_.size()) lanes_.push_back(-1);
    lanes_[as_size(lane)] = tensor;
    return lane;
  }
  const LayoutReport& report_;
  Reorders reorders_;
  int lane_width_;
  std::vector<int> last_reader_;  ///< per tensor; -1: none
  std::vector<int> lanes_;        ///< tensors; -1: free
};

std::string key() {
  const auto line = [](std::string_view kind, std::string_view text) {
    return "<svg width=\"28\" height=\"10\"><path class=\"" + std::string(kind) + "\" d=\"M0 5H26\"/></svg> " + std::string(text) +
           " &nbsp; ";
  };
  return "<p class=\"key\">" + line("cl", "channels-last") + line("co", "contiguous") + line("bo", "both at once") +
         line("ot", "another order") +
         "<svg width=\"12\" height=\"12\"><rect class=\"re\" x=\"3\" y=\"3\" width=\"6\" height=\"6\" transform=\"rotate(45 6 6)\"/></svg> "
         "reorder "
         "&nbsp; <svg width=\"14\" height=\"14\"><circle class=\"lo\" cx=\"7\" cy=\"7\" r=\"4\"/></svg> loses channels-last</p>\n";
}

/// Many lanes are drawn closer together, to leave space for the columns next to them.
int lane_width(const LayoutReport& report, std::size_t rows) {
  Lanes lanes(report);
  for (std::size_t i = 0; i < rows; ++i) (void)lanes.row(static_cast<int>(i));
  return std::clamp(kWidth / std::max(lanes.count(), 1), kNarrowestLane, kWidestLane);
}

std::string html_rows(const LayoutReport& report) {
  std::string out;
  const std::size_t count = std::min(kMostRows, report.operators.size());
  Lanes lanes(report, lane_width(report, count));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(report.operators[i].node);
  names = shortened_apart(names, kLongestName);
  for (std::size_t i = 0; i < count; ++i) {
    const OperatorLayout& op = report.operators[i];
    const TensorLayout* const made = op.outputs.empty() ? nullptr : &report.tensors[as_size(op.outputs.front())];
    const bool is_marked = op.loses || std::ranges::any_of(report.reorders, [&](const TensorReorder& reorder) {
                             return std::ranges::find(reorder.readers, op.node) != reorder.readers.end();
                           });
    out += (is_marked ? "<tr class=\"hit\"><td>" : "<tr><td>") + lanes.row(static_cast<int>(i)) + "</td><td title=\"" +
           escape_markup(op.node) + "\">" + escape_markup(names[i]) + "</td><td data-head=\"type\">" + escape_markup(op.op_type) +
           "</td><td data-head=\"runs in\">" + escape_markup(op.layout) + "</td><td data-head=\"makes\">" +
           (made == nullptr ? "" : escape_markup(dims_text(*made))) + "</td><td data-head=\"layout\">" +
           (made == nullptr ? "" : escape_markup(made->layout)) + "</td><td data-head=\"why contiguous\"" +
           (op.loses ? " class=\"bad\">" : " class=\"faint\">") + escape_markup(op.reason) + "</td></tr>\n";
  }
  return out;
}

}  // namespace

std::string layout_html(const LayoutReport& report, const std::string& model) {
  std::string body =
      "<h1>" + escape_markup(model) + "</h1>\n<pre class=\"wrap\">" + escape_markup(layout_text(report, {})) + "</pre>\n" + key();
  if (report.operators.size() > kMostRows) {
    body += "<p>The first " + format_count(static_cast<int64_t>(kMostRows)) + " of " +
            format_count(static_cast<int64_t>(report.operators.size())) + " operators.</p>\n";
  }
  body +=
      "<label class=\"filter\"><input type=\"checkbox\"> only where a layout is lost or a tensor reordered</label>\n"
      "<div class=\"wide\"><table class=\"g cards\"><thead><tr><th></th><th>operator</th><th>type</th><th>runs "
      "in</th><th>makes</th><th>layout</th>"
      "<th>why contiguous</th></tr></thead><tbody>\n" +
      html_rows(report) + "</tbody></table></div>";
  return html_page("layout of " + model, body, kStyle, layout_json(report));
}

}  // namespace relayout::cli
