#include "support/encodings.h"

#include <array>
#include <numeric>
#include <utility>

#include "support/wire_writer.h"

namespace relayout::test {
namespace {

std::array<float, 288> weights() {
  std::array<float, 288> out{};
  std::iota(out.begin(), out.end(), 0.0F);
  return out;
}

std::string weight_bytes() {
  const auto values = weights();
  return packed(values.data(), values.size());
}

WireWriter weight_header() {
  return WireWriter().varint(1, 8).varint(1, 4).varint(1, 3).varint(1, 3).varint(2, 1);
}

WireWriter weight() {
  return weight_header().bytes(8, "W").bytes(9, weight_bytes());
}

WireWriter pads() {
  return WireWriter().bytes(1, "pads").varint(8, 1).varint(8, 1).varint(8, 1).varint(8, 1).varint(20, 7);
}

WireWriter conv() {
  return WireWriter().bytes(1, "x").bytes(1, "W").bytes(2, "y").bytes(3, "conv").bytes(4, "Conv").message(5, pads());
}

WireWriter value(const std::string& name, const std::vector<uint64_t>& dims) {
  WireWriter shape;
  for (const uint64_t dim : dims) shape.message(1, WireWriter().varint(1, dim));
  const WireWriter tensor = WireWriter().varint(1, 1).message(2, shape);
  return WireWriter().bytes(1, name).message(2, WireWriter().message(1, tensor));
}

WireWriter opset() {
  return WireWriter().bytes(1, "").varint(2, 17);
}

WireWriter interface() {
  return WireWriter().message(11, value("x", {1, 4, 8, 8})).message(12, value("y", {1, 8, 8, 8}));
}

WireWriter graph_of(const WireWriter& node, const WireWriter& tensor) {
  return WireWriter().message(1, node).bytes(2, "main").message(5, tensor).raw(interface().str());
}

std::string model_of(const WireWriter& graph) {
  return WireWriter().varint(1, 8).bytes(2, "maker").message(7, graph).message(8, opset()).str();
}

std::string with_weight(const WireWriter& tensor) {
  return model_of(graph_of(conv(), tensor));
}

WireWriter unpacked_weight() {
  WireWriter out = weight_header();
  for (const float w : weights()) out.real(4, w);
  return out.bytes(8, "W");
}

}  // namespace

std::vector<Encoding> encodings() {
  const WireWriter graph = graph_of(conv(), weight());
  const std::string other(300, 'o');
  const WireWriter group = WireWriter().varint(1, 5).bytes(2, other).group(3, WireWriter().fixed64(4, 6));
  const WireWriter turned = WireWriter().bytes(4, "Conv").message(5, pads()).bytes(2, "y").bytes(1, "x").bytes(1, "W").bytes(3, "conv");
  const std::string four(4, '\1');
  const WireWriter packed_pads = WireWriter().bytes(1, "pads").bytes(8, four).varint(20, 7);
  const WireWriter packed_conv = WireWriter().bytes(1, "x").bytes(1, "W").bytes(2, "y").bytes(4, "Conv").message(5, packed_pads);
  const WireWriter first_piece = WireWriter().message(1, conv()).message(11, value("x", {1, 4, 8, 8}));
  const WireWriter second_piece = WireWriter().bytes(2, "main").message(5, weight()).message(12, value("y", {1, 8, 8, 8}));
  const WireWriter external_fields = WireWriter().bytes(100, "future").message(16, WireWriter().bytes(1, "key").bytes(2, "value"));
  std::vector<Encoding> out;
  const auto add = [&](const char* name, std::string bytes, bool comes_back = true) {
    out.push_back({name, std::move(bytes), false, comes_back});
  };
  out.push_back({"canonical", model_of(graph), true, true});
  add("graph before ir_version", WireWriter().message(7, graph).varint(1, 8).message(8, opset()).str());
  add("initializers before nodes", model_of(WireWriter().message(5, weight()).raw(interface().str()).message(1, conv()).bytes(2, "main")));
  add("raw_data before name", with_weight(WireWriter().bytes(9, weight_bytes()).bytes(8, "W").raw(weight_header().str())));
  add("op_type before input", model_of(graph_of(turned, weight())));
  add("packed dims and ints",
      model_of(
          graph_of(packed_conv, WireWriter().bytes(1, std::string("\10\4\3\3", 4)).varint(2, 1).bytes(8, "W").bytes(9, weight_bytes()))));
  add("unknown field at the front of the model", WireWriter().bytes(1000, other).raw(model_of(graph)).str());
  add("unknown fields in the middle of the graph",
      model_of(
          WireWriter().message(1, conv()).varint(999, 7).bytes(998, other).message(5, weight()).fixed32(997, 1).raw(interface().str())));
  add("unknown fields in the tensor", with_weight(WireWriter().fixed64(500, 1).raw(weight().str()).raw(external_fields.str())));
  add("unknown groups",
      model_of(
          WireWriter().group(50, group).raw(graph_of(conv(), WireWriter().group(51, group).raw(weight().str())).str()).group(52, group)));
  add("unknown field in the node", model_of(graph_of(WireWriter().bytes(300, "u").raw(conv().str()).varint(301, 1), weight())));
  add("scalars given twice", WireWriter()
                                 .varint(1, 3)
                                 .varint(1, 8)
                                 .bytes(2, "a")
                                 .bytes(2, "b")
                                 .message(7, graph_of(conv(), WireWriter().varint(2, 11).bytes(8, "V").raw(weight().str())))
                                 .message(8, opset())
                                 .str());
  add("raw_data given twice", with_weight(weight_header().bytes(8, "W").bytes(9, other).bytes(9, weight_bytes())), false);
  add("raw_data given twice, the first one small", with_weight(weight_header().bytes(9, "ab").bytes(8, "W").bytes(9, weight_bytes())),
      false);
  add("padded length of the tensor",
      model_of(WireWriter().message(1, conv()).bytes(2, "main").message(5, weight(), 3).raw(interface().str())));
  add("padded length of the graph", WireWriter().varint(1, 8, 2).message(7, graph, 2).message(8, opset(), 4).str());
  add("graph in two pieces", WireWriter().varint(1, 8).message(7, first_piece).message(8, opset()).message(7, second_piece).str(), false);
  add("graph in two pieces, one empty", WireWriter().varint(1, 8).message(7, WireWriter()).message(7, graph).message(8, opset()).str(),
      false);
  add("packed float_data", with_weight(weight_header().bytes(4, weight_bytes()).bytes(8, "W")));
  add("unpacked float_data", with_weight(unpacked_weight()), false);
  add("float_data in two pieces",
      with_weight(weight_header().bytes(4, weight_bytes().substr(0, 600)).bytes(8, "W").bytes(4, weight_bytes().substr(600))), false);
  add("doc string, metadata and newer fields", model_of(WireWriter()
                                                            .message(1, conv().message(10, WireWriter().bytes(1, "device")))
                                                            .message(5, weight().bytes(12, "doc").raw(external_fields.str()))
                                                            .raw(interface().str())
                                                            .message(16, WireWriter().bytes(1, "k").bytes(2, "v"))
                                                            .bytes(10, "graph doc")));
  return out;
}

}  // namespace relayout::test
