#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "relayout/verify.h"
#include "support/network.h"

namespace relayout::testing {

/// A folder of this process, removed with the object.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("relayout-verify-test-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// verify() of two networks; one thread, four samples by default.
inline VerifyResult verified(test::Network a, test::Network b, VerifyOptions options = {}) {
  const Folder folder;
  if (options.threads == 0) options.threads = 1;
  return verify(folder.write("a.onnx", a.bytes()), folder.write("b.onnx", b.bytes()), options);
}

/// Like verified(), but executes identical networks too.
inline VerifyResult ran(test::Network a, test::Network b, VerifyOptions options = {}) {
  options.run_identical = true;
  return verified(std::move(a), std::move(b), options);
}

/// All results that a failed expectation should show.
inline std::string summary(const VerifyResult& result) {
  std::string out = std::string(to_string(result.outcome)) + " " + result.reason + " " + result.defect + "\n";
  for (const auto& d : result.interface)
    out += "  " + d.side + " " + d.name + " " + field_text(d) + ": " + d.a + " -> " + d.b + (d.remark ? " (remark)" : "") + "\n";
  for (const auto& o : result.outputs) {
    out += "  " + o.name + ": " + std::string(to_string(o.outcome)) + " " + o.reason + " | " + o.hint + " | err " +
           std::to_string(o.max_error) + " floor " + std::to_string(o.floor) + " ratio " + std::to_string(o.ratio) + "\n";
  }
  for (const Unsupported& node : result.unsupported_a) out += "  cannot run " + node.op_type + ": " + node.why + "\n";
  for (const std::string& remark : result.remarks) out += "  " + remark + "\n";
  return out;
}

}  // namespace relayout::testing
