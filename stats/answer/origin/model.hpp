// Converts rows to calls: each row is a tensor of a call, which has a phase, a parent and a position.
// stats/doc/origin.md describes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stats/answer/compare/record.hpp"
#include "stats/answer/origin/hints.hpp"

namespace tensorstat {

// In the order in which a step goes through them.
enum class Phase : std::uint8_t { kParameter, kInput, kForward, kLoss, kBackward, kGradient, kOptimizer, kBuffer };
std::string_view name(Phase phase);  // "forward"

// How the rows of a dump are to be read.
enum class Form : std::uint8_t {
  kWatch,     // PyTorch's watch: modules, loss, gradients and parameters; inputs are taken before the call
  kModules,   // msprobe's modules and functions
  kGraph,     // operators of a graph, none inside another
  kLaunches,  // launches of OpenCL kernels, none inside another; rows of all that a launch was given
};
inline bool is_flat(Form form) { return form == Form::kGraph || form == Form::kLaunches; }

inline constexpr std::uint32_t kNoCall = UINT32_MAX;

struct Call {
  Phase phase = Phase::kForward;
  std::uint32_t rank = 0;
  std::uint64_t iteration = 0;
  std::uint32_t op_type = 0, name = 0;         // of the record's texts
  std::uint32_t nth = 0;                       // of its name in the iteration, from 0 on
  std::uint32_t parent = kNoCall;              // the call that it ran inside
  std::vector<std::uint32_t> inputs, outputs;  // rows of the record
  // It is said to be inside of a call that is not in the rows.
  bool has_unseen_parent = false;
  // It ran during backward. A checkpoint's second run gives no new facts.
  bool is_again = false;
  // An operation between the model and the loss.
  bool is_of_loss = false;
  std::uint64_t begin = 0, end = 0;  // when it was given its inputs and had its outputs: numbers in the order of time
};

// The rows of an iteration that a model is made from. A watch's evaluation does not belong to the training step behind
// it: its calls are named "blocks.0/eval".
enum class Part : std::uint8_t { kAll, kTraining, kEvaluation };

struct Model {
  Form form = Form::kGraph;
  bool is_evaluation = false;
  std::vector<Call> calls;

  bool is_inside(std::uint32_t call, std::uint32_t outer) const;  // at any depth
};

// The form that one row shows, if it shows one. `is_of_operator`: it is not a tensor of a file.
std::optional<Form> form_shown_by(std::string_view op_type, std::string_view op_name, bool is_of_operator);

// The calls of one iteration of one rank: of the runs from `first` to before `last` of the record, which is sorted.
Model model_of(const Record& record, Form form, Hints& hints, std::uint32_t rank, std::uint32_t first,
               std::uint32_t last, Part part = Part::kAll);

// The parts that these runs have: training and evaluation where both are there. A training in eval mode has no calls of
// another name, so it is one part; so is an evaluation with a loss, and without a training.
std::vector<Part> parts_of(const Record& record, Form form, std::uint32_t rank, std::uint32_t first,
                           std::uint32_t last);

// Whether the code of a module of this type only passes its input through the modules inside, one after another.
bool hands_on(std::string_view op_type);

// A call's name without its phase: "blocks.0" for "blocks.0/forward".
std::string_view path_of(Form form, std::string_view op_name);

// Whether an operator leaves its result in one of its inputs, by its type: "AssignAdd", "add_".
bool writes_its_input(std::string_view op_type);

// Whether an operator exchanges data with other ranks, by its type: the names of MPI, NCCL, HCCL and the frameworks.
bool communicates(std::string_view op_type);

}  // namespace tensorstat
