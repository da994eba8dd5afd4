#include "stats/answer/parts/plan.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "stats/core/base/fnv1a.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/files/ascend/long_name.hpp"
#include "stats/data/rows/names/mindspore_file_name.hpp"
#include "stats/data/survey/survey.hpp"

namespace tensorstat {
namespace {

// The fixed cost of a tensor and of a file, in bytes that could be read meanwhile. Only the balance depends on them.
constexpr std::uint64_t kTensorCost = std::uint64_t{16} << 10, kFileCost = std::uint64_t{128} << 10;
// The smallest piece of a tensor.
constexpr std::uint64_t kLeastPieceBytes = std::uint64_t{1} << 20;
constexpr std::string_view kListHead = "tensorstat-plan 1";

// A tensor, or a file that could not be opened.
struct Unit {
  std::size_t file = 0;
  std::uint64_t tensor = 0;
  std::uint64_t elements = 0, element_bytes = 0;
  std::uint64_t fixed = 0, bytes = 0;  // the fixed cost; the bytes that are read
  bool is_cuttable = false;

  std::uint64_t cost() const { return fixed + bytes; }
};

// Distributes the units over parts that cost at most `most` each, if they can be cut so. Returns the number of parts.
// Calls place(part, unit, first element, end element).
template <typename Placed>
std::uint64_t distribute(std::span<const Unit> units, std::uint64_t most, const Placed& place) {
  std::uint64_t part = 0, used = 0;
  for (const Unit& unit : units) {
    std::uint64_t first = 0, left = unit.cost();
    while (used + left > most) {
      const std::uint64_t room = most > used + unit.fixed ? most - used - unit.fixed : 0;
      std::uint64_t count = unit.is_cuttable ? room / unit.element_bytes / kCutElements * kCutElements : 0;
      if (count * unit.element_bytes < kLeastPieceBytes) count = 0;
      if (count != 0) {
        place(part, unit, first, first + count);
        first += count;
        left -= count * unit.element_bytes;
      } else if (used == 0) {
        break;  // an empty part has no room for it, either
      }
      part += 1, used = 0;
    }
    place(part, unit, first, unit.elements);
    used += left;
  }
  return part + 1;
}

// The least cost of a part with which the units fit into `parts` parts.
std::uint64_t least_most(std::span<const Unit> units, std::uint32_t parts) {
  std::uint64_t low = 1, high = 1;
  for (const Unit& unit : units) {
    high += unit.cost();
    // A part that has no room for the smallest piece would get the whole tensor.
    const std::uint64_t least_piece = unit.fixed + kLeastPieceBytes + kCutElements * unit.element_bytes;
    low = std::max(low, unit.is_cuttable ? least_piece : unit.cost());
  }
  low = std::max(low, high / parts);
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const std::uint64_t needed = distribute(units, middle, [](auto&&...) {});
    needed <= parts ? high = middle : low = middle + 1;
  }
  return low;
}

// A tensor that cannot be cut.
struct Uncut {
  std::uint64_t bytes;
  std::string label;
};

void add_units(const PlanRequest& request, const std::string& path, const std::string& file_name, std::size_t file,
               std::vector<Unit>& units, Plan& plan, std::vector<Uncut>& uncut) {
  Original original = original_from(named_tensor(file_name, 0).original_dtype);
  if (original == Original::kAsStored && request.void_is_bfloat16) original = Original::kVoidIsBfloat16;
  const auto source = open_tensors(path, {.original = original, .raw = request.raw});
  if (!source) plan.unreadable.push_back(source.error());
  const std::size_t before = units.size();
  const Request asked = request.request(On::kAuto);
  for (std::uint64_t number = 0; source; ++number) {
    auto reader = (*source)->next();
    if (!reader) break;
    Unit unit{.file = file, .tensor = number, .fixed = kTensorCost};
    if (!*reader) {
      plan.unreadable.push_back(reader->error());
    } else {
      unit.elements = (*reader)->element_count();
      unit.element_bytes = size_bytes((*reader)->dtype());
      unit.bytes = unit.elements * unit.element_bytes;
      unit.is_cuttable = !request.by && unit.bytes >= 2 * kLeastPieceBytes && can_be_cut(**reader, asked);
      if (!unit.is_cuttable && unit.bytes >= 2 * kLeastPieceBytes) {
        uncut.push_back({unit.bytes, tensor_label(path, (*reader)->name())});
      }
    }
    plan.tensors += 1;
    plan.bytes += unit.bytes;
    units.push_back(unit);
  }
  // A file without tensors, or one that cannot be opened, is folded, too: that reports why.
  if (units.size() == before) units.push_back({.file = file});
  units[before].fixed += kFileCost;
}

std::string escaped_path(std::string_view path) {
  std::string text;
  for (const char each : path) {
    if (each == '\\' || each == '\n' || each == '\r') text += '\\';
    text += each == '\n' ? 'n' : each == '\r' ? 'r' : each;
  }
  return text;
}

bool unescape_path(std::string_view text, std::string& path) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      path += text[i];
    } else if (++i == text.size()) {
      return false;
    } else {
      path += text[i] == 'n' ? '\n' : text[i] == 'r' ? '\r' : text[i];
    }
  }
  return !path.empty();
}

}  // namespace

