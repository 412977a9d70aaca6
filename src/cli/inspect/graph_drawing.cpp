// Draws the main graph of a model from top to bottom: boxes in rows, links that go down, darker boxes where more is multiplied.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/positions.h"
#include "base/text.h"
#include "cli/inspect/inspect.h"
#include "report/charts.h"
#include "report/page.h"

namespace relayout::cli {

// Places of boxes.
namespace {

constexpr double kBoxWidth = 196, kBoxHeight = 40, kRowHeight = 64, kGap = 22, kBendWidth = 10, kFrame = 16;

/// Boxes in rows so that every link goes down, and in columns that keep links short and straight (as Sugiyama, Tagawa and Toda, "Methods
/// for visual understanding of hierarchical system structures", 1981, in four steps: rows, bends, order, columns).
class Placement {
 public:
  explicit Placement(const GraphOutline& outline) : outline_(outline) {
    choose_rows();
    add_bends();
    order();
    choose_columns();
  }

  [[nodiscard]] double x(std::size_t item) const { return x_[item]; }
  [[nodiscard]] double y(std::size_t item) const { return kFrame + kRowHeight * static_cast<double>(row_[item]) + kBoxHeight / 2; }
  [[nodiscard]] double width() const { return width_; }
  [[nodiscard]] double height() const { return 2 * kFrame + kRowHeight * static_cast<double>(rows_.size()); }
  /// The items that each link passes, boxes at its ends and bends between them.
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& ways() const { return ways_; }

 private:
  void choose_rows() {
    row_.assign(outline_.boxes.size(), 0);
    std::vector<std::size_t> first_reader(row_.size(), row_.size());
    auto links = outline_.links;
    std::ranges::sort(links);
    for (const auto& [from, to] : links) row_[to] = std::max(row_[to], row_[from] + 1);
    // What reads no other box stands right above its first reader.
    for (const auto& [from, to] : links) first_reader[from] = std::min(first_reader[from], row_[to]);
    for (const auto& [from, to] : links) first_reader[to] = 0;
    for (std::size_t box = 0; box < row_.size(); ++box) {
      if (first_reader[box] > 0 && first_reader[box] < row_.size()) row_[box] = first_reader[box] - 1;
    }
  }

  /// Splits links over several rows, so that they pass between boxes; those beyond a limit are drawn straight.
  void add_bends() {
    constexpr std::size_t kMostBends = 20'000;
    std::size_t bends = 0;
    for (const auto& [from, to] : outline_.links) {
      std::vector<std::size_t> way{from};
      bends += row_[to] - row_[from];
      for (std::size_t row = row_[from] + 1; row < row_[to] && bends < kMostBends; ++row) {
        way.push_back(row_.size());
        row_.push_back(row);
      }
      way.push_back(to);
      ways_.push_back(std::move(way));
    }
    above_.resize(row_.size());
    below_.resize(row_.size());
    for (const auto& way : ways_) {
      for (std::size_t i = 1; i < way.size(); ++i) {
        below_[way[i - 1]].push_back(way[i]);
        above_[way[i]].push_back(way[i - 1]);
      }
    }
    rows_.resize(row_.empty() ? 0 : std::ranges::max(row_) + 1);
    for (std::size_t item = 0; item < row_.size(); ++item) rows_[row_[item]].push_back(item);
  }

  /// Calls `visit` with each row and the neighbours that decide on it, downwards and upwards in turns.
  template <class Visit>
  void sweep(int times, const Visit& visit) {
    for (int turn = 0; turn < times; ++turn) {
      const bool is_down = turn % 2 == 0;
      for (std::size_t i = 0; i < rows_.size(); ++i) visit(rows_[is_down ? i : rows_.size() - 1 - i], is_down ? above_ : below_);
    }
  }

  /// Sorts rows by the mean place of what items are linked to.
  void order() {
    constexpr int kSweeps = 8;
    x_.assign(row_.size(), 0);
    for (const auto& row : rows_) number(row);
    sweep(kSweeps, [&](auto& row, const auto& neighbours) {
      std::vector<std::pair<double, std::size_t>> keyed;
      for (const std::size_t item : row) keyed.emplace_back(mean_of(neighbours[item], x_[item]), item);
      std::ranges::stable_sort(keyed, {}, &std::pair<double, std::size_t>::first);
      std::ranges::transform(keyed, row.begin(), &std::pair<double, std::size_t>::second);
      number(row);
    });
  }

