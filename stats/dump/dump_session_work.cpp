// What a dump session does behind the training thread's back.

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>

#include "stats/files/npy_writer.hpp"
#include "stats/dump/dump_session.hpp"
#include "stats/rows/statistic_csv.hpp"

namespace tensorstat {
namespace {

// Waking a sleeping thread costs the training thread microseconds. So the worker looks by itself
// every kGlance, and sleeps for good only after kPatience of them in which nothing came.
constexpr auto kGlance = std::chrono::milliseconds(2);
constexpr int kPatience = 50;

// Runs that are measured together.
constexpr std::size_t kMostRuns = 64;

NpyContent content_of(const PendingTensor& tensor, std::span<const std::byte> bytes) {
  NpyContent content{npy_descr(tensor.tensor.dtype), tensor.shape, Widening::kNone, bytes};
  switch (tensor.stored) {
    case Stored::kPlain:
      if (tensor.tensor.dtype == Dtype::kBfloat16) content.widening = Widening::kBfloat16;
      break;
    case Stored::kInt4:
      content.descr = npy_descr(Dtype::kInt8);
      content.widening = Widening::kInt4;
      break;
    case Stored::kUint1:
      content.widening = Widening::kUint1;
      break;
    case Stored::kComplex64:
      content.descr = "<c8";
      break;
    case Stored::kComplex128:
      content.descr = "<c16";
      break;
  }
  return content;
}

}  // namespace

// No signal of the program's is handled on a thread it does not know.
bool DumpSession::State::has_thread() noexcept {
  if (stopping_ || thread_refused_) return false;  // a late hand-over is done where it comes from
  if (thread_.joinable()) return true;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { run_thread(); });
  } catch (const std::exception& fault) {
    thread_refused_ = true;
    notices->warn_once("thread", [&] {
      return "no thread for dumping, so training does the work: " + std::string(fault.what());
    });
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return !thread_refused_;
}

void DumpSession::State::post(Item item) {
  Items one;
  one.push_back(std::move(item));
  post(std::move(one));
}

void DumpSession::State::post(Items one) noexcept {
  {
    const std::lock_guard lock(queue_mutex_);
    if (has_thread()) {
      queue_.splice(queue_.end(), one);
      ++posted_;
      if (asleep_) came_.notify_one();
      return;
    }
  }
  const std::lock_guard lock(work_mutex);
  work_on(one);
}

void DumpSession::State::run_thread() noexcept {
  Notices::never_deliver_from_this_thread();
  std::unique_lock lock(queue_mutex_);
  int glances = 0;
  while (!queue_.empty() || !stopping_) {
    if (queue_.empty()) {
      asleep_ = ++glances > kPatience;
      const auto something = [&] { return hurry_ || stopping_ || (asleep_ && !queue_.empty()); };
      asleep_ ? came_.wait(lock, something)
              : static_cast<void>(came_.wait_for(lock, kGlance, something));
      asleep_ = false;
      hurry_ = false;
      continue;
    }
    glances = 0;
    take_turn(lock);
  }
}

// Works on the first items of the queue, while the lock is released. They are destroyed after they count as finished:
// the deleter of a keep_alive is the caller's, and may wait for a thread that waits in drain().
void DumpSession::State::take_turn(std::unique_lock<std::mutex>& lock) noexcept {
  Items items;
  const std::size_t count = std::min(queue_.size(), kMostRuns);
  items.splice(items.end(), queue_, queue_.begin(), std::next(queue_.begin(), static_cast<std::ptrdiff_t>(count)));
  lock.unlock();
  {
    const std::lock_guard work(work_mutex);
    work_on(items);
  }
  lock.lock();
  finished_ += count;
  done_.notify_all();
  lock.unlock();
  items.clear();
  lock.lock();
}

// Returns when everything that was handed over is worked on.
void DumpSession::State::drain() noexcept {
  std::unique_lock lock(queue_mutex_);
  const std::uint64_t mine = posted_;
  if (thread_.get_id() == std::this_thread::get_id()) {  // in the deleter of a keep_alive
    while (finished_ < mine && !queue_.empty()) take_turn(lock);
    return;
  }
  hurry_ = true;
  came_.notify_one();
  done_.wait(lock, [&] { return finished_ >= mine; });
}

void DumpSession::State::work_on(Items& items) noexcept {
  std::array<PendingRun*, kMostRuns> runs;
  std::size_t count = 0;
  auto first = items.begin();  // of the runs
  for (auto next = items.begin(); next != items.end();) {
    const auto at = next++;
    if (auto* run = std::get_if<PendingRun>(&*at)) {
      if (count == 0) first = at;
      runs[count++] = run;
      if (next != items.end() && count < kMostRuns && std::holds_alternative<PendingRun>(*next)) continue;
      dump({runs.data(), count});
      if (examiner.left_in_use()) in_use_->splice(in_use_->end(), items, first, next);
      count = 0;
    } else if (const auto* text = std::get_if<Text>(&*at)) {
      writer.save_text(text->path, text->text);
    } else if (const auto* line = std::get_if<Line>(&*at)) {
      writer.append_line(line->path, line->line);
    } else if (const auto* end = std::get_if<StepEnd>(&*at)) {
      writer.close_folder(end->place);
    }
  }
}

