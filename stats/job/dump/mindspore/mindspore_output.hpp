// MindSpore's dump: a statistic.csv for each graph and iteration, .npy files, and their companions.
#pragma once

#include <memory>

#include "stats/job/dump/output/dump_output.hpp"

namespace tensorstat {

std::shared_ptr<const OutputForm> mindspore_form();

}  // namespace tensorstat