  void number(const std::vector<std::size_t>& row) {
    for (std::size_t at = 0; at < row.size(); ++at) x_[row[at]] = static_cast<double>(at);
  }

  [[nodiscard]] double mean_of(const std::vector<std::size_t>& items, double otherwise) const {
    if (items.empty()) return otherwise;
    double sum = 0;
    for (const std::size_t item : items) sum += x_[item];
    return sum / static_cast<double>(items.size());
  }

  [[nodiscard]] double half_width(std::size_t item) const { return (item < outline_.boxes.size() ? kBoxWidth : kBendWidth) / 2; }

  void choose_columns() {
    constexpr int kSweeps = 12;
    for (const auto& row : rows_) place(row, [&](std::size_t item) { return x_[item] * (kBoxWidth + kGap); });
    sweep(kSweeps, [&](const auto& row, const auto& neighbours) {
      place(row, [&](std::size_t item) { return mean_of(neighbours[item], x_[item]); });
    });
    double least = 0, most = 0;
    for (std::size_t item = 0; item < x_.size(); ++item) {
      least = item == 0 ? x_[item] - half_width(item) : std::min(least, x_[item] - half_width(item));
      most = item == 0 ? x_[item] + half_width(item) : std::max(most, x_[item] + half_width(item));
    }
    for (double& x : x_) x += kFrame - least;
    width_ = most - least + 2 * kFrame;
  }

  /// Places a row in its order as near to what is wanted as its widths allow: the least sum of squares, by pooling neighbours that would
  /// overlap (isotonic regression).
  template <class Wanted>
  void place(const std::vector<std::size_t>& row, const Wanted& wanted) {
    struct Pool {
      double sum = 0;
      std::size_t count = 0;
      [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
    };
    std::vector<Pool> pools;
    std::vector<double> offsets;
    double offset = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) offset += half_width(row[i - 1]) + half_width(row[i]) + kGap;
      offsets.push_back(offset);
      pools.push_back({wanted(row[i]) - offset, 1});
      while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
        const Pool last = pools.back();
        pools.pop_back();
        pools.back().sum += last.sum;
        pools.back().count += last.count;
      }
    }
    std::size_t at = 0;
    for (const Pool& pool : pools) {
      for (std::size_t i = 0; i < pool.count; ++i, ++at) x_[row[at]] = pool.mean() + offsets[at];
    }
  }

  const GraphOutline& outline_;
  std::vector<std::size_t> row_;                ///< of each item: boxes first, then bends
  std::vector<std::vector<std::size_t>> rows_;  ///< items from left to right
  std::vector<std::vector<std::size_t>> ways_;  ///< of each link
  std::vector<std::vector<std::size_t>> above_, below_;
  std::vector<double> x_;  ///< while rows are ordered: places in them
  double width_ = 0;
};

// The drawing.

constexpr std::string_view kDrawingStyle =
    R"(.graph{font:12px system-ui,sans-serif}.graph .link{fill:none;stroke:#8a8a8a;stroke-width:1.2}.graph rect{fill:#fff;stroke:#5a6a7a}