bool stat_file(const std::string& path, std::uint64_t& size_bytes, std::uint64_t& modified_us) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  size_bytes = static_cast<std::uint64_t>(facts.st_size);
  modified_us = static_cast<std::uint64_t>(facts.st_mtim.tv_sec) * 1'000'000 +
                static_cast<std::uint64_t>(facts.st_mtim.tv_nsec) / 1000;
  return true;
}

std::string part_name(std::uint32_t part, std::uint32_t parts) {
  const std::string digits = std::to_string(part);
  const std::size_t width = std::max<std::size_t>(3, std::to_string(parts - 1).size());
  return std::string(width - std::min(width, digits.size()), '0') + digits;
}

Plan make_plan(const PlanRequest& request, const std::vector<std::string>& files, const std::vector<Error>& faults,
               std::uint32_t parts, const std::function<void(std::size_t files)>& progressed) {
  Plan plan;
  std::vector<PlannedFile> planned;
  std::vector<Unit> units;
  std::vector<Uncut> uncut;
  LongNames names([](const Error&) {});  // folding reports the errors
  for (const std::string& path : files) {
    PlannedFile file{.number = planned.size(), .path = path, .work = {}};
    stat_file(path, file.size_bytes, file.modified_us);
    add_units(request, path, names.name_of(path), planned.size(), units, plan, uncut);
    planned.push_back(std::move(file));
    progressed(planned.size());
  }
  const std::uint64_t most = least_most(units, parts);
  for (const Uncut& each : uncut) {
    if (each.bytes > plan.bytes / parts && plan.uncut_tensors++ == 0) plan.first_uncut = each.label;
  }
  plan.lists.resize(parts);
  for (const Error& fault : faults) plan.lists.front().faults.push_back(fault.message);
  std::vector<std::uint64_t> bytes(parts);
  distribute(units, most, [&](std::uint64_t part, const Unit& unit, std::uint64_t first, std::uint64_t end) {
    std::vector<PlannedFile>& of_part = plan.lists[part].files;
    if (of_part.empty() || of_part.back().number != unit.file) of_part.push_back(planned[unit.file]);
    std::vector<PlannedFile::Work>& work = of_part.back().work;
    bytes[part] += (end - first) * unit.element_bytes;
    if (first != 0 || end != unit.elements) {
      work.push_back({.is_piece = true, .tensor = unit.tensor, .first = first, .end = end});
    } else if (!work.empty() && !work.back().is_piece && work.back().end == unit.tensor) {
      work.back().end += 1;
    } else {
      work.push_back({.first = unit.tensor, .end = unit.tensor + 1});
    }
  });
  plan.most_bytes = std::ranges::max(bytes);
  std::uint64_t key = kFnv1aOfNothing;
  for (std::uint32_t part = 0; part < parts; ++part) {
    PartList& list = plan.lists[part];
    list.part = part;
    list.parts = parts;
    list.request = request;
    const std::string text = list.text();
    key = fnv1a(key, std::as_bytes(std::span(text)));
  }
  for (PartList& list : plan.lists) list.key = key;
  return plan;
}

