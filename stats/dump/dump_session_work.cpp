// What a dump session does behind the training thread's back.

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <exception>
#include <system_error>

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
bool DumpSession::State::has_thread() {
  if (stopping_ || thread_refused_) return false;  // a late hand-over is done where it comes from
  if (thread_.joinable()) return true;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { run_thread(); });
  } catch (const std::system_error& fault) {
    thread_refused_ = true;
    notices->warn_once(
        "thread", "no thread for dumping, so training does the work: " + std::string(fault.what()));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return !thread_refused_;
}

void DumpSession::State::post(Item item) {
  {
    const std::lock_guard lock(queue_mutex_);
    if (has_thread()) {
      queue_.push_back(std::move(item));
      ++posted_;
      if (asleep_) came_.notify_one();
      return;
    }
  }
  const std::lock_guard lock(work_mutex);
  std::deque<Item> items;
  items.push_back(std::move(item));
  work_on(items);
}

void DumpSession::State::run_thread() {
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
    taken_.swap(queue_);
    lock.unlock();
    const std::size_t count = taken_.size();
    {
      const std::lock_guard work(work_mutex);
      work_on(taken_);
    }
    taken_.clear();
    lock.lock();
    finished_ += count;
    done_.notify_all();
  }
}

void DumpSession::State::flush() {
  std::unique_lock lock(queue_mutex_);
  const std::uint64_t mine = posted_;
  hurry_ = true;
  came_.notify_one();
  done_.wait(lock, [&] { return finished_ >= mine; });
}

void DumpSession::State::close() {
  if (closed.exchange(true)) return;
  {
    const std::lock_guard lock(queue_mutex_);
    stopping_ = true;
    came_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(work_mutex);
  writer.close_all();
  if (config.dump_mode != DumpMode::kKernels) return;
  for (const std::string& entry : config.kernels.unused()) {
    notices->warn("no operator matched the entry " + entry + " of kernels");
  }
}

void DumpSession::State::work_on(std::deque<Item>& items) {
  std::vector<PendingRun*> runs;
  for (std::size_t i = 0; i < items.size(); ++i) {
    try {
      if (auto* run = std::get_if<PendingRun>(&items[i])) {
        runs.push_back(run);
        const bool more = i + 1 < items.size() && std::holds_alternative<PendingRun>(items[i + 1]);
        if (more && runs.size() < kMostRuns) continue;
        dump(runs);
        runs.clear();
      } else if (const auto* text = std::get_if<Text>(&items[i])) {
        writer.save_text(text->path, text->text);
      } else if (const auto* line = std::get_if<Line>(&items[i])) {
        writer.append_line(line->path, line->line);
      } else if (const auto* end = std::get_if<StepEnd>(&items[i])) {
        writer.close_folder(writer.folders().folder(end->place));
      }
    } catch (const std::exception& fault) {
      lose(runs, fault);
      runs.clear();
    }
  }
}

void DumpSession::State::lose(const std::vector<PendingRun*>& runs,
                              const std::exception& fault) noexcept try {
  for (const PendingRun* run : runs) counts.lost_tensors += run->tensors.size();
  notices->warn_once("work", "tensors are lost: " + std::string(fault.what()));
} catch (const std::bad_alloc&) {  // counted is enough
}

// In overflow dumps, whether this operator overflows; looked at in order, so that the first
// overflow_number of them are those that count.
bool DumpSession::State::is_to_be_dumped(const PendingRun& run) {
  if (config.op_debug_mode != DebugMode::kOverflow) return true;
  if (enough_overflows || !examiner.overflows(run)) return false;
  const std::uint64_t count = ++counts.overflows;
  if (config.overflow_number != 0 && count >= config.overflow_number) enough_overflows = true;
  return true;
}

void DumpSession::State::dump(std::vector<PendingRun*> runs) {
  std::erase_if(runs, [&](PendingRun* run) {
    if (is_to_be_dumped(*run)) return false;
    *run = {};
    return true;
  });
  std::vector<const PendingTensor*> tensors;
  for (PendingRun* run : runs) {
    for (PendingTensor& tensor : run->tensors) {
      take_sample(tensor, sample_num());
      tensors.push_back(&tensor);
    }
  }
  std::vector<std::optional<Statistics>> found(tensors.size());
  if (config.saves_statistics()) found = examiner.measure(tensors);

  std::string rows, rows_folder;
  std::size_t next = 0;
  for (const PendingRun* run : runs) {
    const std::string folder = writer.folders().folder(run->place);
    if (folder != rows_folder && !rows.empty())
      writer.append_rows(rows_folder, std::exchange(rows, {}));
    rows_folder = folder;
    writer.save_metadata(run->place.rank);
    for (const PendingTensor& tensor : run->tensors) {
      auto& statistics = found[next++];
      const bool measured = statistics.has_value();
      if (measured) {
        rows += csv_row({identity_of(*run, tensor), tensor.tensor.bytes(),
                         std::string(data_type(tensor)), tensor.shape, *std::move(statistics)},
                        options.dialect);
      }
      const bool saved = config.saves_tensors() && save(*run, tensor, folder);
      ++(measured || saved ? counts.tensors : counts.lost_tensors);
    }
  }
  if (!rows.empty()) writer.append_rows(rows_folder, rows);
  for (PendingRun* run : runs) *run = {};  // the memory is wanted for what comes
}

bool DumpSession::State::save(const PendingRun& run, const PendingTensor& tensor,
                              const std::string& folder) {
  std::vector<std::byte> room;
  const auto bytes = examiner.bits(tensor, room);
  if (!bytes) {
    notices->warn_once(
        "unread", "a tensor could not be read, and its file is missing: " + bytes.error().message);
    return false;
  }
  return writer.save_tensor(
      folder, npy_file_name(identity_of(run, tensor), tensor.format, data_type(tensor)),
      content_of(tensor, *bytes));
}

}  // namespace tensorstat
