// The serialised form of partials, of one tensor or of two: a header, then a record for each accumulator that the
// partial keeps.
//   header   8 bytes of magic, whose last two are the version; 4 bytes of the caller's; 4 bytes of the length of what
//            follows the header; more of the caller's
//   record   {1 byte: length of the name, name, 4 bytes: length of the payload, payload}; the payload of an accumulator
//            is its words
// Numbers are little-endian. Names ascend, and are the ids of the accumulators' rows in precision/. What is not kept
// has no record. A new accumulator adds a name and changes nothing else, so the version stays. It increases if an
// accumulator's words change their meaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stats/core/engine/partial_layout.hpp"

namespace tensorstat {

// Writes to, and reads from, the first bytes of a span.
template <typename Number>
void put_number(std::span<std::byte> to, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i) to[i] = static_cast<std::byte>(number >> (8 * i));
}
template <typename Number>
Number get_number(std::span<const std::byte> from) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) number |= std::to_integer<Number>(from[i]) << (8 * i);
  return number;
}

struct WrittenForm {
  std::string_view magic;
  std::size_t header_bytes;
  std::string_view again;  // what to do with bytes of another version: "fold its tensors"
};

struct WrittenRecord {
  std::string_view name;
  std::span<const std::byte> payload;
};

// The form of a partial that keeps `needs`. `header` has the caller's bytes in their places, 0 elsewhere. `beside`: the
// records that are not words of the layout, by ascending name. Carries between the words need not be propagated.
std::vector<std::byte> write_form(const WrittenForm& form, std::span<const std::byte> header,
                                  const PartialLayout& layout, Needs needs, std::span<const std::int64_t> words,
                                  std::span<const WrittenRecord> beside = {});

// A name that may stand beside the words, and the need of a partial with such a record; kNothing: it has no effect.
struct BesideWords {
  std::string_view name;
  Needs need;
};

// These read untrusted bytes. They return a text that describes the fault, or "".
//
// The header's magic, version and length. `bytes` has all bytes of the header if it is right.
std::string fault_of_header(const WrittenForm& form, std::span<const std::byte> bytes);
// Finds the records behind the header, and the needs of a partial that has them. The payloads are views of the bytes.
std::string find_records(std::span<const std::byte> bytes, const PartialLayout& layout,
                         std::span<const BesideWords> beside, std::vector<WrittenRecord>* records, Needs* needs);
// The record of this name; nullptr if it is missing.
const WrittenRecord* find_record(std::span<const WrittenRecord> records, std::string_view name);
// Reads the words of a partial that keeps `needs`.
std::string read_words(std::span<const WrittenRecord> records, const PartialLayout& layout, Needs needs,
                       std::span<std::int64_t> words);
std::string lacks(std::string_view name);
std::string wrong_length(std::string_view name);

}  // namespace tensorstat
