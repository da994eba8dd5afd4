// SPDX-License-Identifier: Apache-2.0
// The front door: tensors in, statistics out, computed where the tensors live.
//
//   tensorstat::Meter meter;
//   tensorstat::Tensor t{.dtype = Dtype::kFloat32, .element_count = n, .address = data};
//   auto rows = meter.measure({&t, 1}, {.categories = all_categories()});
//
// A Meter is thread-safe. It finds and probes the OpenCL device at the first request that may need
// it, and not before; it never prints, never exits, never throws. Where memory is used up, the Error has
// Code::kOutOfMemory. Functions anywhere in the library that return no Result or Status, but a text or a
// container by value, throw std::bad_alloc then, as copying those does.
//
// After fork() the child may use and destroy the parent's Meter, and exit: it measures on its own thread, and on the host
// where the parent had looked for the device.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tensorstat/by.hpp>
#include <tensorstat/catalog.hpp>
#include <tensorstat/pair.hpp>
#include <tensorstat/partial.hpp>
#include <tensorstat/statistics.hpp>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>

namespace tensorstat {

enum class On : std::uint8_t {
  kAuto,    // where the data lives, as far as that place can; the other place otherwise. Host memory is the
            // host's where the device is the CPU, too
  kHost,    // only the host
  kDevice,  // only the device (MD5 stays host work); an error where the device cannot
};

// Called from any thread, several at once, and with no lock held: it may use the Meter that calls it. What it throws
// is dropped.
enum class Severity : std::uint8_t { kInfo, kWarning };
using Log = std::function<void(Severity, std::string_view)>;

// Runs work(0) ... work(count - 1), each once, in any order and on any threads, and returns when all are done. `work`
// does not throw. Where the executor throws, or returns before all is done, the call that lent it the work is an
// error; none of the work may be under way then.
using Executor = std::function<void(std::size_t count, const std::function<void(std::size_t)>& work)>;

struct MeterOptions {
  std::optional<std::uint64_t> budget_bytes{};  // most device bytes held at any time; none: no limit
  int platform = -1, device = -1;               // clinfo's numbering; -1: the best there is
  // A cl_command_queue, which the Meter retains: tensors are folded on it, behind what is in it already,
  // on its device and in its context (`platform` and `device` then say nothing). It is flushed, and never
  // finished. An out-of-order queue must hold nothing that still writes a tensor.
  void* queue = nullptr;
  unsigned threads = 0;  // host threads, a caller's among them; 0: one a core. Further callers work beside them
  Executor executor{};   // the caller's threads instead: none are started
  Log log{};
};

// Where one category was computed, and why, in words.
struct Decision {
  Category category;
  std::string_view engine;  // "host" or "opencl"
  std::string_view reason;
};

// What was measured of one tensor: seen, not held.
struct Measurement {
  StatisticsView statistics;
  std::span<const Decision> placement;  // one for each category
  std::uint64_t device_bytes = 0;       // device memory held for it and its batch, the tensors' own excluded
};

// What was measured of all tensors of a request, in order, in a few blocks of memory however many they are.
// Each Measurement sees into it, and is good as long as it lives, wherever it is moved to. Of a tensor that
// is kept for longer, take `Statistics(measurement.statistics)`.
class Measurements {
 public:
  Measurements(Measurements&&) noexcept;
  Measurements& operator=(Measurements&&) noexcept;
  ~Measurements();

  std::size_t size() const;
  bool empty() const { return size() == 0; }
  Measurement operator[](std::size_t tensor) const;
  Measurement front() const { return (*this)[0]; }

  class Iterator;
  Iterator begin() const;
  Iterator end() const;

  struct State;  // for engines: stats/engine/measured.hpp
  explicit Measurements(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
};

class Measurements::Iterator {
 public:
  using value_type = Measurement;
  using difference_type = std::ptrdiff_t;

