#include "model/wire.h"

#include <gmock/gmock.h>
#include <google/protobuf/io/coded_stream.h>
#include <onnx/onnx_pb.h>

#include "base/file.h"
#include "relayout/error.h"
#include "support/refusal.h"
#include "support/wire_writer.h"

namespace relayout::wire {
namespace {

using test::WireWriter;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Field numbers from onnx.proto.
constexpr uint32_t kModelGraph = 7, kModelTraining = 20, kModelFunction = 25;
constexpr uint32_t kGraphNode = 1, kGraphInitializer = 5, kGraphSparse = 15;
constexpr uint32_t kNodeAttribute = 5;
constexpr uint32_t kAttributeTensor = 5, kAttributeGraph = 6;
constexpr uint32_t kDims = 1, kDataType = 2, kFloatData = 4, kName = 8, kRawData = 9, kDoubleData = 10;

Walk walk_bytes(const WireWriter& model) {
  return walk(*File::from_bytes(model.str(), "model"));
}

void parse(std::string_view bytes, google::protobuf::Message& out) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kRecursionLimit);
  EXPECT_TRUE(out.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage());
}

/// The skeleton, with the initializers and nodes of the main graph that it leaves out.
onnx::ModelProto parse(const Walk& walked) {
  onnx::ModelProto model;
  parse(walked.skeleton, model);
  EXPECT_EQ(model.graph().initializer_size(), 0);
  std::size_t begin = 0;
  for (const std::size_t end : walked.initializer_ends) {
    parse(std::string_view(walked.initializers).substr(begin, end - begin), *model.mutable_graph()->add_initializer());
    begin = end;
  }
  EXPECT_EQ(begin, walked.initializers.size());
  google::protobuf::RepeatedPtrField<onnx::NodeProto> recorded;
  recorded.Swap(model.mutable_graph()->mutable_node());
  begin = 0;
  int next = 0;
  for (const MainNode& node : walked.main_nodes) {
    onnx::NodeProto& out = *model.mutable_graph()->add_node();
    node.is_recorded ? out.Swap(&recorded[next++]) : parse(std::string_view(walked.nodes).substr(begin, node.end - begin), out);
    begin = node.end;
  }
  EXPECT_EQ(begin, walked.nodes.size());
  EXPECT_EQ(next, recorded.size());
  return model;
}

/// A model that consists of one initializer.
WireWriter with_initializer(const WireWriter& tensor) {
  return WireWriter().message(kModelGraph, WireWriter().message(kGraphInitializer, tensor));
}

WireWriter node_with(const WireWriter& attribute) {
  return WireWriter().message(kNodeAttribute, attribute);
}

WireWriter raw_tensor(const std::string& payload) {
  return WireWriter().bytes(kRawData, payload);
}

uint64_t marker(const google::protobuf::Message& message, int field) {
  const auto& unknown = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    if (unknown.field(i).number() == field) return unknown.field(i).varint();
  }
  return UINT64_MAX;
}

std::string refusal(const WireWriter& model, ErrorKind kind = ErrorKind::invalid) {
  return test::refusal_of(kind, [&] { return walk_bytes(model); });
}

TEST(Wire, ElidesPayloadsFrom256Bytes) {
  const std::string small(255, 's'), large(256, 'l');
  const WireWriter model = WireWriter().message(
      kModelGraph, WireWriter().message(kGraphInitializer, raw_tensor(small)).message(kGraphInitializer, raw_tensor(large)));
  const Walk walked = walk_bytes(model);
  ASSERT_THAT(walked.elided, SizeIs(1));
  EXPECT_EQ(walked.elided[0].field, kRawData);
  EXPECT_EQ(model.str().substr(static_cast<std::size_t>(walked.elided[0].offset), 256), large);
  EXPECT_EQ(walked.elided[0].length, 256);
  const onnx::ModelProto parsed = parse(walked);
  EXPECT_EQ(parsed.graph().initializer(0).raw_data(), small);
  EXPECT_TRUE(parsed.graph().initializer(1).has_raw_data());
  EXPECT_EQ(parsed.graph().initializer(1).raw_data(), "");
  EXPECT_EQ(marker(parsed.graph().initializer(1), kElidedField), 0U);
}

