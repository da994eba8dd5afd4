#include "stats/data/files/onnx/onnx_model.hpp"

#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/dimensions.hpp"
#include "stats/data/files/protobuf/wire_format.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kOnnxPieces = 1'000'000;
// Protocol Buffers itself reads 100 messages inside each other, and a graph in a graph is three.
constexpr std::size_t kOnnxGraphDepth = 32;
// Limits the names of nodes and functions that stand before tensors' names. A damaged file could have 64 KiB of them
// for each tensor of ten bytes.
constexpr std::size_t kOnnxNameBytes = std::size_t{64} << 20;

// Field numbers of the messages that are read.
namespace model_proto {
enum : std::uint32_t { kGraph = 7, kTrainingInfo = 20, kFunctions = 25 };
}
namespace training_proto {
enum : std::uint32_t { kInitialization = 1, kAlgorithm = 2 };
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
enum : std::uint32_t {
  kName = 1,
  kFloat = 2,
  kInt = 3,
  kTensor = 5,
  kGraph = 6,
  kFloats = 7,
  kInts = 8,
  kTensors = 10,
  kGraphs = 11,
  kSparseTensor = 22,
  kSparseTensors = 23
};
}
namespace sparse_proto {
enum : std::uint32_t { kValues = 1, kIndices = 2 };
}
namespace tensor_proto {
enum : std::uint32_t {
  kDims = 1,
  kDataType = 2,
  kSegment = 3,
  kName = 8,
  kExternalData = 13,
  kDataLocation = 14,
  kMetadata = 16
};
}
constexpr std::uint32_t kOfNoTensor = 15;
constexpr std::uint64_t kFloatType = 1, kInt64Type = 7;  // TensorProto.DataType
namespace entry_proto {
enum : std::uint32_t { kKey = 1, kValue = 2 };
}

class OnnxParser {
 public:
  explicit OnnxParser(const RandomFile& file) : window_(file) {}

  std::vector<OnnxTensor> tensors;
  bool has_graph = false;

  // A message with the fields of a TensorProto alone, and a type.
  Status parse_tensor_file(ByteRange message) {
    bool is_tensor = false;
    Status known = for_each_field(window_, message, [&](const WireField& field) -> Status {
      const bool is_type = field.number == tensor_proto::kDataType;
      is_tensor |= is_type && field.is_number && field.value != 0;
      const bool is_field =
          field.number <= tensor_proto::kMetadata && (!is_type || field.is_number) && field.number != kOfNoTensor;
      return is_field ? Status() : refused("holds no tensor of ONNX");
    });
    if (!known) return known;
    return is_tensor ? add_tensor(message, {}, {}) : refused("holds no tensor of ONNX");
  }

