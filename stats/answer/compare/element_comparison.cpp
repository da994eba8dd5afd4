#include "stats/answer/compare/element_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tensorstat/meter.hpp>
#include <utility>
#include <vector>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/ascend/long_name.hpp"
#include "stats/data/files/tensor_source.hpp"
#include "stats/data/rows/names/mindspore_file_name.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// Keeps the last file open, because the tensors of a container come one after another.
class LastFile {
 public:
  Result<TensorReader*> tensor(const std::string& path, const std::string& name) {
    if (path != path_) {
      tensors_.clear();
      path_ = path;
      auto source =
          open_tensors(path, {.original = original_from(named_tensor(names_.name_of(path), 0).original_dtype)});
      if (!source) return source.error();
      while (auto reader = (*source)->next()) {
        if (!*reader) continue;  // it has been said when it was measured
        const std::string its_name = (*reader)->name().value_or("");
        tensors_.emplace(its_name, **std::move(reader));
      }
    }
    const auto entry = tensors_.find(name);
    if (entry != tensors_.end()) return &entry->second;
    return Error{Code::kUnreadable, printable(path) + ": changed while it was read"};
  }

 private:
  LongNames names_{[](const Error&) {}};  // its errors were reported when the tensors were measured
  std::string path_;
  std::map<std::string, TensorReader> tensors_;
};

Error changed(const std::string& path) {
  return {Code::kUnreadable, printable(path) + ": ends earlier than the tensor that it is compared with"};
}

// Complex elements are compared as their parts, one after the other.
bool goes_by_parts(const TensorReader& a, const TensorReader& b) {
  return is_complex(a.dtype()) && is_complex(b.dtype());
}
Dtype compared_dtype(const TensorReader& reader, bool by_parts) {
  return by_parts ? part_of(reader.dtype()) : reader.dtype();
}

// One element as a number.
Result<Value> value_of(Meter& meter, Dtype dtype, const std::byte* element) {
  const Tensor alone{.dtype = dtype, .element_count = 1, .address = element};
  const auto measured = meter.measure({&alone, 1}, {.categories = {Category::kMax}, .on = On::kHost});
  if (!measured) return measured.error();
  return measured->front().statistics.values[0];
}

// `greatest`: both values where they differ most.
Status compare_readers(TensorReader& a, TensorReader& b, const std::string& path, Meter& meter, PairPartial& elements,
                       std::array<Value, 2>& greatest) {
  for (TensorReader* reader : {&a, &b}) reader->rewind(TensorReader::Order::kC, TensorReader::View::kElements);
  const std::size_t size_a = size_bytes(elements.dtype_a()), size_b = size_bytes(elements.dtype_b());
  // No more than the tensors: a file may hold thousands of small ones. A complex element is two numbers.
  const std::uint64_t all = std::max(a.element_count() * (size_bytes(a.dtype()) / size_a),
                                     b.element_count() * (size_bytes(b.dtype()) / size_b));
  const std::size_t step = std::min<std::uint64_t>(all, kPieceBytes / std::max(size_a, size_b));
  std::vector<std::byte> of_a(step * size_a), of_b(step * size_b);
  for (std::uint64_t done = 0;;) {
    const auto got_a = a.read(of_a);
    if (!got_a) return got_a.error();
    const auto got_b = b.read(of_b);
    if (!got_b) return got_b.error();
    if (*got_a / size_a != *got_b / size_b) return changed(path);
    if (*got_a == 0) return {};
    const std::uint64_t count = *got_a / size_a;
    const TensorPair piece{{.dtype = elements.dtype_a(), .element_count = count, .address = of_a.data()},
                           {.dtype = elements.dtype_b(), .element_count = count, .address = of_b.data()}};
    const auto partials = meter.compare({&piece, 1}, {elements.tolerance(), done, On::kHost});
    if (!partials) return partials.error();
    if (Status merged = elements.merge(partials->front()); !merged) return merged;
    const Value index = elements.finish(PairStatistic::kMaxAbsDiffIndex);
    const auto* position = std::get_if<std::uint64_t>(&index);
    if (position != nullptr && *position >= done) {  // in this piece
      const auto of_both = {value_of(meter, elements.dtype_a(), of_a.data() + (*position - done) * size_a),
                            value_of(meter, elements.dtype_b(), of_b.data() + (*position - done) * size_b)};
      std::size_t side = 0;
      for (const Result<Value>& value : of_both) {
        if (!value) return value.error();
        greatest[side++] = *value;
      }
    }
    done += count;
  }
}

