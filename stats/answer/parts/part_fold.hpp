// Measures the tensors of one part of a plan.
#pragma once

#include <string>
#include <tensorstat/meter.hpp>

#include "stats/answer/parts/plan.hpp"
#include "stats/data/survey/survey.hpp"

namespace tensorstat {

struct FoldedPart {
  std::string state;                // the content of the state file
  std::vector<std::string> errors;  // errors of tensors that could not be read or measured
  std::vector<std::string> notes;   // entries without numbers that are not errors, such as a text
  bool is_for_device = false;       // true: some error says that a device cannot compute it
};

struct FoldOptions {
  On on = On::kAuto;
  unsigned threads = 0;  // as Survey::Options::threads
  std::function<void(const Survey::Progress&)> progressed = {};
};

FoldedPart fold_part(Meter& meter, const PartList& list, const FoldOptions& options);

}  // namespace tensorstat
