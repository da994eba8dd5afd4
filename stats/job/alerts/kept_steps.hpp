// Reads last_steps.ring, which is not trusted, and writes its steps as an ordinary dump.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/job/alerts/kept_row.hpp"

namespace tensorstat {

// The facts that all rows of a ring share: their format and the place of a dump.
struct KeptAbout {
  Dialect dialect = Dialect::kOurs;
  std::string net_name = "model";
  Categories categories = {};
};
std::string to_text(const KeptAbout& about);

struct KeptStep {
  std::uint64_t step = 0;
  bool is_whole = false;    // step_end() was called
  bool is_damaged = false;  // a row was not read; those behind it are missing, too
  std::uint64_t lost_row_count = 0;
  std::vector<KeptRow> rows;
};

struct KeptSteps {
  KeptAbout about;
  std::uint32_t rank = 0;
  std::uint64_t process = 0;
  bool is_closed = false;       // the session was closed
  bool is_written_now = false;  // by a living process. Only read_ring_file() knows
  std::vector<KeptStep> steps;  // in the order in which they began; those without a row are left out
};

// kUnreadable: the content is not a ring, or its header is invalid.
Result<KeptSteps> read_ring(std::span<const std::byte> content);
Result<KeptSteps> read_ring_file(const std::string& path);

// The lines of code that ran operators, as the journal of a watch has them (doc/origin.md).
struct CalledFrom {
  std::string file;
  std::uint64_t line = 0;
};

// The path of the journal, below a dump or an event.
std::string journal_below(std::string_view folder, std::uint32_t rank, std::string_view net_name);
// The last line of code in the journal for the operator, or for the forward of its backward. May be empty.
CalledFrom code_line_of(std::string_view journal, std::string_view op_name);
// The text of a journal; empty if the file is missing.
std::string read_journal(const std::string& path);

// {event}/rank_{rank}/{net_name}/{graph}/{step}: where an event has rows and tensors of a step.
std::string event_folder(const std::string& event, std::uint32_t rank, const std::string& net_name, std::uint32_t graph,
                         std::uint64_t step);

// Writes the steps as statistic.csv in event_folder(), constants in the folder `constants`, and the journal of the
// watch, which tells the code line of each row (may be empty). `room`: how many bytes may be written. If not all steps
// fit, the oldest are left out. Returns the number of written steps.
Result<std::size_t> write_event(const KeptSteps& kept, const std::string& journal, const std::string& event,
                                std::uint64_t& room);
// Removes the rows that an earlier run left for this rank. Tensors stay.
void remove_event_rows(const std::string& event, std::uint32_t rank);

}  // namespace tensorstat