ElementValues values_of(const PairPartial& elements) {
  ElementValues values;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = elements.finish(static_cast<PairStatistic>(i));
  return values;
}

}  // namespace

// Whether a digest that no two contents share by chance says that the bits are equal.
bool are_equal_bits(const Record& a, const RecordRow& in_a, const Record& b, const RecordRow& in_b) {
  if (a.texts()[in_a.dtype] != b.texts()[in_b.dtype] || a.texts()[in_a.shape] != b.texts()[in_b.shape]) return false;
  return std::ranges::any_of(std::array{Category::kMd5, Category::kHash}, [&](Category digest) {
    const Value *of_a = a.statistics(in_a).find(digest), *of_b = b.statistics(in_b).find(digest);
    return of_a != nullptr && of_b != nullptr && std::holds_alternative<Digest>(*of_a) && *of_a == *of_b;
  });
}

// By the definitions in <tensorstat/pair.inc>, with a equal to b.
ElementValues values_of_equal(const StatisticsView& statistics, std::uint64_t count, std::optional<Dtype> dtype) {
  ElementValues values;
  const auto set = [&](PairStatistic statistic, Value value) { values[static_cast<std::size_t>(statistic)] = value; };
  const auto counted = [](bool is_known, std::optional<std::uint64_t> number) {
    return is_known && number ? Value(*number) : Value();
  };
  const Specials specials = specials_of(statistics);
  const bool has_specials = dtype && is_float(*dtype);
  for (const PairStatistic each : {PairStatistic::kEuclidean, PairStatistic::kRelativeL2}) set(each, 0.0);
  for (const PairStatistic each : {PairStatistic::kUnequalCount, PairStatistic::kOutsideCount,
                                   PairStatistic::kNanAloneCount, PairStatistic::kInfAloneCount}) {
    set(each, std::uint64_t{0});
  }
  set(PairStatistic::kCount, count);
  set(PairStatistic::kWithinCount, count);
  set(PairStatistic::kBothNanCount, has_specials ? counted(specials.is_nan_known, specials.nan) : std::uint64_t{0});
  set(PairStatistic::kSameInfCount, has_specials ? counted(specials.is_inf_known, specials.inf) : std::uint64_t{0});
  if (count == 0) return values;
  for (const PairStatistic each :
       {PairStatistic::kRmse, PairStatistic::kMeanAbsDiff, PairStatistic::kMaxAbsDiff, PairStatistic::kMaxRelDiff}) {
    set(each, 0.0);
  }
  for (const PairStatistic each : {PairStatistic::kCosine, PairStatistic::kUnder1000th, PairStatistic::kUnder200th}) {
    set(each, 1.0);
  }
  for (const PairStatistic each : {PairStatistic::kSnr, PairStatistic::kPsnr}) set(each, HUGE_VAL);
  if (has_specials) set(PairStatistic::kMaxUlp, std::uint64_t{0});
  return values;
}

