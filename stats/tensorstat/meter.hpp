// SPDX-License-Identifier: Apache-2.0
// The main interface: computes the statistics of tensors where the tensors are, on the host or on an OpenCL device.
//
//   tensorstat::Meter meter;
//   tensorstat::Tensor t{.dtype = Dtype::kFloat32, .element_count = n, .address = data};
//   auto rows = meter.measure({&t, 1}, {.categories = all_categories()});
//
// A Meter is thread-safe. It finds and probes the OpenCL device at the first request that may need one. It never
// prints, never exits and never throws. If host memory is exhausted, the Error has Code::kOutOfMemory. Library
// functions that return a text or a container by value, and no Result or Status, throw std::bad_alloc instead.
//
// After fork() the child may use and destroy the parent's Meter, and may exit. The child measures on its calling
// thread; if the parent had already looked for a device, it measures on the host only.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/by.hpp>
#include <tensorstat/catalog.hpp>
#include <tensorstat/pair.hpp>
#include <tensorstat/partial.hpp>
#include <tensorstat/statistics.hpp>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>
#include <vector>

namespace tensorstat {

enum class On : std::uint8_t {
  kAuto,    // compute where the data is, if possible, else in the other place. If the device is the CPU, host memory
            // stays on the host
  kHost,    // only the host
  kDevice,  // only the device, except for digests; an error if the device cannot
};

// May be called from several threads at once. No lock is held, so it may use the Meter. Exceptions are ignored.
enum class Severity : std::uint8_t { kInfo, kWarning };
using Log = std::function<void(Severity, std::string_view)>;

// Runs work(0) to work(count - 1), each once, in any order and on any threads, and returns when all are done. `work`
// does not throw. If the executor throws or returns early, the call that uses it returns an error. No work may still be
// running then.
using Executor = std::function<void(std::size_t count, const std::function<void(std::size_t)>& work)>;

struct MeterOptions {
  std::optional<std::uint64_t> budget_bytes{};  // the limit of device memory held at any time; nullopt: no limit
  int platform = -1, device = -1;               // clinfo's numbering; -1: the best device
  // A cl_command_queue, which the Meter retains. Tensors are folded on it, after the commands that it already holds, on
  // its device and in its context; `platform` and `device` are ignored. The Meter flushes it and never calls clFinish.
  // If the queue is out-of-order, no command on it may still be writing a tensor.
  void* queue = nullptr;
  unsigned threads = 0;  // host threads, including one caller's; 0: one for each core. Other callers' threads work in
                         // addition
  Executor executor{};   // if set, runs the host's work; the Meter starts no threads
  Log log{};
};

// Where one category was computed, and the reason as a text.
struct Decision {
  Category category;
  std::string_view engine;  // "host" or "opencl"
  std::string_view reason;
};

// The statistics of one tensor. A view: it is valid while its Measurements exists.
struct Measurement {
  StatisticsView statistics;
  std::span<const Decision> placement;  // one for each category
  std::uint64_t device_bytes = 0;       // device memory held for its batch, without the tensors themselves
};

// The statistics of all tensors of a request, in order. Each Measurement is a view into this object and stays valid
// when the object is moved. To keep values longer, copy them: `Statistics(measurement.statistics)`.
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

  struct State;  // for engines: stats/core/engine/measured.hpp
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
  // A factor for the cast counts, `e4m3fn underflow` and the like: each counts casts of x * cast_scale. The product is
  // exact; only the cast rounds. Must be finite and above 0.
  double cast_scale = 1;
};

// Whether the request counts casts with a scale other than 1.
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
  // If the tensors are parts of larger ones: the index of their first element in the whole. 0 otherwise.
  std::uint64_t first_index = 0;
  On on = On::kAuto;
};

// Where a pair was compared, and the reason as a text.
struct PairPlacement {
  std::string_view engine;  // "host" or "opencl"; valid while the Meter exists
  std::string reason;
  std::uint64_t device_bytes = 0;  // device memory held for its batch, without the tensors themselves
};

// Device memory that this library has allocated.
struct MemoryUse {
  std::uint64_t current_bytes = 0;
  std::uint64_t peak_bytes = 0;
};

class Meter {
 public:
  // If the Meter cannot be allocated, every call returns kOutOfMemory.
  explicit Meter(MeterOptions options = {}) noexcept;
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  // Returns one Measurement for each tensor, in order. A tensor's bits must not change until this returns. On the host
  // each byte is read once, for statistics and digests together.
  // kInvalid, with the tensor's index: a null address of a non-empty tensor, strides that do not fit the shape or the
  // element count, a cl_mem that is too short, or no buffer. kInvalid as well: a request without categories.
  //
  // After this returns, nothing reads the tensors any more, even after an error. The one exception is Code::kInUse: a
  // device failed, and for a minute its driver did not say whether the device has stopped. Then do not free the
  // tensors' memory before the process ends. On::kAuto can return it, too. This Meter does not use the device again:
  // later calls under On::kAuto use the host, and tensors in a cl_mem cannot be read any more.
  //
  // A tensor in a cl_mem is folded and read in the context of that cl_mem. If `queue` is of that context, it is used.
  // Else the Meter makes a queue there, and all writes to the tensor must have completed before the call. The Meter
  // retains the last 8 such contexts.
  Result<Measurements> measure(std::span<const Tensor> tensors, const Request& request);

