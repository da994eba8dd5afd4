#include "stats/files/npy_reader.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "stats/files/fortran_window.hpp"
#include "stats/files/random_file.hpp"
#include "stats/files/shown.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kScratchBytes = std::size_t{1} << 18;

Error no_memory(const std::string& path) {
  return {Code::kUnreadable, printable(path) + ": not enough memory to read it"};
}

std::uint16_t swapped(std::uint16_t word) { return __builtin_bswap16(word); }
std::uint32_t swapped(std::uint32_t word) { return __builtin_bswap32(word); }
std::uint64_t swapped(std::uint64_t word) { return __builtin_bswap64(word); }

template <typename Word>
void swap_words(std::span<std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    word = swapped(word);
    std::memcpy(bytes.data() + at, &word, sizeof word);
  }
}

void swap_bytes(std::span<std::byte> bytes, std::size_t element_bytes) {
  switch (element_bytes) {
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

// Each float32 of `wide` as the bfloat16 it was; false at one that never was a bfloat16.
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

bool fits_int4(std::byte stored) {
  const auto value = std::to_integer<std::int8_t>(stored);
  return value >= -8 && value <= 7;
}

}  // namespace

Original original_from(std::string_view dtype_suffix) {
  if (dtype_suffix == "bfloat16") return Original::kBfloat16;
  if (dtype_suffix == "int4") return Original::kInt4;
  return Original::kAsStored;
}

struct NpyReader::State {
  RandomFile file;
  NpyHeader header;
  Original original;
  bool widened;                          // float32 that was bfloat16
  std::optional<FortranWindow> fortran;  // where the stored order is not C order
  Order order = Order::kC;
  View view = View::kElements;
  std::uint64_t position = 0;  // of the next element, in the chosen order
  std::vector<std::byte> scratch;

  std::size_t stored_bytes() const { return size_bytes(header.dtype); }
  bool is_packed() const { return original == Original::kInt4 && view == View::kOriginal; }

  // The next stored elements, in this machine's byte order, into `out`, which they fill.
  Status read_stored(std::span<std::byte> out) {
    if (fortran && order == Order::kC) {
      for (std::span<std::byte> rest = out; !rest.empty();) {
        const std::size_t done = out.size() - rest.size();
        const auto window = fortran->from(file, position + done / stored_bytes());
        if (!window) return window.error();
        const std::size_t bytes = std::min(rest.size(), window->size());
        std::memcpy(rest.data(), window->data(), bytes);
        rest = rest.subspan(bytes);
      }
    } else {
      Status read = file.read_at(header.data_offset_bytes + position * stored_bytes(), out);
      if (!read) return read;
    }
    if (header.swapped) swap_bytes(out, stored_bytes());
    position += out.size() / stored_bytes();
    return {};
  }

  Error contradiction(std::string_view dtype, std::string_view what) const {
    return {Code::kUnreadable, printable(file.path()) + ": its name says " + std::string(dtype) +
                                   ", but it holds " + std::string(what)};
  }
};

Result<NpyReader> NpyReader::open(std::string path, Original original,
                                  std::size_t window_bytes) try {
  auto file = RandomFile::open(path);
  if (!file) return file.error();
  std::vector<std::byte> head(std::min<std::uint64_t>(file->size_bytes(), kMostNpyHeaderBytes));
  if (Status read = file->read_at(0, head); !read) return read.error();
  auto header = parse_npy_header(head, file->size_bytes(), original == Original::kComplex);
  if (!header) return Error{header.error().code, printable(path) + ": " + header.error().message};

  const bool widened = original == Original::kBfloat16 && header->dtype == Dtype::kFloat32;
  auto state = std::unique_ptr<State>(
      new State{*std::move(file), *std::move(header), original, widened, {}, {}, {}, 0, {}});
  const Shape& shape = state->header.shape;
  const auto stored = std::string(name(state->header.dtype));
  if (original == Original::kAsStored && state->header.is_void) {
    return Error{Code::kUnsupported,
                 printable(path) +
                     ": holds two-byte voids, which are bfloat16 when ml_dtypes wrote them; "
                     "say --bfloat16 if they are"};
  }
  if (original == Original::kBfloat16 && !widened && !state->header.is_void) {
    return state->contradiction("bfloat16", stored);
  }
  if (original == Original::kComplex && !state->header.is_complex) {
    return state->contradiction("complex", stored);
  }
  if (original == Original::kInt4) {
    if (state->header.dtype != Dtype::kInt8) return state->contradiction("int4", stored);
    if (shape.empty() || shape.back() % 2 != 0) {
      return state->contradiction("int4",
                                  "an odd number of values a row: shape " + to_string(shape));
    }
  }
  if (state->header.fortran_order && state->header.element_count > 0 &&
      std::ranges::count_if(shape, [](std::uint64_t d) { return d > 1; }) > 1) {
    state->fortran.emplace(shape, state->stored_bytes(), state->header.data_offset_bytes,
                           window_bytes);
  }
  return NpyReader(std::move(state));
} catch (const std::bad_alloc&) {
  return no_memory(path);
}

NpyReader::NpyReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
NpyReader::NpyReader(NpyReader&&) noexcept = default;
NpyReader& NpyReader::operator=(NpyReader&&) noexcept = default;
NpyReader::~NpyReader() = default;

Dtype NpyReader::dtype() const { return state_->widened ? Dtype::kBfloat16 : state_->header.dtype; }
std::string_view NpyReader::data_type() const {
  return state_->original == Original::kInt4 ? "int4" : name(dtype());
}
const Shape& NpyReader::shape() const { return state_->header.shape; }
std::uint64_t NpyReader::element_count() const { return state_->header.element_count; }
std::uint64_t NpyReader::data_size_bytes() const {
  const std::uint64_t bytes = element_count() * size_bytes(dtype());
  return state_->original == Original::kInt4 ? bytes / 2 : bytes;
}
std::uint64_t NpyReader::modified_us() const { return state_->file.modified_us(); }

void NpyReader::rewind(Order order, View view) {
  state_->order = order;
  state_->view = view;
  state_->position = 0;
}

Result<std::size_t> NpyReader::read(std::span<std::byte> out) try {
  State& state = *state_;
  const std::size_t stored_bytes = state.stored_bytes();
  const bool is_int4 = state.original == Original::kInt4;
  // How many stored elements fill `out`: packed, two go into each byte.
  const std::uint64_t fit =
      state.is_packed() ? 2 * std::uint64_t{out.size()} : out.size() / size_bytes(dtype());
  std::uint64_t left = std::min(fit, element_count() - state.position);
  if (!state.widened && !is_int4) {
    out = out.first(left * stored_bytes);
    if (Status read = state.read_stored(out); !read) return read.error();
    return out.size();
  }

  std::byte* end = out.data();
  state.scratch.resize(kScratchBytes);
  while (left > 0) {
    const std::uint64_t count = std::min<std::uint64_t>(left, kScratchBytes / stored_bytes);
    const auto stored = std::span(state.scratch).first(count * stored_bytes);
    if (Status read = state.read_stored(stored); !read) return read.error();
    if (state.widened) {
      if (!narrow(stored, end)) return state.contradiction("bfloat16", "a float32 that is none");
      end += 2 * count;
    } else {
      if (!std::ranges::all_of(stored, fits_int4)) {
        return state.contradiction("int4", "a value outside -8..7");
      }
      if (state.is_packed()) {
        for (std::size_t i = 0; i < count; i += 2) {
          *end++ = (stored[i] & std::byte{0xf}) | (stored[i + 1] << 4);
        }
      } else {
        end = std::ranges::copy(stored, end).out;
      }
    }
    left -= count;
  }
  return static_cast<std::size_t>(end - out.data());
} catch (const std::bad_alloc&) {
  return no_memory(state_->file.path());
}

}  // namespace tensorstat
