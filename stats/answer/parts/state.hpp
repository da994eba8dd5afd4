// The state of some parts of a plan: what their tensors gave. A file of it ends in .tsp.
//
// Written little-endian: "tsstate1", then records. Each record has four bytes of length, four of the CRC-32 of its
// content, and the content. The first record is the head: which plan, which parts, how many records follow. So a state
// that was cut or damaged is noticed. A partial in it names its accumulators (Partial::serialize). The digit of
// "tsstate1" increases if the form of a record changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/answer/parts/plan_request.hpp"
#include "stats/data/survey/surveyed_tensor.hpp"

namespace tensorstat {

// Larger than any state; a longer file is not read.
inline constexpr std::size_t kMostStateBytes = std::size_t{1} << 36;

struct StateHead {
  std::uint64_t key = 0;                    // PartList::key
  std::uint32_t parts = 1;                  // of the plan
  std::vector<std::uint32_t> part_numbers;  // the parts that are in this state, ascending
  std::uint64_t records = 0;                // that follow
  std::uint64_t faults = 0;                 // of these, what could not be read or measured
  PlanRequest request;
};

struct StateRecord {
  enum class Kind : std::uint8_t {
    kRow,    // a tensor, or with --by a row of one: its values, in the order of PlanRequest::measured
    kPiece,  // some elements of a tensor: its partial
    kFault,  // what could not be read, or not measured
  };
  Kind kind = Kind::kRow;
  std::uint64_t file = 0, tensor = 0, row = 0;    // its place in the whole tree; of a fault: the part, and which of it
  std::vector<std::string> engines = {};          // where it was computed: one for all statistics, or one for each
  TensorRow entry = {};                           // for a row or a piece; a piece has no values
  std::uint64_t first = 0, count = 0, total = 0;  // a piece's first element and count; the tensor's count
  std::string partial = {};                       // a piece's partial, serialised
  std::string label = {}, fault = {};  // for an unmeasured tensor, with the reason; `label` is empty if it was not read
  bool is_for_device = false;          // a fault: the device was asked for
};

std::string written(const StateHead& head);
std::string written(const StateRecord& record);

// Whether a file begins as a state of any version.
bool begins_as_state(std::string_view text);

struct PartState {
  StateHead head;
  std::vector<StateRecord> records;
};

// kUnreadable: not a state, another version, cut or damaged. `text` may be anything; no number in it decides how much
// memory is taken.
Result<PartState> parse_state(std::string_view text);

// The head alone, after the checks of all records' CRC.
Result<StateHead> parse_state_head(std::string_view text);

}  // namespace tensorstat
