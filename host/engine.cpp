#include "stats/core/engine/engine.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "host/bin_counters.hpp"
#include "host/columns.hpp"
#include "host/digest/digest_pass.hpp"
#include "host/float_environment.hpp"
#include "host/pair/pair_pass.hpp"
#include "host/simd/folder.hpp"
#include "host/strided.hpp"
#include "host/thread_pool.hpp"
#include "host/work_unit.hpp"
#include "stats/core/engine/accumulator_layout.hpp"

namespace tensorstat {
namespace {

using host::kAloneBytes;
using host::kTensorBytes;
using host::kUnitBytes;
using Words = std::array<std::int64_t, kMostWords>;

// Whether the results may depend on the order of the elements. Exact accumulators do not; the sums of `low` do.
bool depends_on_order(const Wanted& wanted) {
  return wanted.precision == Precision::kLow || (wanted.needs & (kIndices | kFingerprints | kDigests)) != 0;
}

bool is_permuted(const Tensor& tensor) { return tensor.strides != nullptr && host::lies_densely(tensor); }

// The state of a tensor on which several units work.
struct Shared {
  Shared(std::size_t word_count, std::uint64_t bytes) : words(word_count), left_bytes(bytes) {}

  std::mutex merging;
  std::vector<std::int64_t> words;
  std::uint64_t left_bytes;
  std::vector<host::BinCounters::Lent> bins{};  // counters that no unit is using now

  // The results, once left_bytes is 0.
  TensorResult found() {
    while (bins.size() > 1) {
      bins.front()->add(*bins.back());
      bins.pop_back();
    }
    if (!bins.empty()) bins.front()->close(words);
    return {.words = words, .bins = {bins.empty() ? nullptr : bins.front().get()}};
  }
};

// Whole tensors [begin, end), or `count` elements of the one at `begin`.
struct Unit {
  std::size_t begin, end;
  std::uint64_t first = 0, count = 0;
  Shared* shared = nullptr;
};

class SimdEngine final : public HostEngine {
 public:
  explicit SimdEngine(const MeterOptions& options) : pool_(options.threads, options.executor) {}

  std::string_view name() const override { return "host"; }

  std::string refusal(const Tensor& tensor, Precision) const override {
    return is_readable_by_cpu(tensor.where) ? "" : "the tensor is in device memory";
  }

  void gather(const Tensor& tensor, std::uint64_t first, std::span<std::byte> to) override {
    host::gather(tensor, first, to);
  }

  Status fold(std::span<const Job> jobs) override {
    for (const Job& job : jobs) {
      Partial& partial = *job.partial;
      fold_all({&job.tensor, 1}, {partial.precision(), partial.needs(), true, partial.cast_scale()},
               [&](std::size_t, const TensorResult& outcome) {
                 merge(partial.bins(), outcome.bins);
                 merge(partial.dtype(), partial.words(), outcome.words, partial.count());
               });
    }
    return {};
  }

  Status measure(std::span<const Tensor> tensors, const Wanted& wanted, const Take& take) override {
    if ((wanted.needs & kDigests) != 0) return host::digest_pass(tensors, wanted, take, pool_, bins_);
    fold_all(tensors, wanted, take);
    return {};
  }

  void compare(std::span<const PairJob> jobs) override { host::pair_pass(jobs, pool_); }

  void fold_columns(const std::byte* matrix, std::uint64_t lines, std::span<Partial> columns) override {
    host::fold_columns(matrix, lines, columns, pool_);
  }

  std::unique_ptr<Digester> digester(Need which, Dtype dtype) override { return host::make_digester(which, dtype); }

 private:
  void fold_all(std::span<const Tensor> tensors, const Wanted& wanted, const Take& take) {
    std::vector<Tensor> as_they_lie;
    if (!depends_on_order(wanted) && std::ranges::any_of(tensors, is_permuted)) {
      as_they_lie.assign(tensors.begin(), tensors.end());
      for (Tensor& tensor : as_they_lie) {
        if (is_permuted(tensor)) tensor.strides = nullptr;
      }
      tensors = as_they_lie;
    }
    std::uint64_t total_bytes = tensors.size() * kTensorBytes;
    for (const Tensor& tensor : tensors) total_bytes += tensor.bytes();
    if (total_bytes <= kAloneBytes || pool_.threads() == 1) {
      const host::FloatEnvironment ieee;
      fold_whole(tensors, {0, tensors.size()}, wanted, take);
      return;
    }
    std::vector<std::unique_ptr<Shared>> shared;
    const std::vector<Unit> units = cut(tensors, wanted.needs, shared);
    pool_.run(units.size(), [&](std::size_t i) {
      if (units[i].shared == nullptr) {
        const host::FloatEnvironment ieee;
        fold_whole(tensors, units[i], wanted, take);
      } else {
        fold_part(tensors, units[i], wanted, take);
      }
    });
  }

