#include "stats/job/dump/msprobe/api_choice.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <vector>

namespace tensorstat {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether `part` can be a substring of some call's key, whatever the call's count is. For each group of digits in
// `part`, the count with just these digits is tried. A group that begins with a zero gets a 1 before it.
bool may_be_part(std::string_view part, const ApiName& name) {
  const auto is_part_of = [&](std::uint64_t count) { return name.key(count).find(part) != std::string::npos; };
  if (name.stem.find(part) != std::string::npos || is_part_of(name.count.value_or(0))) return true;
  for (std::size_t position = 0; position < part.size(); ++position) {
    if (!is_digit(part[position]) || (position != 0 && is_digit(part[position - 1]))) continue;
    const auto end = std::min(part.find_first_not_of("0123456789", position), part.size());
    const std::string digits = (part[position] == '0' ? "1" : "") + std::string(part.substr(position, end - position));
    std::uint64_t count = 0;
    const auto [stop, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    if (fault == std::errc{} && is_part_of(count)) return true;
  }
  return false;
}

class ApiChoice : public OperatorChoice {
 public:
  ApiChoice(const MsprobeSettings& settings, bool wants_forward, bool wants_backward)
      : list_(settings.list),
        used_(list_.size()),
        scope_(settings.scope),
        looks_inside_(settings.level == "mix" && !list_.empty()),
        wants_apis_(settings.level != "L0"),
        wants_modules_(settings.level != "L1"),
        wants_forward_(wants_forward),
        wants_backward_(wants_backward) {}

  bool wants(const AskedOperator& op) const override {
    const ApiName name = api_name_of(op.type, op.name);
    if (name.kind == ApiName::Kind::kSaved) return true;
    const bool is_api = name.kind == ApiName::Kind::kApi;
    if (!(is_api ? wants_apis_ : wants_modules_) || !(name.is_backward ? wants_backward_ : wants_forward_))
      return false;
    bool wanted = list_.empty();
    for (std::size_t i = 0; i < list_.size(); ++i) {
      if (!may_name(list_[i], name)) continue;
      used_[i] = true;
      wanted = true;
    }
    return wanted;
  }

  bool bounds(const AskedOperator& op) const override {
    const ApiName name = api_name_of(op.type, op.name);
    if (!scope_ || name.kind == ApiName::Kind::kSaved || name.kind == ApiName::Kind::kGradients) return false;
    const std::string family = name.family();
    return family == api_name_of("", scope_->first).family() || family == api_name_of("", scope_->second).family();
  }
  bool has_bounds() const override { return scope_.has_value(); }

  // data_mode's directions apply to calls only.
  bool has_every_io(const AskedOperator& op) const override {
    return api_name_of(op.type, op.name).kind == ApiName::Kind::kGradients;
  }

  // As in msprobe, a module that a text of the list names is dumped with all that runs while it does.
  bool wants_inside(const AskedOperator& op, std::string_view parent) const override {
    const ApiName name = api_name_of(op.type, op.name), around = api_name_of("", parent);
    if (!looks_inside_ || around.kind != ApiName::Kind::kModule) return false;
    if (!(name.is_backward ? wants_backward_ : wants_forward_)) return false;
    bool wanted = false;
    for (std::size_t i = 0; i < list_.size(); ++i) {
      if (parent.find(list_[i]) == parent.npos) continue;
      used_[i] = true;
      wanted = true;
    }
    return wanted;
  }
  bool looks_inside() const override { return looks_inside_; }

  std::string condition() const override {
    std::string text = std::string("level \"") +
                       (wants_apis_ && wants_modules_ ? "mix"
                        : wants_apis_                 ? "L1"
                                                      : "L0") +
                       '"';
    if (!wants_modules_) text += " (APIs)";
    if (!wants_apis_) text += " (modules)";
    if (!wants_forward_ || !wants_backward_)
      text += wants_forward_ ? " and data_mode (forward)" : " and data_mode (backward)";
    return text;
  }

  std::vector<std::string> unused() const override {
    std::vector<std::string> unused;
    for (std::size_t i = 0; i < list_.size(); ++i) {
      if (!used_[i]) unused.push_back("the entry " + list_[i] + " of list");
    }
    return unused;
  }

 private:
  // As in msprobe, gradients of parameters are listed by their module, or come with a backward that is.
  static bool may_name(std::string_view part, const ApiName& name) {
    if (name.kind != ApiName::Kind::kGradients) return may_be_part(part, name);
    return name.stem.find(part) != std::string::npos ||
           may_be_part(part, {ApiName::Kind::kModule, true, name.stem, std::nullopt});
  }

  const std::vector<std::string> list_;
  mutable std::vector<std::atomic<bool>> used_;
  const std::optional<std::pair<std::string, std::string>> scope_;
  const bool looks_inside_;
  const bool wants_apis_, wants_modules_, wants_forward_, wants_backward_;
};

}  // namespace

std::shared_ptr<const OperatorChoice> api_choice(const MsprobeSettings& settings, bool wants_forward,
                                                 bool wants_backward) {
  return std::make_shared<ApiChoice>(settings, wants_forward, wants_backward);
}

bool is_listed(std::span<const std::string> list, std::string_view key) {
  return std::ranges::any_of(list, [&](const std::string& part) { return key.find(part) != key.npos; });
}

}  // namespace tensorstat