TEST(Wire, ElidesTensorsEverywhere) {
  // Each payload is filled with its own letter, so that offsets are distinguishable.
  const auto tensor = [](char letter) { return raw_tensor(std::string(300, letter)); };
  const WireWriter inner = WireWriter().message(kGraphInitializer, tensor('i'));
  const WireWriter graph =
      WireWriter()
          .message(kGraphNode, node_with(WireWriter().message(kAttributeTensor, tensor('t'))))
          .message(kGraphNode, node_with(WireWriter().message(10, tensor('u'))))  // tensors
          .message(kGraphNode, node_with(WireWriter().message(kAttributeGraph, inner)))
          .message(kGraphNode, node_with(WireWriter().message(11, WireWriter().message(kGraphInitializer, tensor('j')))))  // graphs
          .message(kGraphNode, node_with(WireWriter().message(22, WireWriter().message(1, tensor('v')))))  // sparse_tensor.values
          .message(kGraphNode, node_with(WireWriter().message(23, WireWriter().message(2, tensor('w')))))  // sparse_tensors.indices
          .message(kGraphSparse, WireWriter().message(1, tensor('s')));
  const WireWriter constant = node_with(WireWriter().message(kAttributeTensor, tensor('f')));
  const WireWriter model =
      WireWriter()
          .message(kModelGraph, graph)
          .message(kModelFunction, WireWriter().message(7, constant).message(11, WireWriter().message(kAttributeTensor, tensor('a'))))
          .message(kModelTraining, WireWriter()
                                       .message(1, WireWriter().message(kGraphInitializer, tensor('x')))
                                       .message(2, WireWriter().message(kGraphInitializer, tensor('y'))));
  std::string letters;
  const Walk walked = walk_bytes(model);
  for (const Elided& elided : walked.elided) {
    EXPECT_EQ(elided.length, 300);
    const std::string payload = model.str().substr(static_cast<std::size_t>(elided.offset), 300);
    EXPECT_EQ(payload, std::string(300, payload[0]));
    letters += payload[0];
  }
  EXPECT_EQ(letters, "tuijvwsfaxy");
  EXPECT_LT(walked.skeleton.size(), 600U);
  const onnx::ModelProto parsed = parse(walked);
  EXPECT_EQ(marker(parsed.training_info(0).algorithm().initializer(0), kElidedField), 10U);
  EXPECT_EQ(marker(parsed.graph().node(3).attribute(0).graphs(0).initializer(0), kElidedField), 3U);
}

TEST(Wire, ElidesPackedFloatsAndDoubles) {
  const std::vector<float> floats(64, 1.5F);
  const std::vector<double> doubles(32, 2.5);
  const WireWriter model =
      WireWriter().message(kModelGraph, WireWriter()
                                            .message(kGraphInitializer, WireWriter().bytes(kFloatData, test::packed(floats.data(), 64)))
                                            .message(kGraphInitializer, WireWriter().bytes(kDoubleData, test::packed(doubles.data(), 32))));
  const Walk walked = walk_bytes(model);
  ASSERT_THAT(walked.elided, SizeIs(2));
  EXPECT_EQ(walked.elided[0].field, kFloatData);
  EXPECT_EQ(walked.elided[1].field, kDoubleData);
  EXPECT_EQ(parse(walked).graph().initializer(0).float_data_size(), 0);
  EXPECT_THAT(refusal(with_initializer(WireWriter().bytes(kFloatData, std::string(257, 'x')))), HasSubstr("packed elements"));
}

TEST(Wire, FloatsInSeveralPiecesAreLeftToProtobuf) {
  const std::vector<float> values(64, 1.5F);
  const std::string large = test::packed(values.data(), 64), small = test::packed(values.data(), 2);
  const auto count = [&](const WireWriter& tensor) {
    const Walk walked = walk_bytes(with_initializer(tensor));
    EXPECT_THAT(walked.elided, IsEmpty());
    return parse(walked).graph().initializer(0).float_data_size();
  };
  EXPECT_EQ(count(WireWriter().bytes(kFloatData, large).bytes(kFloatData, small)), 66);
  EXPECT_EQ(count(WireWriter().bytes(kFloatData, small).bytes(kFloatData, large)), 66);
  EXPECT_EQ(count(WireWriter().bytes(kFloatData, large).real(kFloatData, 2)), 65);
  EXPECT_EQ(count(WireWriter().real(kFloatData, 2).bytes(kFloatData, large)), 65);
}

