#include "stats/data/files/tensor_reader.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/gguf/block_formats.hpp"
#include "stats/data/files/io/byte_source.hpp"
#include "stats/data/files/npy/fortran_window.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kScratchBytes = std::size_t{1} << 18;

std::uint16_t swapped(std::uint16_t word) { return __builtin_bswap16(word); }
std::uint32_t swapped(std::uint32_t word) { return __builtin_bswap32(word); }
std::uint64_t swapped(std::uint64_t word) { return __builtin_bswap64(word); }

template <typename Word>
void swap_words(std::span<std::byte> bytes) {
  for (std::size_t offset = 0; offset < bytes.size(); offset += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data() + offset, sizeof word);
    word = swapped(word);
    std::memcpy(bytes.data() + offset, &word, sizeof word);
  }
}

void swap_bytes(std::span<std::byte> bytes, Dtype dtype) {
  switch (size_bytes(dtype) / (is_complex(dtype) ? 2 : 1)) {
    case 2:
      return swap_words<std::uint16_t>(bytes);
    case 4:
      return swap_words<std::uint32_t>(bytes);
    case 8:
      return swap_words<std::uint64_t>(bytes);
    default:
      return;
  }
}

template <typename Word>
void change_words(std::span<std::byte> bytes, std::size_t first, std::size_t step, bool is_sign) {
  constexpr Word kSign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
  for (std::size_t offset = first * sizeof(Word); offset < bytes.size(); offset += step * sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data() + offset, sizeof word);
    word = is_sign ? static_cast<Word>(word ^ kSign) : static_cast<Word>(Word{0} - word);
    std::memcpy(bytes.data() + offset, &word, sizeof word);
  }
}

// Each word, or each second one from `first` on, with the opposite sign: a float's sign bit, an integer modulo 2^bits.
void change_signs(std::span<std::byte> bytes, Dtype dtype, std::size_t first, std::size_t step) {
  const bool is_sign = is_float(dtype) || is_complex(dtype);
  switch (size_bytes(dtype) / (is_complex(dtype) ? 2 : 1)) {
    case 1:
      return change_words<std::uint8_t>(bytes, first, step, is_sign);
    case 2:
      return change_words<std::uint16_t>(bytes, first, step, is_sign);
    case 4:
      return change_words<std::uint32_t>(bytes, first, step, is_sign);
    default:
      return change_words<std::uint64_t>(bytes, first, step, is_sign);
  }
}

// From the file's elements to those that read() gives.
void finish_elements(std::span<std::byte> bytes, const StoredTensor& stored) {
  if (stored.swapped) swap_bytes(bytes, stored.dtype);
  if (stored.is_negated) change_signs(bytes, stored.dtype, 0, 1);
  if (stored.is_conjugated && is_complex(stored.dtype)) change_signs(bytes, stored.dtype, 1, 2);
}

// Converts each float32 of `wide` back to bfloat16. false if one is not a bfloat16 value.
bool narrow(std::span<const std::byte> wide, std::byte* out) {
  std::uint32_t lost = 0;
  for (std::size_t i = 0; i < wide.size() / 4; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, wide.data() + 4 * i, 4);
    const auto kept = static_cast<std::uint16_t>(bits >> 16);
    std::memcpy(out + 2 * i, &kept, 2);
    lost |= bits & 0xffff;
  }
  return lost == 0;
}

// A dtype that is read as a wider one. Its bytes held one or several values.
struct Packing {
  Original original;
  std::string_view dtype, range;
  unsigned values_a_byte;
  bool (*fits)(std::byte stored);  // checks a value of a file that stores them widened; null if no file does
  std::byte (*pack)(const std::byte* values, std::size_t count);  // at most values_a_byte values
};

std::byte pack_nibbles(std::byte low, std::byte high) { return (low & std::byte{0xf}) | high << 4; }

// The inverse of unpacked_value() in byte_source.cpp.
std::byte float4_of(std::byte e4m3) {
  const auto bits = std::to_integer<unsigned>(e4m3), size = bits & 0x7f;
  const unsigned float4 = size == 0 ? 0 : size == 0x30 ? 1 : (size - 0x30) >> 2;
  return static_cast<std::byte>((bits & 0x80) >> 4 | float4);
}

constexpr Packing kPackings[] = {
    {Original::kInt4, "int4", "-8..7", 2,
     [](std::byte stored) {
       const auto value = std::to_integer<std::int8_t>(stored);
       return value >= -8 && value <= 7;
     },
     [](const std::byte* values, std::size_t count) {
       return pack_nibbles(values[0], count > 1 ? values[1] : std::byte{});
     }},
    {Original::kUint4, "uint4", "0..15", 2, [](std::byte stored) { return stored <= std::byte{15}; },
     [](const std::byte* values, std::size_t count) {
       return pack_nibbles(values[0], count > 1 ? values[1] : std::byte{});
     }},
    {Original::kUint1, "uint1", "0..1", 8, [](std::byte stored) { return stored <= std::byte{1}; },
     [](const std::byte* values, std::size_t count) {
       std::byte packed{};
       for (std::size_t i = 0; i < count; ++i) packed |= values[i] << (7 - i);
       return packed;
     }},
    {Original::kFloat4,
     "float4_e2m1fn",
     {},
     2,
     nullptr,
     [](const std::byte* values, std::size_t count) {
       return pack_nibbles(float4_of(values[0]), count > 1 ? float4_of(values[1]) : std::byte{});
     }},
};

}  // namespace

