// The thread that takes readings that have ended and writes their rows. No call of the program waits for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "stats/job/attach/program/objects.hpp"
#include "stats/job/attach/unwritten.hpp"

namespace tensorstat::attach {

// A launch, with the readings of its arguments before and after it.
struct Launch {
  struct Argument {
    static constexpr std::size_t kNone = SIZE_MAX;
    std::uint32_t slot = 0;
    Extent extent{};
    std::uint64_t version = 0;  // of the storage, before the launch
    bool is_defined = false;    // before the launch, in whole
    bool is_read = false, is_written = false;
    std::shared_ptr<Snapshot> before{}, after{};
    std::size_t in_before = kNone, in_after = kNone;  // the extents of the readings
    std::unique_ptr<UnwrittenLook> look{};
    bool has_lost_look = false;
    std::shared_ptr<std::atomic<bool>> is_disturbed{};  // shared by its storage; true: the reading cannot be trusted
  };

  std::uint64_t number = 0;
  std::string kernel;
  std::shared_ptr<Context> context;
  std::uint32_t queue_number = 0;
  bool is_ordered = true;  // the queue
  std::uint64_t timestamp_us = 0;
  std::vector<Argument> arguments;
  bool has_failed = false;  // the driver refused it: only the readings under way are waited for
  std::string not_seen;     // why inputs are missing in the rows; "": none is missing
  std::unique_ptr<Reading> before, after;
  // The storages that know of the readings, and whether a command may have written one before it was read.
  struct Watched {
    std::shared_ptr<Storage> storage;
    std::shared_ptr<std::atomic<bool>> is_disturbed;
  };
  std::vector<Watched> storages;
  std::shared_ptr<OpenLaunch> open;

  // The events of all commands that are under way for it.
  std::vector<cl_event> events() const;
  // The events of those that read behind the launch. The last one was enqueued last.
  std::vector<cl_event> events_behind() const;
  bool has_ended() const;
};

class Collector {
 public:
  virtual ~Collector() = default;
  // How many launches may wait; more are not measured.
  static constexpr std::size_t kMostWaiting = 8192;
  virtual bool has_room() const = 0;
  virtual void add(std::unique_ptr<Launch> launch) = 0;
  // Counters of the tally have changed.
  virtual void note() = 0;
  // Destroys an object on the collector's thread, because releasing it may keep the driver busy for long.
  virtual void retire(std::shared_ptr<void> object) = 0;
  // Registers the last look when the process ends; call it once a driver is there, so that it goes first.
  virtual void end_with_process() = 0;
};
Collector& collector();

}  // namespace tensorstat::attach
