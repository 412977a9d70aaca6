#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/segments.h"
#include "relayout/data_file.h"
#include "relayout/model.h"
#include "relayout/save_options.h"

namespace relayout {

struct SaveResult {
  int64_t bytes = 0;                       ///< Model::file_size() of the saved model
  std::vector<DataFile> data = {};         ///< data files of the saved model
  std::vector<DataFile> left_behind = {};  ///< in_place: data files that the model no longer refers to
};

/// Writes the model completely or not at all. "-" is standard output. Unchanged parts are copied from their original bytes; an unchanged
/// model is copied byte for byte. Tensors stored outside of the model file:
/// - automatic: external tensors stay external, all in a new file `OUTPUT.data`, so that the result needs no file of the input. If nothing
///   changed, the data files are copied under their names to a different folder, and left as they are in place. With share_data, in the
///   same folder, only changed tensors are written to the new file.
/// - always: all initializers of at least the threshold's size; never: none. The limit of one file is 2 GiB.
/// A data file of the input is never overwritten. Errors: usage (output is the input, or a data file of it), unsupported (too large),
/// io (also when a file of the input changed since it was loaded).
SaveResult save(const Model& model, const std::filesystem::path& path, const SaveOptions& options = {});
/// The bytes that save() would write, with external data inlined (for tests and printing).
[[nodiscard]] std::string to_bytes(const Model& model);

/// Settings of a save for the places of payloads.
struct PayloadPolicy {
  ExternalData mode = ExternalData::automatic;
  int64_t threshold = 1024;      ///< in bytes; smaller tensors stay inside
  bool came_external = false;    ///< the model has data files
  bool keep_references = false;  ///< the output can refer to these data files
  std::string location;          ///< location of the new data file
};

/// Decides for each tensor where its payload is stored, and collects the contents of the new data file.
class PayloadPlaces {
 public:
  explicit PayloadPlaces(PayloadPolicy policy) : policy_(std::move(policy)) {}

  enum class Place {
    as_is,  ///< copied unchanged: bytes inside, or the reference to a data file
    inside,
    outside,  ///< in the new data file
  };
  struct Tensor {
    int64_t bytes = 0;
    bool external = false;      ///< stored in a data file of the input
    bool is_new = false;        ///< added by a pass
    bool changed = false;       ///< the payload is changed
    bool in_attribute = false;  ///< stays inside unless external in the input, as few readers follow such references
  };
  [[nodiscard]] Place place(const Tensor& tensor) const;
  /// Whether an unchanged tensor may have to move, so that saving must visit the whole model.
  [[nodiscard]] bool moves_unchanged() const noexcept;

  struct Reference {
    std::string location;
    int64_t offset = 0, length = 0;
  };
  /// Adds a payload to the new data file, at a page boundary. The same stored bytes are added once.
  [[nodiscard]] Reference add(const TensorData& data);
  [[nodiscard]] const Segments& data() const noexcept { return data_; }
  [[nodiscard]] Segments take_data() { return std::move(data_); }

 private:
  PayloadPolicy policy_;
  Segments data_;
  std::map<std::tuple<const File*, int64_t, int64_t>, int64_t> known_;  ///< file, offset, length → offset in the new file
};

/// The files that a save has to write.
struct SavePlan {
  Segments model;
  struct Data {
    std::filesystem::path path;
    Segments content;
  };
  std::vector<Data> data;
};

/// Plans the files of a save in ONNX's binary format. Error{usage} if one of them would replace a file of the input that is not converted
/// in place; Error{unsupported} for a model that does not fit into one file.
[[nodiscard]] SavePlan plan_save(const Model& model, const std::filesystem::path& path, const SaveOptions& options);

/// Error{usage} if the file is the model's own and the options do not say --in-place.
void refuse_own_file(const Model& model, const std::filesystem::path& path, const SaveOptions& options);

}  // namespace relayout
