#include "stats/data/files/npy/npy_tensor.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

constexpr std::uint64_t kUsualHeaderBytes = 128;

// The tensor of a field in a file with this header. An error if it contradicts `original`.
Result<StoredTensor> stored_tensor(const NpyHeader& header, const NpyField& field, Original original) {
  const auto unsupported = [](const std::string& what) { return Error{Code::kUnsupported, what}; };
  const auto contradiction = [](const std::string& dtype, const std::string& what) {
    return Error{Code::kUnreadable, "its name says " + dtype + ", but it holds " + what};
  };
  if (field.refusal) return *field.refusal;
  const std::string stored(name(field.dtype));
  if (original == Original::kAsStored && field.is_void) {
    return unsupported(
        "holds two-byte voids, which are bfloat16 when ml_dtypes wrote them; say --bfloat16 if they are");
  }
  if (original == Original::kBfloat16 && field.dtype != Dtype::kFloat32 && !field.is_void) {
    return contradiction("bfloat16", stored);
  }
  if (original == Original::kUint1 && field.dtype != Dtype::kUint8) return contradiction("uint1", stored);
  if (original == Original::kInt4 && field.dtype != Dtype::kInt8) return contradiction("int4", stored);
  const bool has_order = header.fortran_order && header.shape.size() > 1;
  if (has_order && !field.shape.empty()) {
    return unsupported("holds arrays in Fortran order of elements, which is not supported");
  }
  StoredTensor tensor{.dtype = field.dtype,
                      .original = original,
                      .swapped = field.swapped,
                      .fortran_order = has_order,
                      .shape = header.shape,
                      .offset_bytes = header.data_offset_bytes};
  tensor.shape.insert(tensor.shape.end(), field.shape.begin(), field.shape.end());
  const auto values = element_count(field.shape, size_bytes(field.dtype));
  if (!values) return values.error();
  tensor.element_count = header.element_count * *values;
  const std::uint64_t field_bytes = *values * size_bytes(field.dtype);
  if (field_bytes != header.element_bytes) {
    tensor.offset_bytes = 0;
    tensor.records = Records{header.data_offset_bytes + field.at_bytes, header.element_bytes, field_bytes};
  }
  return tensor;
}

// As parse_npy_header(). What is behind the header in `head` does not matter to it.
Result<NpyHeader> header_of(std::span<const std::byte> head, std::uint64_t file_bytes, bool may_go_on,
                            LastNpyHeader* last) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()),
                              std::min<std::uint64_t>(npy_header_bytes(head), head.size()));
  const bool is_same = last != nullptr && !text.empty() && last->file_bytes == file_bytes && last->text == text;
  if (is_same) return last->header;
  auto header = parse_npy_header(head, file_bytes, may_go_on);
  if (last != nullptr && header) *last = {std::string(text), file_bytes, *header};
  return header;
}

}  // namespace

Result<NpyArray> read_npy_array(ByteSource& source, const std::optional<std::string>& name, ByteRange range,
                                Original original, bool may_go_on, LastNpyHeader* last) {
  // Does not read beyond the header of a stream; reads a few bytes more of a file. Most headers have 128 bytes.
  std::vector<std::byte> head;
  std::uint64_t wanted = source.seeks() ? kUsualHeaderBytes : kNpyLengthEnds;
  for (int part = 0; part < 2; ++part, wanted = npy_header_bytes(head)) {
    const std::size_t known = head.size(), end = std::min({wanted, range.bytes, std::uint64_t{kMostNpyHeaderBytes}});
    if (end <= known) break;
    head.resize(end);
    if (Status read = source.read_at(range.offset_bytes + known, std::span(head).subspan(known)); !read) {
      return read.error();
    }
  }
  const auto labelled = [&](const Error& error, const std::optional<std::string>& tensor) {
    return Error{error.code, printable_name(tensor_label(source.path(), tensor)) + ": " + error.message};
  };
  const auto header = header_of(head, range.bytes, may_go_on, last);
  if (!header) return labelled(header.error(), name);
  NpyArray array{.end_bytes = range.offset_bytes + header->data_offset_bytes + header->data_bytes()};
  for (const NpyField& field : header->fields) {
    std::optional<std::string> called = name;
    if (!field.name.empty()) called = (name ? *name + "::" : "") + field.name;
    auto tensor = stored_tensor(*header, field, original);
    if (tensor) {
      (tensor->records ? tensor->records->at_bytes : tensor->offset_bytes) += range.offset_bytes;
      tensor->name = std::move(called);
    } else {
      tensor = labelled(tensor.error(), called);
    }
    array.tensors.push_back(std::move(tensor));
  }
  return array;
}

}  // namespace tensorstat
