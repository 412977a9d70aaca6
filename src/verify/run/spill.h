#pragma once

#include "relayout/datum.h"

namespace relayout {

/// Values stored in an unnamed temporary file, so that two models' values need not be in memory at once. The file is in TMPDIR or /tmp and
/// is gone when the process ends, however it ends. Errors: io (no space left …).
class Spill {
 public:
  /// A value in the file: everything but the bytes.
  struct Stored {
    Datum::Kind kind = Datum::Kind::tensor;
    DataType type = DataType::undefined;
    Dims dims;
    int64_t offset = 0, size = 0;
    std::vector<Stored> elements;
  };

  Spill() = default;
  ~Spill();
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;

  [[nodiscard]] Stored write(const Datum& datum);
  [[nodiscard]] Datum read(const Stored& stored) const;

 private:
  void open();
  void append(const void* bytes, std::size_t size);
  void read_at(int64_t offset, void* bytes, std::size_t size) const;

  int descriptor_ = -1;
  int64_t size_ = 0;
  std::string directory_;
};

}  // namespace relayout
