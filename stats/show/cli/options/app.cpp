#include "stats/show/cli/options/app.hpp"

#include <CLI/CLI.hpp>
#include <cmath>
#include <type_traits>

#include "stats/show/cli/options/suggestions.hpp"

namespace tensorstat::cli {

namespace {

CLI::Validator validator_of(const Check& check) { return CLI::Validator(check, ""); }

}  // namespace

Option& Option::type_name(const std::string& name) { return option_->type_name(name), *this; }
Option& Option::group(const std::string& name) { return option_->group(name), *this; }
Option& Option::required() { return option_->required(), *this; }
Option& Option::needs(const std::string& other) { return option_->needs(other), *this; }
Option& Option::needs(const Option& other) { return option_->needs(other.option_), *this; }
Option& Option::excludes(const std::string& other) { return option_->excludes(other), *this; }
Option& Option::excludes(const Option& other) { return option_->excludes(other.option_), *this; }
Option& Option::check(const Check& check) { return option_->check(validator_of(check)), *this; }
Option& Option::check_first(const Check& check) { return option_->transform(validator_of(check)), *this; }
Option& Option::one_of(const std::vector<std::string>& words) {
  return option_->check(CLI::IsMember(words).description("")), *this;
}
template <typename T>
Option& Option::between(T least, T most) {
  option_->check(CLI::Range(least, most).description(""));
  // NaN is neither below nor above.
  if constexpr (std::is_floating_point_v<T>) {
    check([](std::string& text) {
      T number = 0;
      const bool is_nan = CLI::detail::lexical_cast(text, number) && std::isnan(number);
      return is_nan ? "Value " + text + " is no number" : std::string();
    });
  }
  return *this;
}
template Option& Option::between(std::uint32_t, std::uint32_t);
template Option& Option::between(std::uint64_t, std::uint64_t);
template Option& Option::between(double, double);
Option& Option::delimiter(char between) { return option_->delimiter(between), *this; }
Option& Option::not_negative() { return option_->check(CLI::NonNegativeNumber.description("")), *this; }
Option& Option::as_size() { return option_->transform(CLI::AsSizeValue(false).description("")), *this; }
Option& Option::suggest_list(const std::vector<std::string>& words) {
  const Check no_error = [](std::string&) { return std::string(); };
  return option_->check(validator_of(no_error), std::string(kListOf) + CLI::detail::join(words, ",")), *this;
}

App App::add_subcommand(const std::string& name, const std::string& help) { return *app_->add_subcommand(name, help); }
Option App::add_flag(const std::string& name, bool& value, const std::string& help) {
  return Option(app_->add_flag(name, value, help));
}
Option App::add_option_function(const std::string& name, const std::function<void(const std::string&)>& take,
                                const std::string& help) {
  return Option(app_->add_option_function<std::string>(name, take, help));
}
Option App::add_word(const std::string& name, const std::vector<std::string>& words,
                     const std::function<void(const std::string&)>& take, const std::string& help) {
  return Option(app_->add_option_function<std::string>(name, take, help)
                    ->check(CLI::IsMember(words).description(""), std::string(kOneOf) + CLI::detail::join(words, ",")));
}
Option App::get_option(const std::string& name) { return Option(app_->get_option(name)); }
bool App::is_given(const std::string& option) const {
  const CLI::Option* known = app_->get_option_no_throw(option);
  return known != nullptr && known->count() != 0;
}
void App::footer(const std::string& text) { app_->footer(text); }
void App::positionals_at_end() { app_->positionals_at_end(); }
void App::parse_complete_callback(const std::function<void()>& callback) { app_->parse_complete_callback(callback); }

void refuse(const std::string& option, const std::string& words) { throw CLI::ValidationError(option, words); }

std::vector<std::string> split(const std::string& text, char between) { return CLI::detail::split(text, between); }
std::string joined_words(const std::vector<std::string>& words, const std::string& between) {
  return CLI::detail::join(words, between);
}

template <typename T>
Option App::add_option(const std::string& name, T& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}
template Option App::add_option(const std::string&, std::string&, const std::string&);
template Option App::add_option(const std::string&, std::vector<std::string>&, const std::string&);
template Option App::add_option(const std::string&, std::uint32_t&, const std::string&);
template Option App::add_option(const std::string&, std::uint64_t&, const std::string&);
template Option App::add_option(const std::string&, double&, const std::string&);
template Option App::add_option(const std::string&, std::optional<std::uint32_t>&, const std::string&);
template Option App::add_option(const std::string&, std::optional<std::uint64_t>&, const std::string&);
template Option App::add_option(const std::string&, std::optional<double>&, const std::string&);

}  // namespace tensorstat::cli
