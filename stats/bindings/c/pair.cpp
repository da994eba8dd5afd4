// Pairs of tensors of <tensorstat/core.h>.
#include <tensorstat/pair.hpp>

#include "stats/bindings/c/handles.hpp"

using namespace tensorstat;
using c::failed;
using c::guarded;
using c::missing;

struct tensorstat_pair {
  PairPartial partial;
};

namespace {

bool is_statistic(int32_t number) { return number >= 0 && number < kPairStatisticCount; }

}  // namespace

namespace tensorstat::c {

Status Pairs::take(const tensorstat_tensor* a, const tensorstat_tensor* b, std::size_t pair_count) {
  if (Status status = a_.take(a, pair_count); !status) return status;
  if (Status status = b_.take(b, pair_count); !status) return status;
  for (std::size_t i = 0; i < pair_count; ++i) all_.push_back({a_.all()[i], b_.all()[i]});
  return {};
}

tensorstat_code give(Result<std::vector<PairPartial>> compared, tensorstat_pair** pairs) {
  if (!compared) return failed(compared.error());
  std::vector<std::unique_ptr<tensorstat_pair>> made;
  for (PairPartial& each : *compared) made.emplace_back(new tensorstat_pair{std::move(each)});
  for (std::size_t i = 0; i < made.size(); ++i) pairs[i] = made[i].release();
  return TENSORSTAT_OK;
}

Result<PairRequest> pair_request_of(const tensorstat_pair_request* given) {
  if (given == nullptr) return PairRequest{};
  const auto taken = c::taken<tensorstat_pair_request>(given, TENSORSTAT_PAIR_REQUEST);
  if (!taken) return Error{Code::kInvalid, "the size of tensorstat_pair_request is not set"};
  const auto scale = c::chosen<PairTolerance::Scale>(taken->scale, TENSORSTAT_SCALE_GREATER, "scale");
  if (!scale) return scale.error();
  const auto on = c::chosen<On>(taken->on, TENSORSTAT_ON_DEVICE, "on");
  if (!on) return on.error();
  return PairRequest{{taken->rtol, taken->atol, *scale}, taken->first_index, *on};
}

}  // namespace tensorstat::c

tensorstat_code tensorstat_compare(tensorstat_meter* meter, const tensorstat_tensor* a, const tensorstat_tensor* b,
                                   size_t pair_count, const tensorstat_pair_request* request, tensorstat_pair** pairs) {
  return guarded([&]() -> tensorstat_code {
    if (meter == nullptr || (pairs == nullptr && pair_count != 0)) {
      return missing(meter == nullptr ? "the meter" : "the pointer for the pairs");
    }
    const auto taken = c::pair_request_of(request);
    if (!taken) return failed(taken.error());
    c::Pairs both;
    if (const Status status = both.take(a, b, pair_count); !status) return failed(status.error());
    return c::give(meter->meter.compare(both.all(), *taken), pairs);
  });
}

void tensorstat_pair_free(tensorstat_pair* pair) { c::destroy(pair); }

tensorstat_code tensorstat_pair_merge(tensorstat_pair* into, const tensorstat_pair* other) {
  return guarded([&]() -> tensorstat_code {
    if (into == nullptr || other == nullptr) return missing("a pair");
    const Status status = into->partial.merge(other->partial);
    return status ? TENSORSTAT_OK : failed(status.error());
  });
}

tensorstat_code tensorstat_pair_finish(const tensorstat_pair* pair, int32_t statistic, tensorstat_value* value) {
  return guarded([&]() -> tensorstat_code {
    if (pair == nullptr || value == nullptr) return missing(pair == nullptr ? "the pair" : "the pointer for the value");
    if (!is_statistic(statistic)) {
      return failed({Code::kInvalid,
                     "statistic " + std::to_string(statistic) +
                         " of a pair does not exist; tensorstat_pair_statistic_named gives the number of a name"});
    }
    *value = c::value_of(pair->partial.finish(static_cast<PairStatistic>(statistic)));
    return TENSORSTAT_OK;
  });
}

tensorstat_code tensorstat_pair_serialize(const tensorstat_pair* pair, void* to, size_t room, size_t* bytes) {
  return guarded([&]() -> tensorstat_code {
    if (pair == nullptr || bytes == nullptr) return missing(pair == nullptr ? "the pair" : "the pointer for the size");
    return c::copy_out(pair->partial.serialize(), "a serialised pair", to, room, bytes);
  });
}

tensorstat_code tensorstat_pair_parse(const void* from, size_t bytes, tensorstat_pair** pair) {
  return guarded([&]() -> tensorstat_code {
    if (from == nullptr || pair == nullptr)
      return missing(from == nullptr ? "the serialised pair" : "the pointer for the pair");
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
