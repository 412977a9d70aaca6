#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "model/save.h"
#include "model/segments.h"

namespace relayout {

/// The wishes of a save about payloads.
struct PayloadPolicy {
  ExternalData mode = ExternalData::automatic;
  int64_t threshold = 1024;      ///< bytes; smaller tensors stay inside
  bool came_external = false;    ///< the model has data files
  bool keep_references = false;  ///< those can be referred to from where the output will lie
  std::string location;          ///< of the new data file
};

/// Decides for each tensor where its payload goes, and collects what goes to the new data file.
class PayloadPlaces {
 public:
  explicit PayloadPlaces(PayloadPolicy policy) : policy_(std::move(policy)) {}

  enum class Place {
    as_is,  ///< everything about the payload is copied: bytes inside, or the reference to a data file
    inside,
    outside,  ///< in the new data file
  };
  struct Tensor {
    int64_t bytes = 0;
    bool external = false;      ///< in the file that was loaded
    bool is_new = false;        ///< made by a pass
    bool changed = false;       ///< the payload
    bool in_attribute = false;  ///< stays inside unless it came external: few readers follow such references
  };
  [[nodiscard]] Place place(const Tensor& tensor) const;
  /// Whether an unchanged tensor may have to move, so that all of the model must be gone through.
  [[nodiscard]] bool moves_unchanged() const noexcept;

  struct Reference {
    std::string location;
    int64_t offset = 0, length = 0;
  };
  /// Takes a payload into the new data file, at a page boundary. The same stored bytes are taken once.
  [[nodiscard]] Reference add(const TensorData& data);
  [[nodiscard]] const Segments& data() const noexcept { return data_; }
  [[nodiscard]] Segments take_data() { return std::move(data_); }

 private:
  PayloadPolicy policy_;
  Segments data_;
  std::map<std::tuple<const File*, int64_t, int64_t>, int64_t> known_;  ///< file, offset, length → offset in the new file
};

}  // namespace relayout
