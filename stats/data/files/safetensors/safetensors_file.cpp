// .safetensors, read without trust: 8 bytes with the header's length, the header in JSON, then the tensors' bytes,
// little-endian and in C order. These fill the rest of the file without gaps and overlaps.
// Format: https://github.com/huggingface/safetensors#format
#include <algorithm>
#include <bit>
#include <new>
#include <optional>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/files/safetensors/safetensors_header.hpp"
#include "stats/data/files/tensor_source.hpp"

namespace tensorstat {
namespace {

constexpr std::uint64_t kHeaderLengthBytes = 8, kMostHeaderBytes = 100'000'000;

// Every dtype of the format, with the catalog's name, or what the catalog would call it, and what to do if it is not
// supported.
struct FormatDtype {
  std::string_view name, catalog_name;
  std::string_view advice = {};
};
// F4's shape counts values, and the low half of a byte comes first. Sources: https://github.com/huggingface/safetensors
// bindings/python/src/lib.rs; for the order of the halves https://github.com/pytorch/pytorch
// torch/headeronly/util/Float4_e2m1fn_x2.h
constexpr std::string_view kWidenFloat6 = "save it as F8_E4M3, which has each of its values";
constexpr FormatDtype kDtypes[] = {
    {"BOOL", "bool"},
    {"F4", "float4_e2m1fn"},
    {.name = "F6_E2M3", .catalog_name = "float6_e2m3fn", .advice = kWidenFloat6},
    {.name = "F6_E3M2", .catalog_name = "float6_e3m2fn", .advice = kWidenFloat6},
    {"U8", "uint8"},
    {"I8", "int8"},
    {"F8_E5M2", "float8_e5m2"},
    {"F8_E4M3", "float8_e4m3fn"},
    {"F8_E8M0", "float8_e8m0fnu"},
    {"F8_E4M3FNUZ", "float8_e4m3fnuz"},
    {"F8_E5M2FNUZ", "float8_e5m2fnuz"},
    {"I16", "int16"},
    {"U16", "uint16"},
    {"F16", "float16"},
    {"BF16", "bfloat16"},
    {"I32", "int32"},
    {"U32", "uint32"},
    {"F32", "float32"},
    {"C64", "complex64"},
    {"F64", "float64"},
    {"I64", "int64"},
    {"U64", "uint64"},
};

// Sorts by offset. Returns where the last tensor ends; an error if they do not follow one another without holes.
Result<std::uint64_t> put_in_order(std::vector<SafetensorsEntry>& entries) {
  const auto fault = [](const SafetensorsEntry& entry, const std::string& what) {
    return Error{Code::kUnreadable, "tensor " + in_quotes(entry.name) + " " + what};
  };
  const auto place = [](const SafetensorsEntry& entry) { return std::pair(entry.begin, entry.end); };
  if (!std::ranges::is_sorted(entries, {}, place)) std::ranges::sort(entries, {}, place);
  std::uint64_t end = 0;
  for (const SafetensorsEntry& entry : entries) {
    const auto range = [&] { return std::to_string(entry.begin) + " to " + std::to_string(entry.end); };
    if (entry.end < entry.begin) return fault(entry, "ends before it begins: " + range());
    if (entry.begin < end) return fault(entry, "overlaps the one before it: it has the bytes " + range());
    if (entry.begin > end) {
      return fault(entry, "begins behind a hole of " + std::to_string(entry.begin - end) + " bytes");
    }
    end = entry.end;
  }
  return end;
}

// Converts a valid entry. Only its first `there` bytes behind the header exist in the file. On success it takes the
// entry's name and shape.
Result<StoredTensor> stored_tensor(SafetensorsEntry& entry, std::uint64_t data_offset_bytes, std::uint64_t there) {
  const auto type = std::ranges::find(kDtypes, entry.dtype, &FormatDtype::name);
  if (type == std::end(kDtypes)) {
    return Error{Code::kUnsupported, "its dtype " + in_quotes(entry.dtype) + " is none of the format"};
  }
  const auto dtype = dtype_from(type->catalog_name);
  if (!dtype) {
    return Error{Code::kUnsupported, "dtype " + entry.dtype + " (" + std::string(type->catalog_name) +
                                         ") is not supported: " + std::string(type->advice)};
  }
  const auto [original, widest] = widened(*dtype);
  const auto count = element_count(entry.shape, size_bytes(*dtype));
  if (!count) return count.error();
  if (*count % elements_a_byte(*dtype) != 0) {
    return Error{Code::kUnreadable,
                 "shape " + to_string(entry.shape) + " of " + std::string(type->catalog_name) + " ends within a byte"};
  }
  const std::uint64_t needed = bytes_of(*dtype, *count);
  if (needed != entry.end - entry.begin) {
    return Error{Code::kUnreadable, "shape " + to_string(entry.shape) + " of " + std::string(type->catalog_name) +
                                        " needs " + std::to_string(needed) + " bytes, and it has " +
                                        std::to_string(entry.end - entry.begin)};
  }
  if (entry.end > there) {
    return Error{Code::kUnreadable, "is not whole: the file has " +
                                        std::to_string(there - std::min(there, entry.begin)) + " of its " +
                                        std::to_string(needed) + " bytes"};
  }
  const std::uint64_t offset_bytes = data_offset_bytes + entry.begin;
  const bool is_packed = tensorstat::is_packed(*dtype);
  return StoredTensor{.name = std::move(entry.name),
                      .dtype = widest,
                      .original = original,
                      .swapped = !is_packed && std::endian::native != std::endian::little,
                      .shape = std::move(entry.shape),
                      .element_count = *count,
                      .offset_bytes = is_packed ? 0 : offset_bytes,
                      .is_packed = is_packed,
                      .packed_at_bytes = is_packed ? offset_bytes : 0};
}

// How far the file goes; nothing if that is where its last tensor ends. For a reader of headers it is a note.
std::optional<Error> fault_of_length(const std::string& path, std::uint64_t end, std::uint64_t there, bool head_only) {
  if (end == there) return std::nullopt;
  const auto [code, what] =
      end < there ? std::pair(Code::kUnreadable, std::to_string(there - end) + " bytes at its end belong to no tensor")
                  : std::pair(head_only ? Code::kNoNumbers : Code::kUnreadable,
                              "is cut short: " + std::to_string(there) + " of the " + std::to_string(end) +
                                  " bytes behind its header are there");
  return Error{code, printable(path) + ": " + what};
}

// Makes a tensor of an entry when its turn comes: a file may have a million.
class SafetensorsSource : public TensorSource {
 public:
  SafetensorsSource(std::shared_ptr<const RandomFile> file, std::vector<SafetensorsEntry> entries,
                    std::uint64_t data_offset_bytes, std::uint64_t end, const ReadOptions& options)
      : file_(std::move(file)),
        entries_(std::move(entries)),
        data_offset_bytes_(data_offset_bytes),
        there_(options.head_only ? UINT64_MAX : file_->size_bytes() - data_offset_bytes),
        window_bytes_(options.window_bytes),
        fault_(fault_of_length(file_->path(), end, file_->size_bytes() - data_offset_bytes, options.head_only)) {}

