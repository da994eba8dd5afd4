#include "stats/files/file_kind.hpp"

#include <algorithm>

namespace tensorstat {
namespace {

struct Kind {
  std::string_view begins;     // or:
  std::string_view extension;  // for what has no beginning of its own
  std::string_view words;
};

using namespace std::string_view_literals;

// The beginnings are those of the formats' own definitions.
constexpr Kind kKinds[] = {
    {"\x89HDF\r\n\x1a\n", "", "is an HDF5 file, which is not read; numpy.save of each dataset is"},
    {"PAR1", "", "is a Parquet file, which is not read"},
    {"ARROW1", "", "is an Arrow file, which is not read"},
    {"SQLite format 3\0"sv, "", "is an SQLite database, which is not read"},
    {"\x1f\x8b", "", "is packed by gzip; unpack it first"},
    {"\x28\xb5\x2f\xfd", "", "is packed by zstd; unpack it first"},
    {"\xfd"
     "7zXZ",
     "", "is packed by xz; unpack it first"},
    {"BZh", "", "is packed by bzip2; unpack it first"},
    {"\x7f"
     "ELF",
     "", "is a program or a library, and no file of tensors"},
    {"", ".onnx", "is an ONNX model by its name, which is not read"},
    {"", ".ckpt",
     "is a checkpoint by its name, and not one that torch.save wrote; MindSpore's are not read: numpy.save of "
     "each parameter is"},
    {"", ".zarr", "is a Zarr store by its name, which is not read"},
    {"", ".tflite", "is a TensorFlow Lite model by its name, which is not read"},
    {"", ".pb", "is a TensorFlow graph by its name, which is not read"},
};

}  // namespace

std::string_view kind_of_file(std::string_view head, std::string_view path) {
  const auto* found = std::ranges::find_if(kKinds, [&](const Kind& kind) {
    return kind.begins.empty() ? path.ends_with(kind.extension) : head.starts_with(kind.begins);
  });
  return found == std::end(kKinds) ? std::string_view() : found->words;
}

}  // namespace tensorstat
