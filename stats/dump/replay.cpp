#include "stats/dump/replay.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>

#include "stats/dump/mindspore/config.hpp"
#include "stats/dump/mindspore/file_name.hpp"
#include "stats/files/npy_reader.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

template <typename Number>
bool number_in(std::string_view text, Number& number) {
  const auto end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, number);
  return fault == std::errc{} && stop == end && !text.empty();
}

// The names that files had before they were too long, by folder and number.
class Mappings {
 public:
  std::string name_of(const std::string& path) {
    const fs::path file(path);
    const std::string folder = file.parent_path().string(), name = file.filename().string();
    auto [at, is_new] = folders_.try_emplace(folder);
    if (is_new) read(folder, at->second);
    const auto mapped = at->second.find(name);
    return mapped == at->second.end() ? name : mapped->second;
  }

 private:
  static void read(const std::string& folder, std::map<std::string, std::string>& names) {
    std::ifstream file(fs::path(folder) / "mapping.csv");
    for (std::string line; std::getline(file, line);) {
      const auto comma = line.find(',');
      if (comma != line.npos) names[line.substr(0, comma)] = line.substr(comma + 1);
    }
  }

  std::map<std::string, std::map<std::string, std::string>> folders_;
};

struct DumpedFile {
  std::string path;
  NamedTensor named;
  DumpPlace place;
};

// Tensors of one run of one operator.
using Group = std::vector<DumpedFile>;

std::vector<Group> groups_of(const std::vector<std::string>& files) {
  Mappings mappings;
  std::map<std::tuple<std::string, std::string, std::string>, Group> runs;
  for (const std::string& path : files) {
    std::error_code ignored;
    const auto named = named_tensor(mappings.name_of(path), 1);
    const std::string folder = fs::path(path).parent_path().string();
    runs[{folder, named.identity.op_type, named.identity.op_name}].push_back(
        {path, named, place_of_file(path)});
  }
  std::vector<Group> groups;
  for (auto& [key, group] : runs) {
    std::stable_sort(group.begin(), group.end(), [](const DumpedFile& a, const DumpedFile& b) {
      const auto order = [](const Identity& who) {
        return std::tuple(who.io, who.slot, who.timestamp_us);
      };
      return order(a.named.identity) < order(b.named.identity);
    });
    groups.push_back(std::move(group));
  }
  const auto first_us = [](const Group& group) {
    std::uint64_t first = group[0].named.identity.timestamp_us;
    for (const auto& file : group) first = std::min(first, file.named.identity.timestamp_us);
    return first;
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const Group& a, const Group& b) { return first_us(a) < first_us(b); });
  return groups;
}

// Eight values a byte, most significant bit first: what a uint1 tensor was.
std::vector<std::byte> packed_bits(std::span<const std::byte> values) {
  std::vector<std::byte> packed((values.size() + 7) / 8);
  for (std::size_t i = 0; i < values.size(); ++i) {
    packed[i / 8] |= (values[i] & std::byte{1}) << (7 - i % 8);
  }
  return packed;
}

Result<DumpTensor> read_tensor(const DumpedFile& file) {
  const std::string& dtype = file.named.original_dtype;
  auto reader = NpyReader::open(file.path, original_from(dtype));
  if (!reader) return reader.error();
  const bool is_int4 = dtype == "int4";
  reader->rewind(NpyReader::Order::kC,
                 is_int4 ? NpyReader::View::kOriginal : NpyReader::View::kElements);
  auto bits = std::make_shared<std::vector<std::byte>>(
      is_int4 ? reader->data_size_bytes() : reader->element_count() * size_bytes(reader->dtype()));
  std::span<std::byte> room = *bits;
  while (!room.empty()) {
    const auto got = reader->read(room);
    if (!got) return got.error();
    if (*got == 0) return Error{Code::kUnreadable, file.path + " ends early"};
    room = room.subspan(*got);
  }
  DumpTensor tensor;
  const bool is_uint1 = dtype == "uint1" && reader->dtype() == Dtype::kUint8;
  if (is_uint1) *bits = packed_bits(*bits);
  tensor.stored = is_int4 ? Stored::kInt4 : is_uint1 ? Stored::kUint1 : Stored::kPlain;
  tensor.tensor = {
      .dtype = reader->dtype(), .element_count = reader->element_count(), .address = bits->data()};
  tensor.shape = reader->shape();
  const Identity& who = file.named.identity;
  tensor.io = who.io == "input" ? Io::kInput : Io::kOutput;
  tensor.slot = static_cast<std::uint32_t>(who.slot);
  tensor.timestamp_us = who.timestamp_us > 1 ? who.timestamp_us : reader->modified_us();
  tensor.keep_alive = std::move(bits);
  return tensor;
}

}  // namespace

std::optional<DumpPlace> place_in_dump(const std::string& path) {
  std::vector<std::string> folders;  // the innermost first
  std::error_code ignored;
  for (auto at = fs::absolute(path, ignored).lexically_normal().parent_path();
       at.has_relative_path() && folders.size() < 6; at = at.parent_path()) {
    folders.push_back(at.filename().string());
  }
  folders.resize(6);
  DumpPlace place;
  const bool constants = folders[0] == "constants";
  if ((constants || number_in(folders[0], place.iteration)) && number_in(folders[1], place.graph) &&
      folders[3].starts_with("rank_") &&
      number_in(std::string_view(folders[3]).substr(5), place.rank)) {
    place.constants = constants;
    place.device = place.rank % 8;
    return place;
  }
  std::uint64_t step = 0, time = 0;
  if (number_in(folders[0], place.iteration) && number_in(folders[1], place.graph) &&
      number_in(folders[3], place.device) && folders[4].size() == 14 &&
      number_in(folders[4], time) && number_in(folders[5], step)) {
    place.rank = place.device;
    return place;
  }
  return std::nullopt;
}

DumpPlace place_of_file(const std::string& path) { return place_in_dump(path).value_or(DumpPlace{}); }

Result<DumpCounters> replay(std::string_view config_text, const std::vector<std::string>& files,
                            DumpOptions options, const ReplayListener& listener) try {
  Notices silent(nullptr);
  const auto config = parse_config(config_text, "/", silent);
  const std::uint64_t offset = config ? config->initial_iteration : 0;
  options.names_are_escaped = true;
  auto session = DumpSession::from_json(config_text, std::move(options));
  if (!session) return session.error();

  std::size_t done = 0;
  for (const Group& group : groups_of(files)) {
    const Identity& who = group[0].named.identity;
    // What was dumped under set_dump, or of an operator that failed, was meant to be.
    constexpr bool kSetDump = true, kFailed = true;
    const auto* op =
        session->operator_named(who.op_type, who.op_name, kSetDump, who.stream_id, who.task_id);
    DumpPlace place = group[0].place;
    place.iteration -= offset;
    std::vector<DumpTensor> tensors;
    for (const DumpedFile& file : group) {
      const Io io = file.named.identity.io == "input" ? Io::kInput : Io::kOutput;
      if (session->wants(place, op, io, kFailed)) {
        if (auto tensor = read_tensor(file)) {
          tensors.push_back(*std::move(tensor));
        } else {
          listener.unreadable(tensor.error());
        }
      }
      listener.progressed(++done, files.size());
    }
    session->collect(place, op, tensors, kFailed);
  }
  session->close();
  return session->counters();
} catch (const std::bad_alloc&) {
  return Error{Code::kInvalid, "out of memory"};
}

}  // namespace tensorstat
