// Eigen: one expression for each statistic, so ten passes. Only this file is compiled with -march=native, so that Eigen
// vectorises for this processor. One thread, because reductions of Eigen's core use one. Sums have the tensor's own
// type, as in the simplest code of an Eigen user.
#include "bench/peers/peer.hpp"

#ifdef TENSORSTAT_BENCH_EIGEN
#include <Eigen/Core>

namespace tensorstat::bench {
namespace {

template <typename T>
Findings statistics(const Tensor& tensor) {
  const Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>> x(static_cast<const T*>(tensor.address),
                                                               static_cast<Eigen::Index>(tensor.element_count));
  const T infinity = std::numeric_limits<T>::infinity();
  return {.max = static_cast<double>(x.maxCoeff()),
          .min = static_cast<double>(x.minCoeff()),
          .avg = static_cast<double>(x.mean()),
          .l2norm = static_cast<double>(x.matrix().norm()),
          .negatives = static_cast<double>((x < T(0)).count()),
          .positives = static_cast<double>((x > T(0)).count()),
          .zeros = static_cast<double>((x == T(0)).count()),
          .nans = static_cast<double>(x.isNaN().count()),
          .infinities = static_cast<double>((x == infinity).count() + (x == -infinity).count())};
}

}  // namespace

void enter_eigen(const std::string& group, Dtype dtype, std::uint64_t bytes) {
  if (dtype != Dtype::kFloat32 && dtype != Dtype::kFloat64) return;
  enter(group, "peer:eigen", static_cast<double>(bytes), 1, [=] {
    const Tensor tensor = make(dtype, bytes);
    return peer(tensor, [tensor] {
      return tensor.dtype == Dtype::kFloat32 ? statistics<float>(tensor) : statistics<double>(tensor);
    });
  });
}

}  // namespace tensorstat::bench
#else
namespace tensorstat::bench {
void enter_eigen(const std::string&, Dtype, std::uint64_t) {}
}  // namespace tensorstat::bench
#endif
