// Pairs of tensors of <tensorstat/tensorstat.h>.
#include <tensorstat/pair.hpp>

#include "stats/c/handles.hpp"

using namespace tensorstat;
using c::failed;
using c::guarded;
using c::missing;

struct tensorstat_pair {
  PairPartial partial;
};

namespace {

bool is_statistic(int32_t number) { return number >= 0 && number < kPairStatisticCount; }

Result<PairRequest> pair_request_of(const tensorstat_pair_request* given) {
  if (given == nullptr) return PairRequest{};
  const auto taken = c::taken<tensorstat_pair_request>(given, TENSORSTAT_PAIR_REQUEST);
  if (!taken) return Error{Code::kInvalid, "the size of tensorstat_pair_request is not set"};
  const auto scale = c::chosen<PairTolerance::Scale>(taken->scale, 2, "scale");
  if (!scale) return scale.error();
  return PairRequest{{taken->rtol, taken->atol, *scale}, taken->first_index};
}

}  // namespace

tensorstat_code tensorstat_compare(tensorstat_meter* meter, const tensorstat_tensor* a, const tensorstat_tensor* b,
                                   size_t pair_count, const tensorstat_pair_request* request, tensorstat_pair** pairs) {
  return guarded([&]() -> tensorstat_code {
    if (meter == nullptr || (pairs == nullptr && pair_count != 0)) {
      return missing(meter == nullptr ? "the meter" : "where the pairs are put");
    }
    const auto taken = pair_request_of(request);
    if (!taken) return failed(taken.error());
    c::Tensors of_a, of_b;
    if (const Status status = of_a.take(a, pair_count); !status) return failed(status.error());
    if (const Status status = of_b.take(b, pair_count); !status) return failed(status.error());
    std::vector<TensorPair> both;
    for (size_t i = 0; i < pair_count; ++i) both.push_back({of_a.all()[i], of_b.all()[i]});
    auto found = meter->meter.compare(both, *taken);
    if (!found) return failed(found.error());
    std::vector<std::unique_ptr<tensorstat_pair>> made;
    for (PairPartial& each : *found) made.emplace_back(new tensorstat_pair{std::move(each)});
    for (size_t i = 0; i < made.size(); ++i) pairs[i] = made[i].release();
    return TENSORSTAT_OK;
  });
}

void tensorstat_pair_free(tensorstat_pair* pair) { delete pair; }

tensorstat_code tensorstat_pair_merge(tensorstat_pair* into, const tensorstat_pair* other) {
  return guarded([&]() -> tensorstat_code {
    if (into == nullptr || other == nullptr) return missing("a pair");
    const Status status = into->partial.merge(other->partial);
    return status ? TENSORSTAT_OK : failed(status.error());
  });
}

tensorstat_code tensorstat_pair_finish(const tensorstat_pair* pair, int32_t statistic, tensorstat_value* value) {
  return guarded([&]() -> tensorstat_code {
    if (pair == nullptr || value == nullptr) return missing(pair == nullptr ? "the pair" : "where the value is put");
    if (!is_statistic(statistic)) {
      return failed({Code::kInvalid, "statistic " + std::to_string(statistic) +
                                         " of a pair is none; tensorstat_pair_statistic_named gives their numbers"});
    }
    *value = c::value_of(pair->partial.finish(static_cast<PairStatistic>(statistic)));
    return TENSORSTAT_OK;
  });
}

tensorstat_code tensorstat_pair_serialize(const tensorstat_pair* pair, void* to, size_t room, size_t* bytes) {
  return guarded([&]() -> tensorstat_code {
    if (pair == nullptr || bytes == nullptr) return missing(pair == nullptr ? "the pair" : "where the size is put");
    return c::copy_out(pair->partial.serialize(), "a serialised pair", to, room, bytes);
  });
}

tensorstat_code tensorstat_pair_parse(const void* from, size_t bytes, tensorstat_pair** pair) {
  return guarded([&]() -> tensorstat_code {
    if (from == nullptr || pair == nullptr) return missing(from == nullptr ? "the serialised pair" : "where the pair is put");
    auto parsed = PairPartial::parse({static_cast<const std::byte*>(from), bytes});
    if (!parsed) return failed(parsed.error());
    *pair = new tensorstat_pair{*std::move(parsed)};
    return TENSORSTAT_OK;
  });
}

int32_t tensorstat_pair_statistic_named(const char* name) {
  const auto statistic = name == nullptr ? std::nullopt : pair_statistic(name);
  return statistic ? static_cast<int32_t>(*statistic) : -1;
}

const char* tensorstat_pair_statistic_name(int32_t statistic) {
  return is_statistic(statistic) ? name(static_cast<PairStatistic>(statistic)).data() : nullptr;
}
