// Reads back profiles that `relayout profile --json` wrote, for comparisons.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "base/text_file.h"
#include "profile/causes.h"
#include "relayout/error.h"
#include "relayout/estimate.h"
#include "relayout/execute.h"
#include "relayout/model_diff.h"
#include "relayout/profile.h"
#include "report/json.h"

namespace relayout {
namespace {

constexpr int64_t kLargest = int64_t{256} << 20;

class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] Json member(const Json& object, std::string_view key) const {
    auto found = object.find(key);
    if (!found) wrong("no '" + std::string(key) + "'");
    return std::move(*found);
  }
  [[nodiscard]] std::string text(const Json& object, std::string_view key) const {
    const auto found = member(object, key).text();
    if (!found) wrong("'" + std::string(key) + "' is no text");
    return *found;
  }
  [[nodiscard]] double number(const Json& object, std::string_view key) const {
    const auto found = member(object, key).number();
    if (!found || !std::isfinite(*found) || *found < 0) wrong("'" + std::string(key) + "' is no number from 0 on");
    return *found;
  }
  [[nodiscard]] std::vector<std::string> names(const Json& object, std::string_view key) const {
    const Json list = member(object, key);
    std::vector<std::string> out;
    for (std::size_t i = 0; i < list.size(); ++i) {
      auto name = list.at(i).value_or(Json()).text();
      if (!name) wrong("'" + std::string(key) + "' holds more than names");
      out.push_back(std::move(*name));
    }
    return out;
  }
  [[nodiscard]] std::optional<Interval> interval(const Json& object) const {
    const auto low = member(object, "low_us").number(), high = member(object, "high_us").number();
    if (!low || !high) return std::nullopt;
    return Interval{*low, *high};
  }
  [[noreturn]] void wrong(const std::string& what) const { fail(ErrorKind::invalid, escape(name_) + ": no profile of relayout: " + what); }

 private:
  std::string name_;
};

std::vector<std::string> operators_of(std::string_view op_type) {
  constexpr std::string_view kBetween = " + ";
  std::vector<std::string> out;
  for (std::size_t end = 0; end != std::string_view::npos && !op_type.empty();) {
    end = op_type.find(kBetween);
    out.emplace_back(op_type.substr(0, end));
    if (end != std::string_view::npos) op_type.remove_prefix(end + kBetween.size());
  }
  return out;
}

ProfileRow row_of(const Reader& reader, const Json& json) {
  ProfileRow row;
  row.node = reader.text(json, "node");
  row.op_type = reader.text(json, "op");
  row.layout = reader.text(json, "layout");
  row.implementation = reader.text(json, "implementation");
  row.us = reader.number(json, "time_us");
  row.share = reader.number(json, "share");
  row.operators = operators_of(row.op_type);
  const std::string kind = reader.text(json, "kind");
  row.steps = kind == "executor" ? 0 : 1;
  for (const StepKind known : {StepKind::reorder, StepKind::pack, StepKind::view}) {
    if (kind == to_string(known)) row.kind = known;
  }
  row.absorbed = reader.names(json, "absorbed");
  if (json.find("callers")) row.callers = reader.names(json, "callers");
  return row;
}

ProfileContext context_of(const Reader& reader, const Json& json) {
  constexpr double kMost = 1 << 20;
  const auto text = [&](std::string_view key) { return reader.text(json, key); };
  const auto count = [&](std::string_view key) { return static_cast<int>(std::min(reader.number(json, key), kMost)); };
  return {.cpu = text("cpu"),
          .isa = text("isa"),
          .relayout = text("relayout"),
          .onednn = text("onednn"),
          .threads = count("threads"),
          .processors = count("processors"),
          .affinity = count("affinity"),
          .quota = 0,
          .load = reader.number(json, "load_1min")};
}

}  // namespace

Profile read_profile(const std::filesystem::path& path) {
  const std::shared_ptr<File> file = File::open(path);
  const Reader reader(path.string());
  const Json json = Json::parse(read_text(*file, kLargest, "a profile"), path.string());
  if (const auto schema = json.find("schema"); !schema || schema->text() != "relayout.profile/1") reader.wrong("another schema");
  Profile out;
  out.model = reader.text(json, "model");
  out.precision = reader.text(json, "precision");
  const std::string mode = reader.text(json, "mode");
  for (const Mode known : {Mode::optimized, Mode::as_written, Mode::reference}) {
    if (mode == to_string(known)) out.mode = known;
  }
  out.clock = reader.text(json, "clock") == to_string(TimeKind::processor) ? TimeKind::processor : TimeKind::wall;
  out.total_us = reader.number(json, "total_us");
  out.context = context_of(reader, reader.member(json, "context"));
  const Json latency = reader.member(json, "latency");
  out.latency.us = {reader.number(latency, "median_us"), reader.interval(latency)};
  out.latency.processor_us = {reader.number(latency, "cpu_median_us"), std::nullopt};
  out.latency.cpu_per_wall = reader.number(latency, "cpu_per_wall");
  out.latency.expected_cpus = reader.number(latency, "expected_cpu_per_wall");
  const Json rows = reader.member(json, "rows");
  for (std::size_t i = 0; i < rows.size(); ++i) out.rows.push_back(row_of(reader, rows.at(i).value_or(Json())));
  if (out.rows.empty() || !out.rows.back().is_executor()) reader.wrong("its rows do not end with the executor's");
  return out;
}

ProfileComparison compare_profiles(Profile a, Profile b, const ModelDiff& diff) {
  ProfileComparison out;
  out.clock = a.clock;
  const NodeLinks links = links_of(diff);
  out.rows = pair_rows(a, b, links);
  out.folded = folded_operators(a, b, links);
  out.proved = diff.is_proved;
  out.common = diff.share_in_common();
  out.is_related = links.is_related;
  out.ratio = ratio_of({a.total_us, a.latency.us.interval}, {b.total_us, b.latency.us.interval});
  out.a = std::move(a);
  out.b = std::move(b);
  return out;
}

}  // namespace relayout
