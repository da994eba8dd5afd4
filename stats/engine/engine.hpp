// The engine seam: how a batch of tensors becomes partials, and bytes become digests. Engines know
// nothing of each other, and nothing of categories: what each statistic needs is decided before they
// are called. Each make_ function below is defined by the folder of its engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <tensorstat/meter.hpp>
#include <tensorstat/pair.hpp>
#include <tensorstat/partial.hpp>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>

#include "stats/engine/quantile_bins.hpp"

namespace tensorstat {

// One tensor, to be folded into one partial of the same dtype, behind the elements that this holds. A partial belongs to
// one job of a batch.
struct Job {
  Tensor tensor;
  Partial* partial = nullptr;
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string_view name() const = 0;

  // Why it cannot fold this tensor, in words; empty when it can.
  virtual std::string refusal(const Tensor& tensor, Precision precision) const = 0;

  // Folds each job's tensor into its partial. On an error no partial has changed, and nothing reads the tensors any
  // more, unless it is Code::kInUse.
  virtual Status fold(std::span<const Job> jobs) = 0;
};

// The digest of bytes that arrive in order. Where it cannot be had, the error says why.
class Digester {
 public:
  virtual ~Digester() = default;
  virtual void update(std::span<const std::byte> bytes) = 0;
  virtual Result<Digest> finish() = 0;
};

// What is wanted of each tensor of a batch: a partial that keeps `needs`, and the digests among them.
struct Wanted {
  Precision precision = Precision::kHigh;
  Needs needs = kNothing;
  bool partial = true;  // else the digests alone
  double cast_scale = 1;
};

// What was found of one tensor: its partial's words and bins, where one was wanted, and those digests that were
// wanted and could be had. Words and bins are lent for the time of the call.
struct Found {
  std::span<const std::int64_t> words{};
  BinsView bins{};
  std::optional<Digest> md5{}, sha1{};
};
using Take = std::function<void(std::size_t tensor, const Found& found)>;

class HostEngine : public Engine {
 public:
  // Reads each tensor once, and hands to `take`, once a tensor and as soon as it is done, all that was found
  // of it: on any thread, several at a time. `take` throws nothing but std::bad_alloc, and that not beside digests. All
  // tensors are readable by the CPU. An error says why there are no digests of some; whatever else was wanted has been
  // taken.
  virtual Status measure(std::span<const Tensor> tensors, const Wanted& wanted, const Take& take) = 0;

  // Folds each pair into the partial of its index. All tensors are readable by the CPU.
  virtual void compare(std::span<const TensorPair> pairs, std::uint64_t first_index, std::span<PairPartial> partials) = 0;

  // Folds each column of a matrix in host memory, of `lines` lines that follow each other, into the partial of its index,
  // behind what this holds. All partials are of one dtype, precision and needs.
  virtual void fold_columns(const std::byte* matrix, std::uint64_t lines, std::span<Partial> columns) = 0;

  // Copies elements [first, first + window.size() / element) of a strided tensor, in C order.
  virtual void gather(const Tensor& tensor, std::uint64_t first, std::span<std::byte> window) = 0;

  // `which` is kMd5Digest, or kSha1Digest: MindSpore's two-level hash over elements of `dtype`.
  virtual std::unique_ptr<Digester> digester(Need which, Dtype dtype) = 0;
};

class Ledger;

// A tensor in host memory that goes to a device in parts, which are folded while others are on their way.
class DeviceStream {
 public:
  virtual ~DeviceStream() = default;
  // The part's bytes may be reused as soon as this returns.
  virtual Status append(const Tensor& part) = 0;
  // Waits until every part is in the partial; not before, nor after an error, does that mean anything.
  virtual Status finish() = 0;
  // The most device memory that it held at a time, so far.
  virtual std::uint64_t held_bytes() const = 0;
};

class DeviceEngine : public Engine {
 public:
  using Engine::refusal;
  virtual std::string description() const = 0;  // "Portable Computing Language: pthread-..."

  // `fold`, and the most device memory that was held for it at a time.
  virtual Result<std::uint64_t> fold_counting(std::span<const Job> jobs) = 0;
  Status fold(std::span<const Job> jobs) final {
    const auto held_bytes = fold_counting(jobs);
    return held_bytes ? Status{} : Status(held_bytes.error());
  }

  // Why it cannot compare these two, in words; empty when it can.
  virtual std::string refusal(const TensorPair& pair) const = 0;

  // Folds each pair into the partial of its index, which holds no elements yet, and returns the most device memory that was
  // held for it at a time. All partials are of one tolerance. On an error no partial has changed, and nothing reads the
  // tensors any more, unless it is Code::kInUse.
  virtual Result<std::uint64_t> compare(std::span<const TensorPair> pairs, std::uint64_t first_index,
                                        std::span<PairPartial> partials) = 0;

  // Whether a tensor in host memory is folded in place, without a copy.
  virtual bool shares_host_memory() const = 0;

  // Whether the host engine is the faster one for what is in host memory, though nothing would be copied: the
  // device is the same CPU.
  virtual bool is_slower_than_host() const = 0;

  // An error where a tensor reaches beyond its cl_mem. What the driver does not tell stays trusted.
  virtual Status check(const Tensor& tensor) const = 0;

  // Into a partial that outlives the stream. Device memory is held until that is gone.
  virtual Result<std::unique_ptr<DeviceStream>> stream(Partial& partial) = 0;

  // Copies the bytes [first, first + bytes.size()) of a tensor in any context's cl_mem to the host. After
  // Code::kInUse the device may still write to `bytes`.
  virtual Status read(const Tensor& tensor, std::uint64_t first, std::span<std::byte> bytes) = 0;
};

// Why On::kAuto leaves host memory to the host whatever the device is found to be: no device is looked for, and no
// driver tried, to know. Empty where that has to be looked at.
std::string why_host_memory_stays(const MeterOptions& options);

std::unique_ptr<HostEngine> make_host_engine(const MeterOptions& options);

// The device that the options name, or the best there is; an error says why there is none. Every
// byte that it allocates on the device is entered in `ledger`, which outlives it.
Result<std::unique_ptr<DeviceEngine>> make_opencl_engine(const MeterOptions& options, Ledger& ledger);

}  // namespace tensorstat
