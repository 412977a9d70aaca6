#pragma once

#include "relayout/execute.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/finding.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/session.h"

namespace relayout {

/// Two models and the options of their comparison, which all its stages read.
struct Pair {
  Side a, b;
  const VerifyOptions* options = nullptr;
  OpenSession open;
  Steps* steps = nullptr;
  bool proved = false;                    ///< the files alone show that both compute the same
  bool is_rounded = false;                ///< else: the same, but that b rounds numbers to a coarser type, as the user means
  bool quantized = false;                 ///< b quantizes and a does not, or b to fewer bits
  DataType narrow = DataType::undefined;  ///< the coarsest type of 16 bits or fewer that one of the two computes in; undefined: none
  DataType grain = DataType::undefined;   ///< the narrow type that b computes in where a does not; undefined: none

  [[nodiscard]] ExecuteOptions execute_options(Mode mode) const { return relayout::execute_options(*options, mode); }
  /// The type whose rounding the bounds of a value allow: its own, or the coarser one that b computes in.
  [[nodiscard]] DataType type_of_floor(DataType type) const { return relayout::type_of_floor(type, grain); }
};

/// `images_last`: without the Transposes that `convert --io nhwc` added, so that both models take images in the original order.
[[nodiscard]] Side load_side(const std::filesystem::path& path, const LoadOptions& options, bool images_last);
/// A side as load_side() gave it, of the same open file.
[[nodiscard]] Side read_again(const Side& side, const LoadOptions& options, bool images_last);
/// Names, digests and circumstances of a comparison.
[[nodiscard]] VerifyResult describe_run(const Side& a, const Side& b, const VerifyOptions& options);
/// Compares the interfaces and proves what the files show. From here on both models are known to be valid.
[[nodiscard]] Pair read_files(Side a, Side b, const VerifyOptions& options, OpenSession open, Steps& steps, VerifyResult& measured);
/// Why nothing has to run, or nothing can; empty otherwise. Then names, sizes and files given by the caller that do not fit are refused,
/// even though nothing runs.
[[nodiscard]] VerifyFindings find_decided(const Pair& pair, const VerifyResult& measured);

}  // namespace relayout
