#include "stats/data/survey/block_fold.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "stats/core/base/thread_signals.hpp"
#include "stats/data/files/io/random_file.hpp"

namespace tensorstat {
namespace {

// Below this, starting threads costs more than they save.
constexpr std::uint64_t kLeastBytes = std::uint64_t{4} << 20;
// Bytes between two calls of `progressed`.
constexpr std::uint64_t kProgressBytes = std::uint64_t{16} << 20;
// The blocks that a thread takes at a time from a mapping: some tens of microseconds of work.
constexpr std::uint64_t kBlocksMapped = 8;
// What is folded of a mapping is given back in windows of so many steps. Each interrupts the other threads.
constexpr std::uint64_t kStepsGivenBack = 32;
// The kernel maps a large piece of the page cache by one fault, and small ones by 16 faults a MiB or more. Those take
// longer than a copy.
constexpr std::uint64_t kMostFaults = 8;  // a MiB
// In `low`, and where a part is moved to its place, elements are cut at multiples of this.
constexpr std::uint64_t kTileElements = 1024;

// Bytes of a tensor that threads take block by block.
struct Stretch {
  Stretch(std::uint64_t first, std::uint64_t after) : begin(first), next(first), end(after) {}
  const std::uint64_t begin;
  std::atomic<std::uint64_t> next;
  const std::uint64_t end;
};

// Decides for a thread which bytes it folds where they are mapped. The first MiB of a file that was read lie in small
// pieces, and others may. So after a step that took many faults some are read, each time twice as many.
class MappedChoice {
 public:
  explicit MappedChoice(const MappedFile* file) : file_(file) {}

  // The address of the next bytes that the thread takes; null if they are better read.
  const std::byte* find(std::uint64_t first_byte, std::uint64_t bytes) {
    if (file_ == nullptr) return nullptr;
    rusage now{};
    getrusage(RUSAGE_THREAD, &now);
    const auto faults = static_cast<std::uint64_t>(now.ru_minflt - before_.ru_minflt);
    const bool is_slow = (faults << 20) > kMostFaults * mapped_bytes_ || now.ru_majflt != before_.ru_majflt;
    if (mapped_bytes_ != 0) {
      pause_ = is_slow ? 2 * pause_ + 1 : 0;
      reads_ = pause_;
    }
    before_ = now;
    mapped_bytes_ = 0;
    if (reads_ != 0) return --reads_, nullptr;
    if (!file_->is_cached(first_byte, bytes)) return nullptr;
    mapped_bytes_ = bytes;
    return file_->data() + first_byte;
  }

 private:
  const MappedFile* const file_;
  rusage before_{};
  std::uint64_t mapped_bytes_ = 0;  // since then
  std::uint32_t pause_ = 0, reads_ = 0;
};

// Gives the parts of a mapping back that all threads have folded.
class FoldedWindows {
 public:
  FoldedWindows(const MappedFile* file, std::uint64_t begin, std::uint64_t end, std::uint64_t step_bytes)
      : file_(file),
        begin_(begin),
        end_(end),
        window_bytes_(kStepsGivenBack * step_bytes),
        folded_(file == nullptr ? 0 : (end - begin) / window_bytes_ + 1) {}

  void add(std::uint64_t offset, std::uint64_t bytes) {
    if (file_ == nullptr) return;
    const std::uint64_t window = (offset - begin_) / window_bytes_, first = begin_ + window * window_bytes_;
    const std::uint64_t whole = std::min(window_bytes_, end_ - first);
    if ((folded_[window] += bytes) == whole) file_->give_back(first, whole);
  }

 private:
  const MappedFile* const file_;
  const std::uint64_t begin_, end_, window_bytes_;
  std::vector<std::atomic<std::uint64_t>> folded_;  // bytes, by window
};

}  // namespace

// A tensor's bytes [begin, end), in the order of the file.
struct BlockFold::Part {
  const TensorReader& reader;
  std::uint64_t begin, end;
  bool in_order;
};

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
  const std::uint64_t element_bytes = size_bytes(reader.dtype()), begin = first * element_bytes;
  const Part part{reader, begin, begin + count * element_bytes, in_order};
  // In a mapping, elements may change while they are folded. The folds for a device, those that depend on the order,
  // and the counters of quantiles were not made for that.
  const bool may_change =
      !in_order && block_bytes_ == kCacheBytes && std::ranges::none_of(request_.categories, is_quantile);
  const auto place = may_change ? reader.place(TensorReader::Order::kAny) : std::nullopt;
  if (place) {
    if (const auto mapped = place->file->map(place->offset_bytes, part.end)) {
      auto all = fold_blocks(part, mapped.get(), progressed);
      if (mapped->is_whole()) return all;
      return fold_blocks(part, nullptr, [](std::uint64_t) {});  // reading tells what happened
    }
  }
  return fold_blocks(part, nullptr, progressed);
}

Result<Partial> BlockFold::fold_blocks(const Part& part, const MappedFile* mapped, const Progressed& progressed) {
  const TensorReader& reader = part.reader;
  const std::uint64_t begin = part.begin, end = part.end;
  const bool in_order = part.in_order;
  const std::uint64_t element_bytes = size_bytes(reader.dtype()), tile_bytes = kTileElements * element_bytes;
  const std::uint64_t block_bytes = std::max<std::uint64_t>(1, block_bytes_ / tile_bytes) * tile_bytes;
  const std::uint64_t step_bytes = mapped == nullptr ? block_bytes : kBlocksMapped * block_bytes;
  std::deque<Stretch> stretches;
  const std::uint64_t tiles = (end - begin + tile_bytes - 1) / tile_bytes;
  for (unsigned i = 0, number = in_order ? threads_ : 1; i < number; ++i) {
    const auto boundary = [&](std::uint64_t part) { return std::min(end, begin + tiles * part / number * tile_bytes); };
    stretches.emplace_back(boundary(i), boundary(i + 1));
  }
  FoldedWindows windows(mapped, begin, end, step_bytes);
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> has_failed{false};
  const auto fold_stretch = [&](unsigned thread, const std::function<void()>& after_step) -> Result<Partial> {
    Stretch& stretch = stretches[std::min<std::size_t>(thread, stretches.size() - 1)];
    auto stream = meter_.stream(reader.dtype(), request_);
    if (!stream) return stream.error();
    const auto block = std::make_unique_for_overwrite<std::byte[]>(block_bytes);
    MappedChoice choice(mapped);
    for (std::uint64_t next; !has_failed && (next = stretch.next.fetch_add(step_bytes)) < stretch.end;) {
      const std::uint64_t after = std::min(next + step_bytes, stretch.end);
      const std::byte* const memory = choice.find(next, after - next);
      for (std::uint64_t offset = next; offset < after; offset += block_bytes) {
        const std::uint64_t bytes = std::min(block_bytes, after - offset);
        Status status;
        if (memory == nullptr) status = reader.fetch(offset, {block.get(), bytes});
        if (status) status = stream->append({memory == nullptr ? block.get() : memory + (offset - next), bytes});
        if (!status) {
          has_failed = true;
          return status.error();
        }
      }
      windows.add(next, after - next);
      done += after - next;
      after_step();
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
      others.push_back(std::async(std::launch::async, [&, i] { return fold_stretch(i, [] {}); }));
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
  auto all = fold_stretch(0, [&] { tell(kProgressBytes); });
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
