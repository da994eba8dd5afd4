// The ring of the last steps. The checksums of its rows are made right first, or else no changed byte would get past
// them.
#include "stats/job/alerts/kept_steps.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "stats/core/base/crc32.hpp"
#include "stats/job/alerts/ring_layout.hpp"
#include "tests/fuzz/targets.hpp"

namespace tensorstat::fuzz {
namespace {

std::span<const std::byte> bytes_of_text(std::string_view text) { return std::as_bytes(std::span(text)); }

// Rows begin with their length and their CRC.
void make_checksums_right(std::string& ring, std::uint64_t offset, std::uint64_t end) {
  while (offset + 8 <= end) {
    std::uint32_t size = 0;
    std::memcpy(&size, ring.data() + offset, sizeof size);
    if (size < 8 || size > end - offset) return;
    const std::uint32_t crc = crc32_of(0, bytes_of_text(std::string_view(ring).substr(offset + 8, size - 8)));
    std::memcpy(ring.data() + offset + 4, &crc, sizeof crc);
    offset += size;
  }
}

std::string with_right_row_checksums(Input bytes) {
  std::string ring(bytes);
  RingHeader header;
  if (ring.size() < sizeof header) return ring;
  std::memcpy(ring.data(), kRingMagic, sizeof kRingMagic);
  std::memcpy(&header, ring.data(), sizeof header);
  std::uint64_t offset = header.slots_at;
  for (std::uint32_t i = 0; i < header.slot_count && offset <= ring.size() && header.slot_bytes <= ring.size() - offset;
       ++i) {
    if (header.slot_bytes < sizeof(SlotHeader)) break;
    make_checksums_right(ring, offset + sizeof(SlotHeader), offset + header.slot_bytes);
    offset += header.slot_bytes;
  }
  return ring;
}

}  // namespace

void kept_steps(Input bytes) {
  const std::string ring = with_right_row_checksums(bytes);
  const auto kept = read_ring(bytes_of_text(ring));
  if (!kept) return demand_message(kept.error().message, 300);
  for (const KeptStep& step : kept->steps) {
    demand(step.is_damaged || !step.rows.empty(), "a step without rows is left out");
    std::string written;
    for (const KeptRow& each : step.rows) append_kept_row(each.row, each.graph, each.is_constant, written);
    std::vector<KeptRow> again;
    demand(read_kept_rows(bytes_of_text(written), kept->about.categories, again), "what is written is read");
    std::string twice;
    for (const KeptRow& each : again) append_kept_row(each.row, each.graph, each.is_constant, twice);
    demand(written == twice, "a row is the same after it was read");
  }
}

}  // namespace tensorstat::fuzz