Widened widened(Dtype packed) {
  switch (packed) {
    case Dtype::kInt4:
      return {Original::kInt4, Dtype::kInt8};
    case Dtype::kUint4:
      return {Original::kUint4, Dtype::kUint8};
    case Dtype::kUint1:
      return {Original::kUint1, Dtype::kUint8};
    case Dtype::kFloat4E2m1fn:
      return {Original::kFloat4, Dtype::kFloat8E4m3fn};
    default:
      return {Original::kAsStored, packed};
  }
}

Original original_from(std::string_view dtype_suffix) {
  if (dtype_suffix == "bfloat16") return Original::kBfloat16;
  if (dtype_suffix == "int4") return Original::kInt4;
  if (dtype_suffix == "uint1") return Original::kUint1;
  return Original::kAsStored;
}

bool is_data_type(std::string_view name) {
  return dtype_from(name).has_value() || block_format(name) != nullptr ||
         std::ranges::find(kPackings, name, &Packing::dtype) != std::end(kPackings);
}

std::string tensor_label(std::string_view path, const std::optional<std::string>& name) {
  return std::string(path) + (name ? "::" + *name : "");
}

struct TensorReader::State {
  std::unique_ptr<ByteSource> bytes;
  StoredTensor stored;
  std::size_t window_bytes;
  std::optional<FortranWindow> fortran = {};  // if the stored order is not C order
  Order order = Order::kC;
  View view = View::kElements;
  std::uint64_t position = 0;  // index of the next element, in the chosen order
  std::vector<std::byte> scratch = {};

  std::size_t stored_bytes() const { return size_bytes(stored.dtype); }
  bool is_widened() const { return stored.original == Original::kBfloat16 && stored.dtype == Dtype::kFloat32; }
  const Packing* packing() const {
    const auto* entry = std::ranges::find(kPackings, stored.original, &Packing::original);
    return entry == std::end(kPackings) ? nullptr : entry;
  }

  // Fills `out` with the next stored elements, in this machine's byte order.
  Status read_stored(std::span<std::byte> out) {
    if (fortran && order == Order::kC) {
      if (Status status = hold(); !status) return status;
      for (std::span<std::byte> rest = out; !rest.empty();) {
        const std::size_t done = out.size() - rest.size();
        const auto window = fortran->from(*bytes, position + done / stored_bytes());
        if (!window) return window.error();
        const std::size_t count = std::min(rest.size(), window->size());
        std::memcpy(rest.data(), window->data(), count);
        rest = rest.subspan(count);
      }
    } else {
      Status read = bytes->read_at(stored.offset_bytes + position * stored_bytes(), out);
      if (!read) return read;
    }
    finish_elements(out, stored);
    position += out.size() / stored_bytes();
    return {};
  }

  // Fills `out` with whole blocks as the file has them, and returns their bytes.
  Result<std::size_t> read_blocks(std::span<std::byte> out) {
    const auto& [name, values, bytes_each, decode] = *stored.blocks;
    const std::uint64_t count =
        std::min<std::uint64_t>(out.size() / bytes_each, (stored.element_count - position) / values);
    out = out.first(count * bytes_each);
    if (Status read = bytes->original()->read_at(stored.packed_at_bytes + position / values * bytes_each, out); !read) {
      return read.error();
    }
    position += count * values;
    return out.size();
  }

  // Conversion from Fortran to C order needs random access.
  Status hold() {
    if (bytes->seeks()) return {};
    const std::uint64_t needed = stored.element_count * stored_bytes();
    if (needed > window_bytes) {
      return Error{Code::kUnsupported,
                   printable_name(tensor_label(bytes->path(), stored.name)) +
                       ": is compressed, in Fortran order and larger than " + std::to_string(window_bytes) +
                       " bytes, so it has no digest and no statistics in low precision: leave them out, or save it " +
                       "with numpy.savez"};
    }
    auto copy = held_bytes(*bytes, stored.offset_bytes, needed);
    if (!copy) return copy.error();
    bytes = *std::move(copy);
    return {};
  }

  Error contradiction(std::string_view dtype, std::string_view what) const {
    return {Code::kUnreadable, printable_name(tensor_label(bytes->path(), stored.name)) + ": its name says " +
                                   std::string(dtype) + ", but it holds " + std::string(what)};
  }
};

TensorReader::TensorReader(std::unique_ptr<ByteSource> bytes, StoredTensor stored, std::size_t window_bytes)
    : state_(new State{elements_of(std::move(bytes), stored), std::move(stored), window_bytes}) {
  const StoredTensor& tensor = state_->stored;
  const bool has_order = std::ranges::count_if(tensor.shape, [](std::uint64_t d) { return d > 1; }) > 1;
  if (tensor.fortran_order && tensor.element_count > 0 && has_order) {
    state_->fortran.emplace(tensor.shape, state_->stored_bytes(), tensor.offset_bytes, window_bytes);
  }
}
TensorReader::TensorReader(TensorReader&&) noexcept = default;
TensorReader& TensorReader::operator=(TensorReader&&) noexcept = default;
TensorReader::~TensorReader() = default;