  std::optional<std::uint64_t> count() const override { return entries_.size() - next_ + (fault_ ? 1 : 0); }

  std::optional<Result<TensorReader>> next() override try {
    if (fault_) {
      const Error fault = *std::move(fault_);
      fault_.reset();
      return fault;
    }
    if (next_ == entries_.size()) return std::nullopt;
    SafetensorsEntry& entry = entries_[next_++];
    auto tensor = stored_tensor(entry, data_offset_bytes_, there_);
    if (!tensor) return error_of_tensor(file_->path(), entry.name, tensor.error());
    return TensorReader(bytes_of(file_), *std::move(tensor), window_bytes_);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }

 private:
  const std::shared_ptr<const RandomFile> file_;
  std::vector<SafetensorsEntry> entries_;
  const std::uint64_t data_offset_bytes_, there_;
  std::size_t next_ = 0;
  const std::size_t window_bytes_;
  std::optional<Error> fault_;  // until it is told
};

// The length of the header; 0 if no such file begins with `head`.
std::uint64_t header_bytes(std::string_view head) {
  if (head.size() <= kHeaderLengthBytes) return 0;
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kHeaderLengthBytes; ++i)
    length |= std::uint64_t{static_cast<unsigned char>(head[i])} << 8 * i;
  return length;
}

bool begins_as_safetensors(std::string_view head) {
  const std::uint64_t length = header_bytes(head);
  return length != 0 && length <= kMostHeaderBytes && head[kHeaderLengthBytes] == '{';
}

OpenedSource open_safetensors(std::shared_ptr<const RandomFile> file, const ReadOptions& options) {
  const auto fail = [&](const std::string& what) {
    return Error{Code::kUnreadable, printable(file->path()) + ": " + what};
  };
  char head[kHeaderLengthBytes + 1];
  if (file->size_bytes() < sizeof head) return fail("is too short for a safetensors file");
  if (Status read = file->read_at(0, std::as_writable_bytes(std::span(head))); !read) return read.error();
  const std::uint64_t length = header_bytes({head, sizeof head});
  if (length > kMostHeaderBytes || length > file->size_bytes() - kHeaderLengthBytes) {
    return fail("its header would have " + std::to_string(length) + " bytes; " +
                (length > kMostHeaderBytes ? "at most 100000000 are allowed"
                                           : std::to_string(file->size_bytes() - kHeaderLengthBytes) + " are there"));
  }
  if (length == 0 || head[kHeaderLengthBytes] != '{') return fail("its header does not begin with {");
  std::string header(length, '\0');
  if (Status read = file->read_at(kHeaderLengthBytes, std::as_writable_bytes(std::span(header))); !read)
    return read.error();
  auto entries = safetensors_header(header);
  if (!entries) return fail("has a damaged header: " + entries.error().message);
  const auto end = put_in_order(*entries);
  if (!end) return fail(end.error().message);
  return OpenedSource(std::make_unique<SafetensorsSource>(std::move(file), *std::move(entries),
                                                          kHeaderLengthBytes + length, *end, options));
}

}  // namespace

extern const TensorFormat safetensors_format;
const TensorFormat safetensors_format = {".safetensors", begins_as_safetensors, open_safetensors};

}  // namespace tensorstat
