#include "stats/survey/block_fold.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "stats/base/thread_signals.hpp"

namespace tensorstat {
namespace {

// Below this, starting threads costs more than they save.
constexpr std::uint64_t kLeastBytes = std::uint64_t{4} << 20;
// Bytes between two calls of `progressed`.
constexpr std::uint64_t kProgressBytes = std::uint64_t{16} << 20;
// In `low`, and where a part is moved to its place, elements are cut at multiples of this.
constexpr std::uint64_t kTileElements = 1024;

// Bytes of a tensor that threads take block by block.
struct Stretch {
  Stretch(std::uint64_t first, std::uint64_t after) : begin(first), next(first), end(after) {}
  const std::uint64_t begin;
  std::atomic<std::uint64_t> next;
  const std::uint64_t end;
};

}  // namespace

BlockFold::BlockFold(Meter& meter, const Request& request, unsigned threads, std::size_t block_bytes)
    : meter_(meter), request_(request), threads_(threads), block_bytes_(block_bytes) {}

bool BlockFold::takes(const TensorReader& reader) const {
  return threads_ > 1 && reader.is_fetchable() && reader.data_size_bytes() >= kLeastBytes;
}

Result<Statistics> BlockFold::fold(const TensorReader& reader, const Progressed& progressed) {
  const auto all = fold_part(reader, 0, reader.element_count(), false, progressed);
  if (!all) return all.error();
  Statistics statistics(request_.categories, {});
  for (const Category category : request_.categories) statistics.values.push_back(all->finish(category));
  return statistics;
}

Result<Partial> BlockFold::fold_part(const TensorReader& reader, std::uint64_t first, std::uint64_t count,
                                     bool in_order, const Progressed& progressed) {
  const std::uint64_t element_bytes = size_bytes(reader.dtype()), tile_bytes = kTileElements * element_bytes;
  const std::uint64_t begin = first * element_bytes, end = begin + count * element_bytes;
  const std::uint64_t block_bytes = std::max<std::uint64_t>(1, block_bytes_ / tile_bytes) * tile_bytes;
  std::deque<Stretch> stretches;
  const std::uint64_t tiles = (end - begin + tile_bytes - 1) / tile_bytes;
  for (unsigned i = 0, number = in_order ? threads_ : 1; i < number; ++i) {
    const auto at = [&](std::uint64_t part) { return std::min(end, begin + tiles * part / number * tile_bytes); };
    stretches.emplace_back(at(i), at(i + 1));
  }
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> has_failed{false};
  const auto fold_blocks = [&](unsigned thread, const std::function<void()>& after_block) -> Result<Partial> {
    Stretch& stretch = stretches[std::min<std::size_t>(thread, stretches.size() - 1)];
    auto stream = meter_.stream(reader.dtype(), request_);
    if (!stream) return stream.error();
    const auto block = std::make_unique_for_overwrite<std::byte[]>(block_bytes);
    for (std::uint64_t next; !has_failed && (next = stretch.next.fetch_add(block_bytes)) < stretch.end;) {
      const std::span piece(block.get(), std::min<std::uint64_t>(block_bytes, stretch.end - next));
      Status status = reader.fetch(next, piece);
      if (status) status = stream->append(piece);
      if (!status) {
        has_failed = true;
        return status.error();
      }
      done += piece.size();
      after_block();
    }
    auto partial = stream->finish_partial();
    if (!partial || !in_order) return partial;
    if (Status moved = partial->move_to(stretch.begin / element_bytes); !moved) return moved.error();
    return partial;
  };

  std::vector<std::future<Result<Partial>>> others;
  {
    const ThreadSignals blocked;
    for (unsigned i = 1; i < threads_; ++i) {
      others.push_back(std::async(std::launch::async, [&, i] { return fold_blocks(i, [] {}); }));
    }
  }
  // If `progressed` throws, the other threads stop.
  struct Stop {
    std::atomic<bool>& flag;
    ~Stop() { flag = true; }
  } const stop{has_failed};
  std::uint64_t told = 0;
  const auto tell = [&](std::uint64_t least) {
    const std::uint64_t now = done;
    if (now - told >= least) progressed(now - std::exchange(told, now));
  };
  auto all = fold_blocks(0, [&] { tell(kProgressBytes); });
  for (auto& other : others) {
    auto part = other.get();
    if (all && part) {
      if (Status merged = all->merge(*part); !merged) return merged.error();
    } else if (all) {
      all = std::move(part);
    }
  }
  if (all) tell(0);
  return all;
}

}  // namespace tensorstat