std::string PartList::text() const {
  std::string text = std::string(kListHead) + "\n";
  text += "part " + std::to_string(part) + " " + std::to_string(parts) + "\nkey " + std::to_string(key) + "\n";
  text += text_of(request);
  for (const std::string& fault : faults) text += "fault " + escaped_path(fault) + "\n";
  for (const PlannedFile& file : files) {
    text += "file " + std::to_string(file.number) + " " + std::to_string(file.size_bytes) + " " +
            std::to_string(file.modified_us) + " " + escaped_path(file.path) + "\n";
    for (const PlannedFile::Work& each : file.work) {
      text += each.is_piece ? "elements " + std::to_string(each.tensor) + " " : "tensors ";
      text += std::to_string(each.first) + " " + std::to_string(each.end) + "\n";
    }
  }
  return text;
}

namespace {

// Reads one line of a list behind its head.
bool parse_list_line(std::string_view line, PartList& list) {
  const std::size_t space = std::min(line.find(' '), line.size());
  const std::string_view name = line.substr(0, space);
  std::string_view rest = line.substr(std::min(space + 1, line.size()));
  if (name == "part") {
    std::uint64_t part = 0, parts = 0;
    if (!take_number(rest, part) || !take_number(rest, parts) || parts > kMostParts || part >= parts) return false;
    list.part = static_cast<std::uint32_t>(part);
    list.parts = static_cast<std::uint32_t>(parts);
    return rest.empty();
  }
  if (name == "key") return take_number(rest, list.key) && rest.empty();
  if (name == "fault") return unescape_path(rest, list.faults.emplace_back());
  if (name == "file") {
    PlannedFile file;
    const bool is_right = take_number(rest, file.number) && take_number(rest, file.size_bytes) &&
                          take_number(rest, file.modified_us) && unescape_path(rest, file.path);
    if (is_right) list.files.push_back(std::move(file));
    return is_right;
  }
  if (name != "tensors" && name != "elements") return parse_line(line, list.request);
  if (list.files.empty()) return false;
  PlannedFile::Work work{.is_piece = name == "elements"};
  if (work.is_piece && !take_number(rest, work.tensor)) return false;
  if (!take_number(rest, work.first) || !take_number(rest, work.end) || !rest.empty()) return false;
  list.files.back().work.push_back(work);
  return work.first < work.end || (work.is_piece && work.first == work.end);
}

}  // namespace

Result<PartList> PartList::parse(std::string_view text) {
  if (!text.starts_with(std::string(kListHead) + "\n")) {
    const bool is_other = text.starts_with(kListHead.substr(0, kListHead.find(' ') + 1));
    return Error{Code::kUnreadable, is_other ? "a list of a plan of another version of tensorstat; plan again"
                                             : "not a list of a plan; `tensorstat plan` writes them"};
  }
  PartList list;
  std::uint64_t number = 1;
  for (std::string_view rest = text.substr(kListHead.size() + 1); !rest.empty();) {
    number += 1;
    const std::size_t end = rest.find('\n');
    if (end == rest.npos || !parse_list_line(rest.substr(0, end), list)) {
      return Error{Code::kUnreadable, "line " + std::to_string(number) + ": " +
                                          in_quotes(rest.substr(0, std::min(end, rest.size()))) +
                                          (end == rest.npos ? " is cut off" : " is no line of a plan")};
    }
    rest.remove_prefix(end + 1);
  }
  if (list.request.measured.empty() || list.request.asked.empty()) {
    return Error{Code::kUnreadable, "the list names no statistics"};
  }
  return list;
}

}  // namespace tensorstat
