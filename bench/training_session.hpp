// A dump session beside a training step.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tensorstat/tensor.hpp>

namespace tensorstat::bench {

// What is done with a step's tensors.
using AfterStep = std::function<void(std::span<const Tensor>)>;

// A session that writes statistic.csv with these categories (a JSON list) into a folder of its own, and with `enable` waits
// at the end of each step until the rows are written; without categories one that wants nothing. The folder goes with it.
class SessionOfOperators {
 public:
  explicit SessionOfOperators(const std::string& categories, bool enable = true);

  void ran(std::span<const Tensor> made);  // an operator
  void step_end();

 private:
  struct Dump;
  std::shared_ptr<Dump> dump_;
};

// Hands every tensor to such a session.
AfterStep dump_session(const std::string& categories, bool enable = true);

}  // namespace tensorstat::bench
