// Refusals of `convert` for options that do not fit the model: --share-data (data files, folder), --io of a named input or output,
// --precision with nothing to change.
#include "convert/check_options.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "model/origin.h"
#include "relayout/convert.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/model.h"

namespace relayout {

void check_sharing(const Model& model, const std::filesystem::path& output) {
  const ModelOrigin& origin = origin_of(model);
  const std::string place = escape(model.name()) + ": --share-data: ";
  if (!origin.walk.has_external) fail(ErrorKind::usage, place + "the model has no data files");
  std::error_code error;
  const std::filesystem::path folder = output.has_parent_path() ? output.parent_path() : ".";
  if (is_stream(output) || !std::filesystem::equivalent(folder, origin.directory, error)) {
    fail(ErrorKind::usage, place + "the result must be in the model's folder, because locations of data files are relative to it");
  }
}

void check_named_ports(const ConvertResult& result, const ConvertOptions& options) {
  if (options.rewrite.io_names.empty()) return;
  std::string refused;
  for (const Finding& finding : result.findings) {
    if (finding.pass != "export-io" || finding.verdict != Verdict::skipped) continue;
    refused += (refused.empty() ? "" : "; ") + finding.op_type + " " + quote(finding.node) +
               (finding.detail.empty() ? "" : " " + finding.detail) +
               " cannot be handed over channels-last: " + std::string(text(finding.reason));
  }
  if (!refused.empty()) fail(ErrorKind::unsupported, escape(result.input.string()) + ": --io: " + refused);
}

void check_precision(const ConvertResult& result) {
  for (const Finding& finding : result.findings) {
    if (finding.reason != Reason::no_source_type || finding.verdict != Verdict::skipped) continue;
    fail(ErrorKind::unsupported, escape(result.input.string()) + ": --precision: " + finding.detail);
  }
}

}  // namespace relayout