const std::optional<std::string>& TensorReader::name() const { return state_->stored.name; }
std::string_view TensorReader::format() const { return state_->stored.format; }
std::string_view TensorReader::shard() const { return state_->stored.shard; }
const StoredTensor& TensorReader::stored() const { return state_->stored; }
Dtype TensorReader::dtype() const { return state_->is_widened() ? Dtype::kBfloat16 : state_->stored.dtype; }
std::string_view TensorReader::data_type() const {
  if (state_->stored.blocks != nullptr) return state_->stored.blocks->name;
  if (const Packing* packing = state_->packing()) return packing->dtype;
  return tensorstat::name(dtype());
}
const Shape& TensorReader::shape() const { return state_->stored.shape; }
std::uint64_t TensorReader::element_count() const { return state_->stored.element_count; }
std::uint64_t TensorReader::data_size_bytes() const { return data_size_bytes(element_count()); }
std::uint64_t TensorReader::data_size_bytes(std::uint64_t element_count) const {
  if (const BlockFormat* blocks = state_->stored.blocks) {
    return (element_count + blocks->values - 1) / blocks->values * blocks->bytes;
  }
  const Packing* packing = state_->packing();
  if (packing == nullptr) return element_count * size_bytes(dtype());
  return (element_count + packing->values_a_byte - 1) / packing->values_a_byte;
}
std::uint64_t TensorReader::modified_us() const { return state_->bytes->modified_us(); }

bool TensorReader::is_fetchable() const {
  return state_->bytes->is_shareable() && !state_->is_widened() && state_->packing() == nullptr;
}

bool TensorReader::is_separate() const { return state_->bytes->is_separate(); }

std::optional<TensorReader::Place> TensorReader::place(Order order) const {
  const State& state = *state_;
  const RandomFile* file = state.bytes->file();
  const StoredTensor& stored = state.stored;
  const bool is_made =
      stored.swapped || stored.is_negated || stored.is_conjugated || state.is_widened() || state.packing() != nullptr;
  if (file == nullptr || is_made || (state.fortran && order == Order::kC)) return std::nullopt;
  return Place{file, state.stored.offset_bytes};
}

Status TensorReader::accept(std::span<const std::byte> elements) {
  return state_->bytes->accept(state_->stored.offset_bytes, elements);
}

Status TensorReader::fetch(std::uint64_t first_byte, std::span<std::byte> out) const try {
  Status read = state_->bytes->read_at(state_->stored.offset_bytes + first_byte, out);
  if (read) finish_elements(out, state_->stored);
  return read;
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

void TensorReader::release() {
  state_->bytes->release();
  if (state_->fortran) state_->fortran->release();
  state_->scratch = {};
}

void TensorReader::rewind(Order order, View view) {
  state_->order = order;
  state_->view = view;
  state_->position = 0;
}

Result<std::size_t> TensorReader::read(std::span<std::byte> out) try {
  State& state = *state_;
  if (state.stored.blocks != nullptr && state.view == View::kOriginal) return state.read_blocks(out);
  const std::size_t stored_bytes = state.stored_bytes();
  const Packing* packing = state.packing();
  const bool packs = packing != nullptr && state.view == View::kOriginal;
  // The number of stored elements that fill `out`.
  const std::uint64_t fit =
      packs ? std::uint64_t{packing->values_a_byte} * out.size() : out.size() / size_bytes(dtype());
  std::uint64_t left = std::min(fit, element_count() - state.position);
  if (!state.is_widened() && packing == nullptr) {
    out = out.first(left * stored_bytes);
    if (Status read = state.read_stored(out); !read) return read.error();
    return out.size();
  }

  std::byte* end = out.data();
  state.scratch.resize(std::min<std::uint64_t>(left, kScratchBytes / stored_bytes) * stored_bytes);
  while (left > 0) {
    const std::uint64_t count = std::min<std::uint64_t>(left, kScratchBytes / stored_bytes);
    const auto stored = std::span(state.scratch).first(count * stored_bytes);
    if (Status read = state.read_stored(stored); !read) return read.error();
    if (state.is_widened()) {
      if (!narrow(stored, end)) return state.contradiction("bfloat16", "a float32 that is none");
      end += 2 * count;
    } else {
      if (packing->fits != nullptr && !std::ranges::all_of(stored, packing->fits)) {
        return state.contradiction(packing->dtype, "a value outside " + std::string(packing->range));
      }
      if (packs) {
        for (std::size_t i = 0; i < count; i += packing->values_a_byte) {
          *end++ = packing->pack(&stored[i * stored_bytes], std::min<std::size_t>(packing->values_a_byte, count - i));
        }
      } else {
        end = std::ranges::copy(stored, end).out;
      }
    }
    left -= count;
  }
  return static_cast<std::size_t>(end - out.data());
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace tensorstat
