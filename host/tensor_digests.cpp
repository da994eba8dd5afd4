#include "host/tensor_digests.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <vector>

#include "host/digest.hpp"
#include "host/strided.hpp"

namespace tensorstat::host {
namespace {

// A strided tensor's bytes are gathered through a window of this size.
constexpr std::size_t kWindowBytes = std::size_t{64} << 10;

template <typename Algorithm>
class DigestOf final : public Digest {
 public:
  explicit DigestOf(Algorithm algorithm = {}) : algorithm_(std::move(algorithm)) {}

  void update(std::span<const std::byte> bytes) override { algorithm_.update(bytes); }
  Result<std::string> finish() override {
    auto digest = algorithm_.finish();
    if (!digest) return std::move(digest).error();
    return hex(*digest);
  }

 private:
  Algorithm algorithm_;
};

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.address) + tensor.offset_bytes, tensor.bytes()};
}

Result<std::string> digest_one(Need which, const Tensor& tensor) {
  const std::unique_ptr<Digest> digest = make_digest(which, tensor.dtype);
  if (tensor.strides == nullptr) {
    digest->update(bytes_of(tensor));
    return digest->finish();
  }
  const std::uint64_t element_bytes = size_bytes(tensor.dtype);
  std::vector<std::byte> window(std::min<std::uint64_t>(kWindowBytes, tensor.bytes()));
  for (std::uint64_t first = 0; first < tensor.element_count; first += window.size() / element_bytes) {
    window.resize(std::min<std::uint64_t>(window.size(), (tensor.element_count - first) * element_bytes));
    gather(tensor, first, window);
    digest->update(window);
  }
  return digest->finish();
}

// Those that lie in order go through SIMD lanes together.
Status md5_together(std::span<const Tensor> tensors, std::span<const std::size_t> whose, std::span<std::string> hexes) {
  std::vector<std::span<const std::byte>> messages;
  for (const std::size_t i : whose) messages.push_back(bytes_of(tensors[i]));
  std::vector<Md5Digest> digests(messages.size());
  if (Status status = md5_many(messages, digests); !status) return status;
  for (std::size_t k = 0; k < whose.size(); ++k) hexes[whose[k]] = hex(digests[k]);
  return {};
}

// Every `hands`-th of `order`, from `hand` on.
Status deal(Need which, std::span<const Tensor> tensors, std::span<const std::size_t> order, std::size_t hand,
            std::size_t hands, std::span<std::string> hexes) try {
  std::vector<std::size_t> together;
  for (std::size_t k = hand; k < order.size(); k += hands) {
    const Tensor& tensor = tensors[order[k]];
    if (which == kMd5Digest && tensor.strides == nullptr) {
      together.push_back(order[k]);
      continue;
    }
    auto digest = digest_one(which, tensor);
    if (!digest) return std::move(digest).error();
    hexes[order[k]] = *std::move(digest);
  }
  return md5_together(tensors, together, hexes);
} catch (const std::bad_alloc&) {
  return Error{Code::kInvalid, "out of host memory for digests"};
}

}  // namespace

std::unique_ptr<Digest> make_digest(Need which, Dtype dtype) {
  if (which == kMd5Digest) return std::make_unique<DigestOf<Md5>>();
  return std::make_unique<DigestOf<TwoLevelSha1>>(TwoLevelSha1(size_bytes(dtype)));
}

Status digest_tensors(Need which, std::span<const Tensor> tensors, std::span<std::string> hexes, Pool& pool) {
  // The longest first, dealt to the threads in turn: each gets as many, of about the same sizes.
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, std::greater{}, [&](std::size_t i) { return tensors[i].bytes(); });
  const std::size_t hands = std::min<std::size_t>(pool.threads(), tensors.size());
  std::mutex failing;
  std::optional<Error> failed;
  pool.run(hands, [&](std::size_t hand) {
    Status status = deal(which, tensors, order, hand, hands, hexes);
    if (status) return;
    const std::lock_guard lock(failing);
    failed = status.error();
  });
  if (failed) return *std::move(failed);
  return {};
}

}  // namespace tensorstat::host
