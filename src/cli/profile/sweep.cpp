// Reports one model in several settings of threads and sizes.

#include "cli/common/options.h"
#include "cli/profile/profile.h"

namespace relayout::cli {
namespace {

/// "1, 2, 4 threads"; empty where all profiles have the same number.
std::string threads_of(const std::vector<Profile>& profiles) {
  std::set<int> numbers;
  for (const Profile& profile : profiles) numbers.insert(profile.context.threads);
  return numbers.size() > 1 ? joined(numbers, ", ", format_count) + " threads" : "";
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
  Table table({.gap = 2, .color = style.color, .width = style.width});
  const auto from = [&](std::size_t width, Cell cell) { return has_columns(style, width) ? cell : std::move(cell).only(Form::page); };
  table.head({right("threads"), "inputs", right("latency"), from(kWide, "95 %"), from(kWide, right("p99")),
              from(kUsualWidth, right("GFLOP/s")), from(kUsualWidth, right("CPUs")), right("against the first")});
  for (const Profile& profile : profiles) {
    const Latency& latency = profile.latency;
    table.row({format_count(profile.context.threads), inputs_text(profile), Cell(duration_text(latency.us.median), Style::strong),
               interval_text(latency.us), duration_text(latency.p99_us), rate_text(gflops(profile.macs, latency.us.median)),
               fixed(latency.cpu_per_wall, 2), fixed(profiles.front().latency.us.median / latency.us.median, 2) + " ×"});
  }
  std::string out = paint(escape(profiles.front().model), Style::strong, style.color) + "   " +
                    std::string(to_string(profiles.front().mode)) + "\n" + table.text();
  out += paint(context_text(profiles.front().context, threads_of(profiles)), Style::faint, style.color) + "\n";
  const auto busy = std::ranges::count_if(profiles, [](const Profile& profile) { return is_busy(profile.latency); });
  if (busy > 0) out += paint("the machine was busy", Style::warning, style.color) + " in " + counted(busy, "line") + "\n";
  return out;
}

Json sweep_json(const std::vector<Profile>& profiles) {
  return Json().set("schema", "relayout.profile-sweep/1").set("profiles", Json::list(profiles, profile_object));
}

}  // namespace relayout::cli
