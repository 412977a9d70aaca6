#pragma once

#include "relayout/inputs.h"
#include "verify/inputs/port.h"

namespace relayout {

/// Contents of one input from a file: .npy, .npz (the array of the input's name, or the only one), images (see image.h), .bin and .raw
/// (elements as in memory, little-endian), everything else as protobuf (see data_file.h). Free dims of a raw file come from --shape and
/// --dim; a single one follows from its size. A path of no file that consists of numbers, such as 0.5, is the contents itself: one number
/// for all elements, or each of them. The result fits the port's declaration. Errors name the file.
[[nodiscard]] Datum read_input_file(const std::filesystem::path& path, const Port& port, const InputOptions& options);

/// Inputs from files: one file for all samples, or a folder, of which sample i gets the i-th file in name order. Hidden files (.name) and
/// folders inside are skipped. Files of a folder are read when they are requested.
class GivenInputs {
 public:
  /// Error{usage} for folders that are empty or of unequal counts, Error{invalid} or Error{io} for single files.
  GivenInputs(const std::vector<Port>& ports, const InputOptions& options);

  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return files_.size() + folders_.size(); }
  [[nodiscard]] bool contains(const std::string& name) const { return files_.contains(name) || folders_.contains(name); }
  /// Files in each folder; 0: no folders.
  [[nodiscard]] int in_folders() const noexcept { return count_; }
  /// nullopt if the input has no file. After a folder's last file, samples begin with the first again. Errors name the file.
  [[nodiscard]] std::optional<Datum> find(const Port& port, int sample) const;
  /// A sentence for each input whose pictures are resized.
  [[nodiscard]] const std::vector<std::string>& remarks() const noexcept { return remarks_; }
  /// The file of each input that comes from a folder.
  [[nodiscard]] std::map<std::string, std::filesystem::path> paths(int sample) const;

 private:
  InputOptions options_;
  std::map<std::string, Datum> files_;
  std::map<std::string, std::vector<std::filesystem::path>> folders_;
  std::vector<std::string> remarks_;
  int count_ = 0;
};

}  // namespace relayout
