#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "relayout/verify.h"

namespace relayout {

/// A node at fault with its counterpart, as two models of their own.
struct Reproducer {
  std::string node, op_type;     ///< of b
  std::filesystem::path folder;  ///< empty: none could be written, for `reason`
  int64_t nodes_a = 0, nodes_b = 0;
  bool differs = false;  ///< the two parts differ, too
  std::string reason;
};

/// Writes each node at which b differs (at most eight) as FOLDER/N: a.onnx and b.onnx, which reach from the nearest values that both models
/// have to that of the node, or from further upstream where their results do not differ else; test_data_set_0 with a's values, cut to the
/// least dims that still differ; README.txt. Where b does not run: the first node that the files show to be different and whose parts
/// differ. `options` are those of the verification, whose samples are in options.save_data. `scramble`: the seed of random numbers that
/// replace the weights. Error{usage} if the folder is there already, Error{io}.
[[nodiscard]] std::vector<Reproducer> save_reproducers(const VerifyResult& result, const VerifyOptions& options,
                                                       const std::filesystem::path& folder, std::optional<uint64_t> scramble = {});

}  // namespace relayout
