// The stages of bench/gpu, a function each. Figures go through report.hpp. Errors are thrown.
#pragma once

#include <cstdint>
#include <string>

#include "bench/device/gpu.hpp"

namespace tensorstat::bench {

struct Plan {
  std::uint64_t bytes = std::uint64_t{256} << 20;  // size of one large tensor
  int rounds = 9;
  std::uint64_t batch_tensors = 10'000;
  bool every_shape = true;  // all launch shapes and all sets of needs; false: only the usual ones
};

// Lists all OpenCL platforms and devices. Tests whether inline PTX and its packed operations compile and compute
// correctly.
void print_devices();

// The read-only stream for each shape: lanes of a group x loads in flight x groups per unit.
void measure_ceiling(Gpu& gpu, const Plan& plan);

// Compares the folds with the host engine, bit by bit: all dtypes, hard data, odd sizes and offsets.
void check_folds(Gpu& gpu, const Plan& plan);

// One large tensor of each dtype, in turns with the read-only stream.
void measure_folds(Gpu& gpu, const Plan& plan);

// Further statistics with the ten, relative to the ten alone, in turns.
void measure_beside(Gpu& gpu, const Plan& plan);

// Many small tensors in one launch.
void measure_batch(Gpu& gpu, const Plan& plan);

// Through the public API with OpenCL, by the wall clock: one large tensor on the device, the batch from submit to
// collect, and host memory through the upload window, compared with a plain copy.
void measure_api(const Plan& plan);

// The best launch for this device, as a row for the table in kernels-cl/driver/device.cpp.
void tune(Gpu& gpu, const Plan& plan);

}  // namespace tensorstat::bench