  void fold_part(std::span<const Tensor> tensors, const Unit& unit, const Wanted& wanted, const Take& take) {
    const host::FloatEnvironment ieee;
    const Tensor& tensor = tensors[unit.begin];
    Shared& shared = *unit.shared;
    host::BinCounters::Lent bins;
    if ((wanted.needs & kQuantiles) != 0) {
      std::unique_lock lock(shared.merging);
      if (!shared.bins.empty()) {
        bins = std::move(shared.bins.back());
        shared.bins.pop_back();
      }
      lock.unlock();
      if (!bins) bins = bins_.lend(tensor.dtype);
    }
    Words words;
    host::Folder folder(tensor.dtype, wanted.precision, wanted.needs, words, bins.get(), wanted.cast_scale);
    fold_slice(tensor, unit.first, unit.count, folder);
    {
      const std::lock_guard lock(shared.merging);
      if (bins) shared.bins.push_back(std::move(bins));
      merge(tensor.dtype, shared.words, folder.words(), unit.first);
      shared.left_bytes -= bytes_of(tensor.dtype, unit.count);
      if (shared.left_bytes != 0) return;
    }
    take(unit.begin, shared.found());  // no other unit uses it any more
    shared.bins.clear();
  }

  // Divides the work into units of about kUnitBytes: several small tensors, or a piece of a large one.
  static std::vector<Unit> cut(std::span<const Tensor> tensors, Needs needs,
                               std::vector<std::unique_ptr<Shared>>& shared) {
    std::vector<Unit> units;
    std::uint64_t in_unit = kUnitBytes;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& tensor = tensors[i];
      if (tensor.bytes() <= kUnitBytes) {
        if (in_unit >= kUnitBytes) {
          units.push_back({i, i});
          in_unit = 0;
        }
        units.back().end = i + 1;
        in_unit += tensor.bytes() + kTensorBytes;
        continue;
      }
      in_unit = kUnitBytes;  // the next small tensor begins a new unit
      shared.push_back(std::make_unique<Shared>(partial_words(tensor.dtype, needs), tensor.bytes()));
      clear(tensor.dtype, shared.back()->words);
      const std::uint64_t piece = elements_of(tensor.dtype, kUnitBytes);
      for (std::uint64_t first = 0; first < tensor.element_count; first += piece) {
        units.push_back({i, i + 1, first, std::min(piece, tensor.element_count - first), shared.back().get()});
      }
    }
    return units;
  }

  void fold_whole(std::span<const Tensor> tensors, const Unit& unit, const Wanted& wanted, const Take& take) {
    if (unit.begin == unit.end) return;
    Words words;
    host::BinCounters::Lent bins;
    if ((wanted.needs & kQuantiles) != 0) bins = bins_.lend(tensors[unit.begin].dtype);
    const auto folder_of = [&](Dtype dtype) {
      return host::Folder(dtype, wanted.precision, wanted.needs, words, bins.get(), wanted.cast_scale);
    };
    host::Folder folder = folder_of(tensors[unit.begin].dtype);
    for (std::size_t i = unit.begin; i < unit.end; ++i) {
      const Tensor& tensor = tensors[i];
      if (bins) bins->open(tensor.dtype);
      if (folder.dtype() != tensor.dtype) {
        folder = folder_of(tensor.dtype);
      } else if (i != unit.begin) {
        folder.restart();
      }
      const bool in_one_piece = tensor.bytes() <= kUnitBytes;
      folder.expect_next(in_one_piece && i + 1 != unit.end ? first_byte(tensors[i + 1]) : nullptr);
      fold_slice(tensor, 0, tensor.element_count, folder);
      if (bins) bins->close(folder.words());
      take(i, {.words = folder.words(), .bins = {bins.get()}});
      if (bins) bins->clear();
    }
  }

  // The tensor's first byte; nullptr if its elements are not contiguous.
  static const void* first_byte(const Tensor& tensor) {
    if (tensor.strides != nullptr || tensor.address == nullptr) return nullptr;
    return tensor.data();
  }

  static void fold_slice(const Tensor& tensor, std::uint64_t first, std::uint64_t count, host::Folder& folder) {
    host::in_pieces(tensor, first, count, kUnitBytes,
                    [&](std::span<const std::byte> piece, std::uint64_t elements) { folder.take(piece, elements); });
  }

  host::ThreadPool pool_;
  host::BinCounters bins_;
};

}  // namespace

std::unique_ptr<HostEngine> make_host_engine(const MeterOptions& options) {
  return std::make_unique<SimdEngine>(options);
}

}  // namespace tensorstat
