// Facts about calls from files beside the rows of a dump: watch.ndjson of PyTorch's watch, stack.json and
// construct.json of msprobe, and the .ir of MindSpore's graphs. stats/doc/origin.md has the lines of watch.ndjson.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "stats/answer/origin/code_lines.hpp"

namespace tensorstat {

// A call that was run again, to find the operation.
struct Zoom {
  enum class Outcome : std::uint8_t {
    kOperation,  // the first that was given finite values and gave others
    kClean,      // the fault did not come again
    kGiven,      // the call was given the fault as an argument
    kHeld,       // a parameter or buffer of its own, or a tensor from elsewhere, holds it
    kRefused
  };
  Outcome result = Outcome::kRefused;
  std::string why, operation, given, gave;
  std::string inside;     // the module that ran the operation
  std::string cause;      // the row that was the reason to look
  std::string held_by;    // of kHeld, the parameter or buffer by its name in the module
  std::string parameter;  // of kHeld, the same by the name that its rows have; "": not said
  std::optional<CodeLine> code;
  std::optional<bool> inf_written;  // by a mask or an assignment
  bool given_finite = false;        // the arguments were looked at, and were finite
  bool by_container = false;        // a call that read the container of another one was the reason to look
};

// Where in a tensor the fault is, by its first dimension: a batch has a sample in each row.
struct FaultyRows {
  std::uint64_t count = 0, whole = 0;
  std::vector<std::uint32_t> rows;  // the first ones
};

// An overflow that went no further: an operation such as clamp put a finite number in its place.
struct CutOff {
  std::string by, operation;  // the call that ran the operation
  std::optional<CodeLine> code;
};

// The settings by which the watches of a run left rows out. If a run was resumed with other arguments: left out by any
// of them.
struct Watched {
  bool has_gradients = true, has_parameters = true;
  bool has_operations = false;  // level="op"
  bool has_all_inputs = false;  // else only inputs of outermost modules
  bool has_all_names = true;    // else only the names that `where` chose
  bool is_of_whole = false;     // rows of whole tensors, which several ranks hold
  std::uint64_t every = 1;
};

// Replicas of a tensor that began to differ in a bit.
struct UnequalReplicas {
  std::uint64_t iteration = 0;
  std::string op_type, op_name;
  std::vector<std::uint32_t> ranks;  // those that differ from most; if most do not agree, all
  std::uint64_t replicas = 0;        // how many there are

  auto operator<=>(const UnequalReplicas&) const = default;
};

// Names of calls are compared as files write them, with _ for / and . and the like. Some dialects of rows keep no other
// names.
class Hints {
 public:
  // Adds the text of one rank's watch.ndjson. Invalid lines and lines of an unknown kind are ignored.
  void add_watch(std::uint32_t rank, std::string_view text);
  // Adds the folder that holds the rows of a rank and iteration. Files in it and beside it are read on demand.
  void add_folder(std::uint32_t rank, std::uint64_t iteration, std::uint32_t graph, std::string folder);

  bool is_of_watch() const { return !watches_.empty() && !are_launches_; }
  // The calls are launches of kernels, as `tensorstat attach` writes them: each has rows of all that it was given,
  // unless not_seen() says so.
  bool are_launches() const { return are_launches_; }
  // nullopt: not said.
  const std::optional<Watched>& watched() const { return watched_; }
  // How many ranks the job had; 0: not said.
  std::uint64_t world_size() const { return world_size_; }
  // Whether the watch was told to leave these out.
  bool has_gradients_off() const { return are_gradients_off_; }
  bool has_parameters_off() const { return are_parameters_off_; }
  // Whether a module has parameters or buffers of its own, when the watch leaves them out.
  bool is_holder(std::string_view path) const { return holders_.contains(path); }
  // Whether the optimizer wrote no parameter in this iteration.
  bool wrote_nothing(std::uint32_t rank, std::uint64_t iteration) const;

  // Whether check() of the watch told a fault of this iteration before the optimizer's step, and no gradient scaler
  // that may have skipped it was there.
  bool was_told_by_check(std::uint32_t rank, std::uint64_t iteration) const;

  // Parameters that asked for a gradient when the watch began.
  const std::set<std::string>& trained_parameters(std::uint32_t rank) const;
  // Modules that changed between training and eval mode while gradients were on, and what the last change was.
  struct Mode {
    std::uint64_t iteration = 0;
    bool is_training = true;
  };
  const std::map<std::string, Mode, std::less<>>& modes(std::uint32_t rank) const;  // by path

  // Whether the watch compared replicas, and the result, which is the same in all ranks.
  bool compares_replicas() const { return compares_replicas_; }
  const std::set<UnequalReplicas>& unequal_replicas() const { return unequal_replicas_; }

