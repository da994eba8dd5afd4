// The initializers and constants of an ONNX model, as its message has them.
// Format: onnx/onnx.proto of https://github.com/onnx/onnx. tests/python/onnx_test.py holds it to protoc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>
#include <vector>

#include "stats/data/files/io/byte_source.hpp"
#include "stats/data/files/io/random_file.hpp"

namespace tensorstat {

// The fields of a TensorProto that can hold its elements.
enum class OnnxData : std::uint32_t {
  kFloat = 4,
  kInt32 = 5,
  kText = 6,
  kInt64 = 7,
  kRaw = 9,
  kDouble = 10,
  kUint64 = 11
};

struct OnnxTensor {
  std::string name;
  std::uint64_t data_type = 0;  // TensorProto.DataType
  Shape shape;
  OnnxData field = OnnxData::kRaw;  // where the elements are
  std::vector<ByteRange> data;      // the pieces of that field: bytes, packed numbers or a single number
  bool has_several_fields = false, is_segment = false;
  // Elements in another file:
  bool is_external = false;
  std::string location;                       // relative to the model's folder; not checked
  std::optional<std::string> offset, length;  // decimal numbers; not checked
};

// The initializers of the model's graphs and the tensors of its Constant nodes, in the order of the file. A sparse one
// is NAME.values and NAME.indices. A tensor in the body of an If, a Loop or a Scan is named NODE.ATTRIBUTE.TENSOR, such
// as "if_0.then_branch.w"; a node without a name is called by its first output. Lists of floats and tensors in
// attributes of other nodes than Constant are NODE.ATTRIBUTE. A tensor in a function is named DOMAIN.FUNCTION.TENSOR.
// Every tensor has a name. Fails if the file is not a model. A tensor's elements stay in the file.
Result<std::vector<OnnxTensor>> read_onnx_model(const RandomFile& file);

// The tensor of a file that is a TensorProto alone, as ONNX keeps the inputs and outputs of its tests. Fails if it is
// none.
Result<std::vector<OnnxTensor>> read_onnx_tensor(const RandomFile& file);

}  // namespace tensorstat
