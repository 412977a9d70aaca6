#pragma once

// IWYU pragma: begin_exports
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/common/report.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "relayout/version.h"
// IWYU pragma: end_exports

namespace relayout::cli {

/// Interface differences first, then one line per output, and last the verdict with the circumstances of the run. -v: figures of every
/// sample.
[[nodiscard]] std::string verify_text(const VerifyResult& result, bool allow_inconclusive, const ReportStyle& style);
[[nodiscard]] Json verify_json(const VerifyResult& result, bool allow_inconclusive);
[[nodiscard]] std::string data_text(const DataResult& result, const ReportStyle& style);
[[nodiscard]] Json data_json(const DataResult& result);

/// One suite: the interfaces, and one case per output and sample.
[[nodiscard]] JunitSuite junit_suite(const VerifyResult& result, bool allow_inconclusive);
/// One case per stored case.
[[nodiscard]] JunitSuite junit_suite(const DataResult& result);
/// The report of a run without a result.
[[nodiscard]] JunitSuite junit_suite(const std::string& model, const Failure& failure);

/// A page with the verdict, each output's error relative to floor and bound, its error histogram, errors by depth, and the tables.
[[nodiscard]] std::string verify_html(const VerifyResult& result, bool allow_inconclusive);

}  // namespace relayout::cli
