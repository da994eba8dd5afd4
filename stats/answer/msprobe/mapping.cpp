#include "stats/answer/msprobe/mapping.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "stats/answer/msprobe/api_names.hpp"
#include "stats/answer/msprobe/layer_mapping.hpp"
#include "stats/core/base/printable.hpp"

namespace tensorstat::msprobe {
namespace {

constexpr std::size_t kMostShownBytes = 60;  // of a name in an error

Error wrong(const std::string& what) { return {Code::kInvalid, "mapping: " + what}; }

// The pairs of texts of a dict. Errors: a value is no text, or the tree is no dict.
Result<std::vector<std::pair<std::string, std::string>>> texts_of(const PythonTree& tree) {
  if (!tree.is_dict()) return wrong("the file should hold lines such as NAME: NAME");
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [name, value] : tree.members) {
    if (!value.is_text()) return wrong("'" + shown(name, kMostShownBytes) + "' should have one name as its value");
    texts.emplace_back(name, text_of(value));
  }
  return texts;
}

// ---- api

// A member of a rule of an api mapping: the words in its keys, and how it stands in a tensor's name.
struct Side {
  std::string_view word, in_name;
};
Side side_of(Part part) {
  switch (part) {
    case Part::kOutput:
      return {"output", ".output."};
    case Part::kParameter:
      return {"parameters", ".parameters."};
    case Part::kGradient:
      return {"parameters_grad", ".parameters_grad."};
    default:
      return {"args", ".input."};
  }
}

std::vector<std::string> list_of(const PythonTree& rule, const std::string& key) {
  std::vector<std::string> texts;
  const PythonTree* list = rule.find(key);
  if (list == nullptr) return texts;
  for (const auto& [unnamed, each] : list->members) texts.push_back(text_of(each));
  return texts;
}

bool is_even(const PythonTree& rule) {
  return std::ranges::all_of(
      std::initializer_list<const char*>{"args", "output", "parameters", "parameters_grad"}, [&](const char* word) {
        return list_of(rule, std::string("ms_") + word).size() == list_of(rule, std::string("pt_") + word).size();
      });
}

// An item that the rule's lists do not have gets a key that nothing has.
std::string key_by_rule(const PythonTree& rule, const std::string& ms, const std::string& pt, const std::string& call,
                        const Item& item) {
  const std::string name = replaced(item.name, ms, pt, 1), api = replaced(call, ms, pt, 1);
  const Side side = side_of(item.part);
  const std::string word(side.word);
  const auto from = list_of(rule, "ms_" + word), to = list_of(rule, "pt_" + word);
  const std::string beginning = api + std::string(side.in_name);
  const std::string rest = name.starts_with(beginning) ? name.substr(beginning.size()) : name;
  const auto entry = std::ranges::find(from, rest);
  if (entry == from.end()) return name + "abandoned";
  return replaced(name, std::string(side.in_name) + rest,
                  std::string(side.in_name) + to[static_cast<std::size_t>(entry - from.begin())]);
}

Status map_apis(const std::optional<PythonTree>& file, Dump& npu, const Dump& bench) {
  for (Item& item : npu.items) item.key = with_pytorch_api(item.name);
  if (!file) return {};
  if (!file->is_list()) return wrong("the file should hold a list: - ms_api: ...");
  std::set<std::string_view> in_bench;
  for (const Item& item : bench.items) in_bench.insert(api_of(item.name));
  std::unordered_map<std::string_view, std::vector<Item*>> in_npu;
  for (Item& item : npu.items) in_npu[api_of(item.name)].push_back(&item);
  for (const auto& [unnamed, rule] : file->members) {
    const PythonTree *ms = rule.find("ms_api"), *pt = rule.find("pt_api");
    if (!rule.is_dict() || ms == nullptr || pt == nullptr || !ms->is_text() || !pt->is_text()) {
      return wrong("each entry of the list needs the names ms_api and pt_api");
    }
    if (!is_even(rule)) {
      return wrong("the lists of " + shown(text_of(*ms), kMostShownBytes) + " and " +
                   shown(text_of(*pt), kMostShownBytes) + " have different lengths");
    }
    const auto items = in_npu.find(text_of(*ms));
    if (items == in_npu.end() || !in_bench.contains(text_of(*pt))) continue;
    for (Item* item : items->second) {
      item->key = key_by_rule(rule, text_of(*ms), text_of(*pt), npu.calls[item->call], *item);
    }
  }
  return {};
}

// ---- cell

// Where the name of a cell ends: before the direction.
std::size_t end_of_cell(std::string_view name) {
  std::size_t end = name.size();
  for (const std::string_view word : {".forward.", ".backward.", ".parameters_grad."})
    end = std::min(end, name.find(word));
  return end;
}

std::string module_of(const std::string& name, const std::vector<std::pair<std::string, std::string>>& cells,
                      const std::unordered_map<std::string_view, std::string_view>& whole) {
  const std::string dotted = "." + name + ".";
  const bool is_gradient = dotted.find(".parameters_grad.") != dotted.npos;
  const bool has_direction = name.find(".forward.") != name.npos || name.find(".backward.") != name.npos;
  if (!is_gradient && !has_direction) return kNotAvailable;
  const std::string module = replaced(name, "Cell", "Module", 1);
  const std::string_view rest = std::string_view(module).substr(module.find('.') + 1);
  const std::string cell(rest.substr(0, end_of_cell(rest)));
  std::string renamed = cell;
  if (const auto entry = whole.find(cell); entry != whole.end()) {
    renamed = entry->second;
  } else {
    for (const auto& [from, to] : cells) {
      if (renamed.find(from) != renamed.npos) renamed = replaced(renamed, from, to, 1);
    }
  }
  return renamed == cell ? module : replaced(module, cell, renamed, 1);
}

Status map_cells(const std::optional<PythonTree>& file, Dump& npu) {
  std::vector<std::pair<std::string, std::string>> cells;
  if (file && file->is_true()) {
    auto texts = texts_of(*file);
    if (!texts) return texts.error();
    cells = *std::move(texts);
  }
  const std::unordered_map<std::string_view, std::string_view> whole(cells.begin(), cells.end());
  for (Item& item : npu.items) item.key = module_of(item.name, cells, whole);
  return {};
}

// ---- data

Status map_data(const std::optional<PythonTree>& file, Dump& npu) {
  if (!file) return wrong("data needs a file: data=FILE.yaml");
  if (!file->is_true()) return {};
  const auto texts = texts_of(*file);
  if (!texts) return texts.error();
  const std::unordered_map<std::string_view, std::string_view> names(texts->begin(), texts->end());
  for (Item& item : npu.items) {
    const auto entry = names.find(item.name);
    item.key = entry == names.end() ? item.name : entry->second;
  }
  return {};
}

}  // namespace

Status map_keys(const Mapping& mapping, const std::string& npu_path, const std::string& bench_path, Dump& npu,
                const Dump& bench) {
  switch (mapping.kind) {
    case MappingKind::kNone:
      return {};
    case MappingKind::kApi:
      if (npu.framework == "pytorch" && bench.framework == "pytorch") {
        return wrong("api names the APIs of MindSpore, and " + printable(npu_path) + " is of PyTorch");
      }
      return map_apis(mapping.file, npu, bench);
    case MappingKind::kCell:
      return map_cells(mapping.file, npu);
    case MappingKind::kData:
      return map_data(mapping.file, npu);
    case MappingKind::kLayer:
      return map_layers(mapping.file, npu_path, bench_path, npu, bench);
  }
  return {};
}

}  // namespace tensorstat::msprobe
