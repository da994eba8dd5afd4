#include "stats/job/dump/session/event_tensors.hpp"

#include <algorithm>
#include <vector>

#include "stats/job/dump/mindspore/dump_folders.hpp"
#include "stats/job/dump/output/saved_tensor.hpp"

namespace tensorstat {
namespace {

constexpr std::uint64_t kHeaderBytes = 128;  // of most .npy files

std::uint64_t file_bytes(const PendingTensor& tensor) {
  return kHeaderBytes + widening_factor(content_of(tensor, {}).widening) * tensor.tensor.bytes();
}

}  // namespace

void EventTensors::save(RankAlerts& alerts, const PendingRun& run) {
  if (!alerts.has_alert_of(run.place.iteration, run.op)) return;
  const bool is_named = std::ranges::any_of(run.tensors, &PendingTensor::is_of_alert);
  const bool is_behind = std::ranges::all_of(run.tensors, &PendingTensor::is_for_event);
  for (const PendingTensor& tensor : run.tensors) {
    const bool is_beside = tensor.is_for_event || tensor.io == Io::kInput;
    if (tensor.is_of_alert || (is_beside && (is_named || is_behind))) save(alerts, run, tensor);
  }
}

void EventTensors::save(RankAlerts& alerts, const PendingRun& run, const PendingTensor& given) {
  const bool is_input = given.io == Io::kInput;
  const std::string which = (is_input ? "input " : "output ") + std::to_string(given.slot);
  const std::uint64_t bytes = file_bytes(given);
  const std::string folder = alerts.folder_for_tensor(run.place.graph, bytes);
  if (folder.empty()) {
    return alerts.add_not_saved(
        run.op, is_input,
        which + " is not saved: its " + std::to_string(bytes) + " bytes are beyond the limit of the event or run");
  }
  PendingTensor tensor = given;
  std::vector<std::byte> in_order;
  if (tensor.tensor.strides != nullptr) {
    in_order.resize(tensor.tensor.bytes());
    if (const Status copied = meter_.copy(tensor.tensor, in_order); !copied) {
      ++tally_.lost_files;
      return alerts.add_not_saved(run.op, is_input, which + " is not saved: " + copied.error().message);
    }
  }
  const std::string name = npy_file_name(identity_of(run, tensor), tensor.format, data_type(tensor));
  const auto write = [&](const NpyContent& content) { return files_.save_tensor(folder, name, content); };
  if (save_tensor(tensor, meter_, tally_, *notices_, write)) {
    alerts.add_saved(run.op, is_input, folder + "/" + name);
  } else {
    alerts.add_not_saved(run.op, is_input, which + " is not saved: its file could not be written; the log says why");
  }
}

}  // namespace tensorstat
