// CLBlast on the same device: sum, nrm2, max and min, in four launches. Its sum, max and min are the kernels of asum,
// amax and amin without the absolute value. Before the clock starts, the tensor is shared with the device and the
// result buffers are made. Reading the results is timed.
#include "bench/peers/peer.hpp"

#ifdef TENSORSTAT_BENCH_CLBLAST
#include <cstring>

#include "kernels-cl/driver/device.hpp"
// Include it last: its macros choose OpenCL's version.
#include <clblast.h>

namespace tensorstat::bench {
namespace {

class Blas {
 public:
  explicit Blas(const Tensor& tensor)
      : tensor_(tensor),
        device_(value(cl_engine::choose_device({}))),
        context_(device_.device),
        queue_(context_, device_.device),
        from_(context_, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, tensor.bytes(), const_cast<void*>(tensor.address)),
        to_(context_, CL_MEM_READ_WRITE, sizeof(results_)) {
    if (!device_.shares_host_memory) throw std::runtime_error("the device does not share the host's memory");
  }

  template <typename T>
  Findings statistics() {
    const std::size_t count = tensor_.element_count;
    cl_command_queue queue = queue_();
    // Each result has 8 bytes of its own.
    constexpr std::size_t kReals = 8 / sizeof(T), kIndices = 8 / sizeof(cl_uint);
    check(clblast::Sum<T>(count, to_(), 0, from_(), 0, 1, &queue));
    check(clblast::Nrm2<T>(count, to_(), kReals, from_(), 0, 1, &queue));
    check(clblast::Max<T>(count, to_(), 2 * kIndices, from_(), 0, 1, &queue));
    check(clblast::Min<T>(count, to_(), 3 * kIndices, from_(), 0, 1, &queue));
    if (queue_.enqueueReadBuffer(to_, CL_TRUE, 0, sizeof(results_), results_) != CL_SUCCESS) {
      throw std::runtime_error("reading CLBlast's results failed");
    }
    const T* elements = static_cast<const T*>(tensor_.address);
    Findings findings;
    findings.avg = static_cast<double>(result<T>(0)) / static_cast<double>(count);
    findings.l2norm = static_cast<double>(result<T>(1));
    findings.max = static_cast<double>(elements[result<cl_uint>(2)]);
    findings.min = static_cast<double>(elements[result<cl_uint>(3)]);
    return findings;
  }

 private:
  static void check(clblast::StatusCode code) {
    if (code != clblast::StatusCode::kSuccess) {
      throw std::runtime_error("CLBlast returned " + std::to_string(static_cast<int>(code)));
    }
  }

  template <typename T>
  T result(std::size_t which) const {
    T scalar;
    std::memcpy(&scalar, results_ + 8 * which, sizeof(T));
    return scalar;
  }

  Tensor tensor_;
  cl_engine::Device device_;
  cl::Context context_;
  cl::CommandQueue queue_;
  cl::Buffer from_, to_;
  std::byte results_[4 * 8] = {};
};

}  // namespace

void enter_clblast(const std::string& group, Dtype dtype, std::uint64_t bytes) {
  if (dtype != Dtype::kFloat32 && dtype != Dtype::kFloat64) return;
  enter(group, "peer:clblast", static_cast<double>(bytes), 1, [=] {
    const Tensor tensor = make(dtype, bytes);
    return peer(tensor, [dtype, blas = std::make_shared<Blas>(tensor)] {
      return dtype == Dtype::kFloat32 ? blas->statistics<float>() : blas->statistics<double>();
    });
  });
}

}  // namespace tensorstat::bench
#else
namespace tensorstat::bench {
void enter_clblast(const std::string&, Dtype, std::uint64_t) {}
}  // namespace tensorstat::bench
#endif
