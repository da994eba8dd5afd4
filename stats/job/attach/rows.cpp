#include "stats/job/attach/rows.hpp"

#include <algorithm>
#include <set>

#include "stats/data/rules/specials.hpp"
#include "stats/job/attach/record.hpp"

namespace tensorstat::attach {
namespace {

bool is_same_content(const Statistics& a, const Statistics& b) {
  const Value *one = a.find(Category::kXor64), *other = b.find(Category::kXor64);
  if (one == nullptr || other == nullptr || *one != *other) return false;
  // An xor alone is blind to elements that change places.
  return std::ranges::equal(a.values, b.values, [](const Value& x, const Value& y) {
    return to_string(x) == to_string(y);  // NaN is NaN
  });
}

void collect(Reading* reading, std::vector<Launch::Argument>& arguments,
             std::shared_ptr<Snapshot> Launch::Argument::*seen, std::size_t Launch::Argument::*place) {
  if (reading == nullptr) return;
  const auto measured = reading->collect();
  if (!measured) layer().tally->left_out_because(measured.error().message);
  for (Launch::Argument& argument : arguments) {
    if (argument.*place == Launch::Argument::kNone || *argument.is_disturbed) continue;
    Snapshot& to = *(argument.*seen);
    if (!measured || to.is_there) continue;
    to.statistics = Statistics((*measured)[argument.*place].statistics);
    to.is_there = true;
  }
}

class Rows {
 public:
  explicit Rows(const Launch& launch)
      : launch_(launch), op_name_(launch.kernel + "#" + std::to_string(launch.number)) {}

  void add(const Launch::Argument& argument, const char* io, const Statistics& statistics) {
    Row row;
    row.identity.op_type = launch_.kernel;
    row.identity.op_name = op_name_;
    row.identity.stream_id = launch_.queue_number;
    row.identity.timestamp_us = launch_.timestamp_us;
    row.identity.io = io;
    row.identity.slot = argument.slot;
    row.data_size_bytes = bytes_of(argument.extent.dtype, argument.extent.count);
    row.data_type = name(argument.extent.dtype);
    row.shape = {argument.extent.count};
    row.statistics = statistics;
    rows_.push_back(std::move(row));
  }

  const std::vector<Row>& rows() const { return rows_; }
  const std::string& op_name() const { return op_name_; }

 private:
  const Launch& launch_;
  const std::string op_name_;
  std::vector<Row> rows_;
};

Recorder* recorder_of(Context& context) {
  if (!context.has_recorder) {
    context.has_recorder = true;
    context.recorder = Recorder::open(layer().settings.out, layer().settings.statistics);
  }
  return context.recorder.get();
}

}  // namespace

void write_rows(Launch& launch) {
  using Argument = Launch::Argument;
  Tally& tally = *layer().tally;
  collect(launch.before.get(), launch.arguments, &Argument::before, &Argument::in_before);
  if (launch.has_failed) return;
  collect(launch.after.get(), launch.arguments, &Argument::after, &Argument::in_after);
  for (Argument& argument : launch.arguments) {
    if (!*argument.is_disturbed) continue;
    argument.has_lost_look = true;
    tally.left_out_because("another command wrote the memory and did not wait for the launch");
  }
  Rows rows(launch);
  std::string not_seen = launch.not_seen;
  if (not_seen.empty() && tally.unknown_commands != 0)
    not_seen = "a command buffer, which is not followed, may have written any argument";
  std::set<const Snapshot*> given;
  for (const Argument& argument : launch.arguments) {
    if (argument.is_read && !argument.is_defined && !argument.is_written && argument.look &&
        argument.look->found().had_any != 0) {
      not_seen = "argument " + std::to_string(argument.slot) +
                 " holds NaN or Inf where nobody wrote (--poison tells whether they are used)";
    }
    if (!argument.is_read || !argument.is_defined) continue;
    if (argument.before == nullptr || !argument.before->is_there) {
      ++tally.left_out;
      not_seen = "argument " + std::to_string(argument.slot) + " could not be measured before the launch";
    } else if (argument.before->is_scratch) {
      ++tally.scratch;
    } else {
      rows.add(argument, "input", argument.before->statistics);
    }
  }
  bool has_faults = false;
  std::string poisoned;
  for (const Argument& argument : launch.arguments) {
    if (!argument.is_written) continue;
    if (argument.after == nullptr || !argument.after->is_there) {
      ++tally.left_out;
      continue;
    }
    Snapshot& after = *argument.after;
    const Snapshot* before = argument.before != nullptr && argument.before->is_there ? argument.before.get() : nullptr;
    const UnwrittenLook* look = argument.has_lost_look ? nullptr : argument.look.get();
    const bool is_unchanged = before != nullptr && is_same_content(before->statistics, after.statistics);
    const Specials now = specials_of(after.statistics);
    if (!argument.is_defined || (before != nullptr && before->is_scratch)) {
      // Memory that nobody wrote, at least in part. Only what came to be there is the launch's.
      const Specials then = before == nullptr ? Specials() : specials_of(before->statistics);
      const bool is_fresh = look != nullptr ? look->found().new_nan != 0 || look->found().new_inf != 0
                                            : before != nullptr && (now.nan > then.nan || now.inf > then.inf);
      after.is_scratch = now.any() && !is_fresh;
      if (after.is_scratch) {
        ++(look == nullptr && before == nullptr ? tally.left_out : tally.scratch);
        continue;
      }
    }
    if (is_unchanged) {
      after.is_scratch = before->is_scratch;
      continue;
    }
    has_faults |= now.any();
    if (look != nullptr && look->found().poisoned != 0) {
      ++tally.poisoned;
      poisoned += (poisoned.empty() ? "" : ", ") + std::to_string(look->found().poisoned) + " of " +
                  std::to_string(argument.extent.count) + " elements of output " + std::to_string(argument.slot);
    }
    rows.add(argument, "output", after.statistics);
  }
  if (rows.rows().empty()) return;
  Recorder* recorder = recorder_of(*launch.context);
  if (recorder == nullptr) {
    tally.lost_rows += rows.rows().size();
    return;
  }
  // Before the rows: who reads them has it then.
  if (has_faults && !not_seen.empty()) recorder->write_not_seen(rows.op_name(), "input", not_seen);
  if (!poisoned.empty()) recorder->write_poisoned(rows.op_name(), poisoned);
  const std::size_t written = recorder->write(rows.rows());
  tally.measured += written;
  tally.lost_rows += rows.rows().size() - written;
}

void close_recorders() {
  std::set<std::shared_ptr<Context>> contexts;
  {
    const std::lock_guard lock(layer().objects.mutex);
    for (const auto& [handle, context] : layer().objects.contexts) contexts.insert(context);
    for (const auto& [handle, queue] : layer().objects.queues) contexts.insert(queue->context);
  }
  for (const auto& context : contexts) {
    if (context->recorder) context->recorder->close();
  }
}

}  // namespace tensorstat::attach
