// Reads one stored tensor as a stream of elements, in bounded memory.
//
//   reader.rewind(TensorReader::Order::kC, TensorReader::View::kElements);
//   while (auto got = reader.read(buffer)) { if (*got == 0) break; ... }
//
// Reads with pread, so that a file that another process truncates is an error and not a SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>

#include "stats/data/files/io/tiled_bytes.hpp"

namespace tensorstat {

struct BlockFormat;
class ByteSource;
class RandomFile;

// The original dtype of a tensor, if the file's dtype differs from it.
enum class Original : std::uint8_t {
  kAsStored,
  kVoidIsBfloat16,  // the user says so: two-byte voids are bfloat16, anything else is as stored
  kBfloat16,        // the file's name says bfloat16; stored as two-byte voids, or as float32 with bfloat16 values
  kInt4,            // the file's name says int4; stored as int8 with -8..7; the last dimension counts values
  kUint4,           // always stored packed; read as uint8
  kUint1,           // the file's name says uint1; stored as uint8 with 0 and 1
  kFloat4,          // float4_e2m1fn, always stored packed; read as float8_e4m3fn, which has all of its values
};

// kBfloat16, kInt4 or kUint1 for MindSpore's suffix of that name, kAsStored for any other.
Original original_from(std::string_view dtype_suffix);

// The dtype as which packed elements are read, one per byte. For a dtype that is not packed, the dtype itself.
struct Widened {
  Original original;
  Dtype dtype;
};
Widened widened(Dtype packed);

// Whether data_type() of a reader can be `name` for a tensor with statistics.
bool is_data_type(std::string_view name);

// A field of records: `field_bytes` at the same offset in each of many records.
struct Records {
  std::uint64_t at_bytes = 0;  // offset of the first
  std::uint64_t record_bytes = 0, field_bytes = 0;
};

// Where and how a tensor is stored. Its maker has checked that it lies within the file, and that `original` fits the
// dtype.
struct StoredTensor {
  std::optional<std::string> name = {};     // its name in the file; nullopt if the file holds just one tensor, without
                                            // a name
  Dtype dtype = Dtype::kFloat32;            // the stored dtype
  Original original = Original::kAsStored;  // float32 with kBfloat16 and int8 with kInt4 are narrowed when read
  bool swapped = false;                     // stored in the other byte order than this machine's
  // torch's views that change no bytes (Tensor.is_neg, is_conj): read with the opposite sign; with the opposite sign of
  // the imaginary parts. Both may be set.
  bool is_negated = false, is_conjugated = false;
  std::string shard = {};  // of a DTensor: where it lies in the whole, in words; empty for all others
  bool fortran_order = false;
  Shape shape = {};
  std::uint64_t element_count = 0;  // the product of `shape`
  std::uint64_t offset_bytes = 0;   // offset of the first element
  // The file stores the original's bytes, of one or several values each, from packed_at_bytes on. For these and for
  // records, read through elements_of(); then offset_bytes is 0.
  bool is_packed = false;
  std::uint64_t packed_at_bytes = 0;
  const BlockFormat* blocks = nullptr;  // if set: packed in blocks, which are read as float32
  std::optional<Records> records = {};
  std::optional<Tiles> tiles = {};  // with strides, or in a device's format; then offset_bytes is 0, too
  std::string_view format = {};     // of the elements as they are read, such as NC1HWC0, or NCHW after a conversion;
                                    // static text; empty if the file does not have it
  // For a tensor that is read in a device's format: its shape and format on the host, and a convolution's groups. Empty
  // and 0 if the file lacks them.
  Shape host_shape = {};
  std::string_view host_format = {};
  std::int32_t groups = 0;
};

// "x.npy", or "x.safetensors::layer.0.weight". Not escaped.
std::string tensor_label(std::string_view path, const std::optional<std::string>& name);

class TensorReader {
 public:
  // A Fortran-ordered tensor is converted to C order with at most `window_bytes` (and at least one element) of memory.
  // A larger tensor is read several times. If `bytes` cannot seek, the tensor is read into memory, and one that exceeds
  // the window is an error.
  TensorReader(std::unique_ptr<ByteSource> bytes, StoredTensor stored, std::size_t window_bytes);
  TensorReader(TensorReader&&) noexcept;
  TensorReader& operator=(TensorReader&&) noexcept;
  ~TensorReader();

  const std::optional<std::string>& name() const;  // StoredTensor::name
  Dtype dtype() const;                    // of the elements that read() gives; int8 for int4, uint8 for uint1, ...
  std::string_view data_type() const;     // "float32"; the original's name, such as "int4" or "Q4_K", if that differs
  std::string_view format() const;        // StoredTensor::format
  std::string_view shard() const;         // StoredTensor::shard
  const StoredTensor& stored() const;     // how the file has it
  const Shape& shape() const;             // counts values, also for int4, as MindSpore writes it
  std::uint64_t element_count() const;    // counts values, also for int4
  std::uint64_t data_size_bytes() const;  // in the original dtype: half a byte for each int4, a bit for each uint1
  std::uint64_t data_size_bytes(std::uint64_t element_count) const;  // size of this many elements
  std::uint64_t modified_us() const;                                 // of the file, since the Unix epoch

  enum class Order : std::uint8_t {
    kC,    // the last index runs fastest
    kAny,  // as stored: fastest; for statistics that do not depend on the order
  };
  enum class View : std::uint8_t {
    kElements,  // dtype() in this machine's byte order
    kOriginal,  // the original's bytes: as kElements, but int4 and float4 have two values a byte, low nibble first,
                // uint1 has eight values a byte, most significant bit first, and float8_e8m0fnu one; blocks as the file
                // has them
  };

  // Whether the file stores the elements as read() gives them, so that fetch() works.
  bool is_fetchable() const;

  // Fills `out` with stored elements (Order::kAny, View::kElements) from `first_byte`. `first_byte` and the size of
  // `out` are multiples of the element size. Thread-safe. Errors are read()'s.
  Status fetch(std::uint64_t first_byte, std::span<std::byte> out) const;

  // Whether it may be read on any thread, independently of other tensors of the same file. False for a pipe.
  bool is_separate() const;

  // Where the file stores what read() would give with View::kElements and this order; nullopt if that has to be
  // computed.
  struct Place {
    const RandomFile* file;  // valid while the reader exists
    std::uint64_t offset_bytes;
  };
  std::optional<Place> place(Order order) const;

  // For a caller that has read all bytes at place() itself: checks them as read() would. Errors are read()'s.
  Status accept(std::span<const std::byte> elements);

  // Frees memory that only speeds up the next reads, such as unpacked chunks. For a caller that keeps many readers.
  void release();

  // The next read() begins at the first element.
  void rewind(Order order, View view);

  // Fills `out` with whole elements, or whole blocks of the original, and returns the number of bytes: 0 at the end, or
  // if `out` is smaller than one. Less than `out` can hold is returned only at the end. Errors: the file shrank or is
  // damaged, the disk failed, or a value is not valid in the original dtype.
  Result<std::size_t> read(std::span<std::byte> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tensorstat
