#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <vector>

#include "host/cpu.hpp"
#include "host/float_environment.hpp"
#include "host/folds.hpp"
#include "host/pool.hpp"
#include "host/strided.hpp"
#include "host/tensor_digests.hpp"
#include "stats/engine.hpp"

namespace tensorstat {
namespace {

// A unit of work is about this much, some tens of microseconds: enough that handing it out costs
// nothing, little enough that the threads end together. A whole number of tiles of `low`.
constexpr std::uint64_t kUnitBytes = std::uint64_t{1} << 20;
// Below this, waking another thread costs more than it saves.
constexpr std::uint64_t kAloneBytes = std::uint64_t{128} << 10;
// What a tensor costs beside its bytes, in bytes.
constexpr std::uint64_t kTensorBytes = 512;
constexpr std::size_t kMostWords = 256;
// A strided tensor is gathered through this much of a thread's stack: it stays in the L1 cache, and holds
// a whole number of tiles of `low`.
constexpr std::size_t kGatherBytes = std::size_t{16} << 10;

const host::Fold* folds() {
  switch (best_isa()) {
#if defined(__x86_64__)
    case Isa::kAvx512: return host::kFoldsAvx512;
    case Isa::kAvx2: return host::kFoldsAvx2;
#endif
    default: return host::kFoldsBaseline;
  }
}

const std::byte* first_byte(const Tensor& tensor) {
  return static_cast<const std::byte*>(tensor.address) + tensor.offset_bytes;
}

// A run of elements of one job.
struct Slice {
  std::size_t job;
  std::uint64_t first, count;
};

class SimdEngine final : public HostEngine {
 public:
  explicit SimdEngine(const MeterOptions& options) : pool_(options.threads, options.executor) {}

  std::string_view name() const override { return "host"; }

  std::string refusal(const Tensor& tensor, Precision) const override {
    return tensor.where == Where::kClBuffer ? "the tensor is in device memory" : "";
  }

  Status fold(std::span<const Job> jobs) override {
    std::uint64_t total_bytes = 0;
    for (const Job& job : jobs) total_bytes += job.tensor.bytes();
    if (total_bytes <= kAloneBytes) {
      const host::FloatEnvironment ieee;
      for (const Job& job : jobs) fold_slice(job, 0, job.tensor.element_count, job.partial->words());
      return {};
    }
    std::vector<Slice> slices;
    std::vector<std::size_t> units;  // where each begins in `slices`
    cut(jobs, slices, units);
    std::mutex merging;
    pool_.run(units.size(), [&](std::size_t unit) {
      const host::FloatEnvironment ieee;
      const std::size_t end = unit + 1 < units.size() ? units[unit + 1] : slices.size();
      for (std::size_t i = units[unit]; i < end; ++i) {
        const Slice& slice = slices[i];
        const Job& job = jobs[slice.job];
        if (slice.count == job.tensor.element_count) {  // nobody else works on this one
          fold_slice(job, 0, slice.count, job.partial->words());
          continue;
        }
        std::array<std::int64_t, kMostWords> words;
        const std::span part(words.data(), job.partial->words().size());
        clear(part);
        fold_slice(job, slice.first, slice.count, part);
        const std::lock_guard lock(merging);
        merge(job.partial->dtype(), job.partial->words(), part);
      }
    });
    return {};
  }

  std::unique_ptr<Digest> digest(Need which, Dtype dtype) override { return host::make_digest(which, dtype); }

  Status digest(Need which, std::span<const Tensor> tensors, std::span<std::string> hex) override {
    return host::digest_tensors(which, tensors, hex, pool_);
  }

 private:
  // Whole tensors while they are small, pieces of large ones, and units of about kUnitBytes of either.
  static void cut(std::span<const Job> jobs, std::vector<Slice>& slices, std::vector<std::size_t>& units) {
    std::uint64_t in_unit = kUnitBytes;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const std::uint64_t count = jobs[j].tensor.element_count;
      const std::uint64_t element_bytes = size_bytes(jobs[j].tensor.dtype);
      const std::uint64_t piece = kUnitBytes / element_bytes;
      for (std::uint64_t first = 0; first < count; first += piece) {
        if (in_unit >= kUnitBytes) {
          units.push_back(slices.size());
          in_unit = 0;
        }
        const std::uint64_t taken = std::min(piece, count - first);
        slices.push_back({j, first, taken});
        in_unit += taken * element_bytes + kTensorBytes;
      }
    }
  }

  void fold_slice(const Job& job, std::uint64_t first, std::uint64_t count, std::span<std::int64_t> words) const {
    const Dtype dtype = job.tensor.dtype;
    const std::uint64_t element_bytes = size_bytes(dtype);
    const bool low = job.partial->precision() == Precision::kLow && is_float(dtype);
    const host::Fold fold = low ? host::kFoldsLow[static_cast<int>(dtype) - static_cast<int>(Dtype::kFloat16)]
                                : folds_[static_cast<int>(dtype)];
    if (job.tensor.strides == nullptr) {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(first_byte(job.tensor)) + first * element_bytes;
      fold(bytes, count, job.partial->needs(), words.data());
    } else {
      alignas(64) std::array<std::byte, kGatherBytes> window;
      const std::uint64_t most = kGatherBytes / element_bytes;
      for (std::uint64_t done = 0; done < count; done += most) {
        const std::uint64_t taken = std::min(most, count - done);
        host::gather(job.tensor, first + done, std::span(window).first(taken * element_bytes));
        fold(reinterpret_cast<const std::uint8_t*>(window.data()), taken, job.partial->needs(), words.data());
      }
    }
    carry(dtype, words);
  }

  const host::Fold* const folds_ = folds();
  host::Pool pool_;
};

}  // namespace

std::unique_ptr<HostEngine> make_host_engine(const MeterOptions& options) {
  return std::make_unique<SimdEngine>(options);
}

}  // namespace tensorstat
