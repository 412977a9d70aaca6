// Limits of protobuf and their messages: 2 GiB for a model file, for standard output, for a textual model and for a model without its large
// tensors; 200 levels of nested graphs, 100 of unknown groups.

#include "model/protobuf_limits.h"

#include <string>
#include <string_view>

#include "base/numbers.h"
#include "relayout/error.h"

namespace relayout {

void refuse_large_file(int64_t bytes) {
  if (bytes <= kLargestMessage) return;
  fail(ErrorKind::unsupported, "the model file would have " + format_bytes(bytes) + ", protobuf allows 2 GiB",
       "let tensors go to a data file: --external-data always");
}

void refuse_large_stream(int64_t bytes) {
  if (bytes <= kLargestMessage) return;
  fail(ErrorKind::unsupported, "the model has " + format_bytes(bytes) + ", protobuf allows 2 GiB in one file");
}

void fail_large_skeleton() {
  fail(ErrorKind::unsupported, "without its tensors the model is larger than 2 GiB, the limit of protobuf");
}

void fail_large_text() {
  fail(ErrorKind::unsupported, "a textual model of more than 2 GiB");
}

void fail_nesting(std::string_view what, int most) {
  fail(ErrorKind::unsupported, std::string(what) + " nested deeper than " + std::to_string(most) + " levels");
}

}  // namespace relayout
