// What holds of every file of tensors: an accepted tensor can be read to its last byte, in any order, any number of
// times.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "stats/data/files/tensor_source.hpp"
#include "tests/fuzz/targets.hpp"

namespace tensorstat::fuzz {

inline constexpr std::size_t kMostMessageBytes = 70'000;  // a member's name has up to 65,535 bytes
inline constexpr std::size_t kWindowBytes = 64;

// The number of bytes that the reader returns; nullopt if it refuses.
inline std::optional<std::uint64_t> bytes_in(TensorReader& reader, TensorReader::Order order, std::size_t piece_bytes,
                                             TensorReader::View view = TensorReader::View::kElements) {
  reader.rewind(order, view);
  std::vector<std::byte> piece(piece_bytes);
  for (std::uint64_t bytes = 0;;) {
    const auto got = reader.read(piece);
    if (!got) return demand_message(got.error().message, 4 * kMostMessageBytes), std::nullopt;
    if (*got == 0) return bytes;
    demand(*got <= piece.size(), "no more is read than was asked");
    bytes += *got;
  }
}

inline void read_tensors(const std::string& path, std::size_t file_bytes) {
  const auto source = open_tensors(path, {Original::kAsStored, kWindowBytes});
  if (!source) return demand_message(source.error().message, 1000);
  while (true) {
    const auto left = (*source)->count();
    auto tensor = (*source)->next();
    demand(!left || (*left > 0) == tensor.has_value(), "there are as many tensors as were counted");
    if (!tensor) return;
    if (!*tensor) {
      demand_message(tensor->error().message, 4 * kMostMessageBytes);
      continue;
    }
    TensorReader& reader = **tensor;
    demand(reader.data_size_bytes() <= 1100 * file_bytes, "nothing grows beyond what deflate can do");
    const auto once = bytes_in(reader, TensorReader::Order::kAny, 1 << 16),
               again = bytes_in(reader, TensorReader::Order::kAny, 1 << 12);
    demand(once == again, "what is read once is read again");
    demand(!once || *once == reader.element_count() * size_bytes(reader.dtype()), "every byte is read");
    const auto original = bytes_in(reader, TensorReader::Order::kAny, 1 << 12, TensorReader::View::kOriginal);
    demand(!original || *original == reader.data_size_bytes(), "every byte of the original is read");
    const auto in_order = bytes_in(reader, TensorReader::Order::kC, 1 << 10);
    demand(!in_order || in_order == once, "every byte is read in C order");
  }
}

}  // namespace tensorstat::fuzz
