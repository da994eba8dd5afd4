// .npy: a file of one tensor.
#include "stats/files/byte_source.hpp"
#include "stats/files/npy_tensor.hpp"
#include "stats/files/random_file.hpp"
#include "stats/files/tensor_source.hpp"

namespace tensorstat {
namespace {

bool begins(std::string_view head) { return head.starts_with("\x93NUMPY"); }

OpenedSource open(std::shared_ptr<const RandomFile> file, const ReadOptions& options) {
  const auto bytes = bytes_of(file);
  auto tensor = read_npy_tensor(*bytes, file->path(), {0, file->size_bytes()}, options.original);
  if (!tensor) return tensor.error();
  return source_of(std::move(file), {std::move(tensor)}, options);
}

}  // namespace

extern const TensorFormat npy_format;
const TensorFormat npy_format = {".npy", begins, open};

}  // namespace tensorstat
