// The words of a conversion's options, read and checked before anything else.
#include "convert/options.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/nearest_word.h"
#include "base/text.h"
#include "model/save.h"
#include "model/text_format.h"
#include "passes/pass.h"
#include "relayout/convert.h"
#include "relayout/error.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout {
namespace {

const Pass& known_pass(const std::string& name) {
  if (const Pass* pass = find_pass(name)) return *pass;
  std::vector<std::string_view> names;
  for (const Pass& pass : pass_table()) names.push_back(pass.name);
  const std::string_view nearest = nearest_word(name, names);
  fail(ErrorKind::usage, "unknown pass " + quote(name) + (nearest.empty() ? "" : "; did you mean " + quote(nearest) + "?"),
       "relayout convert --list-passes lists them");
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

/// --io and --emit.
void read_exports(const ConvertOptions& options, PassOptions& out) {
  if (options.layout == "contiguous" && (!options.io.empty() || !options.emit.empty())) {
    fail(ErrorKind::usage, "--layout contiguous undoes what --io and --emit do; they exclude each other");
  }
  if (!options.emit.empty() && options.emit != "transposes") fail(ErrorKind::usage, "--emit " + quote(options.emit) + ": only transposes");
  out.choice = options.when;
  out.sizes = options.sizes;
  if (options.io.empty()) return;
  constexpr std::string_view kWord = "nhwc";
  std::string_view rest = options.io;
  if (!rest.starts_with(kWord) || (rest.size() > kWord.size() && rest[kWord.size()] != ':')) {
    fail(ErrorKind::usage, "--io " + quote(options.io) + ": nhwc, or nhwc:NAME,NAME…");
  }
  rest.remove_prefix(std::min(rest.size(), kWord.size() + 1));
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (comma > 0) out.io_names.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(rest.size(), comma + 1));
  }
}

DataType precision_of(const std::string& word) {
  if (word.empty()) return DataType::undefined;
  if (word == "fp16") return DataType::float16;
  if (word == "bf16") return DataType::bfloat16;
  if (word == "fp32") return DataType::float32;
  fail(ErrorKind::usage, "unknown precision " + quote(word) + ": bf16, fp16 or fp32");
}

}  // namespace

std::vector<const Pass*> selected_passes(const ConvertOptions& options) {
  const bool none = contains(options.passes, "none");
  if (none && options.passes.size() > 1) fail(ErrorKind::usage, "pass 'none' goes with no other");
  for (const std::string& name : options.passes) {
    if (name != "none") (void)known_pass(name);
  }
  for (const std::string& name : options.skip) (void)known_pass(name);
  const PassOptions wanted = pass_options(options, 1);
  std::vector<const Pass*> out;
  for (const Pass& pass : pass_table()) {
    const bool is_picked = options.passes.empty() ? pass.wanted(wanted) : contains(options.passes, pass.name);
    if (!none && is_picked && !contains(options.skip, pass.name)) out.push_back(&pass);
  }
  return out;
}

std::vector<PassInfo> available_passes() {
  std::vector<PassInfo> out;
  for (const Pass& pass : pass_table()) out.push_back({pass.name, pass.summary, pass.on_by_default()});
  return out;
}

PassOptions pass_options(const ConvertOptions& options, int threads) {
  PassOptions out;
  if (options.layout == "channels-last") {
    out.layout = WeightsLayout::channels_last;
  } else if (options.layout == "contiguous") {
    out.layout = WeightsLayout::contiguous;
  } else if (options.layout == "keep") {
    out.layout = WeightsLayout::keep;
  } else {
    fail(ErrorKind::usage, "unknown layout " + quote(options.layout) + ": channels-last, contiguous or keep");
  }
  read_exports(options, out);
  out.fold = options.fold;
  out.simplify = options.simplify;
  out.export_io = !options.io.empty();
  out.export_transposes = !options.emit.empty();
  out.precision = precision_of(options.precision);
  out.io_precision = options.io_precision;
  if (out.io_precision && options.precision.empty()) fail(ErrorKind::usage, "--io-precision goes with --precision");
  if (out.io_precision && options.verify)
    fail(ErrorKind::usage, "--verify compares models with inputs and outputs of the same types: not with --io-precision");
  out.include_1d = options.include_1d;
  out.freeze = options.freeze;
  out.only = options.only;
  out.exclude = options.exclude;
  out.stop_after = options.stop_after;
  out.threads = threads;
  return out;
}

void read_external_data(std::string_view text, SaveOptions& options) {
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  if (word == "auto") {
    options.external_data = ExternalData::automatic;
  } else if (word == "always") {
    options.external_data = ExternalData::always;
  } else if (word == "never") {
    options.external_data = ExternalData::never;
  } else {
    fail(ErrorKind::usage, "external data " + quote(text) + ": auto, always or never, each with :BYTES if wanted");
  }
  if (colon == std::string_view::npos) return;
  const std::string_view digits = text.substr(colon + 1);
  int64_t threshold = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), threshold);
  if (error != std::errc{} || end != digits.data() + digits.size() || threshold < 0) {
    fail(ErrorKind::usage, "external data " + quote(text) + ": " + quote(digits) + " is no number of bytes");
  }
  options.external_threshold = threshold;
}

FileFormat format_by_name(const std::filesystem::path& path) {
  return text_format::format_of(path);
}

}  // namespace relayout
