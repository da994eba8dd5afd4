// A real backend: OpenCV's DNN module on its OpenCL target passes the outputs of its layers, cl_mem on the device, to a
// dump session. The rows agree with OpenCV's own values. It is also an example of how a framework links the dump layer.
#include <cmath>
#include <cstdlib>
#include <limits>
#include <opencv2/core/ocl.hpp>
#include <opencv2/dnn.hpp>

#include "tests/support/dump_session.hpp"

namespace tensorstat {
namespace {

// A small classifier with random weights: convolution, ReLU, pooling, inner product, softmax.
cv::dnn::Net small_net() {
  cv::RNG random(20240131);
  const auto weights = [&](std::vector<int> shape) {
    cv::Mat mat(shape, CV_32F);
    random.fill(mat, cv::RNG::NORMAL, 0, 0.3);
    return mat;
  };
  cv::dnn::Net net;
  cv::dnn::LayerParams convolution, relu, pooling, inner, softmax;
  convolution.set("kernel_size", 3);
  convolution.set("num_output", 8);
  convolution.set("pad", 1);
  convolution.set("bias_term", false);
  convolution.blobs = {weights({8, 3, 3, 3})};
  pooling.set("pool", "max");
  pooling.set("kernel_size", 2);
  pooling.set("stride", 2);
  inner.set("num_output", 10);
  inner.set("bias_term", false);
  inner.blobs = {weights({10, 8 * 16 * 16})};
  net.addLayerToPrev("conv1", "Convolution", convolution);
  net.addLayerToPrev("relu1", "ReLU", relu);
  net.addLayerToPrev("pool1", "Pooling", pooling);
  net.addLayerToPrev("fc1", "InnerProduct", inner);
  net.addLayerToPrev("prob", "Softmax", softmax);
  net.enableFusion(false);  // keeps the output of every layer
  return net;
}

// A backend's work for one output: gives its identity, its memory and its lifetime.
DumpTensor as_dump_tensor(const std::shared_ptr<cv::UMat>& output) {
  DumpTensor tensor;
  tensor.tensor = {.dtype = Dtype::kFloat32,
                   .element_count = output->total(),
                   .address = output->handle(cv::ACCESS_READ),
                   .offset_bytes = output->offset,
                   .where = Where::kClBuffer};
  for (int i = 0; i < output->dims; ++i) {
    tensor.shape.push_back(static_cast<std::uint64_t>(output->size[i]));
  }
  tensor.format = "NCHW";
  tensor.keep_alive = output;  // nothing is copied, and training continues
  return tensor;
}

class OpencvBackend : public SessionTest {
 protected:
  static void SetUpTestSuite() {
    setenv("OPENCV_OPENCL_DEVICE", ":CPU:0", 0);
    setenv("OPENCV_DNN_OPENCL_ALLOW_ALL_DEVICES", "1", 0);
    setenv("OPENCV_OCL4DNN_DISABLE_AUTO_TUNING", "1", 0);  // performance does not matter here
  }
};

TEST_F(OpencvBackend, RowsOfLayerOutputsOnTheDevice) {
  if (!cv::ocl::haveOpenCL()) GTEST_SKIP() << "OpenCV finds no OpenCL device";
  cv::ocl::setUseOpenCL(true);
  cv::dnn::Net net = small_net();
  net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
  net.setPreferableTarget(cv::dnn::DNN_TARGET_OPENCL);
  const std::vector<cv::String> names{"conv1", "relu1", "pool1", "fc1", "prob"};

  options.dialect = Dialect::kOurs;
  auto session = open(R"({"iteration": "0|2", "statistic_category":
      ["max", "min", "avg", "l2norm", "count", "negative zero count", "nan count"]})",
                      R"({"stat_calc_mode": "device"})");
  std::map<std::pair<std::uint64_t, std::string>, cv::Mat> kept;
  for (std::uint64_t step = 0; step < 3; ++step) {
    cv::Mat image(std::vector<int>{1, 3, 32, 32}, CV_32F);
    cv::RNG(step + 1).fill(image, cv::RNG::UNIFORM, -1, 1);
    net.setInput(image);
    std::vector<cv::UMat> outputs;
    net.forward(outputs, names);
    cv::ocl::finish();
    for (std::size_t i = 0; i < names.size(); ++i) {
      const DumpPlace place{.iteration = step};
      const auto* op = session.operator_named(net.getLayer(names[i])->type, "Default/" + names[i]);
      if (!session.wants(place, op)) continue;
      const auto output = std::make_shared<cv::UMat>(outputs[i].clone());
      cv::ocl::finish();
      const DumpTensor tensor = as_dump_tensor(output);
      session.collect(place, op, {&tensor, 1});
      kept[{step, names[i]}] = outputs[i].getMat(cv::ACCESS_READ).clone();
    }
    session.step_end({.iteration = step});
  }
  session.close();
  for (const auto& message : messages) std::cout << "said: " << message << '\n';

  EXPECT_EQ(files(), (std::vector<std::string>{"rank_0/Net/0/0/statistic.csv", "rank_0/Net/0/2/statistic.csv"}));
  for (const std::uint64_t step : {0, 2}) {
    const auto table = rows("rank_0/Net/0/" + std::to_string(step) + "/statistic.csv");
    ASSERT_EQ(table.size(), names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      const cv::Mat& values = kept[{step, names[i]}];
      long double sum = 0, squares = 0;
      double least = std::numeric_limits<double>::infinity(), most = -least;
      std::uint64_t negative = 0;
      const auto* const value = values.ptr<float>();
      for (std::size_t element = 0; element < values.total(); ++element) {
        sum += value[element];
        squares += static_cast<long double>(value[element]) * value[element];
        least = std::min<double>(least, value[element]);
        most = std::max<double>(most, value[element]);
        negative += value[element] < 0;
      }
      const auto& row = table[i];
      EXPECT_EQ(row.identity.op_name, "Default/" + names[i]);
      EXPECT_EQ(row.statistics.values[0], Value{most});
      EXPECT_EQ(row.statistics.values[1], Value{least});
      EXPECT_NEAR(std::get<double>(row.statistics.values[2]), static_cast<double>(sum / values.total()), 1e-12);
      EXPECT_NEAR(std::get<double>(row.statistics.values[3]), static_cast<double>(std::sqrt(squares)), 1e-9);
      EXPECT_EQ(row.statistics.values[4], Value{static_cast<std::uint64_t>(values.total())});
      EXPECT_EQ(row.statistics.values[5], Value{negative});
      EXPECT_EQ(row.statistics.values[6], Value{std::uint64_t{0}});
    }
  }
}

}  // namespace
}  // namespace tensorstat
