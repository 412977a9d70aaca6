// Reports one model in several settings of threads and sizes.
#include <algorithm>
#include <iterator>
#include <set>

#include "cli/common/options.h"
#include "cli/profile/profile.h"

namespace relayout::cli {
namespace {

/// "1, 2, 4 threads"; empty where all profiles have the same number.
std::string threads_of(const std::vector<Profile>& profiles) {
  std::set<int> numbers;
  for (const Profile& profile : profiles) numbers.insert(profile.context.threads);
  std::string out;
  for (const int number : numbers) out += (out.empty() ? "" : ", ") + format_count(number);
  return numbers.size() > 1 ? out + " threads" : "";
}

}  // namespace

std::vector<SweepSetting> sweep_settings(const std::vector<std::string>& threads, const Assignments& dims) {
  std::vector<SweepSetting> settings(1);
  const auto multiply = [&](std::size_t count, const auto& set) {
    std::vector<SweepSetting> out;
    for (const SweepSetting& setting : settings) {
      for (std::size_t i = 0; i < count; ++i) {
        out.push_back(setting);
        set(out.back(), i);
      }
    }
    settings = std::move(out);
  };
  if (!threads.empty()) {
    multiply(threads.size(), [&](SweepSetting& setting, std::size_t i) {
      setting.threads = static_cast<int>(std::min<int64_t>(parse_integer("--threads", threads[i], 1), 1 << 20));
    });
  }
  for (const auto& [name, words] : dims) {
    const std::vector<int64_t> sizes = parse_dims("--dim " + escape(name), words);
    if (sizes.empty() || std::ranges::find(sizes, 0) != sizes.end()) {
      fail(ErrorKind::usage, "--dim " + escape(name) + ": a size is 1 or more");
    }
    multiply(sizes.size(), [&](SweepSetting& setting, std::size_t i) { setting.dims[name] = sizes[i]; });
  }
  return settings;
}

std::string sweep_text(const std::vector<Profile>& profiles, const ReportStyle& style) {
  const bool has_usual = has_columns(style, kUsualWidth), has_wide = has_columns(style, kWide);
  const auto head = [](const char* text, Align align = Align::right) { return Cell(text, Style::faint, align); };
  TextTable table({.gap = 2, .color = style.color, .width = style.width});
  const auto add = [&](std::vector<Cell> cells, std::vector<Cell> wide, std::vector<Cell> usual, Cell ratio) {
    if (has_wide) std::ranges::move(wide, std::back_inserter(cells));
    if (has_usual) std::ranges::move(usual, std::back_inserter(cells));
    cells.push_back(std::move(ratio));
    table.row(std::move(cells));
  };
  add({head("threads"), head("inputs", Align::left), head("latency")}, {head("95 %", Align::left), head("p99")},
      {head("GFLOP/s"), head("CPUs")}, head("against the first"));
  for (const Profile& profile : profiles) {
    const double us = profile.latency.us.median;
    add({right(format_count(profile.context.threads)), inputs_text(profile), {duration_text(us), Style::strong, Align::right}},
        {interval_text(profile.latency.us), right(duration_text(profile.latency.p99_us))},
        {right(rate_text(gflops(profile.macs, us))), right(fixed(profile.latency.cpu_per_wall, 2))},
        right(fixed(profiles.front().latency.us.median / us, 2) + " ×"));
  }
  std::string out = paint(escape(profiles.front().model), Style::strong, style.color) + "   " +
                    std::string(to_string(profiles.front().mode)) + "\n" + table.text();
  out += paint(context_text(profiles.front().context, threads_of(profiles)), Style::faint, style.color) + "\n";
  const auto busy = std::ranges::count_if(profiles, [](const Profile& profile) { return is_busy(profile.latency); });
  if (busy > 0) out += paint("the machine was busy", Style::warning, style.color) + " in " + counted(busy, "line") + "\n";
  return out;
}

Json sweep_json(const std::vector<Profile>& profiles) {
  Json list = Json::array();
  for (const Profile& profile : profiles) list.add(profile_object(profile));
  Json out = Json::object();
  return std::move(out.set("schema", "relayout.profile-sweep/1").set("profiles", std::move(list)));
}

}  // namespace relayout::cli
