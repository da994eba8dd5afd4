#include "stats/compare/compared.hpp"

#include <future>
#include <mutex>
#include <new>
#include <system_error>
#include <tensorstat/pair.hpp>

#include "stats/compare/comparison_json.hpp"
#include "stats/compare/origin.hpp"
#include "stats/compare/origin/verdict.hpp"

namespace tensorstat {
namespace {

// What the listener is told, kept.
class Faults {
 public:
  explicit Faults(std::vector<std::string>& faults) : faults_(faults) {}
  ReadListener listener() {
    return {[this](std::string_view words) {
              const std::lock_guard lock(mutex_);
              faults_.emplace_back(words);
            },
            [](std::size_t, std::size_t, std::uint64_t) {}};
  }

 private:
  std::vector<std::string>& faults_;
  std::mutex mutex_;
};

}  // namespace

Result<std::unique_ptr<Compared>> compare_paths(const std::string& path_a, const std::string& path_b,
                                                const DiffOptions& options, const ReadListener& listener) {
  auto tolerances = Tolerances::parse(options.tolerances);
  if (!tolerances) return Error{Code::kInvalid, "tolerances, " + tolerances.error().message};
  const auto renames = Renames::parse(options.names);
  if (!renames) return Error{Code::kInvalid, "names, " + renames.error().message};
  if (options.rtol) {
    if (!PairTolerance{*options.rtol, options.atol}.is_valid())
      return Error{Code::kInvalid, "rtol and atol are numbers from 0"};
    tolerances->set_default({*options.rtol, options.atol, options.any_dtype});
  } else if (options.atol != 0 || options.any_dtype) {
    return Error{Code::kInvalid, "atol and any_dtype want rtol, too: without it each dtype has its own"};
  }
  const bool are_containers = is_one_container(path_a) && is_one_container(path_b);
  const Reading how{.names = are_containers ? Reading::Names::kOfTensors : Reading::Names::kWithFiles};
  auto reading = std::async(std::launch::async, [&] { return read_recorded(path_b, options.meter, listener, how); });
  auto a = read_recorded(path_a, options.meter, listener, how);
  auto b = reading.get();
  if (!a) return a.error();
  if (!b) return b.error();
  auto compared = std::make_unique<Compared>(Compared{*std::move(a), *std::move(b), {}, {}, {}});
  const Record &in_a = compared->a.record, &in_b = compared->b.record;
  compared->differences = compare(in_a, in_b, *renames, *tolerances);
  compared->elements = compare_elements(in_a, in_b, *tolerances, options.meter, compared->differences, listener);
  if (options.first) compared->first = beginnings(in_a, in_b, compared->differences, compared->a.hints);
  return compared;
}

Result<DiffAnswer> diff(const std::string& a, const std::string& b, const DiffOptions& options) try {
  DiffAnswer answer;
  Faults faults(answer.faults);
  const auto compared = compare_paths(a, b, options, faults.listener());
  if (!compared) return compared.error();
  answer.differs = !(*compared)->differences.is_clean();
  answer.json = json_of(**compared);
  return answer;
} catch (const std::bad_alloc&) {
  return out_of_memory();
} catch (const std::system_error& fault) {  // no thread
  return Error{Code::kOutOfMemory, fault.what()};
}

Result<OriginAnswer> origin(const std::string& path, const OriginOptions& options) try {
  OriginAnswer answer;
  Faults faults(answer.faults);
  auto read = read_recorded(path, options.meter, faults.listener(), {.is_alone = true});
  if (!read) return read.error();
  const Answer found = answer_of(read->record, read->hints,
                                 {.nan_only = options.nan_only, .ended_inf = options.inf, .with_lists = true});
  answer.is_clean = found.verdict.kind == FaultKind::kNone;
  answer.json = json_of(read->record, found);
  return answer;
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace tensorstat
