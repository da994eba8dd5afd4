#include "stats/data/files/packed/unpacker.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "stats/core/base/loaded_library.hpp"

// Declares the functions of these libraries, so that building needs none of their headers. The declarations are those
// of bzip2 1.0, liblzma 5.0, zstd 1.3, lz4 1.7 and c-blosc 1.16.
extern "C" {
struct tensorstat_bz_stream {
  char* next_in;
  unsigned avail_in, total_in_low, total_in_high;
  char* next_out;
  unsigned avail_out, total_out_low, total_out_high;
  void *state, *allocate, *free, *opaque;
};
int BZ2_bzDecompressInit(tensorstat_bz_stream* stream, int verbosity, int small);
int BZ2_bzDecompress(tensorstat_bz_stream* stream);
int BZ2_bzDecompressEnd(tensorstat_bz_stream* stream);

struct tensorstat_lzma_stream {
  const void* next_in;
  std::size_t avail_in;
  std::uint64_t total_in;
  void* next_out;
  std::size_t avail_out;
  std::uint64_t total_out;
  void *allocator, *internal, *reserved[4];
  std::uint64_t reserved_numbers[2];
  std::size_t reserved_sizes[2];
  int reserved_enums[2];
};
int lzma_alone_decoder(tensorstat_lzma_stream* stream, std::uint64_t most_memory);
int lzma_stream_decoder(tensorstat_lzma_stream* stream, std::uint64_t most_memory, std::uint32_t flags);
int lzma_code(tensorstat_lzma_stream* stream, int action);
void lzma_end(tensorstat_lzma_stream* stream);

struct tensorstat_zstd_buffer {
  void* bytes;
  std::size_t size, position;
};
void* ZSTD_createDStream();
std::size_t ZSTD_freeDStream(void* stream);
std::size_t ZSTD_decompressStream(void* stream, tensorstat_zstd_buffer* out, tensorstat_zstd_buffer* in);
unsigned ZSTD_isError(std::size_t code);

int LZ4_decompress_safe(const void* from, void* to, int from_bytes, int to_bytes);

int blosc_cbuffer_validate(const void* from, std::size_t from_bytes, std::size_t* to_bytes);
int blosc_decompress_ctx(const void* from, void* to, std::size_t to_bytes, int threads);
}

namespace tensorstat {
namespace {

using State = Unpacker::State;
using ConstBytes = std::span<const std::byte>;

constexpr std::uint64_t kMostMemoryBytes = std::uint64_t{130} << 20;  // for a dictionary and the state around it

#define TENSORSTAT_BZIP2(F) F(BZ2_bzDecompressInit) F(BZ2_bzDecompress) F(BZ2_bzDecompressEnd)
#define TENSORSTAT_LZMA(F) F(lzma_alone_decoder) F(lzma_stream_decoder) F(lzma_code) F(lzma_end)
#define TENSORSTAT_ZSTD(F) F(ZSTD_createDStream) F(ZSTD_freeDStream) F(ZSTD_decompressStream) F(ZSTD_isError)
#define TENSORSTAT_LZ4(F) F(LZ4_decompress_safe)
#define TENSORSTAT_BLOSC(F) F(blosc_cbuffer_validate) F(blosc_decompress_ctx)

// Each with its file, and Debian's package of it.
struct Bzip2 {
  static constexpr const char *kFile = "libbz2.so.1.0", *kPackage = "libbz2-1.0";
  TENSORSTAT_LOADED_FUNCTIONS(TENSORSTAT_BZIP2)
};
struct Lzma {
  static constexpr const char *kFile = "liblzma.so.5", *kPackage = "liblzma5";
  TENSORSTAT_LOADED_FUNCTIONS(TENSORSTAT_LZMA)
};
struct Zstd {
  static constexpr const char *kFile = "libzstd.so.1", *kPackage = "libzstd1";
  TENSORSTAT_LOADED_FUNCTIONS(TENSORSTAT_ZSTD)
};
struct Lz4 {
  static constexpr const char *kFile = "liblz4.so.1", *kPackage = "liblz4-1";
  TENSORSTAT_LOADED_FUNCTIONS(TENSORSTAT_LZ4)
};
struct Blosc {
  static constexpr const char *kFile = "libblosc.so.1", *kPackage = "libblosc1";
  TENSORSTAT_LOADED_FUNCTIONS(TENSORSTAT_BLOSC)
};

template <typename Library>
Result<const Library*> library_of(Packing packing) {
  if (const Library* library = loaded<Library>(Library::kFile)) return library;
  return Error{Code::kUnsupported, "is packed by " + std::string(name(packing)) + ", for which " + Library::kFile +
                                       " is needed: apt-get install " + Library::kPackage};
}

// A library whose stream has next_in, avail_in, next_out and avail_out: shows it `in` and `out`, which become what it
// leaves of them.
template <typename Stream, typename Step>
int step(Stream& stream, ConstBytes& in, std::span<std::byte>& out, Step call) {
  const std::size_t most = std::numeric_limits<decltype(stream.avail_in)>::max();
  const std::size_t given = std::min(in.size(), most), room = std::min(out.size(), most);
  stream.next_in = reinterpret_cast<decltype(stream.next_in)>(const_cast<std::byte*>(in.data()));
  stream.next_out = reinterpret_cast<decltype(stream.next_out)>(out.data());
  stream.avail_in = static_cast<decltype(stream.avail_in)>(given);
  stream.avail_out = static_cast<decltype(stream.avail_out)>(room);
  const int status = call(&stream);
  in = in.subspan(given - stream.avail_in);
  out = out.subspan(room - stream.avail_out);
  return status;
}

class ZlibUnpacker : public Unpacker {
 public:
  explicit ZlibUnpacker(int window_bits) : is_open_(::inflateInit2(&stream_, window_bits) == Z_OK) {}
  ~ZlibUnpacker() override {
    if (is_open_) ::inflateEnd(&stream_);
  }
  ZlibUnpacker(const ZlibUnpacker&) = delete;
  ZlibUnpacker& operator=(const ZlibUnpacker&) = delete;

