// The row and the placement of one tensor of a file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tensorstat/meter.hpp>

#include "stats/data/files/tensor_reader.hpp"
#include "stats/data/rows/names/dump_place.hpp"
#include "stats/data/rows/tensor_row.hpp"

namespace tensorstat {

// The facts that all tensors of a file share.
struct SurveyedFile {
  std::string path, name;  // the name is the full one, where the file has a number for it
  std::size_t number = 0;  // which call of Survey added it
  std::optional<DumpPlace> place;
  std::optional<Identity> identity;  // if a dump.json has it
};

struct SurveyedTensor : TensorRow {
  std::span<const Decision> placement;  // valid during the listener's call
  std::uint64_t device_bytes = 0;
  std::size_t file = 0;      // which call of Survey added it
  std::uint64_t number = 0;  // which tensor of its file
  std::string line = {};     // Survey::Listener::line made it; else empty
};

// The tensor before it is measured: without statistics and placement. Any thread may call it.
SurveyedTensor surveyed(const SurveyedFile& file, std::uint64_t number, const TensorReader& reader,
                        const Request& request);

}  // namespace tensorstat