  Status parse_model(ByteRange message) {
    return for_each_field(window_, message, [&](const WireField& field) -> Status {
      if (!field.is_bytes) return {};
      if (field.number == model_proto::kFunctions) return parse_function(field.bytes);
      if (field.number == model_proto::kTrainingInfo) return parse_training(field.bytes);
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

  Status parse_training(ByteRange message) {
    const std::string prefix = "training_info." + std::to_string(of_training_++) + ".";
    return for_each_field(window_, message, [&](const WireField& field) -> Status {
      if (!field.is_bytes) return {};
      if (field.number == training_proto::kInitialization) {
        return parse_graph(field.bytes, {prefix + "initialization."});
      }
      return field.number == training_proto::kAlgorithm ? parse_graph(field.bytes, {prefix + "algorithm."}) : Status();
    });
  }

  Status parse_graph(ByteRange message, const Scope& scope) {
    if (scope.depth > kOnnxGraphDepth) return refused("has graphs more than 32 deep inside each other");
    if (Status counted = count_names(scope.prefix.size()); !counted) return counted;
    return for_each_field(window_, message, [&](const WireField& field) -> Status {
      if (!field.is_bytes) return {};
      switch (field.number) {
        case graph_proto::kNode:
          return parse_node(field.bytes, scope);
        case graph_proto::kInitializer:
          return add_tensor(field.bytes, {}, scope);
        case graph_proto::kSparseInitializer:
          return add_sparse(field.bytes, {}, scope);
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

  // A node of the type Constant makes the tensor of its attribute, which may be a number or a list of numbers. It is
  // named as the node's output. Tensors and lists of floats of other nodes, such as the weights of ai.onnx.ml, are
  // named NODE.ATTRIBUTE. The bodies of If, Loop and Scan are attributes, too. Twice over the fields, because their
  // order is free.
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
    const bool is_constant = node.type == "Constant";
    const std::string called = is_constant ? node.output : (node.name.empty() ? node.output : node.name) + "." + name;
    OnnxTensor list;  // of numbers
    list.name = called;
    std::size_t of_list = 0, of_tensors = 0;
    read = for_each_field(window_, message, [&](const WireField& field) -> Status {
      switch (field.number) {
        case attribute_proto::kGraph:
          return field.is_bytes ? parse_graph(field.bytes, inner(name)) : Status();
        case attribute_proto::kGraphs:
          return field.is_bytes ? parse_graph(field.bytes, inner(name + "." + std::to_string(of_list++))) : Status();
        case attribute_proto::kTensor:
          return field.is_bytes ? add_tensor(field.bytes, called, scope) : Status();
        case attribute_proto::kSparseTensor:
          return field.is_bytes ? add_sparse(field.bytes, called, scope) : Status();
        case attribute_proto::kTensors:
          return field.is_bytes ? add_tensor(field.bytes, called + "." + std::to_string(of_tensors++), scope)
                                : Status();
        case attribute_proto::kSparseTensors:
          return field.is_bytes ? add_sparse(field.bytes, called + "." + std::to_string(of_tensors++), scope)
                                : Status();
        case attribute_proto::kFloat:
        case attribute_proto::kInt:
        case attribute_proto::kInts:
          return is_constant ? add_number(field, list) : Status();
        case attribute_proto::kFloats:
          return add_number(field, list);
        default:
          return {};
      }
    });
    return !read || list.data.empty() ? read : add_list(std::move(list), scope);
  }

  // A number of an attribute, or its packed numbers. Of a field that is not repeated, the last one counts.
  Status add_number(const WireField& field, OnnxTensor& list) {
    const bool is_float = field.number == attribute_proto::kFloat || field.number == attribute_proto::kFloats;
    const bool is_single = field.number == attribute_proto::kFloat || field.number == attribute_proto::kInt;
    if (is_single) list.data.clear();
    if (Status status = add_piece(field, list); !status) return status;
    list.field = is_float ? OnnxData::kFloat : OnnxData::kInt64;
    list.data_type = is_float ? kFloatType : kInt64Type;
    is_single ? list.shape.clear() : list.shape.assign(1, 0);
    return {};
  }

  // Counts the numbers, which the attribute does not say.
  Status add_list(OnnxTensor&& list, const Scope& scope) {
    std::uint64_t count = 0;
    for (const ByteRange& piece : list.data) {
      if (list.field == OnnxData::kFloat) {
        count += piece.bytes / sizeof(float);
        continue;
      }
      WireReader numbers(window_, piece);
      for (;; ++count) {
        const auto number = numbers.next_number();
        if (!number) return number.error();
        if (!*number) break;
      }
    }
    if (!list.shape.empty()) list.shape.front() = count;
    list.name.insert(0, scope.prefix);
    const std::size_t named = list.name.size();
    tensors.push_back(std::move(list));
    return count_names(named);
  }

  // `name` instead of the tensor's own, unless it is empty.
  Status add_tensor(ByteRange message, const std::string& name, const Scope& scope) {
    OnnxTensor& tensor = tensors.emplace_back();
    const Status read = parse_tensor(message, tensor);
    if (!name.empty()) tensor.name = name;
    if (tensor.name.empty()) tensor.name = "initializer." + std::to_string(tensors.size() - 1);
    tensor.name.insert(0, scope.prefix);
    return read ? count_names(scope.prefix.size() + name.size()) : read;
  }

  // The values that a sparse tensor stores, NAME.values, and their positions, NAME.indices. NAME is the name of the
  // values, unless `name` is given.
  Status add_sparse(ByteRange message, std::string name, const Scope& scope) {
    const std::size_t first = tensors.size();
    std::vector<std::string_view> parts;
    Status read = for_each_field(window_, message, [&](const WireField& field) -> Status {
      const bool is_values = field.number == sparse_proto::kValues;
      if (!field.is_bytes || !(is_values || field.number == sparse_proto::kIndices)) return {};
      parts.push_back(is_values ? ".values" : ".indices");
      if (Status added = parse_tensor(field.bytes, tensors.emplace_back()); !added) return added;
      if (is_values && name.empty()) name = tensors.back().name;
      return {};
    });
    if (name.empty()) name = "initializer." + std::to_string(first);
    name.insert(0, scope.prefix);
    for (std::size_t i = 0; read && i < parts.size(); ++i) {
      tensors[first + i].name = name;
      tensors[first + i].name += parts[i];
      read = count_names(tensors[first + i].name.size());
    }
    return read;
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
          return append_dimensions(window_, field, kMostDimensions, to.shape);
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
    const auto kind = static_cast<OnnxData>(field.number);
    if (!to.data.empty() && to.field != kind) to.has_several_fields = true;
    if (kind == OnnxData::kRaw) to.data.clear();  // of a field that is not repeated, the last counts
    to.field = kind;
    return add_piece(field, to);
  }

  Status add_piece(const WireField& field, OnnxTensor& to) {
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
  std::size_t name_bytes_ = 0, of_training_ = 0;
};

}  // namespace

Result<std::vector<OnnxTensor>> read_onnx_tensor(const RandomFile& file) {
  OnnxParser parser(file);
  if (Status parsed = parser.parse_tensor_file({0, file.size_bytes()}); !parsed) return parsed.error();
  return std::move(parser.tensors);
}

Result<std::vector<OnnxTensor>> read_onnx_model(const RandomFile& file) {
  OnnxParser parser(file);
  if (Status parsed = parser.parse_model({0, file.size_bytes()}); !parsed) return parsed.error();
  if (!parser.has_graph) {
    return Error{Code::kUnreadable, printable(file.path()) + ": is an ONNX model by its name, and has no graph"};
  }
  return std::move(parser.tensors);
}

}  // namespace tensorstat
