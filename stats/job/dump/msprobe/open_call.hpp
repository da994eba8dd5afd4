// A call that may still get tensors, or waits to be written.
#pragma once

#include <cstdint>
#include <string>
#include <tensorstat/dump.hpp>

#include "stats/job/dump/msprobe/call_text.hpp"

namespace tensorstat {

// A call and the texts of its tensors so far.
struct OpenCall : CallText {
  std::uint64_t serial = 0;
  std::uint64_t unsaved_rows = 0, bytes = 0;
  std::string last_layout = {};

  // The name of a tensor's file without its ending: its place in the call's layout if that is a valid file name, else
  // its slot. A gradient has its parameter's name.
  std::string tensor_name(Io io, std::uint32_t slot) const;
};

}  // namespace tensorstat