  // Returns one Partial for each tensor, in order, instead of values. Fold the parts of a tensor, send the partials
  // (Partial::serialize), merge them and finish the result. The values have the same bits as measure() of the whole
  // tensor, wherever it was cut and wherever each part was folded. In `low`, parts of a float tensor must be cut at
  // multiples of 1,024 elements. Partials merge if dtype, precision and the needs of the categories agree. Placement
  // and errors are measure()'s. Digests do not merge: kUnsupported.
  Result<std::vector<Partial>> fold(std::span<const Tensor> tensors, const Request& request);

  // Returns one Measurement for each row of the tensor (by.hpp), in C order of row_shape(by). The values have the same
  // bits as measure() of the row's elements. An index counts within its row. Blocks, and rows of the first axes only,
  // are placed like a batch of tensors; other rows are folded on the host. A tensor of one empty row, or of no rows, is
  // no error.
  // Errors as of measure() and row_shape(); also kInvalid if by.shape does not hold the tensor's elements; kUnsupported
  // for a tensor in a cl_mem with a kept axis behind one that is not kept, for blocks of a tensor with strides, and for
  // rows of a packed dtype that do not begin and end at a byte.
  Result<Measurements> measure_by(const Tensor& tensor, const By& by, const Request& request);
  // As measure_by(), but returns partials, as fold() does. Also kInvalid: quantiles of so many rows that their partials
  // may take more than kMostBinBytes.
  Result<std::vector<Partial>> fold_by(const Tensor& tensor, const By& by, const Request& request);

  // Returns one PairPartial for each pair, in order; read its values with PairPartial::finish. Parts of two tensors,
  // compared with the index of their first element, merge to the same bits as the whole, wherever each was compared. If
  // one tensor of a pair is in a cl_mem, the pair goes to the device; what the device cannot read in place is uploaded
  // in parts. Without fp64 on the device, or with tensors in two OpenCL contexts, the host reads both tensors and
  // compares them. `placements`, if not null, receives where each pair was compared.
  // kInvalid, with the pair's index: what measure() refuses of a tensor, two tensors of unequal element counts, a
  // tolerance that is negative or not finite. Code::kInUse means the same as for measure().
  Result<std::vector<PairPartial>> compare(std::span<const TensorPair> pairs, const PairRequest& request = {},
                                           std::vector<PairPlacement>* placements = nullptr);

  // A tensor that arrives in pieces, in C order, such as a file larger than memory or a network stream. Pieces may be
  // cut between any two elements. In `low`, every piece of a float tensor but the last must hold a multiple of 1,024
  // elements (precision/README.md). Not thread-safe. A stream may outlive its Meter.
  class Stream {
   public:
    Stream(Stream&&) noexcept;
    Stream& operator=(Stream&&) noexcept;
    ~Stream();
    // The bytes may be reused after this returns, unless it returns Code::kInUse (see `measure`). An invalid piece is
    // refused and leaves the stream unchanged: a partial element, or in `low` a piece after one of a wrong length.
    // After any other error, all further calls return that error.
    // `unused` is for packed dtypes: the number of elements at the end of the last byte that are not part of the
    // tensor. If it is not 0, this is the last piece.
    Status append(std::span<const std::byte> whole_elements, std::uint64_t unused = 0);
    // Returns one Measurement. Further calls on the stream return an error.
    Result<Measurements> finish();
    // As finish(), but returns a Partial; see fold(). A request with digests is refused; finish() still works then.
    Result<Partial> finish_partial();

   private:
    friend class Meter;
    struct State;
    explicit Stream(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
  };
  Result<Stream> stream(Dtype dtype, const Request& request);

  // Copies the bytes [first_byte, first_byte + bytes.size()) of a tensor, in C order, to the host. The range must hold
  // whole elements and lie within the tensor. After Code::kInUse the device may still write to `bytes`: do not free it
  // before the process ends.
  Status read(const Tensor& tensor, std::uint64_t first_byte, std::span<std::byte> bytes);

  MemoryUse device_memory() const;

  struct State;  // stats/core/meter/meter_state.hpp

 private:
  friend class Board;  // <tensorstat/opencl.hpp>
  std::shared_ptr<State> state_;
};

// One OpenCL device as `tensorstat devices` shows it.
struct DeviceInfo {
  int platform = 0, device = 0;  // clinfo's numbering
  std::string platform_name, name, driver;
  std::uint64_t memory_bytes = 0;
  bool fp64 = false;
  std::string refusal;  // why the library does not use it; empty if it does
};
std::vector<DeviceInfo> list_devices() noexcept;  // empty if host memory is exhausted

}  // namespace tensorstat