std::optional<ElementValues> element_values(const ElementPass& pass, const Record& a, const Record& b,
                                            const Pair& pair) {
  const auto entry = pass.values.find(pair.in_a);
  if (entry != pass.values.end()) return entry->second;
  const RecordRow &in_a = a.rows()[pair.in_a], &in_b = b.rows()[pair.in_b];
  const std::string_view dtype = a.texts()[in_a.dtype];
  if (dtype.starts_with("complex") || !are_equal_bits(a, in_a, b, in_b)) return std::nullopt;
  return values_of_equal(a.statistics(in_a), in_a.element_count, dtype_from(dtype));
}

Judgement judgement_of(const PairPartial& elements, std::string_view of_what) {
  const auto count = [&](PairStatistic statistic) { return std::get<std::uint64_t>(elements.finish(statistic)); };
  const std::uint64_t outside = count(PairStatistic::kOutsideCount);
  if (count(PairStatistic::kUnequalCount) == 0 && elements.dtype_a() == elements.dtype_b()) return {};
  const Value difference = elements.finish(PairStatistic::kMaxRelDiff);
  const double greatest = std::holds_alternative<double>(difference) ? std::get<double>(difference) : 0;
  if (outside == 0) return {Verdict::kWithin, greatest, ""};
  return {Verdict::kDifferent, greatest,
          std::to_string(outside) + " of " + std::to_string(count(PairStatistic::kCount)) + " " + std::string(of_what) +
              ", first at " + to_string(elements.finish(PairStatistic::kFirstOutsideIndex))};
}

ElementPass compare_elements(const Record& a, const Record& b, const Tolerances& tolerances,
                             const MeterOptions& options, Differences& differences, const ReadListener& listener) {
  ElementPass pass;
  Meter meter(options);
  LastFile in_a, in_b;
  for (Pair& pair : differences.pairs) {
    const RecordRow &row_a = a.rows()[pair.in_a], &row_b = b.rows()[pair.in_b];
    const std::string path_a(a.texts()[row_a.file]), path_b(b.texts()[row_b.file]);
    const std::string_view dtype_a = a.texts()[row_a.dtype], dtype_b = b.texts()[row_b.dtype];
    const bool is_equal = pair.judgement.verdict == Verdict::kEqual && dtype_a == dtype_b &&
                          !dtype_a.starts_with("complex");  // a row lacks the counts of their parts
    if (is_equal || path_a.empty() || path_b.empty() || a.texts()[row_a.shape] != b.texts()[row_b.shape]) continue;
    const Tolerance tolerance = tolerances.of(a.texts()[row_a.name], dtype_a);
    if (dtype_a != dtype_b && !tolerance.any_dtype) continue;
    const auto fail = [&](const Error& error) {
      listener.failed(error.message);
      pass.is_whole = false;
    };
    const auto reader_a = in_a.tensor(path_a, std::string(a.texts()[row_a.tensor]));
    const auto reader_b = in_b.tensor(path_b, std::string(b.texts()[row_b.tensor]));
    if (!reader_a || !reader_b) {
      fail(reader_a ? reader_b.error() : reader_a.error());
      continue;
    }
    const bool by_parts = goes_by_parts(**reader_a, **reader_b);
    PairPartial elements(compared_dtype(**reader_a, by_parts), compared_dtype(**reader_b, by_parts),
                         {tolerance.rtol, tolerance.atol, PairTolerance::Scale::kGreater});
    std::array<Value, 2> greatest;
    const Status compared = compare_readers(**reader_a, **reader_b, path_a, meter, elements, greatest);
    for (TensorReader* reader : {*reader_a, *reader_b}) reader->release();  // the file's others are kept, too
    if (!compared) {
      fail(compared.error());
      continue;
    }
    differences.different_count -= pair.judgement.verdict == Verdict::kDifferent;
    pair.judgement = judgement_of(elements, by_parts ? "parts" : "elements");
    differences.different_count += pair.judgement.verdict == Verdict::kDifferent;
    pass.values.emplace(pair.in_a, values_of(elements));
    pass.greatest.emplace(pair.in_a, std::move(greatest));
  }
  return pass;
}

}  // namespace tensorstat
