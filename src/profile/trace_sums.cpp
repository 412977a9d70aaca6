// Sums the events of a trace by name and step, and compares two traces name by name.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <unordered_map>

#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "base/times.h"
#include "profile/read_trace.h"
#include "relayout/diff.h"
#include "relayout/error.h"
#include "relayout/estimate.h"

namespace relayout {
namespace {

constexpr std::size_t kMostNames = 1'000'000;
constexpr std::size_t kMostStepTimes = std::size_t{1} << 24;  ///< 128 MiB of times by name and step
constexpr double kCentury = 3.2e15;                           ///< microseconds

/// What is wrong with impossible times.
std::string fault_of(std::optional<double> begin, std::optional<double> us) {
  if (!begin || !us) return " has no numbers as its times";
  if (std::isnan(*begin) || std::isnan(*us)) return " has NaN as a time, which is not JSON";
  if (!std::isfinite(*begin)) return " begins at no time";
  return " took " + (std::isfinite(*us) ? shortest(*us) : std::string("infinitely many")) + " µs";
}

}  // namespace

std::string short_name(std::string_view name) {
  for (const std::string_view device : {"Memcpy", "Memset", "dma"}) {
    if (name.starts_with(device)) return std::string(name);
  }
  if (name.find_first_of("<(") == std::string_view::npos) return std::string(name);
  std::string out;
  const auto drop_to = [&](char opening) {
    const std::size_t at = out.rfind(opening);
    out.resize(at == std::string::npos ? 0 : at);
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i, 2) == "->") {
      ++i;
    } else if (name[i] == '>' || name[i] == ')') {
      drop_to(name[i] == '>' ? '<' : '(');
    } else {
      out += name[i];
    }
  }
  out.erase(0, out.rfind(' ') + 1);
  return out.empty() ? std::string(name) : out;
}

void TraceSums::set_steps(std::vector<StepSpan> spans) {
  std::ranges::stable_sort(spans, {}, &StepSpan::begin);
  has_steps_ = !spans.empty();
  for (const int64_t wanted : options_->steps) {
    if (std::ranges::find(spans, wanted, &StepSpan::number) != spans.end()) continue;
    fail(ErrorKind::usage, "--steps " + std::to_string(wanted) + ": " + escape(file_) + " has no such step");
  }
  spans_ = std::move(spans);
}

/// The last span that begins at or before the event, if the event begins within it and its step counts.
const StepSpan* TraceSums::span_of(double begin) const {
  const auto next = std::ranges::upper_bound(spans_, begin, {}, &StepSpan::begin);
  if (next == spans_.begin()) return nullptr;
  const StepSpan& span = *(next - 1);
  if (begin >= span.end) return nullptr;
  const bool counts = options_->steps.empty() || std::ranges::find(options_->steps, span.number) != options_->steps.end();
  return counts ? &span : nullptr;
}

bool is_time(std::optional<double> begin, std::optional<double> us) {
  return begin && us && std::isfinite(*begin) && *us >= 0 && *us < kCentury;
}

bool TraceSums::takes(const std::string& name, std::optional<double> begin, std::optional<double> us, TracePlace place) {
  if (is_time(begin, us)) return true;
  ++skipped_;
  if (!first_skipped_.empty()) return false;
  const std::string at = " (" + std::string(place.unit) + " " + format_count(place.number) + ")";
  first_skipped_ = quote(name) + fault_of(begin, us) + at;
  if (options_->strict) fail(ErrorKind::invalid, escape(file_) + ": " + first_skipped_);
  return false;
}

TraceOperation& TraceSums::operation_of(const std::string& name) {
  const auto [entry, is_new] = numbers_.try_emplace(options_->short_names ? short_name(name) : name, operations_.size());
  if (is_new) {
    if (operations_.size() == kMostNames) fail(ErrorKind::unsupported, escape(file_) + ": more than 1,000,000 names");
    operations_.push_back({entry->first});
    if (operations_.size() * spans_.size() <= kMostStepTimes) operations_.back().step_us.resize(spans_.size());
  }
  return operations_[entry->second];
}

void TraceSums::add(const std::string& name, const Estimate& us) {
  TraceOperation& operation = operation_of(name);
  const bool has_all = operation.count == 0 || operation.interval;
  const Interval before = operation.interval.value_or(Interval{});
  operation.interval.reset();
  if (has_all && us.interval) operation.interval = Interval{before.low + us.interval->low, before.high + us.interval->high};
  ++operation.count;
  operation.us += us.median;
}

void TraceSums::add(const std::string& name, double begin, double us, int64_t count) {
  const StepSpan* const span = has_steps_ ? span_of(begin) : nullptr;
  if (has_steps_ && span == nullptr) {
    ++outside_;
    return;
  }
  TraceOperation& operation = operation_of(name);
  operation.count += count;
  operation.us += us;
  if (span != nullptr && !operation.step_us.empty()) operation.step_us[as_size(span - spans_.data())] += us;
}

Trace TraceSums::finish(std::string source) {
  Trace out;
  out.path = file_;
  out.source = std::move(source);
  out.outside = outside_;
  out.skipped = skipped_;
  out.first_skipped = first_skipped_;
  if (skipped_ > 0 && operations_.empty() && outside_ == 0) {
    fail(ErrorKind::invalid, escape(file_) + ": no event has a time: " + first_skipped_);
  }
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    if (!options_->steps.empty() && std::ranges::find(options_->steps, spans_[i].number) == options_->steps.end()) continue;
    kept.push_back(i);
    out.steps.push_back(spans_[i].number);
  }
  for (TraceOperation& operation : operations_) {
    std::vector<double> times;
    for (const std::size_t step : kept) {
      if (!operation.step_us.empty()) times.push_back(operation.step_us[step]);
    }
    operation.step_us = std::move(times);
  }
  out.operations = std::move(operations_);
  return out;
}

// Compares two traces name by name: counts by TraceDiff's classes, times by their intervals.
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