  Iterator() = default;
  Iterator(const Measurements& all, std::size_t tensor) : all_(&all), tensor_(tensor) {}
  Measurement operator*() const { return (*all_)[tensor_]; }
  Iterator& operator++() { return ++tensor_, *this; }
  Iterator operator++(int) { return {*all_, tensor_++}; }
  friend bool operator==(const Iterator&, const Iterator&) = default;

 private:
  const Measurements* all_ = nullptr;
  std::size_t tensor_ = 0;
};
inline Measurements::Iterator Measurements::begin() const { return {*this, 0}; }
inline Measurements::Iterator Measurements::end() const { return {*this, size()}; }

struct Request {
  Categories categories{};  // at least one
  Precision precision = Precision::kHigh;
  On on = On::kAuto;
  // The counts of casts, `e4m3fn underflow` and the like, are of x * cast_scale: the exact product, which the cast rounds
  // once. Finite, and above 0.
  double cast_scale = 1;
};

constexpr bool counts_casts(Category category) { return (needs(category) & kCasts) != 0; }
// Whether values depend on a scale that is not 1.
inline bool counts_scaled_casts(const Request& request) {
  if (request.cast_scale == 1) return false;
  for (const Category each : request.categories) {
    if (counts_casts(each)) return true;
  }
  return false;
}

// How two tensors are compared (<tensorstat/pair.hpp>).
struct PairRequest {
  PairTolerance tolerance{};
  // The index of the first element, where the tensors are parts of larger ones: indices count from there.
  std::uint64_t first_index = 0;
  On on = On::kAuto;
};

// Where a pair was compared, and why, in words.
struct PairPlacement {
  std::string_view engine;  // "host" or "opencl"; as long as the Meter lives
  std::string reason;
  std::uint64_t device_bytes = 0;  // device memory held for it and its batch, the tensors' own excluded
};

// Device memory as the ledger counts it: bytes that this library allocated on the device.
struct MemoryUse {
  std::uint64_t current_bytes = 0;
  std::uint64_t peak_bytes = 0;
};

class Meter {
 public:
  // Where there is no memory for it, every call on it is an error that says so.
  explicit Meter(MeterOptions options = {}) noexcept;
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  // One Measurement a tensor, in order. A tensor's bits must not change until this returns. On the host each
  // byte is read once, for statistics and digests together.
  // Refused (kInvalid), with the tensor's index: a null address of elements, strides that do not fit their shape or the
  // count of elements, a tensor that reaches beyond its cl_mem; and a request without categories.
  //
  // When this returns nothing reads the tensors any more, whatever failed, with one exception: Code::kInUse. It is
  // returned, under On::kAuto too, after a minute in which the driver of a failed device did not tell whether the
  // device has stopped. Then the memory of the tensors must not be freed before the process ends. This Meter does not
  // use the device again: another call under On::kAuto is the host's, and what lies in a cl_mem cannot be read any more.
  //
  // A tensor in a cl_mem is folded, and read, in the context of that cl_mem: on `queue` where it is of that context,
  // else on a queue of the Meter's own there, so that whatever writes the tensor must have completed. References to
  // the last 8 such contexts are kept.
  Result<Measurements> measure(std::span<const Tensor> tensors, const Request& request);

  // One Partial a tensor, in order, where measure() gives values: of parts of tensors, to be kept, sent
  // (Partial::serialize), merged with those of the other parts, and finished by whoever has them all. The values are
  // the bits that measure() of the whole gives, however it was cut and wherever the parts were folded; in `low`, where
  // floats were cut at multiples of 1,024 elements. Partials merge where dtype, precision and what the categories
  // need agree. Placed, and refused, as by measure(); digests are refused (kUnsupported), as they do not merge.
  Result<std::vector<Partial>> fold(std::span<const Tensor> tensors, const Request& request);