  // The op_name of the call around a call; "" if it is an outermost call. nullopt: not said. nth counts the calls of
  // this name in the iteration.
  std::optional<std::string> parent_of(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name,
                                       std::uint32_t nth = 0);
  // The line of code that made a call.
  std::optional<CodeLine> line_of(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name,
                                  std::uint32_t nth = 0);
  const Zoom* zoom_of(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name) const;
  // The zoom that ran because a row of this name was faulty.
  const Zoom* zoom_because_of(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name) const;
  // For the fault that was seen first in a row of this name.
  const CutOff* cut_off_of(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name) const;
  // A tensor's name in what the call was given or gave: "labels", "past_key_values.1.keys"; "": its slot says it.
  std::string name_of_tensor(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name, bool is_input,
                             std::uint32_t slot) const;
  // Said of the first faulty tensor of an iteration.
  const FaultyRows* faulty_rows(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name, bool is_input,
                                std::uint32_t slot) const;
  // Whether this faulty input lay in a list, a dict or an object, which the call may not have looked at.
  bool is_held(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name, std::uint32_t slot) const;
  // Why tensors of a call are not in the rows; nullptr: nothing is missing.
  const std::string* not_seen(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name,
                              bool is_input) const;
  // Why no step has rows of the model; nullptr: there are some.
  const std::string* model_not_seen() const;
  // Each call with tensors that are not in the rows, and why: "a/forward: an object of type X is not understood".
  std::vector<std::string> all_not_seen() const;
  // Whether the gradients were zeroed, or taken by an optimizer inside of backward, before the watch's step().
  bool are_gradients_gone(std::uint32_t rank, std::uint64_t iteration) const;
  // not_seen() for a call that runs inside this one; "" if nothing is missing.
  std::string child_not_seen(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name) const;

 private:
  void add_watch_of(std::uint32_t rank, const std::string& file);
  struct CallHint {
    std::uint64_t iteration = 0, nth = 0;
    std::optional<CodeLine> code;
    std::string parent;
  };
  struct Missing {
    std::uint64_t iteration = 0;
    bool is_input = false;
    std::string why;
  };
  struct Names {
    std::uint64_t iteration = 0;
    std::vector<std::string> names;  // by slot
  };
  struct ContainedInputs {
    std::uint64_t iteration = 0;
    std::vector<std::uint32_t> slots;
  };
  using TensorPlace = std::tuple<std::uint64_t, std::string, bool, std::uint64_t>;  // iteration, call, is_input, slot
  struct Watch {
    std::map<std::pair<std::string, bool>, std::vector<Names>> names;  // by call and is_input
    std::map<std::string, std::vector<ContainedInputs>, std::less<>> held_inputs;
    std::map<TensorPlace, FaultyRows> rows;
    std::map<std::string, std::vector<CallHint>, std::less<>> code;
    std::map<std::pair<std::uint64_t, std::string>, Zoom> zooms;
    std::map<std::pair<std::uint64_t, std::string>, CutOff> cut_off;
    std::map<std::string, std::vector<Missing>, std::less<>> missing;
    std::map<std::uint64_t, bool> wrote_nothing;
    std::set<std::uint64_t> told_by_check;
    std::set<std::string> trained;
    std::map<std::string, Mode, std::less<>> modes;
    std::uint64_t gradients_gone = std::numeric_limits<std::uint64_t>::max();  // from this iteration on
  };
  // From msprobe, for a step of a rank.
  struct Companions {
    std::map<std::string, std::string, std::less<>> parents;
    std::map<std::string, CodeLine, std::less<>> lines;
  };
  struct Folder {
    std::string path;
    std::uint32_t graph = 0;
  };
  using Place = std::pair<std::uint32_t, std::uint64_t>;  // rank, iteration

  const CallHint* hint_of(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name,
                          std::uint32_t nth) const;
  const Companions& companions_of(const Place& place);
  std::optional<CodeLine> line_of_graph(const Folder& folder, std::string_view op_name);

  std::map<std::uint32_t, Watch> watches_;  // by rank
  std::uint64_t world_size_ = 0;
  std::set<std::string, std::less<>> holders_;
  std::set<UnequalReplicas> unequal_replicas_;
  bool compares_replicas_ = false;
  bool are_launches_ = false;
  bool are_gradients_off_ = false, are_parameters_off_ = false;
  std::optional<Watched> watched_;
  std::map<Place, std::vector<Folder>> folders_;
  std::map<std::string, std::string, std::less<>> read_;  // folders where watch.ndjson was looked for
  std::optional<Place> last_place_;
  Companions last_;
};

}  // namespace tensorstat
