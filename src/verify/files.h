#pragma once

#include <filesystem>

#include "relayout/model.h"
#include "relayout/verify.h"
#include "verify/finding.h"
#include "verify/pair.h"
#include "verify/run/session.h"

namespace relayout {

/// `images_last`: without the Transposes that `convert --io nhwc` added, so that both models take images in the original order.
[[nodiscard]] Side load_side(const std::filesystem::path& path, const LoadOptions& options, bool images_last);
/// Names, digests and circumstances of a comparison.
[[nodiscard]] VerifyResult describe_run(const Side& a, const Side& b, const VerifyOptions& options);
/// Compares the interfaces and proves what the files show. From here on both models are known to be valid.
[[nodiscard]] Pair read_files(Side a, Side b, const VerifyOptions& options, OpenSession open, Steps& steps, VerifyResult& measured);
/// Why nothing has to run, or nothing can; empty otherwise. Then names, sizes and files given by the caller that do not fit are refused,
/// even though nothing runs.
[[nodiscard]] VerifyFindings find_decided(const Pair& pair, const VerifyResult& measured);

}  // namespace relayout