  // One Measurement a row of the tensor (by.hpp), in C order of row_shape(by): the bits that measure() of a row's elements
  // alone gives. An index counts within its row. Where only the first axes are kept, and of blocks, rows are placed as a
  // batch of tensors is; else they are the host's. Refused: what measure() and row_shape() refuse; a shape that is not
  // the tensor's (kInvalid); of a tensor in a cl_mem, an axis that is kept behind one that is not, blocks of a tensor
  // with strides, and of a packed dtype rows that do not begin and end with bytes (kUnsupported). A tensor of one row of
  // no elements, and one of no rows, are no error.
  Result<Measurements> measure_by(const Tensor& tensor, const By& by, const Request& request);
  // The same as partials, as fold() gives them. Refused, too: quantiles of so many rows that their partials may take more
  // than kMostBinBytes (kInvalid).
  Result<std::vector<Partial>> fold_by(const Tensor& tensor, const By& by, const Request& request);

  // One PairPartial a pair, in order: its values by PairPartial::finish. Parts of tensors, with the index of their first
  // element, give partials that merge to what the whole gives, bit for bit, wherever they were compared. A pair is placed
  // as measure() places a tensor: with one of its tensors in a cl_mem it goes to the device, and what the device does not
  // read in place is uploaded in parts. The device needs fp64; without, or with the tensors in two OpenCL contexts, the
  // host reads them back. Where each pair went is put into `placements`, if any. Refused (kInvalid), with the pair's
  // index: what measure() refuses of a tensor, two tensors of unequal element counts, a tolerance that is no finite
  // number from 0. Code::kInUse is as of measure().
  Result<std::vector<PairPartial>> compare(std::span<const TensorPair> pairs, const PairRequest& request = {},
                                           std::vector<PairPlacement>* placements = nullptr);

  // A tensor that arrives in pieces, in C order: a file larger than memory, a network stream.
  // Pieces may be cut between any two elements; in `low`, every piece of floats but the last holds a multiple of
  // 1,024 elements (precision/README.md). One thread at a time. A stream may outlive its Meter.
  class Stream {
   public:
    Stream(Stream&&) noexcept;
    Stream& operator=(Stream&&) noexcept;
    ~Stream();
    // The bytes may be reused as soon as this returns, unless it returns Code::kInUse (see `measure`). A piece that
    // makes no sense (half an element, in `low` a piece behind one of another length than said above) is refused,
    // and the stream is as it was. After any other error, all further calls return that error.
    // Of a packed dtype, so many of the elements that the last byte has room for are `unused`. Behind such a piece there is
    // no other.
    Status append(std::span<const std::byte> whole_elements, std::uint64_t unused = 0);
    // Of the one tensor. Once: all further calls are errors.
    Result<Measurements> finish();
    // The same as a Partial; see fold(). A request with digests is refused, and can still be finished by finish().
    Result<Partial> finish_partial();

   private:
    friend class Meter;
    struct State;
    explicit Stream(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
  };
  Result<Stream> stream(Dtype dtype, const Request& request);

  // Copies a tensor's bytes [first_byte, first_byte + bytes.size()), in C order and whole elements, to
  // the host. Bytes that the tensor does not have are refused. After Code::kInUse the device may still write to
  // `bytes`, which must be kept like a tensor.
  Status read(const Tensor& tensor, std::uint64_t first_byte, std::span<std::byte> bytes);

  MemoryUse device_memory() const;

  struct State;  // stats/meter/meter_state.hpp

 private:
  std::shared_ptr<State> state_;
};

// One OpenCL device as `tensorstat devices` shows it.
struct DeviceInfo {
  int platform = 0, device = 0;  // clinfo's numbering
  std::string platform_name, name, driver;
  std::uint64_t memory_bytes = 0;
  bool fp64 = false;
  std::string refusal;  // why it is not used; empty when it is usable
};
std::vector<DeviceInfo> list_devices() noexcept;  // none where there is no memory for the list

}  // namespace tensorstat