  State unpack(ConstBytes& in, std::span<std::byte>& out) override {
    if (!is_open_) return State::kNoMemory;
    switch (step(stream_, in, out, [](z_stream* stream) { return ::inflate(stream, Z_NO_FLUSH); })) {
      case Z_OK:
      case Z_BUF_ERROR:
        return State::kGoesOn;
      case Z_STREAM_END:
        return State::kEnded;
      case Z_MEM_ERROR:
        return State::kNoMemory;
      default:
        return State::kDamaged;
    }
  }

 private:
  z_stream stream_ = {};
  const bool is_open_;
};

class Bzip2Unpacker : public Unpacker {
 public:
  explicit Bzip2Unpacker(const Bzip2& library)
      : library_(library), is_open_(library.BZ2_bzDecompressInit_(&stream_, 0, 0) == kOk) {}
  ~Bzip2Unpacker() override {
    if (is_open_) library_.BZ2_bzDecompressEnd_(&stream_);
  }
  Bzip2Unpacker(const Bzip2Unpacker&) = delete;
  Bzip2Unpacker& operator=(const Bzip2Unpacker&) = delete;

  State unpack(ConstBytes& in, std::span<std::byte>& out) override {
    if (!is_open_) return State::kNoMemory;
    const int status = step(stream_, in, out, library_.BZ2_bzDecompress_);
    return status == kOk         ? State::kGoesOn
           : status == kEnd      ? State::kEnded
           : status == kNoMemory ? State::kNoMemory
                                 : State::kDamaged;
  }

 private:
  static constexpr int kOk = 0, kEnd = 4, kNoMemory = -3;
  const Bzip2& library_;
  tensorstat_bz_stream stream_ = {};
  const bool is_open_;
};

class LzmaUnpacker : public Unpacker {
 public:
  LzmaUnpacker(const Lzma& library, bool is_of_zip) : library_(library), missing_(is_of_zip ? kZipHeaderBytes : 0) {
    if (!is_of_zip) is_open_ = library_.lzma_stream_decoder_(&stream_, kMostMemoryBytes, 0) == kOk;
  }
  ~LzmaUnpacker() override {
    if (is_open_) library_.lzma_end_(&stream_);
  }
  LzmaUnpacker(const LzmaUnpacker&) = delete;
  LzmaUnpacker& operator=(const LzmaUnpacker&) = delete;

