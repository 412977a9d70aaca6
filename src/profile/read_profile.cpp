// Reads back profiles that were written as documents, and compares two of them.

#include "base/atomic_file.h"
#include "base/file.h"
#include "profile/causes.h"
#include "relayout/estimate.h"
#include "relayout/execute.h"
#include "relayout/model_diff.h"
#include "relayout/profile.h"
#include "report/json.h"

namespace relayout {
namespace {

constexpr int64_t kLargest = int64_t{256} << 20;

std::optional<Interval> interval_of(const JsonReader& reader, const Json& json) {
  const auto low = reader.member(json, "low_us").number(), high = reader.member(json, "high_us").number();
  if (!low || !high) return std::nullopt;
  return Interval{*low, *high};
}

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

ProfileRow row_of(const JsonReader& reader, const Json& json) {
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
  row.absorbed = reader.texts(json, "absorbed");
  if (json.find("callers")) row.callers = reader.texts(json, "callers");
  return row;
}

ProfileContext context_of(const JsonReader& reader, const Json& json) {
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
  const JsonReader reader(path.string(), "no profile of relayout");
  const Json json = Json::parse(read_text(*file, kLargest, "a profile"), path.string());
  if (const auto schema = json.find("schema"); !schema || schema->text() != "relayout.profile/1") reader.refuse("another schema");
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
  out.latency.us = {reader.number(latency, "median_us"), interval_of(reader, latency)};
  out.latency.processor_us = {reader.number(latency, "cpu_median_us"), std::nullopt};
  out.latency.cpu_per_wall = reader.number(latency, "cpu_per_wall");
  out.latency.expected_cpus = reader.number(latency, "expected_cpu_per_wall");
  const Json rows = reader.member(json, "rows");
  for (std::size_t i = 0; i < rows.size(); ++i) out.rows.push_back(row_of(reader, rows.at(i).value_or(Json())));
  if (out.rows.empty() || !out.rows.back().is_executor()) reader.refuse("its rows do not end with the executor's");
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
