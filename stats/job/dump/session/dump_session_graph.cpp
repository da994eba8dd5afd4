// CUDA graphs: what a capture collects, and the rows of each replay.

#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "stats/job/dump/session/dump_graph.hpp"
#include "stats/job/dump/session/dump_session.hpp"

namespace tensorstat {

std::shared_ptr<DumpGraph> DumpSession::State::begin_capture() {
  const std::string_view why = options.ordered_by_queue ? why_no_board({}) : "ordered_by_queue is not set";
  std::shared_ptr<DumpGraph> made;
  if (why.empty()) made = work.meter.open_graph();
  if (!why.empty()) {
    notices->inform_once("no graph", [&] { return "tensors in CUDA graphs have no rows: " + std::string(why); });
  }
  captured_.set(made);
  return made;
}

void DumpSession::State::end_capture() noexcept { captured_.set(nullptr); }

// Whether the run belongs to the graph that is being captured. Its tensors that are not on a stream of the capture have
// no values in a replay, and no rows.
bool DumpSession::State::add_to_graph(PendingRun& run) {
  const std::shared_ptr<DumpGraph> graph = captured_.get();
  if (graph == nullptr) return false;
  DumpGraph::Run added{run.place, run.op, {}, {}, run.has_results, {}};
  added.tensors.reserve(run.tensors.size());
  bool is_captured = false;
  const std::lock_guard lock(graph->mutex);
  graph->runs.reserve(graph->runs.size() + 1);
  for (PendingTensor& tensor : run.tensors) {
    if (tensor.tensor.where != Where::kCuda || tensor.stored != Stored::kPlain || tensor.is_for_event) continue;
    const Status folded = graph->board.fold(tensor.tensor);
    is_captured = is_captured || folded || folded.error().code != Code::kInvalid;
    if (folded) {
      tensor.tensor.address = nullptr;
      tensor.keep_alive = nullptr;
      tensor.faults = nullptr;
      added.tensors.push_back(std::move(tensor));
    } else if (folded.error().code != Code::kInvalid) {
      work.tally.lose(1, folded.error().message.c_str());
    }
  }
  if (!is_captured) return false;
  if (added.tensors.empty()) return true;
  added.layout = std::move(run.layout);
  added.given = std::move(run.given);
  graph->runs.push_back(std::move(added));
  return true;
}

bool DumpSession::State::replayed(DumpGraph& graph, std::uint64_t iteration, void* stream,
                                  std::uint64_t added_to_numbers) {
  std::vector<PendingRun> runs;
  {
    const std::lock_guard lock(graph.mutex);
    const auto place_of = [&](const DumpGraph::Run& run) {
      DumpPlace place = run.place;
      place.iteration = iteration;
      return counted(place);
    };
    if (graph.runs.empty() || !wants_step(place_of(graph.runs.front()))) return true;
    auto tickets = graph.board.replayed(stream);
    if (!tickets) {
      for (const DumpGraph::Run& run : graph.runs) work.tally.lose(run.tensors.size(), tickets.error().message.c_str());
      return false;
    }
    std::size_t next = 0;
    runs.reserve(graph.runs.size());
    for (const DumpGraph::Run& each : graph.runs) {
      PendingRun& run = runs.emplace_back();
      run.place = place_of(each);
      run.op = each.op;
      run.layout = each.layout;
      run.given = each.given;
      run.has_results = each.has_results;
      run.is_on_board = true;
      run.tensors = each.tensors;
      for (PendingTensor& tensor : run.tensors) {
        tensor.ticket = std::make_shared<const BoardTicket>(std::move((*tickets)[next++]));
        tensor.timestamp_us = next_timestamp_us();
        if (tensor.number != 0) tensor.number += added_to_numbers;
      }
    }
  }
  if (options.settles_later) has_late_ = true;
  for (PendingRun& run : runs) {
    ++work.tally.operators;
    judge_here(run);
    DumpQueue::Items one;
    one.emplace_back(std::move(run));
    hand_over(std::move(one));
  }
  return true;
}

}  // namespace tensorstat
