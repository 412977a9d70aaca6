// Words of convert's --layout, --precision, --format, --external-data (auto:BYTES) and --io (nhwc:NAME), read into the library's types and
// named so in reports.
#include "cli/conversion_words.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/whole_number.h"
#include "relayout/convert.h"
#include "relayout/data_file.h"
#include "relayout/error.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout::cli {
namespace {

template <class Meaning>
using Word = std::pair<std::string_view, Meaning>;

constexpr std::array<Word<WeightsLayout>, 3> kLayouts = {
    {{"channels-last", WeightsLayout::channels_last}, {"contiguous", WeightsLayout::contiguous}, {"keep", WeightsLayout::keep}}};
constexpr std::array<Word<DataType>, 4> kPrecisions = {
    {{"", DataType::undefined}, {"bf16", DataType::bfloat16}, {"fp16", DataType::float16}, {"fp32", DataType::float32}}};
constexpr std::array<Word<ExternalData>, 3> kExternalData = {
    {{"auto", ExternalData::automatic}, {"always", ExternalData::always}, {"never", ExternalData::never}}};

constexpr std::array<Word<FileFormat>, 5> kFormats = {{{"auto", FileFormat::automatic},
                                                       {"onnx", FileFormat::binary},
                                                       {"onnxtxt", FileFormat::onnx_text},
                                                       {"textproto", FileFormat::proto_text},
                                                       {"json", FileFormat::json}}};

/// The matching entry, or else the first one.
const auto& entry_of(const auto& words, auto wanted, auto member) {
  const auto found = std::ranges::find(words, wanted, member);
  return found != words.end() ? *found : words.front();
}

}  // namespace

WeightsLayout layout_of(std::string_view word) noexcept {
  return entry_of(kLayouts, word, &Word<WeightsLayout>::first).second;
}

std::string word_of(WeightsLayout layout) {
  return std::string(entry_of(kLayouts, layout, &Word<WeightsLayout>::second).first);
}

DataType precision_of(std::string_view word) noexcept {
  return entry_of(kPrecisions, word, &Word<DataType>::first).second;
}

std::string word_of(DataType precision) {
  return std::string(entry_of(kPrecisions, precision, &Word<DataType>::second).first);
}

FileFormat format_of(std::string_view word) noexcept {
  return entry_of(kFormats, word, &Word<FileFormat>::first).second;
}

void read_io(std::string_view text, ConvertOptions& options) {
  constexpr std::string_view kWord = "nhwc";
  options.rewrite.export_io = !text.empty();
  if (text.empty()) return;
  if (!text.starts_with(kWord) || (text.size() > kWord.size() && text[kWord.size()] != ':')) {
    fail(ErrorKind::usage, "--io " + quote(text) + ": nhwc, or nhwc:NAME,NAME…");
  }
  std::string_view rest = text.substr(std::min(text.size(), kWord.size() + 1));
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (comma > 0) options.rewrite.io_names.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(rest.size(), comma + 1));
  }
}

void read_external_data(std::string_view text, ConvertOptions& options) {
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const auto known = std::ranges::find(kExternalData, word, &Word<ExternalData>::first);
  if (known == kExternalData.end()) {
    fail(ErrorKind::usage, "external data " + quote(text) + ": auto, always or never, each with :BYTES if wanted");
  }
  options.save.external_data = known->second;
  if (colon == std::string_view::npos) return;
  const std::string_view digits = text.substr(colon + 1);
  const auto threshold = whole_number(digits);
  if (!threshold || *threshold < 0) {
    fail(ErrorKind::usage, "external data " + quote(text) + ": " + quote(digits) + " is no number of bytes");
  }
  options.save.external_threshold = *threshold;
}

}  // namespace relayout::cli
