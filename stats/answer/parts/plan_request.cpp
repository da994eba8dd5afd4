#include "stats/answer/parts/plan_request.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tensorstat/partial.hpp>
#include <utility>

#include "stats/data/rows/category_names.hpp"

namespace tensorstat {
namespace {

// Splits "name value" at the first space.
std::pair<std::string_view, std::string_view> split_line(std::string_view line) {
  const std::size_t space = std::min(line.find(' '), line.size());
  return {line.substr(0, space), line.substr(std::min(space + 1, line.size()))};
}

bool parse_categories(std::string_view text, Categories& categories) {
  auto parsed = categories_from(text);
  if (parsed) categories = *std::move(parsed);
  return static_cast<bool>(parsed);
}

bool parse_by(std::string_view text, std::optional<By>& by) {
  const auto [what, rest] = split_line(text);
  std::string_view left = rest;
  by.emplace();
  if (what == "block") {
    if (!take_number(left, by->block_elements) || by->block_elements == 0) return false;
    if (!left.empty() && left.front() != ' ') return false;
    left.remove_prefix(left.empty() ? 0 : 1);
  } else if (what != "axes") {
    return false;
  }
  while (!left.empty()) {
    std::int64_t axis = 0;
    const auto [end, fault] = std::from_chars(left.data(), left.data() + left.size(), axis);
    if (fault != std::errc()) return false;
    left.remove_prefix(static_cast<std::size_t>(end - left.data()));
    if (!left.empty() && left.front() != ' ') return false;
    left.remove_prefix(left.empty() ? 0 : 1);
    by->axes.push_back(axis);
  }
  return true;
}

bool parse_raw(std::string_view text, std::optional<RawTensor>& raw) {
  auto [what, rest] = split_line(text);
  const auto dtype = dtype_from(what);
  if (!dtype) return false;
  raw = RawTensor{*dtype};
  if (rest.empty()) return true;
  raw->shape.emplace();
  if (rest == "scalar") return true;
  while (!rest.empty()) {
    std::uint64_t length = 0;
    if (!take_number(rest, length)) return false;
    raw->shape->push_back(length);
  }
  return true;
}

bool parse_scale(std::string_view text, double& scale) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), scale);
  return fault == std::errc() && end == text.data() + text.size() && std::isfinite(scale) && scale > 0;
}

}  // namespace

bool take_number(std::string_view& text, std::uint64_t& number) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty() && text.front() != ' ') return false;
  text.remove_prefix(text.empty() ? 0 : 1);
  return true;
}

void add_what_is_free(PlanRequest& request) {
  request.measured = request.asked;
  const Needs kept = needs(request.asked, request.precision);
  for (const Category category : every_category()) {
    const bool is_there = std::ranges::count(request.measured, category) != 0;
    if (!is_there && (needs({category}, request.precision) & ~kept) == 0) request.measured.push_back(category);
  }
}

std::string text_of(const PlanRequest& request) {
  std::string text = std::string(request.is_default ? "default " : "stats ") + names_of(request.asked) + "\n";
  text += "measured " + names_of(request.measured) + "\n";
  text += "precision " + std::string(name(request.precision)) + "\n";
  if (request.cast_scale != 1) text += "scale " + to_string(Value(request.cast_scale)) + "\n";
  if (request.by) {
    const bool is_block = request.by->block_elements != 0;
    text += is_block ? "by block " + std::to_string(request.by->block_elements) : "by axes";
    for (const std::int64_t axis : request.by->axes) text += " " + std::to_string(axis);
    text += "\n";
  }
  if (request.void_is_bfloat16) text += "bfloat16 yes\n";
  if (request.raw) {
    text += "raw " + std::string(name(request.raw->dtype));
    if (request.raw->shape && request.raw->shape->empty()) text += " scalar";
    for (const std::uint64_t length : request.raw->shape.value_or(Shape())) text += " " + std::to_string(length);
    text += "\n";
  }
  return text;
}

bool parse_line(std::string_view line, PlanRequest& request) {
  const auto [name, value] = split_line(line);
  request.is_default |= name == "default";
  if (name == "default" || name == "stats") return parse_categories(value, request.asked);
  if (name == "measured") return parse_categories(value, request.measured);
  if (name == "scale") return parse_scale(value, request.cast_scale);
  if (name == "by") return parse_by(value, request.by);
  if (name == "raw") return parse_raw(value, request.raw);
  if (name == "bfloat16") return request.void_is_bfloat16 = value == "yes";
  if (name != "precision") return false;
  request.precision = value == "low" ? Precision::kLow : Precision::kHigh;
  return value == "low" || value == "high";
}

}  // namespace tensorstat
