// The text of an OpenCL error has the code's name beside its number, for every error code of OpenCL 1.2.
#include <gtest/gtest.h>

#include <string>

#include "kernels-cl/driver/cl.hpp"

namespace tensorstat::cl_engine {
namespace cl_error_words_test {

TEST(ClErrorWords, SayNameAndNumber) {
  EXPECT_EQ(error("building a kernel", "clBuildProgram", CL_OUT_OF_RESOURCES).message,
            "building a kernel: clBuildProgram returned CL_OUT_OF_RESOURCES (-5)");
  EXPECT_EQ(code_words(-1001), "CL_PLATFORM_NOT_FOUND_KHR (-1001)");
  EXPECT_EQ(code_words(-9999), "-9999");  // a driver's own code
}

TEST(ClErrorWords, HaveEveryCodeOfOpenCl) {
  const auto named = [](int code) { return code_words(code).starts_with("CL_"); };
  for (int code = -19; code <= 0; ++code) EXPECT_TRUE(named(code)) << code;
  for (int code = -68; code <= -30; ++code) EXPECT_TRUE(named(code)) << code;
}

}  // namespace cl_error_words_test
}  // namespace tensorstat::cl_engine