TEST(Wire, TheLastRawDataCounts) {
  const std::string large(300, 'l'), larger(400, 'm');
  const Walk small_last = walk_bytes(with_initializer(WireWriter().bytes(kRawData, large).bytes(kRawData, "ab")));
  EXPECT_THAT(small_last.elided, IsEmpty());
  EXPECT_EQ(parse(small_last).graph().initializer(0).raw_data(), "ab");
  const Walk large_last = walk_bytes(with_initializer(WireWriter().bytes(kRawData, "ab").bytes(kRawData, large).bytes(kRawData, larger)));
  ASSERT_THAT(large_last.elided, SizeIs(1));
  EXPECT_EQ(large_last.elided[0].length, 400);
  EXPECT_EQ(parse(large_last).graph().initializer(0).raw_data(), "");
}

TEST(Wire, B13RawAndTypedDataBothLarge) {
  const std::vector<float> values(64, 1.5F);
  EXPECT_THAT(
      refusal(with_initializer(WireWriter().bytes(kRawData, std::string(300, 'r')).bytes(kFloatData, test::packed(values.data(), 64)))),
      HasSubstr("both raw_data and typed data"));
}

TEST(Wire, ItemsAreInFileOrder) {
  const WireWriter tensor =
      WireWriter().bytes(kRawData, std::string(300, 'r')).bytes(kName, "W").varint(kDims, 3).varint(kDims, 25).varint(kDataType, 1);
  const WireWriter graph =
      WireWriter().bytes(2, "main").message(kGraphInitializer, tensor, 2).message(kGraphNode, WireWriter().bytes(4, "Relu"));
  const WireWriter model = WireWriter().message(kModelGraph, graph).varint(1, 8);
  const Walk walked = walk_bytes(model);
  const auto& proto = parse(walked);
  const Message& main_record = walked.messages[marker(proto.graph(), kMarkerField)];
  const auto items = walked.items_of(main_record);
  ASSERT_THAT(items, SizeIs(3));
  const auto file = File::from_bytes(model.str(), "model");
  Reader reader(*file);
  std::vector<uint32_t> fields;
  for (const Item& item : items_of_tensor(reader, items[1].payload(), items[1].end)) fields.push_back(item.field);
  EXPECT_THAT(fields, ElementsAre(kRawData, kName, kDims, kDataType));  // the two dims are one run
  EXPECT_EQ(items[1].header, 1 + 2 + 2);                                // tag, two bytes of length, two of padding
  EXPECT_EQ(model.str().substr(static_cast<std::size_t>(items[1].payload()), tensor.str().size()), tensor.str());
  EXPECT_EQ(items[1].end, items[2].start);
  EXPECT_EQ(walked.items_of(walked.messages[marker(proto, kMarkerField)]).back().end, static_cast<int64_t>(model.str().size()));
}

TEST(Wire, AGraphInPiecesIsIndexedAsOne) {
  const WireWriter first = WireWriter().message(kGraphNode, WireWriter().bytes(4, "Relu"));
  const WireWriter second =
      WireWriter().message(kGraphNode, WireWriter().bytes(4, "Neg")).message(kGraphInitializer, raw_tensor(std::string(300, 'r')));
  const Walk walked = walk_bytes(WireWriter().message(kModelGraph, first).varint(1, 8).message(kModelGraph, second));
  const onnx::ModelProto parsed = parse(walked);
  EXPECT_EQ(parsed.graph().node_size(), 2);
  const Message& record = walked.messages[marker(parsed.graph(), kMarkerField)];
  EXPECT_EQ(record.pieces, 2);
  EXPECT_THAT(walked.items_of(record), SizeIs(3));
}

TEST(Wire, AGraphInManyPiecesTakesLinearTime) {
  WireWriter model;
  constexpr int kPieces = 200'000;
  const WireWriter piece = WireWriter().message(kGraphNode, WireWriter());
  for (int i = 0; i < kPieces; ++i) model.message(kModelGraph, piece);
  const Walk walked = walk_bytes(model);
  const Message& record = walked.messages[marker(parse(walked).graph(), kMarkerField)];
  EXPECT_EQ(record.item_count, static_cast<std::size_t>(kPieces));
}

