// A dump session beside a training step.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <tensorstat/tensor.hpp>

namespace tensorstat::bench {

// What is done with a step's tensors.
using AfterStep = std::function<void(std::span<const Tensor>)>;

// Hands every tensor to a session that writes statistic.csv with these categories (a JSON list)
// into a folder of its own, and with `enable` waits at the end of each step until the rows are written; without
// categories to a session that wants nothing. The folder goes with the last copy.
AfterStep dump_session(const std::string& categories, bool enable = true);

}  // namespace tensorstat::bench
