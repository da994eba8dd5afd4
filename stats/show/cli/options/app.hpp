// The options of the command without CLI11's header, which takes seconds to compile: only app.cpp, command_line, help
// and manual/ include it. Functions with the name of one of CLI11 do the same.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tensorstat::cli {

// Returns the error of an option's text, "" if there is none. It may change the text.
using Check = std::function<std::string(std::string&)>;

// An option of an App, which must outlive it.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& type_name(const std::string& name);
  Option& group(const std::string& name);
  Option& required();
  Option& needs(const std::string& other);
  Option& needs(const Option& other);
  Option& excludes(const std::string& other);
  Option& excludes(const Option& other);

  Option& check(const Check& check);
  Option& check_first(const Check& check);  // before those that were added already
  Option& one_of(const std::vector<std::string>& words);
  template <typename T>
  Option& between(T least, T most);
  Option& delimiter(char between);
  Option& not_negative();
  Option& as_size();  // 64M is 64 * 2^20
  // The words that completions offer for a list separated by commas. The list is checked where it is parsed.
  Option& suggest_list(const std::vector<std::string>& words);

 private:
  CLI::Option* option_;
};

// The command or a subcommand. A reference to CLI11's, which must outlive it.
class App {
 public:
  App(CLI::App& app) : app_(&app) {}
  CLI::App& cli11() const { return *app_; }

  App add_subcommand(const std::string& name, const std::string& help);
  // T is std::string, a number, an optional number or a vector of strings (the end of app.cpp).
  template <typename T>
  Option add_option(const std::string& name, T& value, const std::string& help);
  Option add_flag(const std::string& name, bool& value, const std::string& help);
  // An option whose text goes to a function.
  Option add_option_function(const std::string& name, const std::function<void(const std::string&)>& take,
                             const std::string& help);
  // The same, for one of these words, which completions offer, too.
  Option add_word(const std::string& name, const std::vector<std::string>& words,
                  const std::function<void(const std::string&)>& take, const std::string& help);
  Option get_option(const std::string& name);
  bool is_given(const std::string& option) const;  // by the user; not if there is no such option
  void footer(const std::string& text);
  void positionals_at_end();
  void parse_complete_callback(const std::function<void()>& callback);

 private:
  CLI::App* app_;
};

// The group that only --help-all shows.
inline constexpr const char* kMoreOptions = "More options";

// Ends the parsing: usage is wrong. `words` follow the option's name in the message.
[[noreturn]] void refuse(const std::string& option, const std::string& words);

std::vector<std::string> split(const std::string& text, char between);
std::string joined_words(const std::vector<std::string>& words, const std::string& between);

}  // namespace tensorstat::cli
