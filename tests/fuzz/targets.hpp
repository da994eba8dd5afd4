// What is fuzzed. Each function takes any bytes whatever and aborts when a promise about them is
// broken; a sanitizer sees the rest.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

namespace tensorstat::fuzz {

using Input = std::string_view;

void npy(Input file);              // an .npy file
void container(Input file);        // a file of tensors, or a model's index
void config(Input text);           // a data_dump.json
void statistic_csv(Input text);    // a statistic.csv of any dialect
void dump_json(Input text);        // a dump.json of msprobe
void file_name(Input path);        // the path of a dumped file
void partial(Input two_partials);  // one serialised partial behind the other
void dlpack(Input fields);         // the fields of a DLTensor

struct Target {
  std::string_view name;  // also of its folder in tests/fuzz/corpus
  void (*run)(Input);
};
inline constexpr Target kTargets[] = {{"npy", npy},
                                      {"container", container},
                                      {"config", config},
                                      {"statistic_csv", statistic_csv},
                                      {"dump_json", dump_json},
                                      {"file_name", file_name},
                                      {"partial", partial},
                                      {"dlpack", dlpack}};

// An assert that stays in every build.
inline void demand(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

// A message is for a person: there is one, short, in one line without control characters.
inline void demand_message(std::string_view message, std::size_t most_bytes) {
  demand(!message.empty(), "an error has words");
  demand(message.size() <= most_bytes, "a message is short");
  for (const unsigned char c : message) {
    demand(c >= ' ' && c != 0x7f, "a message holds no control character");
  }
}

}  // namespace tensorstat::fuzz