TEST(Wire, ATensorInPiecesIsRefusedOnlyWhenItsDataIsElsewhere) {
  const WireWriter dims = WireWriter().varint(kDims, 75);
  const auto constant = [&](const WireWriter& a, const WireWriter& b) {
    return WireWriter().message(
        kModelGraph, WireWriter().message(kGraphNode, node_with(WireWriter().message(kAttributeTensor, a).message(kAttributeTensor, b))));
  };
  EXPECT_THAT(refusal(constant(dims, raw_tensor(std::string(300, 'r'))), ErrorKind::unsupported), HasSubstr("several pieces"));
  const Walk walked = walk_bytes(constant(dims, raw_tensor("abc")));
  EXPECT_EQ(parse(walked).graph().node(0).attribute(0).t().dims(0), 75);
  EXPECT_EQ(parse(walked).graph().node(0).attribute(0).t().raw_data(), "abc");
}

TEST(Wire, UnknownFieldsAndGroupsStayInTheSkeleton) {
  const WireWriter group = WireWriter().varint(3, 300).bytes(9, std::string(300, 'g')).group(4, WireWriter().fixed64(1, 7));
  const WireWriter graph = WireWriter().group(1000, group).fixed32(1001, 5).message(kGraphNode, WireWriter());
  const Walk walked = walk_bytes(WireWriter().message(kModelGraph, graph).bytes(999, "unknown"));
  const onnx::ModelProto parsed = parse(walked);
  ASSERT_GE(parsed.graph().unknown_fields().field_count(), 2);
  EXPECT_EQ(parsed.graph().unknown_fields().field(0).group().field_count(), 3);
  EXPECT_EQ(parsed.unknown_fields().field(0).length_delimited(), "unknown");
}

TEST(Wire, MarkersInTheFileAreLeftOut) {
  WireWriter tensor = WireWriter().varint(kElidedField, 12345).bytes(kMarkerField, "x").bytes(kRawData, "abc");
  tensor.group(static_cast<uint32_t>(kElidedField), WireWriter().varint(1, 1));
  const Walk walked = walk_bytes(with_initializer(tensor).varint(kMarkerField, 99));
  const onnx::ModelProto parsed = parse(walked);
  EXPECT_EQ(marker(parsed.graph().initializer(0), kElidedField), UINT64_MAX);
  EXPECT_EQ(parsed.unknown_fields().field_count(), 1);
  EXPECT_LT(marker(parsed, kMarkerField), walked.messages.size());
}

TEST(Wire, ManyUnpackedElementsAreOneItem) {
  WireWriter tensor;
  for (int i = 0; i < 1000; ++i) tensor.real(kFloatData, static_cast<float>(i));
  const Walk walked = walk_bytes(with_initializer(tensor));
  EXPECT_EQ(parse(walked).graph().initializer(0).float_data_size(), 1000);
  EXPECT_LT(walked.items.size(), 10U);
}

TEST(Wire, HasExternalNamesThePlace) {
  const WireWriter external = WireWriter().varint(14, 1);
  const Walk plain = walk_bytes(with_initializer(external));
  EXPECT_TRUE(plain.has_external);
  EXPECT_FALSE(plain.has_hidden_external);
  const Walk hidden =
      walk_bytes(WireWriter().message(kModelTraining, WireWriter().message(1, WireWriter().message(kGraphInitializer, external))));
  EXPECT_TRUE(hidden.has_hidden_external);
  EXPECT_FALSE(walk_bytes(with_initializer(WireWriter().varint(14, 0))).has_external);
}

// Malformed and hostile bytes.

TEST(WireBadInput, B43Malformed) {
  EXPECT_THAT(refusal(WireWriter().tag(0, 0).number(1, 0)), HasSubstr("byte 0: field number 0"));
  EXPECT_THAT(refusal(WireWriter().varint(1, 8).tag(3, 6)), HasSubstr("byte 2: wire type 6"));
  EXPECT_THAT(refusal(WireWriter().tag(3, 7)), HasSubstr("wire type 7"));
  EXPECT_THAT(refusal(WireWriter().tag(1, 0).raw(std::string(11, '\xFF'))), HasSubstr("more than ten bytes"));
  EXPECT_THAT(refusal(WireWriter().tag(5, 4)), HasSubstr("end of a group"));
  EXPECT_THAT(refusal(WireWriter().tag(900, 3).tag(901, 4)), HasSubstr("end of a group"));
  EXPECT_THAT(refusal(WireWriter().tag(900, 3).varint(1, 1)), HasSubstr("the file ends"));
  EXPECT_THAT(refusal(WireWriter().tag(7, 2).number(5, 0)), HasSubstr("a field of 5 bytes goes beyond the end of the file"));
  EXPECT_THAT(refusal(WireWriter().raw(std::string(5, '\xFF')).raw("\x7F")), HasSubstr("field number"));
}

