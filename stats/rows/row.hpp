// One row of statistic.csv: whose tensor it was, and what was found.
#pragma once

#include <cstdint>
#include <string>

#include <tensorstat/statistics.hpp>
#include <tensorstat/tensor.hpp>

namespace tensorstat {

// The identity columns, in MindSpore's terms.
struct Identity {
  std::string op_type = "Tensor";  // "Add"; "Parameter" for a parameter or constant
  std::string op_name;             // the operator's name with its scope
  std::uint64_t task_id = 0;
  std::uint64_t stream_id = 0;
  std::uint64_t timestamp_us = 0;  // since the Unix epoch
  std::string io = "output";       // "input" or "output"
  std::uint64_t slot = 0;          // which input or output
};

struct Row {
  Identity identity;
  std::uint64_t data_size_bytes = 0;  // of the tensor in its original dtype
  std::string data_type;              // "float32"; the original dtype also where a wider one is stored
  Shape shape;
  Statistics statistics;
};

}  // namespace tensorstat
