// A program on OpenCV's T-API. Its kernels take every matrix as uchar*. The square root makes NaN.
#include <cmath>
#include <cstdio>
#include <opencv2/core.hpp>
#include <opencv2/core/ocl.hpp>

int main() {
  if (!cv::ocl::useOpenCL()) return std::puts("no OpenCL"), 3;
  cv::Mat given(64, 64, CV_32F);
  for (int i = 0; i < 64 * 64; ++i) given.at<float>(i / 64, i % 64) = static_cast<float>(i - 100);
  cv::UMat a, root, sum, scaled;
  given.copyTo(a);
  cv::sqrt(a, root);
  cv::add(root, a, sum);
  cv::scaleAdd(sum, 0.5, a, scaled);
  const cv::Mat made = scaled.getMat(cv::ACCESS_READ);
  int nan = 0;
  for (int i = 0; i < 64 * 64; ++i) nan += std::isnan(made.at<float>(i / 64, i % 64)) ? 1 : 0;
  std::printf("%d NaN, %g\n", nan, made.at<float>(63, 63));
}
