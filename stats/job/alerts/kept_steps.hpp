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

// What the rows of a ring have in common, and where a dump of them lies.
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

// kUnreadable: it is no ring, or its header makes no sense.
Result<KeptSteps> read_ring(std::span<const std::byte> content);
Result<KeptSteps> read_ring_file(const std::string& path);

// The lines of code that ran operators, as the journal of a watch has them (doc/origin.md).
struct CalledFrom {
  std::string file;
  std::uint64_t line = 0;
};

// The path of the journal, below a dump or an event.
std::string journal_below(std::string_view folder, std::uint32_t rank, std::string_view net_name);
// The last line that the journal's text has for the operator, or for the forward of its backward. Empty if it has none.
CalledFrom code_line_of(std::string_view journal, std::string_view op_name);
// The text of a journal; empty if there is none.
std::string read_journal(const std::string& path);

// {event}/rank_{rank}/{net_name}/{graph}/{step}: where an event has rows and tensors of a step.
std::string event_folder(const std::string& event, std::uint32_t rank, const std::string& net_name, std::uint32_t graph,
                         std::uint64_t step);

// Writes the steps as statistic.csv in event_folder(), constants in the folder `constants`, and the journal of the
// watch, which says where rows come from; empty if there is none. `room`: how many bytes may be written. Steps that do
// not fit, the oldest, are left out. Returns how many are written.
Result<std::size_t> write_event(const KeptSteps& kept, const std::string& journal, const std::string& event,
                                std::uint64_t& room);
// Removes the rows that an earlier run left for this rank. Tensors stay.
void remove_event_rows(const std::string& event, std::uint32_t rank);

}  // namespace tensorstat