.graph .w1{fill:#e6f0f8}.graph .w2{fill:#cfe2f2}.graph .w3{fill:#a9cbe8}.graph .w4{fill:#7fb2dd}.graph .port{fill:#f3f3f3;stroke-dasharray:4 2}
.graph .op{font-weight:600;fill:#1b1b1b;text-anchor:middle}.graph .name{font-size:10px;fill:#4a4a4a;text-anchor:middle}.graph g:hover rect{stroke-width:2.5}
)";

/// Darker by the share of all multiplications: from 0, 1 %, 3 % and 10 % on.
std::string shade_of(const GraphBox& box, int64_t all) {
  if (box.kind != GraphBox::Kind::nodes) return "port";
  constexpr std::array kFrom{0.0, 0.01, 0.03, 0.1};
  const double share = all == 0 ? 0 : static_cast<double>(box.macs) / static_cast<double>(all);
  const auto level = std::ranges::count_if(kFrom, [&](double from) { return share > 0 && share >= from; });
  return "w" + std::to_string(level);
}

std::string hint_of(const GraphBox& box) {
  std::string out = escape(box.name);
  if (box.kind == GraphBox::Kind::input) out = "input " + out;
  if (box.kind == GraphBox::Kind::output) out = "output " + out;
  if (box.nodes > 1) out += "\n" + counted(box.nodes, "node");
  out += "\n" + joined({escape(box.content), box.dims}, "  ");
  if (box.macs > 0) out += "\n" + format_count(box.macs) + " MACs";
  if (box.parameters > 0) out += "\n" + counted(box.parameters, "parameter");
  return out;
}

std::string box_svg(const GraphBox& box, double x, double y, int64_t all_macs) {
  constexpr std::size_t kTitle = 27, kText = 34;
  const bool is_port = box.kind != GraphBox::Kind::nodes;
  const std::string title = is_port ? box.name : box.content,
                    text = is_port || box.nodes == 1 ? joined({is_port ? box.content : "", box.dims}, " ") : box.name;
  return "<g><title>" + escape_markup(hint_of(box)) + "</title><rect class='" + shade_of(box, all_macs) + "' x='" +
         coordinate(x - kBoxWidth / 2) + "' y='" + coordinate(y - kBoxHeight / 2) + "' width='" + coordinate(kBoxWidth) + "' height='" +
         coordinate(kBoxHeight) + "' rx='" + (is_port ? "18" : "4") + "'/>" + svg_label(x, y - 3, shortened(escape(title), kTitle), "op") +
         svg_label(x, y + 12, shortened(escape(text), kText), "name") + "</g>\n";
}

std::string way_svg(const Placement& placement, const std::vector<std::size_t>& way) {
  const auto point = [](double x, double y) { return coordinate(x) + " " + coordinate(y); };
  std::string out = "<path class='link' d='";
  for (std::size_t i = 1; i < way.size(); ++i) {
    const double x0 = placement.x(way[i - 1]), x1 = placement.x(way[i]);
    const double y0 = placement.y(way[i - 1]) + (i == 1 ? kBoxHeight / 2 : 0);
    const double y1 = placement.y(way[i]) - (i + 1 == way.size() ? kBoxHeight / 2 : 0), middle = (y0 + y1) / 2;
    if (i == 1) out.append("M").append(point(x0, y0));
    out.append("C").append(point(x0, middle)).append(" ").append(point(x1, middle)).append(" ").append(point(x1, y1));
  }
  return out.append("'/>\n");
}

std::string caption_of(const InspectResult& result) {
  const GraphOutline& outline = *result.outline;
  const auto constants = std::ranges::count(outline.nodes, "Constant", &NodeSummary::op_type);
  const int64_t drawn = std::ssize(outline.nodes) - constants;
  std::string out = counted(drawn, "node");
  const auto boxes = std::ranges::count(outline.boxes, GraphBox::Kind::nodes, &GraphBox::kind);
  if (boxes < drawn)
    out += " in " + counted(boxes, "box", "boxes") + (outline.depth > 0 ? ", by the scopes of their names" : ", in their order");
  return out + " · the darker a box, the more it multiplies (from 0, 1, 3 and 10 % of all on) · constants are not drawn";
}

/// `space`: the declaration that a picture outside of a page needs.
std::string drawing_of(const InspectResult& result, const std::string& space) {
  const GraphOutline& outline = *result.outline;
  const Placement placement(outline);
  int64_t all = 0;
  for (const GraphBox& box : outline.boxes) all = checked_add(all, box.macs).value_or(all);
  const std::string width = coordinate(placement.width()), height = coordinate(placement.height());
  std::string out = "<svg" + space + " class='graph' width='" + width + "' height='" + height + "' viewBox='0 0 " + width + " " + height +
                    "' style='width:" + width + "px;height:" + height + "px;max-width:none;background:#fff' role='img' aria-label='" +
                    escape_markup("graph of " + result.path) + "'>\n<style>" + std::string(kDrawingStyle) + "</style>\n";
  for (const auto& way : placement.ways()) out += way_svg(placement, way);
  for (std::size_t box = 0; box < outline.boxes.size(); ++box) out += box_svg(outline.boxes[box], placement.x(box), placement.y(box), all);
  return out + "</svg>\n";
}

}  // namespace

std::string graph_svg(const InspectResult& result) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + drawing_of(result, " xmlns='http://www.w3.org/2000/svg'");
}

void add_graph(Report& report, const InspectResult& result) {
  report.title = "graph of " + result.path;
  report.subject = caption_of(result);
  const auto drawing = [&](auto&) { return Markup{"<div class='wide'>" + drawing_of(result, "") + "</div>\n"}; };
  report.sections.push_back({Form::page, "graph", drawing});
  report.sections.push_back({Form::page, "nodes", [&](auto&) { return node_table(result.outline->nodes); }});
}

}  // namespace relayout::cli
