// What bench/gpu asks of a device, one function a stage. Figures go through report.hpp; what is wrong is thrown.
#pragma once

#include <cstdint>
#include <string>

#include "bench/device/gpu.hpp"

namespace tensorstat::bench {

struct Plan {
  std::uint64_t bytes = std::uint64_t{256} << 20;  // of one large tensor
  int rounds = 9;
  std::uint64_t batch_tensors = 10'000;
  bool every_shape = true;  // of launches, and every set of needs; or only the usual ones
};

// Every OpenCL platform and device, and whether inline PTX and its packed operations compile and are right.
void print_devices();

// The read-only stream by shape: lanes of a group x loads in flight x groups a unit.
void measure_ceiling(Gpu& gpu, const Plan& plan);

// The folds against the host engine, bit by bit: every dtype, hard data, awkward sizes and beginnings.
void check_folds(Gpu& gpu, const Plan& plan);

// One large tensor of each dtype beside the read-only stream, in turns.
void measure_folds(Gpu& gpu, const Plan& plan);

// What is asked beside the ten statistics, as a share of those alone, in turns.
void measure_beside(Gpu& gpu, const Plan& plan);

// Many small tensors in one launch.
void measure_batch(Gpu& gpu, const Plan& plan);

// Through the public API of OpenCL, by the wall clock: one large tensor on the device, the batch from submit to
// collect, and host memory through the upload window beside a plain copy.
void measure_api(const Plan& plan);

// The best launch for this device, as a row for the table in kernels-cl/driver/device.cpp.
void tune(Gpu& gpu, const Plan& plan);

}  // namespace tensorstat::bench
