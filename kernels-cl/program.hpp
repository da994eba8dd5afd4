// Programs: the kernel specialised by dtype and needs, built once each.
#pragma once

#include <map>
#include <string>
#include <utility>

#include <tensorstat/partial.hpp>

#include "kernels-cl/cl.hpp"
#include "kernels-cl/device.hpp"

namespace tensorstat::cl_engine {

// The whole text of a dtype's kernel, for one compiler run without include paths.
std::string source(const Device& device, Dtype dtype);

// What the compiler is told beside: every choice that specialises the text.
std::string build_options(const Device& device, Dtype dtype, Needs needs);

// What a lane of Shape::kGroup may be given of one slice.
std::uint64_t most_elements_a_lane(Dtype dtype);

// Not for several threads at once.
class Programs {
 public:
  // The kernel that was kept for these, or nullptr.
  const cl::Kernel* find(Dtype dtype, Needs needs) const;
  void keep(Dtype dtype, Needs needs, cl::Kernel kernel);

  Result<cl::Kernel> build(const cl::Context& context, const Device& device, Dtype dtype, Needs needs) const;

 private:
  std::map<std::pair<Dtype, Needs>, cl::Kernel> kernels_;
};

}  // namespace tensorstat::cl_engine
