#include "stats/dump/block_fold.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "stats/core/abandon.hpp"
#include "stats/core/thread_signals.hpp"

namespace tensorstat {
namespace {

// Below this, starting threads costs more than they save.
constexpr std::uint64_t kLeastBytes = std::uint64_t{4} << 20;
// So little that the Meter folds it on the thread that asks, and that it stays in a core's own cache.
constexpr std::size_t kBlockBytes = std::size_t{120} << 10;
// Enough for a placement to think of a device.
constexpr std::size_t kTrialBytes = std::size_t{1} << 20;
// Between two calls of `progressed`.
constexpr std::uint64_t kProgressBytes = std::uint64_t{16} << 20;

}  // namespace

BlockFold::BlockFold(Meter& meter, const Request& request, unsigned threads)
    : meter_(meter),
      request_(request),
      threads_(threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency())) {}

bool BlockFold::takes(const TensorReader& reader) {
  const bool is_worth_it = threads_ > 1 && reader.is_fetchable() && reader.data_size_bytes() >= kLeastBytes;
  if (!is_worth_it || !is_host_ || placed_) return is_worth_it && is_host_;
  auto trial = std::make_unique<std::vector<std::byte>>(kTrialBytes);
  const Tensor tensor{.dtype = reader.dtype(),
                      .element_count = kTrialBytes / size_bytes(reader.dtype()),
                      .address = trial->data()};
  auto placed = meter_.measure({&tensor, 1}, request_);
  if (!placed && placed.error().code == Code::kInUse) abandon(std::move(trial));
  const auto is_host = [](const Decision& each) { return each.engine == "host"; };
  is_host_ = placed && std::ranges::all_of((*placed)[0].placement, is_host);
  if (is_host_) placed_ = *std::move(placed);
  return is_host_;
}

Result<Statistics> BlockFold::fold(const TensorReader& reader,
                                   const std::function<void(std::uint64_t bytes)>& progressed) {
  const std::uint64_t bytes = reader.element_count() * size_bytes(reader.dtype());
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> has_failed{false};
  const auto fold_blocks = [&](const std::function<void()>& after_block) -> Result<Partial> {
    auto stream = meter_.stream(reader.dtype(), request_);
    if (!stream) return stream.error();
    const auto block = std::make_unique_for_overwrite<std::byte[]>(kBlockBytes);
    for (std::uint64_t first; !has_failed && (first = next.fetch_add(kBlockBytes)) < bytes;) {
      const std::span piece(block.get(), std::min<std::uint64_t>(kBlockBytes, bytes - first));
      Status status = reader.fetch(first, piece);
      if (status) status = stream->append(piece);
      if (!status) {
        has_failed = true;
        return status.error();
      }
      after_block();
    }
    return stream->finish_partial();
  };

  std::vector<std::future<Result<Partial>>> others;
  {
    const ThreadSignals blocked;
    for (unsigned i = 1; i < threads_; ++i) {
      others.push_back(std::async(std::launch::async, [&] { return fold_blocks([] {}); }));
    }
  }
  // Where `progressed` throws, the others stop.
  struct Stop {
    std::atomic<bool>& flag;
    ~Stop() { flag = true; }
  } const stop{has_failed};
  std::uint64_t told = 0;
  auto all = fold_blocks([&] {
    const std::uint64_t now = std::min(next.load(), bytes);
    if (now - told >= kProgressBytes) progressed(now - std::exchange(told, now));
  });
  for (auto& other : others) {
    auto part = other.get();
    if (all && part) {
      if (Status merged = all->merge(*part); !merged) return merged.error();
    } else if (all) {
      all = std::move(part);
    }
  }
  if (!all) return all.error();
  progressed(bytes - told);
  Statistics statistics(request_.categories, {});
  for (const Category category : request_.categories) statistics.values.push_back(all->finish(category));
  return statistics;
}

}  // namespace tensorstat
