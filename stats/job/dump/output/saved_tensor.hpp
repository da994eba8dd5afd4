// Reads the bits of a held tensor for a file.
#pragma once

#include <exception>
#include <span>
#include <string>

#include "stats/data/files/npy/npy_writer.hpp"
#include "stats/job/dump/session/dump_meter.hpp"
#include "stats/job/dump/session/dump_tally.hpp"
#include "stats/job/dump/session/pending_run.hpp"

namespace tensorstat {

// The content of the tensor's .npy file.
NpyContent content_of(const PendingTensor& tensor, std::span<const std::byte> bytes);

// Reads the tensor and passes it to `write`, which takes an NpyContent and returns whether the file was written.
// Returns the same. On failure the file is counted as lost; an error in reading is reported.
template <typename Write>
bool save_tensor(const PendingTensor& tensor, DumpMeter& dump_meter, DumpTally& tally, Notices& notices,
                 const Write& write) noexcept try {
  DumpMeter::Room room;
  const auto bytes = dump_meter.bits(tensor, room);
  if (bytes && write(content_of(tensor, *bytes))) return true;
  ++tally.lost_files;
  if (!bytes) {
    notices.warn_once("unread",
                      [&] { return "a tensor could not be read, and its file is missing: " + bytes.error().message; });
  }
  return false;
} catch (const std::exception& fault) {
  ++tally.lost_files;
  notices.warn_once("no file", [&] { return "a tensor's file is missing: " + std::string(fault.what()); });
  return false;
}

}  // namespace tensorstat
