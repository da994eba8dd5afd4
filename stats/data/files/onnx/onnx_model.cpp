#include "stats/data/files/onnx/onnx_model.hpp"

#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/protobuf/wire_format.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kOnnxDimensions = 64, kOnnxPieces = 1'000'000;
// Protocol Buffers itself reads 100 messages inside each other, and a graph in a graph is three.
constexpr std::size_t kOnnxGraphDepth = 32;
// Of the names of nodes and functions before tensors' names: a damaged file could have 64 KiB of them for each tensor
// of ten bytes.
constexpr std::size_t kOnnxNameBytes = std::size_t{64} << 20;

// Field numbers of the messages that are read.
namespace model_proto {
enum : std::uint32_t { kGraph = 7, kFunctions = 25 };
}
namespace function_proto {
enum : std::uint32_t { kName = 1, kNode = 7, kDomain = 10, kOverload = 13 };
}
namespace graph_proto {
enum : std::uint32_t { kNode = 1, kInitializer = 5, kSparseInitializer = 15 };
}
namespace node_proto {
enum : std::uint32_t { kOutput = 2, kName = 3, kOpType = 4, kAttribute = 5 };
}
namespace attribute_proto {
enum : std::uint32_t { kName = 1, kTensor = 5, kGraph = 6, kGraphs = 11, kSparseTensor = 22 };
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
      if (!field.is_bytes) return {};
      if (field.number == model_proto::kFunctions) return parse_function(field.bytes);
      if (field.number != model_proto::kGraph) return {};
      has_graph = true;
      return parse_graph(field.bytes, {});
    });
  }

 private:
  // Where a graph stands: what comes before the names of its tensors, and how many graphs it is in.
  struct Scope {
    std::string prefix = {};
    std::size_t depth = 0;
  };

  Status parse_graph(ByteRange message, const Scope& scope) {
    if (scope.depth > kOnnxGraphDepth) return refused("has graphs more than 32 deep inside each other");
    if (Status counted = count_names(scope.prefix.size()); !counted) return counted;
    return for_each_field(window_, message, [&](const WireField& field) -> Status {
      if (!field.is_bytes) return {};
      switch (field.number) {
        case graph_proto::kNode:
          return parse_node(field.bytes, scope);
        case graph_proto::kInitializer:
          return add_tensor(field.bytes, false, {}, scope);
        case graph_proto::kSparseInitializer:
          return add_tensor(field.bytes, true, {}, scope);
        default:
          return {};
      }
    });
  }

  // A function has no initializers, only nodes. Its tensors are named "domain.name.": what a function is called by.
  Status parse_function(ByteRange message) {
    std::string domain, name, overload;
    Status read = for_each_field(window_, message, [&](const WireField& field) -> Status {
      if (field.number == function_proto::kDomain) return read_text(window_, field, domain);
      if (field.number == function_proto::kName) return read_text(window_, field, name);
      return field.number == function_proto::kOverload ? read_text(window_, field, overload) : Status();
    });
    if (!read) return read;
    Scope scope;
    for (const std::string& part : {domain, name, overload}) {
      if (!part.empty()) scope.prefix += part + ".";
    }
    return for_each_field(window_, message, [&](const WireField& field) -> Status {
      return field.number == function_proto::kNode && field.is_bytes ? parse_node(field.bytes, scope) : Status();
    });
  }

  struct Node {
    std::string type = {}, name = {}, output = {};  // the first output
  };

  // A node of the type Constant makes the tensor of its attribute. The tensor is named as the node's output. The bodies
  // of If, Loop and Scan are attributes, too. Twice over the fields, because their order is free.
  Status parse_node(ByteRange message, const Scope& scope) {
    Node node;
    Status read = for_each_field(window_, message, [&](const WireField& field) -> Status {
      if (field.number == node_proto::kOpType) return read_text(window_, field, node.type);
      if (field.number == node_proto::kName) return read_text(window_, field, node.name);
      return field.number == node_proto::kOutput && node.output.empty() ? read_text(window_, field, node.output)
                                                                        : Status();
    });
    if (!read) return read;
    return for_each_field(window_, message, [&](const WireField& field) -> Status {
      return field.number == node_proto::kAttribute && field.is_bytes ? parse_attribute(field.bytes, node, scope)
                                                                      : Status();
    });
  }

  Status parse_attribute(ByteRange message, const Node& node, const Scope& scope) {
    std::string name;
    Status read = for_each_field(window_, message, [&](const WireField& field) -> Status {
      return field.number == attribute_proto::kName ? read_text(window_, field, name) : Status();
    });
    if (!read) return read;
    const auto inner = [&](const std::string& graph) {
      return Scope{scope.prefix + (node.name.empty() ? node.output : node.name) + "." + graph + ".", scope.depth + 1};
    };
    std::size_t of_list = 0;
    return for_each_field(window_, message, [&](const WireField& field) -> Status {
      if (!field.is_bytes) return {};
      switch (field.number) {
        case attribute_proto::kGraph:
          return parse_graph(field.bytes, inner(name));
        case attribute_proto::kGraphs:
          return parse_graph(field.bytes, inner(name + "." + std::to_string(of_list++)));
        case attribute_proto::kTensor:
        case attribute_proto::kSparseTensor:
          return node.type != "Constant"
                     ? Status()
                     : add_tensor(field.bytes, field.number == attribute_proto::kSparseTensor, node.output, scope);
        default:
          return {};
      }
    });
  }

  // `name` instead of the tensor's own, unless it is empty.
  Status add_tensor(ByteRange message, bool is_sparse, const std::string& name, const Scope& scope) {
    OnnxTensor& tensor = tensors.emplace_back();
    tensor.is_sparse = is_sparse;
    const Status read = !is_sparse ? parse_tensor(message, tensor)
                                   : for_each_field(window_, message, [&](const WireField& part) -> Status {
                                       return part.number == sparse_proto::kValues && part.is_bytes
                                                  ? parse_tensor(part.bytes, tensor)
                                                  : Status();
                                     });
    if (!name.empty()) tensor.name = name;
    if (tensor.name.empty()) tensor.name = "initializer." + std::to_string(tensors.size() - 1);
    tensor.name.insert(0, scope.prefix);
    return read ? count_names(scope.prefix.size() + name.size()) : read;
  }

  // Counts bytes of names that are not a tensor's own.
  Status count_names(std::size_t bytes) {
    name_bytes_ += bytes;
    return name_bytes_ <= kOnnxNameBytes ? Status() : refused("has more than 64 MiB of names around its tensors");
  }

  Error refused(const std::string& what) const { return {Code::kUnsupported, printable(window_.path()) + ": " + what}; }

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
  std::size_t name_bytes_ = 0;
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
