// A step that is still being written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <set>
#include <string>

#include "stats/job/dump/msprobe/companions.hpp"
#include "stats/job/dump/msprobe/growing_json.hpp"
#include "stats/job/dump/msprobe/open_call.hpp"
#include "stats/job/dump/msprobe/step_calls.hpp"

namespace tensorstat {

// One step of a rank: its folder, and the calls that are not yet in its files.
struct OpenStep {
  std::uint32_t rank;
  std::uint64_t iteration;
  std::string folder;
  GrowingJson dump;
  Companions companions;
  StepCalls calls = {};
  std::list<OpenCall> entries = {};      // may still get tensors, or wait to be written
  std::uint64_t first_open = 1;          // calls with lower serials are settled
  std::set<std::uint64_t> refused = {};  // calls that are not wanted, among those that may still get tensors
  std::set<std::uint64_t> awaited = {};  // calls at an end of the scope that are wanted, and have no tensors so far
  std::set<std::string> backward_modules = {};  // stems of modules with a dumped backward; gradients, too
  bool is_begun = false, has_changed = false, has_waiting_companions = false;

  // nullptr: the call is settled.
  OpenCall* call(std::uint64_t serial) {
    const auto match =
        std::find_if(entries.rbegin(), entries.rend(), [&](const OpenCall& entry) { return entry.serial == serial; });
    return match == entries.rend() ? nullptr : &*match;
  }

  // If more than `most` refused calls are open, settles the oldest.
  void refuse(std::uint64_t serial, std::size_t most) {
    refused.insert(serial);
    if (refused.size() > most) first_open = std::max(first_open, *refused.begin() + 1);
    while (refused.size() > most) refused.erase(refused.begin());
  }

  // Calls with tensors that are not in the file, and the bytes of their texts.
  struct Unsaved {
    std::uint64_t calls = 0, bytes = 0;
  };
  Unsaved unsaved() const {
    Unsaved all;
    for (const OpenCall& entry : entries) {
      if (entry.unsaved_rows == 0) continue;
      ++all.calls;
      all.bytes += entry.bytes;
    }
    return all;
  }
};

}  // namespace tensorstat