// In overflow dumps, whether this operator overflows; looked at in order, so that the first
// overflow_number of them are those that count.
bool DumpSession::State::is_to_be_dumped(const PendingRun& run) noexcept {
  if (config.op_debug_mode != DebugMode::kOverflow) return true;
  if (enough_overflows) return false;
  try {
    if (!examiner.overflows(run)) return false;
  } catch (const std::exception&) {  // what nobody could look at is not missed
  }
  const std::uint64_t count = ++counts.overflows;
  if (config.overflow_number != 0 && count >= config.overflow_number) enough_overflows = true;
  return true;
}

bool DumpSession::State::measure(std::span<PendingRun* const> runs,
                                 std::vector<std::optional<Statistics>>& found) noexcept try {
  std::vector<const PendingTensor*> tensors;
  for (PendingRun* run : runs) {
    for (PendingTensor& tensor : run->tensors) {
      take_sample(tensor, sample_num());
      tensors.push_back(&tensor);
    }
  }
  found.assign(tensors.size(), std::nullopt);
  if (config.saves_statistics()) found = examiner.measure(tensors);
  return true;
} catch (const std::exception& fault) {
  if (runs.size() == 1) lose(runs.front()->tensors.size(), fault.what());
  return false;
}

void DumpSession::State::dump(std::span<PendingRun*> runs) noexcept {
  const auto end = std::remove_if(runs.begin(), runs.end(), [&](PendingRun* run) { return !is_to_be_dumped(*run); });
  write_all(runs.first(static_cast<std::size_t>(end - runs.begin())));
}

void DumpSession::State::write_all(std::span<PendingRun*> runs) noexcept {
  std::vector<std::optional<Statistics>> found;
  if (!measure(runs, found)) {  // memory is short: less at a time
    for (std::size_t i = 0; runs.size() > 1 && i < runs.size(); ++i) write_all(runs.subspan(i, 1));
    return;
  }
  std::string rows, rows_folder, folder;
  auto statistics = found.begin();
  for (const PendingRun* run : runs) {
    const auto first = statistics;
    statistics += static_cast<std::ptrdiff_t>(run->tensors.size());
    try {
      folder = writer.folders().folder(run->place);
    } catch (const std::bad_alloc& fault) {
      lose(run->tensors.size(), fault.what());
      continue;
    }
    if (folder != rows_folder) {
      writer.append_rows(rows_folder, rows);
      rows.clear();
      rows_folder.swap(folder);
    }
    writer.save_metadata(run->place.rank);
    for (std::size_t i = 0; i < run->tensors.size(); ++i) {
      write(*run, run->tensors[i], first[static_cast<std::ptrdiff_t>(i)], rows_folder, rows);
    }
  }
  writer.append_rows(rows_folder, rows);
}

// The file of a tensor, and its row at the end of `rows`.
void DumpSession::State::write(const PendingRun& run, const PendingTensor& tensor,
                               const std::optional<Statistics>& statistics, const std::string& folder,
                               std::string& rows) noexcept try {
  const bool is_complex = tensor.stored == Stored::kComplex64 || tensor.stored == Stored::kComplex128;
  const bool wants_row = config.saves_statistics() && !is_complex;
  if (!wants_row && !config.saves_tensors()) {
    ++counts.complex;
    return;
  }
  Identity identity = identity_of(run, tensor);
  const bool saved = !config.saves_tensors() || save(identity, tensor, folder);
  if (wants_row && statistics) {
    rows += csv_row({identity, tensor.tensor.bytes(), std::string(data_type(tensor)), tensor.shape, *statistics},
                    options.dialect);
  }
  ++(saved && (statistics || !wants_row) ? counts.tensors : counts.lost_tensors);
} catch (const std::exception& fault) {
  lose(1, fault.what());
}

bool DumpSession::State::save(Identity& identity, const PendingTensor& tensor, const std::string& folder) noexcept try {
  Examiner::Room room;
  const auto bytes = examiner.bits(tensor, room);
  if (bytes && writer.save_tensor(folder, identity, tensor.format, data_type(tensor), content_of(tensor, *bytes))) {
    return true;
  }
  ++counts.lost_files;
  if (!bytes) {
    notices->warn_once("unread", [&] {
      return "a tensor could not be read, and its file is missing: " + bytes.error().message;
    });
  }
  return false;
} catch (const std::exception& fault) {
  ++counts.lost_files;
  notices->warn_once("no file", [&] { return "a tensor's file is missing: " + std::string(fault.what()); });
  return false;
}

}  // namespace tensorstat
