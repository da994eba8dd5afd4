#include "host/digest/digest_pass.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "host/digest/digest.hpp"
#include "host/digest/md5_lanes.hpp"
#include "host/float_environment.hpp"
#include "host/simd/folder.hpp"
#include "host/strided.hpp"
#include "stats/core/engine/accumulator_layout.hpp"

namespace tensorstat::host {
namespace {

// A thread is woken for at least this many bytes, which take the lanes some 10 microseconds.
constexpr std::uint64_t kHandBytes = std::uint64_t{128} << 10;
// The piece size for a tensor that is digested alone: it is still in the L1 cache for the second reader. A multiple of
// the tile of `low`.
constexpr std::uint64_t kPieceBytes = std::uint64_t{16} << 10;

template <typename Algorithm>
class DigesterOf final : public Digester {
 public:
  explicit DigesterOf(Algorithm algorithm = {}) : algorithm_(std::move(algorithm)) {}

  void update(std::span<const std::byte> bytes) override { algorithm_.update(bytes); }
  Result<Digest> finish() override {
    auto digest = algorithm_.finish();
    if (!digest) return std::move(digest).error();
    return Digest(*digest);
  }

 private:
  Algorithm algorithm_;
};

// One thread's share of a pass.
class Hand final : public Md5Observer {
 public:
  // Takes every `hands`-th tensor of `order`, starting at `hand`. Allocates all memory here, on the caller's thread.
  Hand(std::span<const Tensor> tensors, const Wanted& wanted, const Take& take, std::span<const std::size_t> order,
       std::size_t hand, std::size_t hands, BinCounters& bins)
      : tensors_(tensors), wanted_(wanted), take_(take) {
    const bool md5 = (wanted.needs & kMd5Digest) != 0;
    const std::size_t share = order.size() / hands + 1;
    in_lanes_.reserve(md5 ? share : 0);
    messages_.reserve(md5 ? share : 0);
    alone_.reserve(md5 ? 0 : share);
    for (std::size_t k = hand; k < order.size(); k += hands) {
      const Tensor& tensor = tensors[order[k]];
      const bool in_lanes = md5 && tensor.strides == nullptr;
      (in_lanes ? in_lanes_ : alone_).push_back(order[k]);
      if (in_lanes) messages_.push_back(bytes_of(tensor));
    }
    asides_.resize(std::clamp<std::size_t>(in_lanes_.size(), 1, kMd5MostLanes));
    if ((wanted.needs & kQuantiles) == 0) return;
    const bool any_float64 = std::ranges::count(tensors, Dtype::kFloat64, &Tensor::dtype) != 0;  // has the most bins
    for (Aside& aside : asides_) aside.bins = bins.lend(any_float64 ? Dtype::kFloat64 : Dtype::kFloat32);
  }

  // Returns an error that says why a digest is missing.
  std::optional<Error> pass() noexcept {
    const FloatEnvironment ieee;
    if (Status status = md5_many(messages_, *this); !status) {  // none has begun
      failed_ = std::move(status).error();
      for (const std::size_t i : in_lanes_) alone(i, false);
    }
    for (const std::size_t i : alone_) alone(i, (wanted_.needs & kMd5Digest) != 0);
    return std::move(failed_);
  }

  void begin(std::size_t lane, std::size_t message) override { open(asides_[lane], tensors_[in_lanes_[message]]); }
  void piece(std::size_t lane, std::span<const std::byte> bytes) override { read(asides_[lane], bytes); }
  void end(std::size_t lane, std::size_t message, Result<Md5Digest> digest) override {
    close(asides_[lane], in_lanes_[message], std::move(digest));
  }

 private:
  // The results of a tensor other than its MD5.
  struct Aside {
    std::array<std::int64_t, kMostWords> words;
    std::optional<Folder> folder;
    BinCounters::Lent bins;
    std::optional<TwoLevelSha1> sha1;  // reset after every tensor
    std::uint64_t sha1_slice_bytes = 0;
    Dtype dtype = {};
    std::uint64_t left_elements = 0;  // elements of the tensor that are not folded yet
  };

  static std::span<const std::byte> bytes_of(const Tensor& tensor) { return {tensor.data(), tensor.bytes()}; }

