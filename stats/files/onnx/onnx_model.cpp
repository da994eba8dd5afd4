#include "stats/files/onnx/onnx_model.hpp"

#include <utility>

#include "stats/base/printable.hpp"
#include "stats/files/protobuf/wire_format.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kOnnxDimensions = 64, kOnnxPieces = 1'000'000;

// Field numbers of the messages that are read.
namespace model_proto {
enum : std::uint32_t { kGraph = 7 };
}
namespace graph_proto {
enum : std::uint32_t { kNode = 1, kInitializer = 5, kSparseInitializer = 15 };
}
namespace node_proto {
enum : std::uint32_t { kOutput = 2, kOpType = 4, kAttribute = 5 };
}
namespace attribute_proto {
enum : std::uint32_t { kTensor = 5, kSparseTensor = 22 };
}
namespace sparse_proto {
enum : std::uint32_t { kValues = 1 };
}
namespace tensor_proto {
enum : std::uint32_t { kDims = 1, kDataType = 2, kSegment = 3, kName = 8, kExternalData = 13, kDataLocation = 14 };
}
namespace entry_proto {
enum : std::uint32_t { kKey = 1, kValue = 2 };
}

class OnnxParser {
 public:
  explicit OnnxParser(const RandomFile& file) : window_(file) {}

  std::vector<OnnxTensor> tensors;
  bool has_graph = false;

  Status parse_model(ByteRange message) {
    return for_each_field(window_, message, [&](const WireField& field) -> Status {
      if (field.number != model_proto::kGraph || !field.is_bytes) return {};
      has_graph = true;
      return parse_graph(field.bytes);
    });
  }

 private:
  Status parse_graph(ByteRange message) {
    return for_each_field(window_, message, [&](const WireField& field) -> Status {
      if (!field.is_bytes) return {};
      if (field.number == graph_proto::kNode) return parse_node(field.bytes);
      if (field.number == graph_proto::kInitializer) return parse_tensor(field.bytes, tensors.emplace_back());
      return field.number == graph_proto::kSparseInitializer ? parse_sparse(field.bytes, tensors.emplace_back())
                                                             : Status();
    });
  }

  Status parse_sparse(ByteRange message, OnnxTensor& to) {
    to.is_sparse = true;
    return for_each_field(window_, message, [&](const WireField& part) -> Status {
      return part.number == sparse_proto::kValues && part.is_bytes ? parse_tensor(part.bytes, to) : Status();
    });
  }

  // A node of the type Constant makes the tensor of its attribute. The tensor is named as the node's output.
  Status parse_node(ByteRange message) {
    std::string type, output;
    std::optional<ByteRange> dense, sparse;
    Status read = for_each_field(window_, message, [&](const WireField& field) -> Status {
      if (field.number == node_proto::kOpType) return read_text(window_, field, type);
      if (field.number == node_proto::kOutput && output.empty()) return read_text(window_, field, output);
      if (field.number != node_proto::kAttribute || !field.is_bytes) return {};
      return for_each_field(window_, field.bytes, [&](const WireField& part) -> Status {
        if (part.is_bytes && part.number == attribute_proto::kTensor) dense = part.bytes;
        if (part.is_bytes && part.number == attribute_proto::kSparseTensor) sparse = part.bytes;
        return {};
      });
    });
    if (!read || type != "Constant" || !(dense || sparse)) return read;
    OnnxTensor& constant = tensors.emplace_back();
    Status parsed = dense ? parse_tensor(*dense, constant) : parse_sparse(*sparse, constant);
    if (!output.empty()) constant.name = std::move(output);
    return parsed;
  }

  Status parse_tensor(ByteRange message, OnnxTensor& to) {
    return for_each_field(window_, message, [&](const WireField& field) -> Status {
      switch (field.number) {
        case tensor_proto::kDims:
          return append_dimensions(window_, field, kOnnxDimensions, to.shape);
        case tensor_proto::kDataType:
          to.data_type = field.value;
          return {};
        case tensor_proto::kSegment:
          to.is_segment = true;
          return {};
        case tensor_proto::kName:
          return read_text(window_, field, to.name);
        case tensor_proto::kExternalData:
          return field.is_bytes ? parse_entry(field.bytes, to) : Status();
        case tensor_proto::kDataLocation:
          to.is_external = field.value == 1;
          return {};
        case static_cast<std::uint32_t>(OnnxData::kFloat):
        case static_cast<std::uint32_t>(OnnxData::kInt32):
        case static_cast<std::uint32_t>(OnnxData::kText):
        case static_cast<std::uint32_t>(OnnxData::kInt64):
        case static_cast<std::uint32_t>(OnnxData::kRaw):
        case static_cast<std::uint32_t>(OnnxData::kDouble):
        case static_cast<std::uint32_t>(OnnxData::kUint64):
          return add_data(field, to);
        default:
          return {};
      }
    });
  }

  Status add_data(const WireField& field, OnnxTensor& to) {
    const auto of = static_cast<OnnxData>(field.number);
    if (!to.data.empty() && to.field != of) to.has_several_fields = true;
    if (of == OnnxData::kRaw) to.data.clear();  // of a field that is not repeated, the last counts
    to.field = of;
    if (to.data.size() == kOnnxPieces) {
      return Error{Code::kUnreadable, printable(window_.path()) + ": a tensor is in more than 1000000 pieces"};
    }
    to.data.push_back(field.bytes);
    return {};
  }

  Status parse_entry(ByteRange message, OnnxTensor& to) {
    std::string key, value;
    Status read = for_each_field(window_, message, [&](const WireField& field) -> Status {
      if (field.number == entry_proto::kKey) return read_text(window_, field, key);
      return field.number == entry_proto::kValue ? read_text(window_, field, value) : Status();
    });
    if (!read) return read;
    if (key == "location")
      to.location = std::move(value);
    else if (key == "offset")
      to.offset = std::move(value);
    else if (key == "length")
      to.length = std::move(value);
    return {};
  }

  WindowedFile window_;
};

}  // namespace

Result<std::vector<OnnxTensor>> read_onnx_model(const RandomFile& file) {
  OnnxParser parser(file);
  if (Status parsed = parser.parse_model({0, file.size_bytes()}); !parsed) return parsed.error();
  if (!parser.has_graph) {
    return Error{Code::kUnreadable, printable(file.path()) + ": is an ONNX model by its name, and has no graph"};
  }
  return std::move(parser.tensors);
}

}  // namespace tensorstat
