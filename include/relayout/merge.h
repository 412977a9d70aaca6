#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relayout/model.h"
#include "relayout/save_options.h"

namespace relayout {

/// What an ensemble makes of the outputs of its parts, element by element; the words for it name further outputs too.
enum class Combine : uint8_t {
  mean,
  sum,
  max,
  vote,       ///< the class, along axis 1, that most parts hold for the likeliest, ties to the lowest: int64 without that axis
  stack,      ///< all of them, along a new first axis
  variance,   ///< mean of squared distances from the mean
  deviation,  ///< its square root
};

inline constexpr auto kCombinations = std::to_array<std::pair<std::string_view, Combine>>({{"mean", Combine::mean},
                                                                                           {"sum", Combine::sum},
                                                                                           {"max", Combine::max},
                                                                                           {"vote", Combine::vote},
                                                                                           {"stack", Combine::stack},
                                                                                           {"variance", Combine::variance},
                                                                                           {"std", Combine::deviation}});

struct ModelMergeOptions {
  LoadOptions load = {};
  /// Of an ensemble: the first one's outputs keep the parts' names, those of the others get a suffix.
  std::vector<Combine> combine = {Combine::mean};
  /// Write an ensemble of nets of equal structure as one net, with stacked weights: convolutions in groups, batched products.
  bool batched = false;
  /// Of a chain: outputs of the first model and the inputs of the second that read them; empty: those of equal names, or the only ones.
  std::vector<std::pair<std::string, std::string>> map = {};
  SaveOptions save = {};
};

struct ModelMergeResult {
  std::vector<std::filesystem::path> parts;
  std::filesystem::path output;
  std::vector<std::string> inputs, outputs;
  std::string difference;  ///< why nets are not of equal structure; nothing was written then
  int64_t nodes = 0, bytes = 0;
  double seconds = 0;
};

/// Writes models of equal inputs and outputs as one that combines what they compute. Throws Error: usage for parts that do not fit,
/// unsupported for what cannot be merged or batched; nothing is written then.
[[nodiscard]] ModelMergeResult merge_ensemble(const std::vector<std::filesystem::path>& parts, const std::filesystem::path& output,
                                              const ModelMergeOptions& options);
/// Writes two models as one, the second of which reads outputs of the first: inputs of the first, outputs of the second.
[[nodiscard]] ModelMergeResult merge_chain(const std::filesystem::path& first, const std::filesystem::path& second,
                                           const std::filesystem::path& output, const ModelMergeOptions& options);

}  // namespace relayout
