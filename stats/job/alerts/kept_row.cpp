#include "stats/job/alerts/kept_row.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "stats/core/base/crc32.hpp"

namespace tensorstat {
namespace {

static_assert(std::endian::native == std::endian::little, "the ring is written as it lies in memory");

struct RowStart {
  std::uint32_t bytes, crc;  // of the whole row; of all behind these two
  std::uint64_t task_id, stream_id, timestamp_us, slot, data_size_bytes;
  std::uint32_t graph;
  std::uint16_t op_type_bytes, op_name_bytes, data_type_bytes, value_count;
  std::uint8_t dimension_count, is_input, is_constant, spare;
};
static_assert(sizeof(RowStart) == 64);
constexpr std::size_t kBeforeCrc = 2 * sizeof(std::uint32_t);

template <typename T>
void put(const T& value, std::string& to) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_value(const Value& value, std::string& to) {
  to += static_cast<char>(value.index());
  std::visit(
      [&]<typename T>(const T& alternative) {
        if constexpr (std::is_arithmetic_v<T>) {
          put(alternative, to);
        } else if constexpr (!std::is_same_v<T, std::monostate>) {
          const std::string text = to_string(alternative);
          put(static_cast<std::uint32_t>(text.size()), to);
          to += text;
        }
      },
      value);
}

// Reads forward, and never beyond the end.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}

  bool take(std::size_t size, std::string_view& to) {
    if (rest_.size() < size) return false;
    to = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }
  template <typename T>
  bool take(T& to) {
    std::string_view bytes;
    if (!take(sizeof to, bytes)) return false;
    std::memcpy(&to, bytes.data(), sizeof to);
    return true;
  }
  template <typename T>
  bool take_number(Value& to) {
    T number{};
    if (!take(number)) return false;
    to = number;
    return true;
  }
  template <typename T>
  bool take_text(Value& to) {
    std::uint32_t size = 0;
    std::string_view text;
    if (!take(size) || !take(size, text)) return false;
    const auto made = T::from(text);
    if (made) to = *made;
    return made.has_value();
  }
  bool take_value(Value& to) {
    std::uint8_t kind = 0;
    if (!take(kind)) return false;
    switch (kind) {
      case 0:
        return to = Value(), true;
      case 1:
        return take_number<std::uint64_t>(to);
      case 2:
        return take_number<std::int64_t>(to);
      case 3:
        return take_number<double>(to);
      case 4:
        return take_text<Digest>(to);
      case 5:
        return take_text<Exponents>(to);
    }
    return false;
  }
  bool is_at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::uint32_t crc_of(std::string_view row) { return crc32_of(0, std::as_bytes(std::span(row.substr(kBeforeCrc)))); }

bool take_row(std::string_view bytes, const Categories& categories, KeptRow& to) {
  Cursor cursor(bytes);
  RowStart start;
  if (!cursor.take(start) || start.value_count != categories.size()) return false;
  Row& row = to.row;
  to.graph = start.graph;
  to.is_constant = start.is_constant != 0;
  row.identity.task_id = start.task_id;
  row.identity.stream_id = start.stream_id;
  row.identity.timestamp_us = start.timestamp_us;
  row.identity.slot = start.slot;
  row.identity.io = start.is_input != 0 ? "input" : "output";
  row.data_size_bytes = start.data_size_bytes;
  row.shape.resize(start.dimension_count);
  for (auto& dimension : row.shape) {
    if (!cursor.take(dimension)) return false;
  }
  row.statistics.categories = categories;
  row.statistics.values.resize(categories.size());
  for (Value& value : row.statistics.values) {
    if (!cursor.take_value(value)) return false;
  }
  for (const auto& [text, size] : {std::pair(&row.identity.op_type, start.op_type_bytes),
                                   {&row.identity.op_name, start.op_name_bytes},
                                   {&row.data_type, start.data_type_bytes}}) {
    std::string_view content;
    if (!cursor.take(size, content)) return false;
    *text = content;
  }
  return cursor.is_at_end();
}

std::string_view cut(const std::string& text) { return std::string_view(text).substr(0, UINT16_MAX); }

}  // namespace

void append_kept_row(const Row& row, std::uint32_t graph, bool is_constant, std::string& to) {
  const std::size_t begin = to.size();
  RowStart start{};
  start.task_id = row.identity.task_id;
  start.stream_id = row.identity.stream_id;
  start.timestamp_us = row.identity.timestamp_us;
  start.slot = row.identity.slot;
  start.data_size_bytes = row.data_size_bytes;
  start.graph = graph;
  start.op_type_bytes = static_cast<std::uint16_t>(cut(row.identity.op_type).size());
  start.op_name_bytes = static_cast<std::uint16_t>(cut(row.identity.op_name).size());
  start.data_type_bytes = static_cast<std::uint16_t>(cut(row.data_type).size());
  start.dimension_count = static_cast<std::uint8_t>(std::min<std::size_t>(row.shape.size(), UINT8_MAX));
  start.value_count = static_cast<std::uint16_t>(row.statistics.values.size());
  start.is_input = row.identity.io == "input";
  start.is_constant = is_constant;
  put(start, to);
  for (std::size_t i = 0; i < start.dimension_count; ++i) put(row.shape[i], to);
  for (const Value& value : row.statistics.values) put_value(value, to);
  to.append(cut(row.identity.op_type)).append(cut(row.identity.op_name)).append(cut(row.data_type));
  const auto size = static_cast<std::uint32_t>(to.size() - begin);
  std::memcpy(to.data() + begin, &size, sizeof size);
  const std::uint32_t crc = crc_of(std::string_view(to).substr(begin));
  std::memcpy(to.data() + begin + sizeof size, &crc, sizeof crc);
}

bool read_kept_rows(std::span<const std::byte> bytes, const Categories& categories, std::vector<KeptRow>& rows) {
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!rest.empty()) {
    std::uint32_t size = 0, crc = 0;
    if (rest.size() < sizeof(RowStart)) return false;
    std::memcpy(&size, rest.data(), sizeof size);
    std::memcpy(&crc, rest.data() + sizeof size, sizeof crc);
    if (size < sizeof(RowStart) || size > rest.size()) return false;
    const std::string_view row = rest.substr(0, size);
    KeptRow kept;
    if (crc_of(row) != crc || !take_row(row, categories, kept)) return false;
    rows.push_back(std::move(kept));
    rest.remove_prefix(size);
  }
  return true;
}

}  // namespace tensorstat
