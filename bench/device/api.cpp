#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <tensorstat/opencl.hpp>

#include "bench/data.hpp"
#include "bench/device/measure.hpp"
#include "bench/device/report.hpp"
#include "kernels-cl/driver/device.hpp"

namespace tensorstat::bench {
namespace {

constexpr const char* kTen =
    "max,min,avg,l2norm,negative zero count,positive zero count,zero count,nan count,negative inf count,positive inf "
    "count";

template <typename T>
T take(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

void check(cl_int code, const char* call) {
  if (code != CL_SUCCESS) throw std::runtime_error(cl_engine::error("measuring", call, code).message);
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<double> each(const std::vector<double>& values, const std::function<double(double)>& function) {
  std::vector<double> all;
  for (const double value : values) all.push_back(function(value));
  return all;
}

}  // namespace

void measure_api(const Plan& plan) {
  const cl_engine::Device device = take(cl_engine::choose_device({}));
  cl_int code = CL_SUCCESS;
  const cl::Context context(device.device, nullptr, nullptr, nullptr, &code);
  check(code, "clCreateContext");
  const cl::CommandQueue queue(context, device.device, 0, &code);
  check(code, "clCreateCommandQueue");
  const cl::Buffer large(context, CL_MEM_READ_WRITE, plan.bytes, nullptr, &code);
  check(code, "clCreateBuffer");
  const Tensor host = make(Dtype::kFloat32, plan.bytes);
  const auto upload = [&] {
    check(queue.enqueueWriteBuffer(large, CL_TRUE, 0, plan.bytes, host.address), "clEnqueueWriteBuffer");
  };
  upload();
  const Tensor on_device{
      .dtype = Dtype::kFloat32, .element_count = host.element_count, .address = large(), .where = Where::kClBuffer};
  std::vector<Tensor> small(plan.batch_tensors, on_device);
  const std::uint64_t apart = std::min<std::uint64_t>(4096, plan.bytes / plan.batch_tensors / 16 * 16);
  for (std::size_t i = 0; i < small.size(); ++i) small[i].element_count = apart / 4, small[i].offset_bytes = i * apart;

  const Categories ten = take(categories_from(kTen));
  DeviceMeter on_queue = take(DeviceMeter::on(queue()));
  Meter meter;
  const auto submit = [&](std::span<const Tensor> tensors) {
    return seconds_of([&] {
      Ticket ticket = take(on_queue.submit(tensors, {.categories = ten}));
      static_cast<void>(take(ticket.collect()));
    });
  };
  const auto seconds = rounds(plan.rounds, {[&] {
                                              return submit({&on_device, 1});
                                            },
                                            [&] { return submit(small); }, [&] { return seconds_of(upload); },
                                            [&] {
                                              return seconds_of([&] {
                                                take(meter.measure({&host, 1}, {.categories = ten, .on = On::kDevice}));
                                              });
                                            }});
  const auto bytes = static_cast<double>(plan.bytes);
  const double count = static_cast<double>(plan.batch_tensors);
  figure("api/float32/wall", spread(each(seconds[0], [](double s) { return s * 1e3; })), "ms");
  figure("api/float32/wall speed", spread(each(seconds[0], [&](double s) { return bytes * 1e-9 / s; })), "GB/s");
  figure("api/batch of " + std::to_string(plan.batch_tensors) + "/a tensor, submit to collect",
         spread(each(seconds[1], [&](double s) { return s * 1e9 / count; })), "ns", device.is_cpu ? "" : "<= 60");
  std::vector<double> of_copy;
  for (std::size_t i = 0; i < seconds[2].size(); ++i) of_copy.push_back(seconds[2][i] / seconds[3][i]);
  figure("upload/plain copy", spread(each(seconds[2], [&](double s) { return bytes * 1e-9 / s; })), "GB/s");
  figure("upload/of plain copy", spread(of_copy), "");
}

}  // namespace tensorstat::bench