  State unpack(ConstBytes& in, std::span<std::byte>& out) override {
    while (missing_ != 0 && !in.empty()) {
      zip_header_[kZipHeaderBytes - missing_--] = in.front();
      in = in.subspan(1);
      if (missing_ != 0) continue;
      if (const State begun = begin_of_zip(); begun != State::kGoesOn) return begun;
    }
    if (missing_ != 0) return State::kGoesOn;
    if (!is_open_) return State::kNoMemory;
    const int status = step(stream_, in, out, [&](tensorstat_lzma_stream* stream) { return code(stream); });
    return status == kOk || status == kNoProgress            ? State::kGoesOn
           : status == kEnd                                  ? State::kEnded
           : status == kNoMemory || status == kTooMuchMemory ? State::kNoMemory
                                                             : State::kDamaged;
  }

 private:
  static constexpr int kOk = 0, kEnd = 1, kNoMemory = 5, kTooMuchMemory = 6, kNoProgress = 10, kRun = 0;
  // APPNOTE.TXT, 5.8.8: a version of two bytes, the size of what follows (5), and the properties as .lzma has them.
  static constexpr std::size_t kZipHeaderBytes = 9, kPropertiesAt = 4;

  int code(tensorstat_lzma_stream* stream) { return library_.lzma_code_(stream, kRun); }

  // The header of an .lzma: the properties, and a size of eight bytes. All bits set: it is unknown.
  State begin_of_zip() {
    if (zip_header_[2] != std::byte{5} || zip_header_[3] != std::byte{0}) return State::kDamaged;
    is_open_ = library_.lzma_alone_decoder_(&stream_, kMostMemoryBytes) == kOk;
    if (!is_open_) return State::kNoMemory;
    std::array<std::byte, kZipHeaderBytes - kPropertiesAt + 8> header;
    header.fill(std::byte{0xff});
    std::copy(zip_header_.begin() + kPropertiesAt, zip_header_.end(), header.begin());
    std::byte unused;  // without room nothing is read
    stream_.next_in = header.data();
    stream_.avail_in = header.size();
    stream_.next_out = &unused;
    stream_.avail_out = 1;
    const int status = code(&stream_);
    return status == kOk ? State::kGoesOn : status == kTooMuchMemory ? State::kNoMemory : State::kDamaged;
  }

  const Lzma& library_;
  tensorstat_lzma_stream stream_ = {};
  bool is_open_ = false;
  std::array<std::byte, kZipHeaderBytes> zip_header_ = {};
  std::size_t missing_;  // bytes of it
};

class ZstdUnpacker : public Unpacker {
 public:
  explicit ZstdUnpacker(const Zstd& library) : library_(library), stream_(library.ZSTD_createDStream_()) {}
  ~ZstdUnpacker() override { library_.ZSTD_freeDStream_(stream_); }
  ZstdUnpacker(const ZstdUnpacker&) = delete;
  ZstdUnpacker& operator=(const ZstdUnpacker&) = delete;

  State unpack(ConstBytes& in, std::span<std::byte>& out) override {
    if (stream_ == nullptr) return State::kNoMemory;
    tensorstat_zstd_buffer from{const_cast<std::byte*>(in.data()), in.size(), 0}, to{out.data(), out.size(), 0};
    const std::size_t status = library_.ZSTD_decompressStream_(stream_, &to, &from);
    in = in.subspan(from.position);
    out = out.subspan(to.position);
    if (library_.ZSTD_isError_(status) != 0) return State::kDamaged;
    return status == 0 ? State::kEnded : State::kGoesOn;
  }

