// Compares two traces name by name: counts by TraceDiff's classes, times by their intervals.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <unordered_map>

#include "base/times.h"
#include "relayout/diff.h"
#include "relayout/estimate.h"

namespace relayout {
namespace {

CountClass class_of(int64_t control, int64_t test) {
  if (control == 0) return test == 0 ? CountClass::unchanged : CountClass::added;
  if (test == 0) return CountClass::removed;
  return test > control ? CountClass::increased : test < control ? CountClass::decreased : CountClass::unchanged;
}

Estimate time_of(const TraceOperation& operation) {
  if (operation.interval) return {operation.us, operation.interval};
  return operation.step_us.empty() ? Estimate{operation.us, std::nullopt} : estimate(operation.step_us);
}

}  // namespace

std::string_view to_string(CountClass kind) noexcept {
  constexpr auto kNames = std::to_array<std::string_view>({"added", "removed", "increased", "decreased", "unchanged"});
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<OperationDifference> diff_traces(const Trace& control, const Trace& test) {
  std::unordered_map<std::string_view, const TraceOperation*> others;
  for (const TraceOperation& operation : test.operations) others.emplace(operation.name, &operation);
  std::vector<OperationDifference> out;
  for (const TraceOperation& operation : control.operations) {
    OperationDifference& row = out.emplace_back();
    row.name = operation.name;
    row.control_count = operation.count;
    row.control_us = operation.us;
    const auto other = others.find(operation.name);
    if (other == others.end()) continue;
    row.test_count = other->second->count;
    row.test_us = other->second->us;
    row.ratio = ratio_of(time_of(operation), time_of(*other->second));
    row.time = judge_time(row.ratio);
    others.erase(other);
  }
  for (const TraceOperation& operation : test.operations) {
    if (!others.contains(operation.name)) continue;
    OperationDifference& row = out.emplace_back();
    row.name = operation.name;
    row.test_count = operation.count;
    row.test_us = operation.us;
  }
  for (OperationDifference& row : out) row.counts = class_of(row.control_count, row.test_count);
  std::ranges::sort(out, [](const OperationDifference& a, const OperationDifference& b) {
    const double size_a = std::abs(a.difference_us()), size_b = std::abs(b.difference_us());
    return size_a != size_b ? size_a > size_b : a.name < b.name;
  });
  return out;
}

}  // namespace relayout
