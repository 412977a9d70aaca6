// Writes a profile as JSON and as CSV.

#include "cli/profile/profile.h"

namespace relayout::cli {
namespace {

Json context_json(const ProfileContext& context) {
  Json out = Json().set("cpu", context.cpu).set("isa", context.isa).set("threads", context.threads).set("processors", context.processors);
  out.set("affinity", context.affinity).set("quota", context.quota > 0 ? Json(context.quota) : Json());
  return std::move(out.set("load_1min", context.load).set("relayout", context.relayout).set("onednn", context.onednn));
}

Json latency_json(const Latency& latency) {
  Json out = Json().set("median_us", latency.us.median).set("cpu_median_us", latency.processor_us.median);
  out.set("low_us", low_of(latency.us)).set("high_us", high_of(latency.us));
  out.set("min_us", latency.least_us).set("p50_us", latency.us.median).set("p90_us", latency.p90_us).set("p95_us", latency.p95_us);
  out.set("p99_us", latency.p99_us).set("runs", latency.runs).set("cpu_per_wall", latency.cpu_per_wall);
  out.set("expected_cpu_per_wall", latency.expected_cpus).set("busy", is_busy(latency)).set("stopped_early", latency.stopped_early);
  return std::move(out.set("load_us", latency.load_us).set("plan_us", latency.plan_us).set("first_run_us", latency.first_us));
}

Json memory_json(const Profile& profile) {
  Json out = Json().set("arena_bytes", profile.arena_bytes).set("peak_bytes", profile.peak_bytes).set("peak_node", profile.peak_node);
  return std::move(out.set("packed_bytes", profile.packed_bytes).set("scratchpad_bytes", profile.scratchpad_bytes));
}

Json row_json(const ProfileRow& row, const std::optional<MachinePeak>& peak) {
  Json out = Json().set("node", row.node).set("callers", row.callers).set("op", row.op_type);
  out.set("kind", row.is_executor() ? "executor" : to_string(row.kind));
  out.set("absorbed", row.absorbed).set("layout", row.layout).set("implementation", row.implementation).set("input_dims", row.inputs);
  out.set("dims", row.dims).set("steps", row.steps).set("calls", row.is_executor() ? 0 : row.calls).set("threads", row.threads);
  out.set("bytes", row.bytes).set("flop", 2 * row.macs).set("live_bytes", row.live_bytes);
  out.set("time_us", row.us).set("share", row.share).set("median_us", row.measured_us.median).set("quartile_us", row.quartile_us);
  out.set("low_us", low_of(row.measured_us)).set("high_us", high_of(row.measured_us));
  out.set("gflops", gflops(row.macs, row.us)).set("gigabytes_per_s", gigabytes(row.bytes, row.us));
  if (peak) out.set("part_of_peak", part_of_peak(*peak, row.macs, row.bytes, row.us));
  return out;
}

/// Sums of all reorders or of all packs.
Json copies_json(const Profile& profile, StepKind kind) {
  int64_t count = 0, bytes = 0;
  double us = 0;
  for (const ProfileRow& row : profile.rows) {
    if (row.is_executor() || row.kind != kind) continue;
    ++count;
    bytes += row.bytes;
    us += row.us;
  }
  return Json().set("count", count).set("bytes", bytes).set("time_us", us);
}

Json group_json(const TableLine& line) {
  Json out = Json().set("name", line.name).set("calls", line.calls).set("bytes", line.bytes).set("flop", 2 * line.macs);
  return std::move(out.set("time_us", line.us).set("share", line.share));
}

std::string csv_line(const TableLine& line) {
  const auto number = [](const std::optional<double>& value) { return value ? shortest(*value) : ""; };
  std::optional<double> median, low, high;
  if (line.measured) median = line.measured->median;
  if (line.measured && line.measured->interval) {
    low = line.measured->interval->low;
    high = line.measured->interval->high;
  }
  return csv_record(std::array{csv_field(line.name), csv_field(joined(line.absorbed, " ")), csv_field(line.op), csv_field(line.kind),
                               csv_field(line.layout), csv_field(line.implementation), csv_field(line.shape), std::to_string(line.calls),
                               std::to_string(line.bytes), std::to_string(2 * line.macs), shortest(line.us), shortest(line.share),
                               shortest(line.cumulative), number(median), number(low), number(high), number(gflops(line.macs, line.us)),
                               number(gigabytes(line.bytes, line.us))});
}

}  // namespace

Json profile_object(const Profile& profile) {
  Json out = Json().set("schema", "relayout.profile/1").set("model", profile.model).set("file_bytes", profile.file_bytes);
  out.set("mode", to_string(profile.mode)).set("precision", profile.precision);
  out.set("inputs", profile.inputs).set("assumed", profile.assumed).set("context", context_json(profile.context));
  out.set("latency", latency_json(profile.latency)).set("memory", memory_json(profile)).set("flop", 2 * profile.macs);
  out.set("reorders", copies_json(profile, StepKind::reorder)).set("packs", copies_json(profile, StepKind::pack));
  if (const auto& peak = profile.peak) {
    out.set("peak", Json().set("gflops", peak->gflops).set("gigabytes_per_s", peak->gigabytes).set("measured", peak->is_measured));
  }
  out.set("views", profile.views).set("clock", to_string(profile.clock));
  out.set("total_us", profile.total_us).set("scale", profile.scale);
  return std::move(out.set("rows", Json::list(profile.rows, [&](const ProfileRow& row) { return row_json(row, profile.peak); })));
}

Json profile_json(const Profile& profile, const ProfileTable& table) {
  Json out = profile_object(profile);
  if (table.by == Grouping::node) return out;
  return std::move(out.set("groups", Json().set("by", to_string(table.by)).set("lines", Json::list(table.all_lines(), group_json))));
}

std::string profile_csv(const ProfileTable& table) {
  return "name,absorbed,op,kind,layout,implementation,shape,calls,bytes,flop,time_us,share,cumulative_share,median_us,low_us,high_us,"
         "gflops,gigabytes_per_s\r\n" +
         joined(table.all_lines(), "", csv_line);
}

}  // namespace relayout::cli
