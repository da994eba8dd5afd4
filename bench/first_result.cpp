// A process from its start to its first result. The start-up group of bench runs it repeatedly.
//
//   first_result nothing        returns at once
//   first_result empty-kernel   opens the device, builds and runs an empty kernel
//   first_result host|device    measures 1 MiB of float32 there
//   first_result device-once    the same, but keeps the result of driver trials for the next process
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tensorstat/meter.hpp>
#include <vector>

#include "kernels-cl/driver/device.hpp"

namespace {

using namespace tensorstat;

bool run_empty_kernel() {
  const auto device = cl_engine::choose_device({});
  if (!device) return false;
  const cl::Context context(device->device);
  const cl::CommandQueue queue(context, device->device);
  const cl::Program program(context, "kernel void nothing() {}", false);
  if (program.build({device->device}) != CL_SUCCESS) return false;
  const cl::Kernel kernel(program, "nothing");
  return queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1)) == CL_SUCCESS &&
         queue.finish() == CL_SUCCESS;
}

bool measure(On on) {
  const std::vector<float> data(std::size_t{1} << 18, 1.5F);
  Meter meter;
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = data.size(), .address = data.data()};
  const auto measurements =
      meter.measure({&tensor, 1}, {.categories = {Category::kMax, Category::kAvg, Category::kL2norm}, .on = on});
  return measurements && std::get<double>(*(*measurements)[0].statistics.find(Category::kAvg)) == 1.5;
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc == 2 ? argv[1] : "";
  if (std::strcmp(what, "nothing") == 0) return 0;
  if (std::strcmp(what, "empty-kernel") == 0) return run_empty_kernel() ? 0 : 1;
  if (std::strcmp(what, "host") == 0) return measure(On::kHost) ? 0 : 1;
  if (std::strcmp(what, "device") == 0) return measure(On::kDevice) ? 0 : 1;
  if (std::strcmp(what, "device-once") == 0) {
    setenv("TENSORSTAT_PREFLIGHT", "once", 1);
    return measure(On::kDevice) ? 0 : 1;
  }
  std::fputs("usage: first_result nothing|empty-kernel|host|device|device-once\n", stderr);
  return 2;
}
