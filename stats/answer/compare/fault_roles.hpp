// Follows a fault of tensors, such as "holds NaN" or "differs from the other run", through the operators of a record in
// the order of their execution: who began it, and who passed it on.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "stats/answer/compare/record.hpp"

namespace tensorstat {

enum class Role : std::uint8_t {
  kClean,   // none of its tensors has the fault
  kBegins,  // an output has it and no input
  kEnters,  // an input has it, and no tensor of this rank had it before: it came from outside, such as with a weight
  kPasses,  // an input has it, and an output
  kEnds,    // an input has it and no output
};

// A row for the search: whether it has the fault, and a number that is equal for equal content.
struct Marked {
  bool has_fault = false;
  std::uint64_t content = 0;
  bool is_proof = true;  // the same number says the same content: see proves_content()
};

// A number for a word behind those that `so_far` stands for. Not for what an adversary chooses.
inline std::uint64_t mixed(std::uint64_t so_far, std::uint64_t word) {
  so_far = (so_far ^ word) * 0x9e3779b97f4a7c15u;
  return so_far ^ so_far >> 32;
}

// Such a number for the values of a row. `so_far` combines it with the number of another row of the same tensor.
std::uint64_t content_of(const StatisticsView& statistics, std::uint64_t so_far = 0);

// Whether the same statistics say the same content: a digest, or a finite number beside counts. NaN is like any other.
bool proves_content(const StatisticsView& statistics);

// The role of each run of `record`, which is sorted.
//
// An operator that works in place (known by its type) leaves its result in its input. Such an input does not say what
// the operator was given. It counts only if its rank had the fault before. Known limits: a second operator in place
// that begins a fault in one rank, and an operator without dumped inputs, are taken for operators that pass the fault
// on. An operator of communication (AllReduce, Broadcast and the like) gets its data from every rank: an input of any
// rank counts.
std::vector<Role> roles_of(const Record& record, const std::function<Marked(const RecordRow&)>& mark);

}  // namespace tensorstat
