#include "stats/survey/block_fold.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "stats/base/thread_signals.hpp"

namespace tensorstat {
namespace {

// Below this, starting threads costs more than they save.
constexpr std::uint64_t kLeastBytes = std::uint64_t{4} << 20;
// Small enough that the Meter folds it on the calling thread, and that it fits into a core's own cache.
constexpr std::size_t kBlockBytes = std::size_t{120} << 10;
// Bytes between two calls of `progressed`.
constexpr std::uint64_t kProgressBytes = std::uint64_t{16} << 20;

}  // namespace

BlockFold::BlockFold(Meter& meter, const Request& request, unsigned threads)
    : meter_(meter), request_(request), threads_(threads) {}

bool BlockFold::takes(const TensorReader& reader) const {
  return threads_ > 1 && reader.is_fetchable() && reader.data_size_bytes() >= kLeastBytes;
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
  // If `progressed` throws, the other threads stop.
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