  void open(Aside& aside, const Tensor& tensor) {
    aside.dtype = tensor.dtype;
    aside.left_elements = tensor.element_count;
    if (aside.bins) aside.bins->open(tensor.dtype);
    if (wanted_.partial) {
      aside.folder.emplace(tensor.dtype, wanted_.precision, wanted_.needs, aside.words, aside.bins.get(),
                           wanted_.cast_scale);
    }
    const std::uint64_t slice_bytes = tensorstat::bytes_of(tensor.dtype, TwoLevelSha1::kSliceElements);
    if ((wanted_.needs & kSha1Digest) == 0 || aside.sha1_slice_bytes == slice_bytes) return;
    aside.sha1.emplace(slice_bytes);
    aside.sha1_slice_bytes = slice_bytes;
  }

  static void read(Aside& aside, std::span<const std::byte> bytes) {
    const std::uint64_t elements = std::min(elements_of(aside.dtype, bytes.size()), aside.left_elements);
    aside.left_elements -= elements;
    if (aside.folder) aside.folder->take(bytes, elements);
    if (aside.sha1) aside.sha1->update(bytes);
  }

  void close(Aside& aside, std::size_t tensor, std::optional<Result<Md5Digest>> md5) {
    TensorResult outcome;
    if (aside.folder) outcome.words = aside.folder->words();
    if (aside.bins) aside.bins->close(outcome.words);
    outcome.bins = {aside.bins.get()};
    if (md5) outcome.md5 = accept(*std::move(md5));
    if (aside.sha1) outcome.sha1 = accept(aside.sha1->finish());
    take_(tensor, outcome);
    if (aside.bins) aside.bins->clear();
  }

  template <typename Bytes>
  std::optional<Digest> accept(Result<Bytes> digest) {
    if (digest) return Digest(*digest);
    if (!failed_) failed_ = std::move(digest).error();
    return std::nullopt;
  }

  // Computes a tensor without a lane.
  void alone(std::size_t i, bool with_md5) {
    const Tensor& tensor = tensors_[i];
    Aside& aside = asides_.front();
    open(aside, tensor);
    in_pieces(tensor, 0, tensor.element_count, kPieceBytes, [&](std::span<const std::byte> bytes, std::uint64_t) {
      read(aside, bytes);
      if (with_md5) md5_.update(bytes);
    });
    close(aside, i, with_md5 ? std::optional(md5_.finish()) : std::nullopt);
  }

  const std::span<const Tensor> tensors_;
  const Wanted& wanted_;
  const Take& take_;
  std::vector<std::size_t> in_lanes_, alone_;
  std::vector<std::span<const std::byte>> messages_;  // the tensors of in_lanes_
  std::vector<Aside> asides_;                         // by lane
  Md5 md5_;                                           // for the tensors of alone_
  std::optional<Error> failed_;
};

}  // namespace

std::unique_ptr<Digester> make_digester(Need which, Dtype dtype) {
  if (which == kMd5Digest) return std::make_unique<DigesterOf<Md5>>();
  return std::make_unique<DigesterOf<TwoLevelSha1>>(TwoLevelSha1(bytes_of(dtype, TwoLevelSha1::kSliceElements)));
}

Status digest_pass(std::span<const Tensor> tensors, const Wanted& wanted, const Take& take, ThreadPool& pool,
                   BinCounters& bins) {
  // Longest first, distributed to the threads in turn, so that each gets about the same number and sizes.
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto bytes = [&](std::size_t i) { return tensors[i].bytes(); };
  if (!std::ranges::is_sorted(order, std::greater(), bytes)) std::ranges::stable_sort(order, std::greater(), bytes);
  std::uint64_t total_bytes = 0;
  for (const Tensor& tensor : tensors) total_bytes += tensor.bytes();
  const std::size_t most = std::min<std::size_t>(pool.threads(), tensors.size());
  const std::size_t count = std::min<std::size_t>(most, total_bytes / kHandBytes + 1);
  std::vector<Hand> hands;
  hands.reserve(count);
  for (std::size_t i = 0; i < count; ++i) hands.emplace_back(tensors, wanted, take, order, i, count, bins);
  std::mutex failing;
  std::optional<Error> failed;
  pool.run(count, [&](std::size_t i) {
    std::optional<Error> missing = hands[i].pass();
    const std::lock_guard lock(failing);
    if (missing) failed = std::move(missing);
  });
  if (failed) return *std::move(failed);
  return {};
}

}  // namespace tensorstat::host
