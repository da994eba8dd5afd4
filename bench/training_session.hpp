// A dump session for a training step.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tensorstat/tensor.hpp>

namespace tensorstat::bench {

// Called with the tensors of a step.
using AfterStep = std::function<void(std::span<const Tensor>)>;

// A session that writes statistic.csv with these categories (a JSON list) into a temporary folder. With `enable` it
// waits at the end of each step until the rows are written. Without categories it dumps nothing.
class SessionOfOperators {
 public:
  explicit SessionOfOperators(const std::string& categories, bool enable = true);

  void ran(std::span<const Tensor> made);  // call it for each operator
  void step_end();

 private:
  struct Dump;
  std::shared_ptr<Dump> dump_;
};

// Hands every tensor of the step to such a session.
AfterStep dump_session(const std::string& categories, bool enable = true);

}  // namespace tensorstat::bench
