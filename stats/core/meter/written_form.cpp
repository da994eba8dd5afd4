#include "stats/core/meter/written_form.hpp"

#include <algorithm>

#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kVersionDigits = 2, kLengthAt = 12;

void add_record(std::vector<std::byte>& to, std::string_view name, std::size_t payload_bytes) {
  to.push_back(static_cast<std::byte>(name.size()));
  std::ranges::copy(std::as_bytes(std::span(name)), std::back_inserter(to));
  to.resize(to.size() + 4 + payload_bytes);
  put_number(std::span(to).last(4 + payload_bytes), static_cast<std::uint32_t>(payload_bytes));
}

// Takes the first record from `rest`. False: `rest` ends within it.
bool take_record(std::span<const std::byte>& rest, WrittenRecord* record) {
  const auto name_bytes = std::to_integer<std::size_t>(rest[0]);
  if (rest.size() < 1 + name_bytes + 4) return false;
  const std::size_t payload_bytes = get_number<std::uint32_t>(rest.subspan(1 + name_bytes));
  const auto payload = rest.subspan(1 + name_bytes + 4);
  if (payload.size() < payload_bytes) return false;
  *record = {{reinterpret_cast<const char*>(rest.data() + 1), name_bytes}, payload.first(payload_bytes)};
  rest = payload.subspan(payload_bytes);
  return true;
}

}  // namespace

std::vector<std::byte> write_form(const WrittenForm& form, std::span<const std::byte> header,
                                  const PartialLayout& layout, Needs needs, std::span<const std::int64_t> words,
                                  std::span<const WrittenRecord> beside) {
  std::vector<std::int64_t> carried(words.begin(), words.end());
  carry(layout, carried);
  std::vector<std::byte> bytes;
  std::size_t beside_bytes = 0;
  for (const WrittenRecord& record : beside) beside_bytes += record.payload.size();
  bytes.reserve(header.size() + 8 * carried.size() + beside_bytes + 1024);
  bytes.assign(header.begin(), header.end());
  std::ranges::copy(std::as_bytes(std::span(form.magic)), bytes.begin());
  const auto add_beside = [&](auto is_next) {
    for (; !beside.empty() && is_next(beside.front().name); beside = beside.subspan(1)) {
      const auto payload = beside.front().payload;
      add_record(bytes, beside.front().name, payload.size());
      std::ranges::copy(payload, bytes.end() - static_cast<std::ptrdiff_t>(payload.size()));
    }
  };
  for (const std::uint8_t number : layout.by_name()) {
    const Accumulator& each = layout.all()[number];
    add_beside([&](std::string_view name) { return name < each.name; });
    if (!each.is_kept(needs)) continue;
    add_record(bytes, each.name, 8 * each.count);
    const auto payload = std::span(bytes).last(8 * each.count);
    for (std::size_t i = 0; i < each.count; ++i) {
      put_number(payload.subspan(8 * i), static_cast<std::uint64_t>(carried[each.first + i]));
    }
  }
  add_beside([](std::string_view) { return true; });
  put_number(std::span(bytes).subspan(kLengthAt), static_cast<std::uint32_t>(bytes.size() - header.size()));
  return bytes;
}

std::string fault_of_header(const WrittenForm& form, std::span<const std::byte> bytes) {
  if (bytes.size() < form.header_bytes) {
    return "shorter than its header of " + std::to_string(form.header_bytes) + " bytes";
  }
  const std::string_view magic(reinterpret_cast<const char*>(bytes.data()), form.magic.size());
  const std::string_view name = form.magic.substr(0, form.magic.size() - kVersionDigits);
  if (!magic.starts_with(name)) return "does not begin with \"" + std::string(form.magic) + '"';
  if (magic != form.magic) {
    return "of another version of the library (not " + std::string(form.magic.substr(name.size())) +
           "): " + std::string(form.again) + " again with this one";
  }
  if (bytes.size() - form.header_bytes != get_number<std::uint32_t>(bytes.subspan(kLengthAt))) {
    return "its length is not what its header says";
  }
  return {};
}

std::string find_records(std::span<const std::byte> bytes, const PartialLayout& layout,
                         std::span<const BesideWords> beside, std::vector<WrittenRecord>* records, Needs* needs) {
  *needs = kNothing;
  const auto name_of = [&](std::uint8_t number) { return layout.all()[number].name; };
  while (!bytes.empty()) {
    WrittenRecord record;
    if (!take_record(bytes, &record)) return "it ends within a record";
    const auto number = std::ranges::lower_bound(layout.by_name(), record.name, {}, name_of);
    const bool is_of_layout = number != layout.by_name().end() && name_of(*number) == record.name;
    const auto other = std::ranges::find(beside, record.name, &BesideWords::name);
    if (!is_of_layout && other == beside.end()) {
      // No accumulator has a name as long as the shown part.
      return "a partial with '" + shown(record.name, 24) + "', which this version does not know";
    }
    if (!records->empty() && record.name <= records->back().name) return "the names of its accumulators do not ascend";
    *needs |= is_of_layout ? layout.all()[*number].need : other->need;
    records->push_back(record);
  }
  return {};
}

const WrittenRecord* find_record(std::span<const WrittenRecord> records, std::string_view name) {
  const auto record = std::ranges::lower_bound(records, name, {}, &WrittenRecord::name);
  return record != records.end() && record->name == name ? &*record : nullptr;
}

std::string read_words(std::span<const WrittenRecord> records, const PartialLayout& layout, Needs needs,
                       std::span<std::int64_t> words) {
  for (const std::uint8_t number : layout.by_name()) {
    const Accumulator& each = layout.all()[number];
    if (!each.is_kept(needs)) continue;
    const WrittenRecord* record = find_record(records, each.name);
    if (record == nullptr) return lacks(each.name);
    if (record->payload.size() != 8 * each.count) return wrong_length(each.name);
    for (std::size_t i = 0; i < each.count; ++i) {
      words[each.first + i] = static_cast<std::int64_t>(get_number<std::uint64_t>(record->payload.subspan(8 * i)));
    }
  }
  return {};
}

std::string lacks(std::string_view name) { return "it lacks '" + std::string(name) + "'"; }
std::string wrong_length(std::string_view name) {
  return "'" + std::string(name) + "' has the wrong length for its dtype";
}

}  // namespace tensorstat
