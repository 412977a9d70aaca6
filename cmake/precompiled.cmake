# Headers of libraries that most files include, parsed once per kind of target: the parsing is more than half of a file's compile time.
# Nothing of ours is among them, so that a changed header rebuilds only who includes it. Files name all they include regardless: the tidy
# preset, which checks that, is without.
set(precompiled_standard <algorithm> <array> <cmath> <cstddef> <cstdint> <cstring> <filesystem> <functional> <map> <memory>
  <mutex> <optional> <set> <span> <string> <string_view> <unordered_map> <unordered_set> <utility> <variant> <vector>)
set(precompiled_sources ${precompiled_standard} <onnx/onnx_pb.h>)
set(precompiled_tests ${precompiled_standard} <gmock/gmock.h> <gtest/gtest.h> <onnx/onnx_pb.h>)
