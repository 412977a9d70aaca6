// Passes that run for --fold, --simplify, --pass and --skip, unknown pass names, and conflicts of options: --layout contiguous with --io or
// --emit, --io-precision without --precision. Contradictions are refused before anything is read.
#include "convert/selected_passes.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "model/text_format.h"
#include "passes/pass.h"
#include "relayout/convert.h"
#include "relayout/error.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout {
namespace {

const passes::Pass& known_pass(const std::string& name) {
  if (const passes::Pass* pass = passes::find_pass(name)) return *pass;
  std::vector<std::string> names;
  for (const passes::Pass& pass : passes::pass_table()) names.emplace_back(pass.name);
  fail(ErrorKind::usage, "unknown pass " + quote(name) + did_you_mean(name, names, "; "), "relayout convert --list-passes lists them");
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

/// Error{usage} for options that exclude each other, or need one that is missing.
void check(const ConvertOptions& options) {
  if (options.rewrite.layout == WeightsLayout::contiguous && (options.rewrite.export_io || options.rewrite.export_transposes)) {
    fail(ErrorKind::usage, "--layout contiguous reverts --io and --emit; they exclude each other");
  }
  const bool has_type = options.rewrite.precision != DataType::undefined;
  if (options.rewrite.io_precision && !has_type) fail(ErrorKind::usage, "--io-precision needs --precision");
  if (contains(options.passes, "precision") && !has_type) {
    fail(ErrorKind::usage, "pass 'precision' needs --precision, which names the type");
  }
}

}  // namespace

std::vector<const passes::Pass*> selected_passes(const ConvertOptions& options) {
  check(options);
  const bool none = contains(options.passes, "none");
  if (none && options.passes.size() > 1) fail(ErrorKind::usage, "pass 'none' excludes all others");
  for (const std::string& name : options.passes) {
    if (name != "none") (void)known_pass(name);
  }
  for (const std::string& name : options.skip) (void)known_pass(name);
  std::vector<const passes::Pass*> out;
  for (const passes::Pass& pass : passes::pass_table()) {
    const bool is_picked = options.passes.empty() ? pass.wanted(options.rewrite) : contains(options.passes, pass.name);
    if (!none && is_picked && !contains(options.skip, pass.name)) out.push_back(&pass);
  }
  return out;
}

std::vector<PassInfo> available_passes() {
  std::vector<PassInfo> out;
  for (const passes::Pass& pass : passes::pass_table()) out.push_back({pass.name, pass.summary, pass.on_by_default()});
  return out;
}

FileFormat format_by_name(const std::filesystem::path& path) {
  return text_format::format_of(path);
}

}  // namespace relayout
