// Programs: the kernel specialised by dtype, needs and precision, built once each.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include <tensorstat/partial.hpp>

#include "kernels-cl/cl.hpp"
#include "kernels-cl/device.hpp"

namespace tensorstat::cl_engine {

// The whole text of a dtype's kernel, for one compiler run without include paths.
std::string source(Dtype dtype);

// What the compiler is told beside: every choice that specialises the text.
std::string build_options(const Device& device, Dtype dtype, Needs needs, Precision precision);

class Programs {
 public:
  // The kernel, built at its first use. Not for several threads at once.
  Result<cl::Kernel> kernel(const cl::Context& context, const Device& device, Dtype dtype, Needs needs,
                            Precision precision);

 private:
  std::map<std::tuple<Dtype, Needs, Precision>, cl::Kernel> kernels_;
};

}  // namespace tensorstat::cl_engine
