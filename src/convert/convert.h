#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "passes/pass.h"
#include "relayout/convert.h"
#include "relayout/model.h"
#include "relayout/save_options.h"
#include "relayout/verify.h"

namespace relayout {

/// The passes to run, in running order. Error{usage} for an unknown name, with the nearest known one, and for options that contradict each
/// other.
[[nodiscard]] std::vector<const passes::Pass*> selected_passes(const ConvertOptions& options);

/// The model at another opset of the default domain, by ONNX's own converter. Error{unsupported} for what that cannot convert or would
/// drop.
[[nodiscard]] std::unique_ptr<Model> at_opset(std::unique_ptr<Model> model, int64_t opset, const LoadOptions& load);
/// Declares another IR version. Error{unsupported} where the model has something that this version lacks.
void set_ir_version(Model& model, int64_t version);
/// Verifies the result that saving would write, from a file that no other process sees.
[[nodiscard]] VerifyResult verify_draft(Model& model, const ConvertResult& result, const ConvertOptions& options, SaveOptions saving);

}  // namespace relayout
