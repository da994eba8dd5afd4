#include <numeric>
#include <string>
#include <vector>

#include "stats/data/files/npy/npy_header.hpp"
#include "stats/data/files/tensor_source.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/targets.hpp"

namespace tensorstat::fuzz {
namespace {

using Bytes = std::vector<std::byte>;

// All that the reader returns, in pieces of at most `piece_bytes`; nullopt if it refuses.
std::optional<Bytes> all_of(TensorReader& reader, TensorReader::Order order, TensorReader::View view,
                            std::size_t piece_bytes) {
  reader.rewind(order, view);
  Bytes all, piece(piece_bytes);
  while (true) {
    const auto got = reader.read(piece);
    if (!got) return demand_message(got.error().message, 4000), std::nullopt;
    if (*got == 0) return all;
    demand(*got <= piece.size(), "no more is read than was asked");
    all.insert(all.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(*got));
  }
}

// The C order of Fortran-ordered data, by the definition: the first index varies fastest.
Bytes transposed(const Bytes& stored, const Shape& shape, std::size_t element_bytes) {
  Bytes c_order;
  const std::size_t count = stored.size() / element_bytes;
  for (std::size_t c = 0; c < count; ++c) {
    std::size_t rest = c, fortran = 0;
    std::vector<std::size_t> index(shape.size());
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) index[d] = rest % shape[d];
    for (std::size_t d = shape.size(); d-- > 0;) fortran = fortran * shape[d] + index[d];
    const auto element = stored.begin() + static_cast<std::ptrdiff_t>(fortran * element_bytes);
    c_order.insert(c_order.end(), element, element + static_cast<std::ptrdiff_t>(element_bytes));
  }
  return c_order;
}

void read_as(const std::string& path, Original original, const NpyHeader& header) {
  constexpr std::size_t kWindowBytes = 24;
  auto reader = open_tensor(path, {original, kWindowBytes});
  if (!reader) return demand_message(reader.error().message, 4000);
  const auto stored = all_of(*reader, TensorReader::Order::kAny, TensorReader::View::kElements, 1 << 16);
  const auto elements = all_of(*reader, TensorReader::Order::kC, TensorReader::View::kElements, 56);
  const auto original_bytes = all_of(*reader, TensorReader::Order::kC, TensorReader::View::kOriginal, 1 << 16);
  demand(stored.has_value() == elements.has_value(), "a value is refused in any order");
  if (!elements) return;
  const std::size_t element_bytes = size_bytes(reader->dtype());
  demand(elements->size() == reader->element_count() * element_bytes, "every element is read");
  demand(original_bytes && original_bytes->size() == reader->data_size_bytes(), "every byte of the original is read");
  const bool is_turned = header.fortran_order && header.shape.size() > 1;
  demand(*elements == (is_turned ? transposed(*stored, reader->shape(), element_bytes) : *stored),
         "C order is C order");
}

}  // namespace

void npy(Input file) {
  // On the heap with exactly the head's size, so that a sanitizer detects reads beyond it.
  const auto bytes = std::as_bytes(std::span(file)).first(std::min(file.size(), kMostNpyHeaderBytes));
  const Bytes head(bytes.begin(), bytes.end());
  const auto header = parse_npy_header(head, file.size());
  // A message may list all dtypes and show 40 bytes, each as four characters.
  if (!header) return demand_message(header.error().message, 500);
  demand(header->data_offset_bytes + header->data_bytes() == file.size(), "what is accepted fills the file");
  const MemoryFile memory(file);
  for (const auto original : {Original::kAsStored, Original::kVoidIsBfloat16, Original::kBfloat16, Original::kInt4}) {
    read_as(memory.path(), original, *header);
  }
}

}  // namespace tensorstat::fuzz
