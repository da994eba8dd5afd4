// One stored tensor as a stream of elements, in bounded memory however large it is.
//
//   reader.rewind(TensorReader::Order::kC, TensorReader::View::kElements);
//   while (auto got = reader.read(buffer)) { if (*got == 0) break; ... }
//
// Reads with pread, so a file that is cut short by somebody else is an error and no SIGBUS.
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

namespace tensorstat {

class ByteSource;
class RandomFile;

// What the tensor was before it was written, where the file cannot say it.
enum class Original : std::uint8_t {
  kAsStored,
  kVoidIsBfloat16,  // the user vouches: two-byte voids are bfloat16, anything else is as stored
  kBfloat16,        // the name says bfloat16: two-byte voids, or float32 holding bfloat16 values
  kInt4,            // the name says int4: int8 holding -8..7, the last dimension counts values
  kUint4,           // always packed: uint8
  kUint1,           // the name says uint1: uint8 holding 0 and 1
  kFloat4,          // float4_e2m1fn, always packed: float8_e4m3fn, which has each of its values
};

// kBfloat16, kInt4 and kUint1 for MindSpore's suffixes of these names, kAsStored for every other.
Original original_from(std::string_view dtype_suffix);

// What the elements of a packed dtype become, one a byte, where they are read from a file that packs them; of another dtype,
// itself.
struct Widened {
  Original original;
  Dtype dtype;
};
Widened widened(Dtype packed);

// Whether data_type() of a reader says so of some tensor that has statistics.
bool is_data_type(std::string_view name);

// Elements that lie apart: `field_bytes` of them at the same place in each of many records.
struct Records {
  std::uint64_t at_bytes = 0;  // of the first
  std::uint64_t record_bytes = 0, field_bytes = 0;
};

// Where a tensor lies in its bytes, and how. Whoever makes one has checked it against their number, and
// `original` against the dtype.
struct StoredTensor {
  std::optional<std::string> name = {};     // in its container; none where the file is the tensor
  Dtype dtype = Dtype::kFloat32;            // of what is stored
  Original original = Original::kAsStored;  // kBfloat16 of float32, and kInt4 of int8, are narrowed when read
  bool swapped = false;                     // stored in the other byte order than this machine's
  bool fortran_order = false;
  Shape shape = {};
  std::uint64_t element_count = 0;  // the product of `shape`
  std::uint64_t offset_bytes = 0;   // of the first element
  // The file has them in the bytes of the original, several values or one a byte, from packed_at_bytes on. Of these,
  // and of records, offset_bytes is 0, and elements_of() gives the bytes that the rest of this speaks of.
  bool is_packed = false;
  std::uint64_t packed_at_bytes = 0;
  std::optional<Records> records = {};
  std::string_view format = {};  // the device's, such as NC1HWC0, in a text that stays; empty where the file does not say it
};

// "x.npy", or "x.safetensors::layer.0.weight". Not escaped.
std::string tensor_label(std::string_view path, const std::optional<std::string>& name);

class TensorReader {
 public:
  // A Fortran-ordered tensor is turned to C order through at most `window_bytes` (and at least one element) of memory;
  // what does not fit a window is read again for each. Where `bytes` do not seek, the tensor is taken into memory for
  // that, and one that does not fit a window is an error.
  TensorReader(std::unique_ptr<ByteSource> bytes, StoredTensor stored, std::size_t window_bytes);
  TensorReader(TensorReader&&) noexcept;
  TensorReader& operator=(TensorReader&&) noexcept;
  ~TensorReader();

  const std::optional<std::string>& name() const;  // of StoredTensor
  Dtype dtype() const;                    // of the elements that read() gives; int8 for int4, uint8 for uint1, ...
  std::string_view data_type() const;     // "float32"; "int4", "float4_e2m1fn", ... where Original says so
  std::string_view format() const;        // of StoredTensor
  const Shape& shape() const;             // int4: counts values, as MindSpore writes it
  std::uint64_t element_count() const;    // int4: values
  std::uint64_t data_size_bytes() const;  // in the original dtype: int4 is half a byte a value, uint1 a bit
  std::uint64_t data_size_bytes(std::uint64_t element_count) const;  // of so many of its elements
  std::uint64_t modified_us() const;      // of the file, since the Unix epoch

  enum class Order : std::uint8_t {
    kC,    // the last index runs fastest
    kAny,  // as stored: as fast as the disk, for whatever does not depend on the order
  };
  enum class View : std::uint8_t {
    kElements,  // dtype() in this machine's byte order
    kOriginal,  // the original's bytes: as kElements, but int4 and float4 two a byte, low nibble first, uint1 eight a
                // byte, most significant bit first, and float8_e8m0fnu one
  };

  // Whether the elements lie in a file as they are: fetch() gives them.
  bool is_fetchable() const;

  // Fills `out` with the bytes of elements as they are stored (Order::kAny, View::kElements), from `first_byte` on,
  // both a whole number of elements. Any threads at once. The errors are those of read().
  Status fetch(std::uint64_t first_byte, std::span<std::byte> out) const;

  // Whether it may be read on any thread, whatever becomes of the other tensors of its file: not so of a pipe.
  bool is_separate() const;

  // Where the file has what read() would give of View::kElements in this order; nothing where that is made from other
  // bytes.
  struct Place {
    const RandomFile* file;  // as long as the reader lives
    std::uint64_t offset_bytes;
  };
  std::optional<Place> place(Order order) const;

  // Instead of reading all elements from place(): `elements` are those bytes. The errors are those of read().
  Status accept(std::span<const std::byte> elements);

  // The next read() begins at the first element.
  void rewind(Order order, View view);

  // Fills `out` as far as it goes with whole elements and says how many bytes that was: 0 at the
  // end, or when `out` is smaller than an element. Fewer than fit come only at the end. Errors: the
  // file shrank or is damaged, the disk failed, or a value is not one of the original dtype.
  Result<std::size_t> read(std::span<std::byte> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tensorstat
