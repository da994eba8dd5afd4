// Saves the tensors of an alert: the one that it names, and the inputs of its operator.
#pragma once

#include <memory>
#include <string>
#include <tensorstat/rows.hpp>

#include "stats/data/rows/notices.hpp"
#include "stats/job/alerts/rank_alerts.hpp"
#include "stats/job/dump/output/dump_files.hpp"
#include "stats/job/dump/session/dump_meter.hpp"
#include "stats/job/dump/session/dump_tally.hpp"
#include "stats/job/dump/session/pending_run.hpp"

namespace tensorstat {

// Used by one thread at a time.
class EventTensors {
 public:
  // The references must outlive this.
  EventTensors(DumpMeter& meter, DumpTally& tally, std::shared_ptr<Notices> notices, Sync sync)
      : meter_(meter), tally_(tally), notices_(notices), files_(sync, std::move(notices)) {}

  // `alerts` has judged the run, and its tensors still have their bits.
  void save(RankAlerts& alerts, const PendingRun& run);

 private:
  void save(RankAlerts& alerts, const PendingRun& run, const PendingTensor& tensor);

  DumpMeter& meter_;
  DumpTally& tally_;
  const std::shared_ptr<Notices> notices_;
  DumpFiles files_;
};

}  // namespace tensorstat