 private:
  const Zstd& library_;
  void* const stream_;
};

Error damaged(const std::string& what) { return {Code::kUnreadable, "is damaged: " + what}; }
Error no_packed_bytes(Packing packing) { return damaged("no bytes that " + std::string(name(packing)) + " packed"); }

Status unpack_lz4(ConstBytes in, std::span<std::byte> out) {
  const auto library = library_of<Lz4>(Packing::kLz4);
  if (!library) return library.error();
  std::uint32_t bytes = 0;
  if (in.size() < sizeof bytes) return no_packed_bytes(Packing::kLz4);
  for (std::size_t i = 0; i < sizeof bytes; ++i) bytes |= std::to_integer<std::uint32_t>(in[i]) << (8 * i);
  const ConstBytes block = in.subspan(sizeof bytes);
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  if (bytes != out.size() || block.size() > kMost || out.size() > kMost ||
      (*library)->LZ4_decompress_safe_(block.data(), out.data(), static_cast<int>(block.size()),
                                       static_cast<int>(out.size())) != static_cast<int>(out.size())) {
    return no_packed_bytes(Packing::kLz4);
  }
  return {};
}

Status unpack_blosc(ConstBytes in, std::span<std::byte> out) {
  const auto library = library_of<Blosc>(Packing::kBlosc);
  if (!library) return library.error();
  std::size_t bytes = 0;
  if ((*library)->blosc_cbuffer_validate_(in.data(), in.size(), &bytes) != 0 || bytes != out.size() ||
      (*library)->blosc_decompress_ctx_(in.data(), out.data(), out.size(), 1) != static_cast<int>(out.size())) {
    return no_packed_bytes(Packing::kBlosc);
  }
  return {};
}

Status unpack_stream(Packing packing, ConstBytes in, std::span<std::byte> out) {
  auto unpacker = make_unpacker(packing);
  if (!unpacker) return unpacker.error();
  std::byte beyond;  // shows that there is more
  std::span<std::byte> room = out, rest(&beyond, 1);
  for (;;) {
    std::span<std::byte>& to = room.empty() ? rest : room;
    const std::size_t before = in.size() + to.size();
    const State state = (*unpacker)->unpack(in, to);
    if (state == State::kNoMemory) return Error{Code::kUnreadable, "not enough memory to unpack it"};
    if (state == State::kDamaged) return no_packed_bytes(packing);
    if (rest.empty()) return damaged("it unpacks to more bytes than the " + std::to_string(out.size()) + " due");
    if (state == State::kEnded || in.size() + to.size() == before) break;
  }
  if (room.empty()) return {};
  return damaged("it unpacks to " + std::to_string(out.size() - room.size()) + " bytes of the " +
                 std::to_string(out.size()) + " due");
}

}  // namespace

std::string_view name(Packing packing) {
  constexpr std::string_view kNames[] = {"deflate", "zlib", "bzip2", "LZMA", "xz", "zstd", "lz4", "blosc"};
  return kNames[static_cast<std::size_t>(packing)];
}

Result<std::unique_ptr<Unpacker>> make_unpacker(Packing packing) {
  using Pointer = std::unique_ptr<Unpacker>;
  switch (packing) {
    case Packing::kDeflate:
      return Pointer(std::make_unique<ZlibUnpacker>(-MAX_WBITS));
    case Packing::kZlib:
      return Pointer(std::make_unique<ZlibUnpacker>(MAX_WBITS + 32));  // either header
    case Packing::kBzip2: {
      const auto library = library_of<Bzip2>(packing);
      if (!library) return library.error();
      return Pointer(std::make_unique<Bzip2Unpacker>(**library));
    }
    case Packing::kLzmaOfZip:
    case Packing::kXz: {
      const auto library = library_of<Lzma>(packing);
      if (!library) return library.error();
      return Pointer(std::make_unique<LzmaUnpacker>(**library, packing == Packing::kLzmaOfZip));
    }
    case Packing::kZstd: {
      const auto library = library_of<Zstd>(packing);
      if (!library) return library.error();
      return Pointer(std::make_unique<ZstdUnpacker>(**library));
    }
    case Packing::kLz4:
    case Packing::kBlosc:
      break;
  }
  return Error{Code::kInvalid, std::string(name(packing)) + " is no stream"};
}

Result<std::vector<std::byte>> unpacked(Packing packing, std::span<const std::byte> in, std::size_t due_bytes) {
  std::vector<std::byte> out(due_bytes);
  const Status done = packing == Packing::kLz4     ? unpack_lz4(in, out)
                      : packing == Packing::kBlosc ? unpack_blosc(in, out)
                                                   : unpack_stream(packing, in, out);
  if (!done) return done.error();
  return out;
}

}  // namespace tensorstat
