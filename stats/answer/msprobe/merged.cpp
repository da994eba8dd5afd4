#include "stats/answer/msprobe/merged.hpp"

#include <algorithm>

#include "stats/answer/msprobe/table.hpp"
#include "stats/core/base/printable.hpp"

namespace tensorstat::msprobe {
namespace {

constexpr const char* kConsistent = "Requires_grad Consistent";

Result<std::vector<std::string>> texts_of_list(const PythonTree* list, const std::string& name) {
  std::vector<std::string> texts;
  if (list == nullptr || list->kind == PythonTree::Kind::kNone) return texts;
  const Error wrong{Code::kInvalid, "merge: " + name + " should be a list of names"};
  if (!list->is_list()) return wrong;
  for (const auto& [unnamed, each] : list->members) {
    if (!each.is_text()) return wrong;
    texts.push_back(text_of(each));
  }
  return texts;
}

// The headings of the differences: those before the statistics of the NPU.
std::vector<std::string> differences_of(const std::vector<std::string>& headings) {
  const auto first = std::ranges::find(headings, "Bench Requires_grad") + 1;
  std::vector<std::string> columns(first, std::ranges::find(headings, "NPU max"));
  columns.emplace_back(kConsistent);
  return columns;
}

}  // namespace

Result<MergeConfig> merge_config_of(const PythonTree& file) {
  auto calls = texts_of_list(file.find("api"), "api");
  if (!calls) return calls.error();
  auto columns = texts_of_list(file.find("compare_index"), "compare_index");
  if (!columns) return columns.error();
  if (calls->empty()) return Error{Code::kInvalid, "merge: the file should name calls: api: [Distributed.all_reduce]"};
  return MergeConfig{*std::move(calls), *std::move(columns)};
}

Status MergedTables::add(std::uint64_t rank, const Comparison& comparison) {
  if (comparison.npu.mode == Mode::kMd5) {
    return Error{Code::kUnsupported, "merge: the dumps hold checksums, and msprobe merges statistics and tensors"};
  }
  const std::vector<std::string> headings = headings_of(comparison);
  const auto place_of = [&](std::string_view heading) {
    return static_cast<std::size_t>(std::ranges::find(headings, heading) - headings.begin());
  };
  const std::vector<std::string> known = differences_of(headings);
  if (config_.columns.empty()) config_.columns = known;
  for (const std::string& column : config_.columns) {
    if (std::ranges::count(known, column) != 0) continue;
    std::string names;
    for (const std::string& each : known) names += (names.empty() ? "" : ", ") + each;
    return Error{Code::kInvalid, "merge: the tables have no column '" + shown(column) + "'; they have " + names};
  }
  columns_.resize(config_.columns.size());
  is_found_.resize(config_.calls.size());
  ranks_.push_back(rank);

  for (std::size_t call = 0; call < config_.calls.size(); ++call) {
    for (const ComparedRow& row : comparison.rows) {
      if (row.npu->name.find(config_.calls[call] + ".") == std::string::npos) continue;
      is_found_[call] = true;
      const std::vector<PythonValue> cells = cells_of(comparison, row);
      const std::string &name = row.npu->name, maxima = "NPU:" + text_of(cells[place_of("NPU max")]) +
                                                        "  Bench:" + text_of(cells[place_of("Bench max")]);
      if (ranks_.size() == 1 && std::ranges::count(order_, name) == 0) order_.push_back(name);
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        columns_[i].first = config_.columns[i];
        PythonValue cell = cells[place_of(config_.columns[i])];
        if (is_text(cell)) {
          const std::string text = text_of(cell);
          if (text == kNotAvailable || text == "unsupported" || text == "Nan") cell = maxima;
        }
        columns_[i].second[name].try_emplace(rank, std::move(cell));  // of several rows of a name the first
      }
    }
  }
  return {};
}

std::vector<std::string> MergedTables::missing() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < is_found_.size(); ++i) {
    if (!is_found_[i]) names.push_back(config_.calls[i]);
  }
  return names;
}

std::vector<MergedTables::Sheet> MergedTables::sheets() const {
  std::vector<Sheet> sheets;
  for (const auto& [column, cells] : columns_) {
    std::vector<std::vector<PythonValue>> lines(1, {std::string("NPU Name")});
    for (const std::uint64_t rank : ranks_) lines[0].emplace_back("rank" + std::to_string(rank));
    std::vector<std::string> names = order_;
    if (ranks_.size() > 1) {
      names.clear();
      for (const auto& [name, of_ranks] : cells) names.push_back(name);
    }
    for (const std::string& name : names) {
      std::vector<PythonValue> line(1, name);
      for (const std::uint64_t rank : ranks_) {
        const auto cell = cells.at(name).find(rank);
        line.push_back(cell == cells.at(name).end() ? PythonValue(std::string()) : cell->second);
      }
      lines.push_back(std::move(line));
    }
    sheets.push_back({column, std::move(lines)});
  }
  return sheets;
}

std::string csv_of(const std::vector<MergedTables::Sheet>& sheets) {
  std::string text;
  for (const MergedTables::Sheet& sheet : sheets) {
    for (std::size_t i = 0; i < sheet.lines.size(); ++i) {
      if (i == 0 && !text.empty()) continue;  // one heading for all
      std::vector<PythonValue> cells(1, i == 0 ? std::string("Compare Index") : sheet.column);
      cells.insert(cells.end(), sheet.lines[i].begin(), sheet.lines[i].end());
      append_line(cells, text);
    }
  }
  return text;
}

}  // namespace tensorstat::msprobe
