// A row as bytes in the ring of the last steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tensorstat/rows.hpp>
#include <vector>

namespace tensorstat {

struct KeptRow {
  std::uint32_t graph = 0;
  bool is_constant = false;
  Row row;  // without further columns
};

// Appends the row without further columns: its length, its CRC-32, then its values and texts. Little endian.
void append_kept_row(const Row& row, std::uint32_t graph, bool is_constant, std::string& to);

// Reads the rows of a step until one is damaged or incomplete. Returns whether all bytes were read.
bool read_kept_rows(std::span<const std::byte> bytes, const Categories& categories, std::vector<KeptRow>& rows);

}  // namespace tensorstat
