#include "stats/answer/msprobe/call_items.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstdio>

namespace tensorstat::msprobe {
namespace {

// The members of a call in msprobe's order, with the word that a tensor's name has for each.
struct Member {
  std::string_view name, word;
  Part part;
};
constexpr Member kMembers[] = {{"input_args", ".input", Part::kInput},
                               {"input_kwargs", ".input", Part::kInput},
                               {"input", ".input", Part::kInput},
                               {"output", ".output", Part::kOutput},
                               {"parameters", ".parameters", Part::kParameter}};
constexpr std::string_view kStatisticNames[kStatisticCount] = {"Max", "Min", "Mean", "Norm"};

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }  // npos + 1 is 0

bool has_part(std::string_view name, std::string_view part) {
  while (true) {
    const auto dot = name.find('.');
    if (name.substr(0, dot) == part) return true;
    if (dot == name.npos) return false;
    name.remove_prefix(dot + 1);
  }
}

std::string checksum_of(std::string_view text) {
  const auto crc =
      crc32(crc32(0, nullptr, 0), reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08lx", static_cast<unsigned long>(crc));
  return digits;
}

// A value as a statistic of the table. Every spelling of NaN becomes "Nan".
PythonValue as_statistic(PythonValue value) {
  std::string text = text_of(value);
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text == "nan" ? PythonValue("Nan") : value;
}

PythonValue cell_of(const PythonTree& tree) {
  return tree.kind == PythonTree::Kind::kValue ? tree.value : PythonValue(text_of(tree));
}

std::string type_of(const PythonTree& value) {
  const char* const kinds[] = {"str", "bool", "int", "int", "float"};  // in the order of PythonValue's alternatives
  const char* name = value.kind == PythonTree::Kind::kNone ? "NoneType"
                     : value.is_list()                     ? "list"
                     : value.is_dict()                     ? "dict"
                                                           : kinds[value.value.index()];
  return "<class '" + std::string(name) + "'>";
}

// An argument that is not a tensor. Its value stands for each statistic.
void set_argument(const PythonTree& leaf, std::string_view path, Item& item) {
  constexpr std::string_view kRanks[] = {"src", "dst", "group_src", "group_dst"};
  const PythonTree none;
  const auto member = [&](std::string_view name) -> const PythonTree& {
    const PythonTree* entry = leaf.find(name);
    return entry ? *entry : none;
  };
  const auto fill = [&](PythonValue with) { item.statistics.fill(as_statistic(std::move(with))); };
  const std::string type = text_of(member("type"));
  const PythonTree& value = member("value");
  item.dtype = type;
  item.shape = "[]";
  if (type == "torch.Size") {
    item.shape = text_of(value);
  } else if (type == "slice") {
    item.shape = value.is_list() ? "(" + std::to_string(value.members.size()) + ",)" : "()";
  } else if (type == "ellipsis") {
    fill(cell_of(value));
  } else if (std::ranges::count(kRanks, last_part(path)) != 0 || type == "torch.ProcessGroup") {
    item.md5 = text_of(std::ranges::count(kRanks, last_part(path)) != 0 ? value : member("group_ranks"));
    fill(item.md5);
  } else {
    item.dtype = type_of(value);
    fill(cell_of(value));
  }
}

Item item_of_leaf(const PythonTree& leaf, const std::string& path) {
  Item item;
  item.name = path;
  item.md5.clear();
  const auto text_member = [&](std::string_view name) {
    const PythonTree* member = leaf.find(name);
    return member && member->is_true() ? text_of(*member) : std::string();
  };
  if (std::string file = text_member("data_name"); !file.empty()) {
    item.name = file.substr(0, file.rfind('.'));
    item.data_name = std::move(file);
  }
  if (const PythonTree* grad = leaf.find("requires_grad"); grad && grad->kind != PythonTree::Kind::kNone) {
    item.requires_grad = text_of(*grad);
  }
  item.md5 = text_member("md5");
  for (std::size_t i = 0; i < kStatisticCount; ++i) {
    const PythonTree* statistic = leaf.find(kStatisticNames[i]);
    PythonValue cell = statistic ? cell_of(*statistic) : PythonValue("None");
    if (std::holds_alternative<bool>(cell)) cell = text_of(cell);
    item.statistics[i] = as_statistic(std::move(cell));
  }
  item.dtype = text_member("dtype");
  if (item.dtype.empty()) {
    set_argument(leaf, path, item);
  } else {
    const PythonTree* shape = leaf.find("shape");
    item.shape = shape ? text_of(*shape) : "None";
  }
  if (item.md5.empty()) {
    const PythonTree* value = leaf.find("value");
    item.md5 = checksum_of(value ? text_of(*value) : "");
  }
  return item;
}

void take(const PythonTree& tree, const std::string& path, Part part, std::vector<Item>& items) {
  const auto add = [&](Item item) {
    item.part = part;
    items.push_back(std::move(item));
  };
  const auto nothing = [&] {
    Item item;
    item.name = path;
    return item;
  };
  if (tree.kind == PythonTree::Kind::kNone) return add(nothing());
  if (tree.is_list()) {
    const bool is_gradient = has_part(path, "parameters_grad");
    for (std::size_t i = 0; i < tree.members.size(); ++i) {
      take(tree.members[i].second, is_gradient ? path : path + "." + std::to_string(i), part, items);
    }
    return;
  }
  if (!tree.is_dict() || tree.members.empty()) return;
  if (const PythonTree* type = tree.find("class_type"); type && text_of(*type) == "torch.distributed.P2POp") {
    const PythonTree* tensor = tree.find("tensor");
    return add(tensor && tensor->is_dict() ? item_of_leaf(*tensor, path) : nothing());
  }
  if (const PythonTree* type = tree.find("type"); type && type->is_text()) return add(item_of_leaf(tree, path));
  for (const auto& [name, member] : tree.members) take(member, path + "." + name, part, items);
}

bool is_gradient_name(std::string_view name) {
  const auto dot = name.rfind('.');
  return last_part(name) == "parameters_grad" ||
         (dot != name.npos && last_part(name.substr(0, dot)) == "parameters_grad");
}

}  // namespace

std::vector<Item> items_of_call(const std::string& name, const PythonTree& call) {
  std::vector<Item> items;
  if (last_part(name) == "debug") {
    take(call, name, Part::kDebug, items);
  } else if (is_gradient_name(name)) {
    take(call, name, Part::kGradient, items);
  } else {
    for (const Member& member : kMembers) {
      if (const PythonTree* tree = call.find(member.name)) {
        take(*tree, name + std::string(member.word), member.part, items);
      }
    }
  }
  std::ranges::stable_sort(items, {},
                           [](const Item& each) { return each.part == Part::kDebug ? Part::kInput : each.part; });
  return items;
}

CallName parts_of_call(const std::string& name) {
  const auto before_last = [](std::string_view text) { return text.substr(0, std::min(text.rfind('.'), text.size())); };
  const std::string_view last = last_part(name);
  const std::string_view rest = name.find('.') == name.npos ? "" : before_last(name);
  const std::string_view second = last_part(rest);
  if (is_gradient_name(name)) return {std::string(rest), "", "parameters_grad", false};
  for (const bool is_backward : {false, true}) {
    const std::string_view direction = is_backward ? "backward" : "forward";
    if (last != direction && second != direction) continue;
    const std::string_view stem = rest.find('.') == rest.npos ? "" : before_last(rest);
    return {std::string(stem), std::string(second), std::string(last), is_backward};
  }
  return {};
}

bool has_md5(const PythonTree& call) {
  const auto holds = [](const PythonTree& tree) { return tree.find("md5") != nullptr; };
  return std::ranges::any_of(call.members, [&](const auto& member) {
    const PythonTree& tree = member.second;
    return holds(tree) ||
           (tree.is_list() && std::ranges::any_of(tree.members, holds,
                                                  [](const auto& each) -> const PythonTree& { return each.second; }));
  });
}

}  // namespace tensorstat::msprobe
