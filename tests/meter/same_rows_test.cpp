// The command writes the same statistic.csv for a file in all of these cases: on each instruction set of the host; on
// the device with each of pocl's work-group methods, several work-group sizes and both kernel shapes; with few or many
// threads, shared or uploaded memory, with or without fp64. The device compiles its kernels for each case: the quick
// test does that for two dtypes, TENSORSTAT_FULL=1 for all that .npy has, and bfloat16.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "host/simd/cpu.hpp"
#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat::test {
namespace same_rows_test {

constexpr std::size_t kElements = 300'007;

class SameRows : public testing::Test {
 protected:
  SameRows() {
    samples::Random random(samples::seed());
    for (const Dtype dtype : dtypes()) {
      if (dtype == Dtype::kBfloat16) continue;                  // has no name in .npy; see --bfloat16 below
      if (is_float(dtype) && size_bytes(dtype) == 1) continue;  // most float8 have none either
      const auto bytes = samples::of(dtype)[0].make(dtype, kElements, random);
      const char kind = dtype == Dtype::kBool ? 'b' : is_float(dtype) ? 'f' : std::string(name(dtype))[0];
      write(std::string(name(dtype)),
            (size_bytes(dtype) == 1 ? "|" : "<") + std::string(1, kind) + std::to_string(size_bytes(dtype)), bytes);
    }
    if (samples::full())
      write("bfloat16", "<V2", samples::of(Dtype::kBfloat16)[0].make(Dtype::kBfloat16, kElements, random));
  }

  static std::vector<Dtype> dtypes() { return samples::full() ? samples::all_dtypes() : std::vector{Dtype::kFloat32}; }

  void write(const std::string& name, const std::string& descr, const std::vector<std::byte>& bytes) {
    write_file(folder_ / (name + ".npy"),
               npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (300007,), }",
                   {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    ++files_;
  }

  std::string rows(const std::string& where, const std::string& environment) {
    ++runs_;
    const Ran ran = run(folder_,
                        ". --bfloat16 --format csv --stats "
                        "max,min,avg,l2norm,count,nan-count,zero-count,negative-zero-count --on " +
                            where,
                        environment);
    EXPECT_EQ(ran.exit, 0) << environment << ": " << ran.err;
    return ran.out;
  }

  ScratchFolder folder_;
  std::size_t files_ = 0;
  int runs_ = 0;
};

TEST_F(SameRows, OnEveryInstructionSet) {
  const std::string expected = rows("host", "TENSORSTAT_ISA=baseline");
  EXPECT_EQ(line_count(expected), files_ + 1);
  for (const Isa isa : runnable_isas()) {
    for (const std::string cores : {"taskset -c 0 ", ""}) {
      EXPECT_EQ(rows("host", "TENSORSTAT_ISA=" + std::string(name(isa)) + " " + cores), expected) << name(isa) << cores;
    }
  }
}

TEST_F(SameRows, WhateverRunsTheWorkGroups) {
  if (std::getenv("TENSORSTAT_NO_DEVICE") != nullptr) GTEST_SKIP() << "this machine has no OpenCL device";
  const std::string expected = rows("host", "");
  const std::vector<std::string> ways = {
      // pocl's work-group methods
      "POCL_WORK_GROUP_METHOD=loops ", "POCL_WORK_GROUP_METHOD=loopvec ", "POCL_WORK_GROUP_METHOD=cbs ",
      // sizes
      "POCL_MAX_WORK_GROUP_SIZE=8 ", "POCL_MAX_WORK_GROUP_SIZE=64 "};
  const std::vector<std::string> shapes = {"TENSORSTAT_CL_SHAPE=slice ", "TENSORSTAT_CL_SHAPE=group "};
  const std::vector<std::string> others = {"", "TENSORSTAT_CL_FP64=0 ", "TENSORSTAT_CL_ZERO_COPY=0 ",
                                           "POCL_MAX_PTHREAD_COUNT=1 ", "POCL_MAX_PTHREAD_COUNT=7 "};
  for (std::size_t i = 0; i < ways.size() * shapes.size() * others.size(); ++i) {
    const std::size_t way = i % ways.size(), shape = i / ways.size() % shapes.size(),
                      other = i / ways.size() / shapes.size();
    // Each way with two of the others in both shapes; in the quick test each way once.
    if (other != way && (!samples::full() || other != (way + 1) % others.size())) continue;
    if (!samples::full() && shape != way % shapes.size()) continue;
    // A fresh home, so that no kernel compiled for another way is found.
    const std::string home = folder_ / ("home" + std::to_string(i));
    std::filesystem::create_directory(home);
    const std::string environment = "HOME=" + home + " XDG_CACHE_HOME= " + ways[way] + shapes[shape] + others[other];
    EXPECT_EQ(rows("device", environment), expected) << environment;
    std::filesystem::remove_all(home);
  }
  std::printf("%d runs of %zu rows\n", runs_, files_);
}

}  // namespace same_rows_test
}  // namespace tensorstat::test
