#include "stats/files/npy_tensor.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "stats/files/npy_header.hpp"
#include "stats/files/shown.hpp"

namespace tensorstat {
namespace {

// The tensor that a file with this header holds; an error where the header contradicts `original`.
Result<StoredTensor> stored_tensor(NpyHeader header, Original original) {
  const auto contradiction = [](const std::string& dtype, const std::string& what) {
    return Error{Code::kUnreadable, "its name says " + dtype + ", but it holds " + what};
  };
  const std::string stored(name(header.dtype));
  if (original == Original::kAsStored && header.is_void) {
    return Error{Code::kUnsupported,
                 "holds two-byte voids, which are bfloat16 when ml_dtypes wrote them; say --bfloat16 if they are"};
  }
  if (original == Original::kBfloat16 && header.dtype != Dtype::kFloat32 && !header.is_void) {
    return contradiction("bfloat16", stored);
  }
  if (original == Original::kComplex && !header.is_complex) return contradiction("complex", stored);
  if (original == Original::kUint1 && header.dtype != Dtype::kUint8) return contradiction("uint1", stored);
  if (original == Original::kInt4) {
    if (header.dtype != Dtype::kInt8) return contradiction("int4", stored);
    if (header.shape.empty() || header.shape.back() % 2 != 0) {
      return contradiction("int4", "an odd number of values a row: shape " + to_string(header.shape));
    }
  }
  return StoredTensor{.dtype = header.dtype,
                      .original = original,
                      .swapped = header.swapped,
                      .fortran_order = header.fortran_order,
                      .shape = std::move(header.shape),
                      .element_count = header.element_count,
                      .offset_bytes = header.data_offset_bytes};
}

}  // namespace

Result<StoredTensor> read_npy_tensor(ByteSource& source, const std::string& label, ByteRange range, Original original) {
  std::vector<std::byte> head(std::min<std::uint64_t>(range.bytes, kMostNpyHeaderBytes));
  if (Status read = source.read_at(range.offset_bytes, head); !read) return read.error();
  auto header = parse_npy_header(head, range.bytes, original == Original::kComplex);
  auto tensor = header ? stored_tensor(*std::move(header), original) : Result<StoredTensor>(header.error());
  if (!tensor) return Error{tensor.error().code, printable(label) + ": " + tensor.error().message};
  tensor->offset_bytes += range.offset_bytes;
  return tensor;
}

}  // namespace tensorstat
