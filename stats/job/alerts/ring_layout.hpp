// The layout of the file last_steps.ring. One process writes it, by pwrite(); any process reads it, also after the
// writer has died. Readers check each address and size before they use it.
//
//   RingHeader, a text about the rows; then `slot_count` slots from `slots_at` on, each `slot_bytes` long
//   slot: SlotHeader, rows (kept_row.hpp)
//
// A step that begins takes the oldest slot. There is one more than steps are kept, so a step without a row yet costs
// none of them.
//
// Step number n since the beginning, from 1, stands in slot n % slot_count. The writer sets `number` to 0, changes the
// slot, and sets `number` to n. A row is written behind the others; then `bytes` is raised. These are calls of their
// own, in this order, so a reader after `kill -9` sees whole rows only. After a power failure pages may be missing, and
// the CRC of a row tells. A reader of a living ring reads the slots' numbers again after the rows: a slot whose number
// has changed was written meanwhile.
#pragma once

#include <cstdint>

namespace tensorstat {

inline constexpr char kRingMagic[16] = "tensorstat ring";  // with its 0
inline constexpr std::uint64_t kRingPage = 4096;

struct RingHeader {
  char magic[16];
  std::uint32_t version, slot_count;
  std::uint64_t slots_at, slot_bytes;
  std::uint32_t rank, about_bytes;
  std::uint64_t process, started_us;
  std::uint64_t is_closed;  // the session ended; 0: it runs, or died
};

struct SlotHeader {
  std::uint64_t number, step;
  std::uint64_t bytes;  // of rows
  std::uint64_t is_whole;
  std::uint64_t lost_row_count;  // rows that found no room
  std::uint64_t spare[3];
};
static_assert(sizeof(SlotHeader) == 64);

}  // namespace tensorstat
