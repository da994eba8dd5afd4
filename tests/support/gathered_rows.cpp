#include "tests/support/gathered_rows.hpp"

#include <iterator>

std::vector<std::vector<std::byte>> gathered_rows(const std::vector<std::byte>& bits, std::uint32_t size,
                                                  const tensorstat::By& by, std::uint64_t row_count) {
  std::vector<std::vector<std::byte>> rows(row_count);
  std::vector<bool> kept(by.shape.size());
  for (const std::int64_t axis : by.axes)
    kept[static_cast<std::size_t>(axis < 0 ? axis + std::ssize(by.shape) : axis)] = true;
  for (std::uint64_t i = 0; i < bits.size() / size; ++i) {
    std::uint64_t row = 0, step = 1, left = i;
    for (std::size_t axis = by.shape.size(); axis-- != 0; left /= by.shape[axis]) {
      if (!kept[axis]) continue;
      row += left % by.shape[axis] * step;
      step *= by.shape[axis];
    }
    if (by.block_elements != 0) row = i / by.block_elements;
    rows[row].insert(rows[row].end(), bits.begin() + static_cast<std::ptrdiff_t>(i * size),
                     bits.begin() + static_cast<std::ptrdiff_t>((i + 1) * size));
  }
  return rows;
}
