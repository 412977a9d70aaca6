// The folder of a conversion's result: refused where it is missing ("no such folder", "mkdir -p … makes it"), or made (`--out-dir`).
#include "convert/result_folder.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "relayout/error.h"

namespace relayout {

void check_result_folder(const std::filesystem::path& input, const std::filesystem::path& output) {
  const std::filesystem::path folder = output.parent_path();
  std::error_code ignored;
  if (is_stream(output) || folder.empty() || std::filesystem::is_directory(folder, ignored)) return;
  if (folder == input.parent_path()) return;  // reading the model reports it
  const bool exists = std::filesystem::exists(folder, ignored);
  const std::string hint = exists ? "" : "mkdir -p " + file_word(folder.string()) + " makes it";
  if (!output.has_filename()) fail(ErrorKind::io, escape(output.string()) + (exists ? ": is not a folder" : ": no such folder"), hint);
  fail(ErrorKind::io, escape(output.string()) + ": " + quote(folder.string()) + (exists ? " is not a folder" : ": no such folder"), hint);
}

void make_result_folder(const std::filesystem::path& output) {
  std::error_code error;
  if (output.has_parent_path()) std::filesystem::create_directories(output.parent_path(), error);
  if (error) fail_io(output.string(), quote(output.parent_path().string()) + ": " + error.message());
}

}  // namespace relayout
