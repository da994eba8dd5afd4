#include "kernels-cl/launch/self_check.hpp"

#include <algorithm>
#include <cstring>

#include "kernels-cl/program/definition.hpp"
#include "kernels-cl/program/program.hpp"
#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/cast_bounds.hpp"

namespace tensorstat::cl_engine {
namespace {

// Fills a group of lanes and leaves a tail for vectors. Before the first element there is one that no load may touch.
constexpr std::size_t kElements = 2 * kTileElements + 37;

constexpr double kCastScale = 0x1.8p-3;

std::uint64_t mix(std::uint64_t x) {  // the finalizer of splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// The first half: floats near 1, or any integers. Then zeros of both signs and the least integer; small integers, which
// are subnormals and the numbers above them; and random bit patterns. These have NaN and Inf among them, and for wide
// floats, where they are rare, some are added.
std::vector<std::byte> awkward(Dtype dtype, std::size_t count = kElements + 1) {
  if (is_complex(dtype)) return awkward(part_of(dtype), 2 * count);
  const std::size_t element_bytes = size_bytes(dtype);
  const precision::DtypeFacts& format = facts(dtype);
  const bool is_wide_float = format.is_float && !format.is_coded && !format.unpacks;  // these four have Inf
  const auto near_one = [&](std::uint64_t raw) {
    const std::uint64_t exponent = (format.largest >> format.mantissa_shift) / 2 - raw % 8;
    const std::uint64_t sign = (raw >> 3 & 1) << (8 * element_bytes - 1);
    return sign | exponent << format.mantissa_shift | (raw >> 11 & ((std::uint64_t{1} << format.mantissa_shift) - 1));
  };
  const std::uint64_t infinity = is_wide_float && element_bytes >= 4 ? format.largest : 0;
  std::vector<std::byte> bytes(count * element_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = mix(i + 1);
    if (i < count / 2) {
      if (is_wide_float) bits = near_one(bits);
    } else if (i < count / 2 + 8) {
      bits = (i % 2 == 0 ? 0 : ~std::uint64_t{0}) << (8 * element_bytes - 1);  // +0, -0, and the least integer
    } else if (i < count * 3 / 4) {
      bits >>= 64 - 8 * element_bytes + i % (8 * element_bytes);  // small integers, and subnormals
    } else if (infinity != 0 && i % 64 == 0) {
      bits = i % 128 == 0 ? infinity : bits | infinity;
    }
    std::memcpy(bytes.data() + i * element_bytes, &bits, element_bytes);  // little-endian
  }
  return bytes;
}

// Whether a kernel with these needs writes this word.
bool matters(Dtype dtype, std::size_t word, Needs needs) {
  const auto all = layout(dtype).all();
  return std::ranges::prev(std::ranges::upper_bound(all, word, {}, &Accumulator::first))->is_kept(needs);
}

// The elements of the second tensor. If both dtypes are the same, a third of its elements equal the first tensor's, and
// another third differ in the last bit.
std::vector<std::byte> awkward_beside(Dtype dtype, Dtype beside) {
  std::vector<std::byte> bytes = awkward(beside);
  const std::size_t element_bytes = size_bytes(beside);
  std::rotate(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(element_bytes * (kElements / 8)), bytes.end());
  if (dtype != beside) return bytes;
  const std::vector<std::byte> equal = awkward(beside);
  for (std::size_t i = 0; i <= kElements; ++i) {
    const std::size_t offset = i * element_bytes;
    if (i % 3 == 0) continue;
    std::copy_n(equal.begin() + static_cast<std::ptrdiff_t>(offset), element_bytes,
                bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    if (i % 3 == 1) bytes[offset] ^= std::byte{1};
  }
  return bytes;
}

}  // namespace

KnownAnswer::KnownAnswer(const KernelKind& kind)
    : bytes_(awkward(kind.dtype)), whole_{.kind = kind, .count = kElements} {
  whole_.sources[0].first_byte = size_bytes(kind.dtype);
  const auto of_a = std::span<const std::byte>(bytes_).subspan(size_bytes(kind.dtype), bytes_of(kind.dtype, kElements));
  if (!kind.beside) {
    Partial expected(kind.dtype, Precision::kHigh, kind.needs);
    const auto lift = (kind.needs & kLowKernel) != 0 ? lift_tiles : lift_all;
    const bool scaled = (kind.needs & kScaledCasts) != 0;
    lift(kind.dtype, scaled ? kind.needs & ~kCasts : kind.needs, of_a, kElements, expected.words());
    if (scaled)
      count_casts(kind.dtype, of_a, kElements, cast_bounds(kind.dtype, kCastScale), kind.needs, expected.words());
    carry(kind.dtype, expected.words());
    if ((kind.needs & kQuantiles) != 0) {
      BinCounter counter;
      counter.open(kind.dtype);
      counter.count(of_a, kElements);
      counter.close(expected.words());
      merge(expected.bins(), {.counter = &counter});
    }
    expected_.assign(expected.words().begin(), expected.words().end());
    bins_ = expected.bins();
    whole_.cast_scale = kCastScale;
    return;
  }
  const PairTolerance tolerance{0x1p-10, 0x1p-20, PairTolerance::Scale::kGreater};
  constexpr std::uint64_t kFirstIndex = std::uint64_t{1} << 40;
  const std::vector<std::byte> beside = awkward_beside(kind.dtype, *kind.beside);
  PairPartial lifted(kind.dtype, *kind.beside, tolerance), expected = lifted;
  lift_pairs(kind.dtype, of_a, *kind.beside, std::span(beside).subspan(size_bytes(*kind.beside)), tolerance,
             kFirstIndex, lifted.words());
  merge(pair_layout(kind.dtype, *kind.beside), expected.words(), lifted.words());  // carried
  expected_.assign(expected.words().begin(), expected.words().end());
  whole_.first_element = kFirstIndex;
  bytes_.resize((bytes_.size() + 63) / 64 * 64);
  whole_.sources[1].first_byte = bytes_.size() + size_bytes(*kind.beside);
  whole_.tolerance = tolerance;
  bytes_.insert(bytes_.end(), beside.begin(), beside.end());
}

std::vector<Piece> KnownAnswer::pieces(const Device& device, const Source& source) const {
  Piece whole = whole_;
  for (Source& each : whole.sources) each = {source.memory, source.first_byte + each.first_byte};
  std::vector<Piece> pieces;
  if (whole.kind.beside || (whole.kind.needs & kQuantiles) == 0) {
    cut(device, whole, bytes_.size(), pieces);
    return pieces;
  }
  for (const std::uint64_t first : {std::uint64_t{0}, kTileElements}) {  // one piece writes codes, the other counts
    Piece& piece = pieces.emplace_back(whole);
    piece.sources[0].first_byte += bytes_of(whole.kind.dtype, first);
    piece.first_element = first;
    piece.count = first == 0 ? kTileElements : kElements - first;
    piece.writes_codes = first == 0 && !unpacks(whole.kind.dtype);
  }
  return pieces;
}

Status KnownAnswer::check(std::span<const std::int64_t> words, const std::vector<BinCount>& bins,
                          const std::string& doing) const {
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    if ((whole_.kind.beside || matters(whole_.kind.dtype, i, whole_.kind.needs)) && words[i] != expected_[i]) {
      return Error{Code::kDevice, doing + ": word " + std::to_string(i) + " of a known answer came out wrong, " +
                                      std::to_string(words[i]) + " for " + std::to_string(expected_[i]) +
                                      "; the device or its compiler cannot be trusted"};
    }
  }
  if (bins == bins_) return {};
  return Error{Code::kDevice,
               doing + ": bins of a known answer came out wrong; the device or its compiler cannot be trusted"};
}

Status self_check(const Device& device, BufferCache& buffers, const cl::Context& context, const cl::CommandQueue& queue,
                  const std::shared_ptr<Kernel>& kernel, const KernelKind& kind) {
  const KnownAnswer answer(kind);
  auto bytes = std::make_unique<std::vector<std::byte>>(answer.bytes().begin(), answer.bytes().end());
  const std::string doing = "probing the kernel of " + kind.name() + " on " + device.info.name;
  // If the device reads host memory in place, the self-check needs no device memory.
  BufferCache::Buffer memory;
  cl::Buffer source;
  if (device.shares_host_memory) {
    cl_int code = CL_SUCCESS;
    source = cl::Buffer(context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, bytes->size(), bytes->data(), &code);
    if (code != CL_SUCCESS) return error(doing, "clCreateBuffer", code);
  } else {
    auto taken = buffers.take(bytes->size(), "the probe of a kernel");
    if (!taken) return taken.error();
    memory = *std::move(taken);
    source = memory.memory;
  }
  std::vector<std::int64_t> words_folded;
  std::vector<BinCount> found_bins;
  const Status folded = [&]() -> Status {
    if (memory.bytes != 0) {
      const cl_int code = queue.enqueueWriteBuffer(source, CL_TRUE, 0, bytes->size(), bytes->data());
      if (code != CL_SUCCESS) return error(doing, "clEnqueueWriteBuffer", code);
    }
    auto batch = Batch::enqueue(device, buffers, queue, answer.pieces(device, {source()}),
                                [&](const KernelKind&) -> Result<std::shared_ptr<Kernel>> { return kernel; }, {});
    if (!batch) return batch.error();
    if (kind.beside) {
      PairPartial pair(kind.dtype, *kind.beside, answer.tolerance());
      if (Status status = (*batch)->collect(std::span(&pair, 1)); !status) return status;
      words_folded.assign(pair.words().begin(), pair.words().end());
    } else {
      Partial partial(kind.dtype, Precision::kHigh, kind.needs);
      if (Status status = (*batch)->collect(std::span(&partial, 1)); !status) return status;
      words_folded.assign(partial.words().begin(), partial.words().end());
      found_bins = partial.bins();
    }
    return {};
  }();
  if (!folded && folded.error().code == Code::kInUse) {
    keep_for_ever(bytes.release());
    return Error{Code::kDevice, doing + ": the driver does not tell whether it has ended"};  // no tensor was touched
  }
  if (memory.bytes != 0) buffers.give_back(std::move(memory));
  if (!folded && folded.error().code == Code::kInvalid) return Error{Code::kDevice, folded.error().message};
  if (!folded) return folded;
  return answer.check(words_folded, found_bins, doing);
}

}  // namespace tensorstat::cl_engine
