// Captures of the double of a GPU's driver: streams whose work goes into a graph, and the graph's replays.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tests/device/fake_gpu.hpp"

namespace fake_gpu {
namespace {

constexpr int kActive = 1, kInvalidated = 2;  // the states of a stream in a capture

thread_local int mode = kGlobalMode;

// Of the nodes that wait for nothing more, the latest goes first: a missing edge is noticed.
void replay(const Graph& graph) {
  std::vector<bool> is_done(graph.nodes.size(), false);
  for (std::size_t left = graph.nodes.size(); left != 0; --left) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const auto is_over = [&](std::size_t each) { return bool(is_done[each]); };
      if (!is_done[i] && std::ranges::all_of(graph.nodes[i].behind, is_over)) next = i;
    }
    is_done[next] = true;
    graph.nodes[next].work();
  }
}

bool any_capture() {
  for (const auto& each : state().streams) {
    if (each->is_capturing || each->graph != nullptr) return true;
  }
  return false;
}

int status_of(const Stream& stream) {
  if (stream.is_invalidated) return kInvalidated;
  return stream.is_capturing || stream.graph != nullptr ? kActive : 0;
}

}  // namespace

void unsafe() {
  if (any_capture() && mode != kRelaxedMode) state().has_broken_a_capture = true;
}

}  // namespace fake_gpu

using namespace fake_gpu;

extern "C" {

int CALL(cuThreadExchangeStreamCaptureMode, hipThreadExchangeStreamCaptureMode)(int* exchanged) {
  const std::lock_guard lock(state().mutex);
  const int code = counted();
  if (code == kSuccess || *exchanged != kRelaxedMode) std::swap(mode, *exchanged);
  return code;
}
int CALL(cuStreamIsCapturing, hipStreamIsCapturing)(void* stream, int* is_capturing) {
  ENTER();
  const Stream* target = stream_of(stream);
  if (target == nullptr) return kInvalidHandle;
  if (is_default(stream)) {
    for (const auto& each : state().streams) {
      if (each->is_capturing && each->is_blocking && each->device == target->device) return kCaptureImplicit;
    }
  }
  *is_capturing = status_of(*target);
  return kSuccess;
}
#ifndef FAKE_ROCM
int cuStreamGetCaptureInfo(void* stream, int* status, std::uint64_t* number) {
  ENTER();
  const Stream* target = stream_of(stream);
  if (target == nullptr) return kInvalidHandle;
  if (is_default(stream)) {
    for (const auto& each : state().streams) {
      const bool is_captured = each->is_capturing || each->graph != nullptr;
      if (is_captured && each->is_blocking && each->device == target->device) return kCaptureImplicit;
    }
  }
  *status = status_of(*target);
  if (*status == kActive) *number = target->graph != nullptr ? target->graph->number : ~std::uint64_t{0};
  return kSuccess;
}
#endif

// A stream in a capture that nothing may be added to. 2: an earlier error has invalidated the capture.
void fake_gpu_capture(void* stream, int on) {
  static_cast<Stream*>(stream)->is_capturing = on != 0;
  static_cast<Stream*>(stream)->is_invalidated = on == 2;
}
// Captures this stream into a graph, or with a graph, into this one.
void* fake_gpu_begin_capture(void* stream, void* graph) {
  const std::lock_guard lock(state().mutex);
  auto& graphs = state().graphs;
  if (graph == nullptr) {
    graphs.push_back(std::make_unique<Graph>(Graph{.number = graphs.size() + 1}));
    graph = graphs.back().get();
  }
  static_cast<Stream*>(stream)->graph = static_cast<Graph*>(graph);
  return graph;
}
void fake_gpu_end_capture(void* graph) {
  const std::lock_guard lock(state().mutex);
  for (const auto& each : state().streams) {
    if (each->graph != graph) continue;
    each->graph = nullptr;
    each->behind.clear();
  }
}
void fake_gpu_replay(void* graph, void* stream) {
  const std::lock_guard lock(state().mutex);
  put(*static_cast<Stream*>(stream), [made = static_cast<Graph*>(graph)] { replay(*made); });
}
// Since the last call.
int fake_gpu_has_broken_a_capture() { return std::exchange(state().has_broken_a_capture, false); }
int fake_gpu_capture_mode() { return mode; }
}