TEST(WireBadInput, B44LengthsBeyondAllBounds) {
  for (const uint64_t length : {uint64_t{1} << 31U, uint64_t{1} << 63U, ~uint64_t{0}, ~uint64_t{0} - 1}) {
    EXPECT_THAT(refusal(WireWriter().tag(7, 2).number(length, 0).raw("abc")), HasSubstr("beyond the end of the file")) << length;
    const WireWriter graph = WireWriter().tag(kGraphInitializer, 2).number(length, 0);
    EXPECT_THAT(refusal(WireWriter().message(kModelGraph, graph).varint(1, 8)), HasSubstr("beyond the message that holds it")) << length;
  }
}

TEST(WireBadInput, B44AnInnerFieldMustEndWithItsMessage) {
  // The node's length is right, its attribute's is longer than the node.
  const WireWriter node = WireWriter().tag(kNodeAttribute, 2).number(20, 0).raw("ab");
  const WireWriter model = WireWriter().message(kModelGraph, WireWriter().message(kGraphNode, node)).bytes(6, std::string(100, 'd'));
  EXPECT_THAT(refusal(model), HasSubstr("beyond the message that holds it"));
  EXPECT_THAT(refusal(WireWriter().message(kModelGraph, WireWriter().tag(1001, 1).raw("1234")).bytes(6, std::string(100, 'd'))),
              HasSubstr("beyond the message that holds it"));
}

WireWriter nested(int levels) {
  WireWriter graph;
  for (int i = 0; i < levels; ++i) graph = WireWriter().message(kGraphNode, node_with(WireWriter().message(kAttributeGraph, graph)));
  return WireWriter().message(kModelGraph, graph);
}

TEST(WireBadInput, B45NestedSubgraphs) {
  EXPECT_TRUE(parse(walk_bytes(nested(200))).has_graph());
  EXPECT_THAT(refusal(nested(201), ErrorKind::unsupported), HasSubstr("deeper than 200 levels"));
  EXPECT_THAT(refusal(nested(5000), ErrorKind::unsupported), HasSubstr("deeper than 200 levels"));
}

TEST(WireBadInput, B46NestedUnknownGroups) {
  const auto groups = [](int levels) {
    WireWriter out;
    for (int i = 0; i < levels; ++i) out.tag(900, 3);
    for (int i = 0; i < levels; ++i) out.tag(900, 4);
    return out;
  };
  EXPECT_GT(parse(walk_bytes(groups(100))).unknown_fields().field_count(), 0);
  EXPECT_THAT(refusal(groups(101), ErrorKind::unsupported), HasSubstr("deeper than 100 levels"));
  EXPECT_THAT(refusal(groups(5000), ErrorKind::unsupported), HasSubstr("deeper than 100 levels"));
}

TEST(WireBadInput, PaddedNumbersAreAccepted) {
  WireWriter model;
  model.raw(std::string("\x88\x80\x00", 3)).number(8, 3);  // field 1, tag of three bytes
  model.message(kModelGraph, WireWriter().bytes(2, "g", 4), 3);
  const onnx::ModelProto parsed = parse(walk_bytes(model));
  EXPECT_EQ(parsed.ir_version(), 8);
  EXPECT_EQ(parsed.graph().name(), "g");
}

TEST(WireBadInput, AnyTruncationIsRefusedOrParses) {
  const WireWriter tensor = WireWriter().varint(kDims, 75).varint(kDataType, 1).bytes(kName, "W").bytes(kRawData, std::string(300, 'r'));
  const std::string whole =
      WireWriter().varint(1, 8).message(kModelGraph, WireWriter().message(kGraphInitializer, tensor).bytes(2, "g")).str();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    try {
      const Walk walked = walk(*File::from_bytes(whole.substr(0, length), "model"));
      EXPECT_LE(length, 2U);  // a file can end only before the graph
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid);
    }
  }
}

}  // namespace
}  // namespace relayout::wire
