#pragma once

#include <string>
#include <string_view>

#include "relayout/convert.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout::cli {

// The words of convert's options and their meanings in the library. The parser has checked those of --layout, --precision and the formats.

[[nodiscard]] WeightsLayout layout_of(std::string_view word) noexcept;
[[nodiscard]] std::string word_of(WeightsLayout layout);
/// bf16, fp16, fp32; empty: undefined.
[[nodiscard]] DataType precision_of(std::string_view word) noexcept;
[[nodiscard]] std::string word_of(DataType precision);
/// onnx, onnxtxt, textproto, json; auto: by the file name.
[[nodiscard]] FileFormat format_of(std::string_view word) noexcept;
/// "nhwc", or "nhwc:NAME,NAME…"; empty: inputs and outputs unchanged. Error{usage} for anything else.
void read_io(std::string_view text, ConvertOptions& options);
/// "auto", "always", "never", each with optional ":THRESHOLD" in bytes. Error{usage} for anything else.
void read_external_data(std::string_view text, ConvertOptions& options);

}  // namespace relayout::cli
