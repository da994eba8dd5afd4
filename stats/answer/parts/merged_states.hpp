// Joins the states of a plan's parts: gives the rows of the whole tree in its order, or one state of all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tensorstat/partial.hpp>
#include <vector>

#include "stats/answer/parts/state.hpp"

namespace tensorstat {

class MergedStates {
 public:
  // Reads a state; `name` is for messages. Any number of states, in any order; a state may hold several parts.
  // kUnreadable: it is not a state, is damaged, or belongs to another plan than those before. Then it is left out.
  Status add(const std::string& name, std::string_view text);

  // Call it after the last add(). Leaves out a state if others hold all its parts: those with fewer faults count.
  // kInvalid: two states share some parts, but neither holds all parts of the other.
  Status join();

  bool is_empty() const { return states_.empty(); }
  const StateHead& head() const { return head_; }  // of all states together
  std::vector<std::uint32_t> missing() const;      // parts
  std::vector<std::string> paths() const;          // of the files that have rows, each once

  struct Listener {
    std::function<void(SurveyedTensor&&)> row;       // its statistics are PlanRequest::measured; reasons are empty
    std::function<void(const StateRecord&)> fault;   // what fold_part() could not read or measure
    std::function<void(const std::string&)> broken;  // a tensor lacks pieces, or they contradict each other
  };
  // In the order of the files, their tensors and the rows of these.
  void each(const Listener& listener) const;

  // One state of all parts. Pieces of a tensor that adjoin each other become one.
  Result<std::string> state() const;

 private:
  struct Named {
    std::string name;
    PartState state;
  };
  struct Stretch {
    std::uint64_t first, count;
    Partial partial;
  };
  using Records = std::vector<const StateRecord*>;
  Status choose();
  Records sorted() const;
  static Result<std::vector<Stretch>> stretches_of(std::span<const StateRecord* const> pieces);
  static std::size_t same_tensor(std::span<const StateRecord* const> records);

  std::vector<Named> states_;
  StateHead head_;
};

// "part 003 of 64 is missing", "parts 003, 017 and 5 more of 64 are missing"
std::string missing_text(const std::vector<std::uint32_t>& missing, std::uint32_t parts);

}  // namespace tensorstat
