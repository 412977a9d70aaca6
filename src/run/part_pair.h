#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/model.h"
#include "relayout/verify.h"

namespace relayout {

/// The folder of inputs and outputs in that of a pair, as in ONNX's backend tests.
inline constexpr const char* kTestData = "test_data_set_0";
/// An input in the folder of a pair.
[[nodiscard]] std::filesystem::path input_file(std::size_t number);

/// Parts of two models, a.onnx and b.onnx of one folder, which have the same inputs, and the values of these.
struct PartPair {
  std::filesystem::path folder;
  std::vector<std::string> names;
  std::vector<Datum> inputs;
};

/// Writes the models of another folder, or of the same, as those of a pair: with the dims that the values of its inputs have. What follows
/// from these is no longer declared, as each model tells its own.
void declare_dims(const std::filesystem::path& from, const PartPair& parts, const LoadOptions& load);

/// How the results of a pair differ: other numbers, a value of another form, or nothing to compare, as b does not run.
struct Manner {
  bool is_compared = false, has_other_structure = false;
  bool operator==(const Manner&) const = default;
};
/// Nothing where they do not.
[[nodiscard]] std::optional<Manner> manner_of(const VerifyResult& result);

/// As verify() runs the pairs of a verification with these options.
[[nodiscard]] ExecuteOptions execution(const VerifyOptions& options);
[[nodiscard]] VerifyResult judged(const PartPair& parts, const VerifyOptions& options);

/// A copy in a folder beside, with the least dims of inputs at which the results still differ in this manner, as far as a few seconds tell;
/// the pair itself where none are less.
[[nodiscard]] PartPair shrunk(PartPair parts, const Manner& manner, const VerifyOptions& options);

}  // namespace relayout
