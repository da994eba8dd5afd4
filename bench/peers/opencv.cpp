// OpenCV: minMaxLoc, meanStdDev, norm and countNonZero give max, min, avg, l2norm and the count of zeros in four
// passes. Runs on a Mat (OpenCV's SIMD and threads) and on a UMat (its OpenCL kernels, on the same device). The UMat is
// made before the clock starts.
#include "bench/peers/peer.hpp"

#ifdef TENSORSTAT_BENCH_OPENCV
#include <algorithm>
#include <cstdlib>
#include <opencv2/core.hpp>
#include <opencv2/core/ocl.hpp>

namespace tensorstat::bench {
namespace {

template <typename Matrix>
Findings statistics(const Matrix& matrix) {
  Findings findings;
  cv::minMaxLoc(matrix, &findings.min, &findings.max);
  cv::Scalar mean, deviation;
  cv::meanStdDev(matrix, mean, deviation);
  findings.avg = mean[0];
  findings.l2norm = cv::norm(matrix, cv::NORM_L2);
  findings.zeros = static_cast<double>(matrix.total()) - cv::countNonZero(matrix);
  return findings;
}

int depth(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat32:
      return CV_32F;
    case Dtype::kFloat64:
      return CV_64F;
    case Dtype::kInt8:
      return CV_8S;
    default:
      return -1;  // OpenCV has float16, but not in these functions
  }
}

cv::Mat matrix(const Tensor& tensor) {
  const int columns = static_cast<int>(std::min<std::uint64_t>(tensor.element_count, 1024));
  return {static_cast<int>(tensor.element_count) / columns, columns, depth(tensor.dtype),
          const_cast<void*>(tensor.address)};
}

}  // namespace

void enter_opencv(const std::string& group, Dtype dtype, std::uint64_t bytes) {
  if (depth(dtype) < 0) return;
  const auto size = static_cast<double>(bytes);
  enter(group, "peer:opencv-mat", size, 1, [=] {
    const Tensor tensor = make(dtype, bytes);
    return peer(tensor, [mat = matrix(tensor)] { return statistics(mat); });
  });
  enter(group, "peer:opencv-umat", size, 1, [=] {
    setenv("OPENCV_OPENCL_DEVICE", ":CPU|GPU:", 0);  // by default OpenCV uses only a GPU
    cv::ocl::setUseOpenCL(true);
    if (!cv::ocl::useOpenCL()) throw std::runtime_error("OpenCV found no OpenCL device");
    const Tensor tensor = make(dtype, bytes);
    cv::UMat umat;
    matrix(tensor).copyTo(umat);
    return peer(tensor, [umat] { return statistics(umat); });
  });
}

}  // namespace tensorstat::bench
#else
namespace tensorstat::bench {
void enter_opencv(const std::string&, Dtype, std::uint64_t) {}
}  // namespace tensorstat::bench
#endif
