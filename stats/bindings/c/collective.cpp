// Collectives of <tensorstat/core.h>.
#include <tensorstat/collective.hpp>

#include "stats/bindings/c/handles.hpp"

using namespace tensorstat;
using c::failed;
using c::guarded;
using c::missing;

struct tensorstat_collective {
  Collective collective;
};

tensorstat_code tensorstat_collective_open(uint32_t rank, uint32_t ranks, tensorstat_collective** collective) {
  return guarded([&]() -> tensorstat_code {
    if (collective == nullptr) return missing("the pointer for the collective");
    Collective made(rank, ranks);
    if (const Status exists = made.status(); !exists) return failed(exists.error());
    *collective = new tensorstat_collective{std::move(made)};
    return TENSORSTAT_OK;
  });
}

tensorstat_code tensorstat_collective_begin(tensorstat_collective* collective,
                                            const tensorstat_partial* const* partials, size_t partial_count,
                                            const char* label) {
  if (collective == nullptr) return guarded([] { return missing("the collective"); });
  const auto code = guarded([&]() -> tensorstat_code {
    const std::span list(partials, partials == nullptr ? 0 : partial_count);
    std::vector<Partial> all;
    for (const tensorstat_partial* const each : list) {
      if (each != nullptr) all.push_back(each->partial);
    }
    if (all.size() != partial_count) return missing("a partial");
    collective->collective.begin(all, label == nullptr ? "" : label);
    return TENSORSTAT_OK;
  });
  if (code != TENSORSTAT_OK) collective->collective.begin(Error{Code::kInvalid, tensorstat_last_error()});
  return code;
}

tensorstat_code tensorstat_collective_begin_failed(tensorstat_collective* collective, const char* message) {
  return guarded([&]() -> tensorstat_code {
    if (collective == nullptr) return missing("the collective");
    collective->collective.begin(Error{Code::kInvalid, message == nullptr ? "it does not say why" : message});
    return TENSORSTAT_OK;
  });
}

int32_t tensorstat_collective_next(tensorstat_collective* collective, int64_t** words, size_t* word_count) {
  const c::Uncancelled here;
  if (collective == nullptr || words == nullptr || word_count == nullptr) return TENSORSTAT_ROUNDS_DONE;
  const auto round = collective->collective.next();
  if (!round) return TENSORSTAT_ROUNDS_DONE;
  *words = round->words.data();
  *word_count = round->words.size();
  return round->operation == Collective::Round::Operation::kMax ? TENSORSTAT_ROUND_MAX : TENSORSTAT_ROUND_SUM;
}

tensorstat_code tensorstat_collective_finish(tensorstat_collective* collective, tensorstat_partial** partials) {
  return guarded([&]() -> tensorstat_code {
    if (collective == nullptr || partials == nullptr) {
      return missing(collective == nullptr ? "the collective" : "the pointer for the partials");
    }
    return c::give(collective->collective.finish(), partials);
  });
}

void tensorstat_collective_free(tensorstat_collective* collective) { c::destroy(collective); }
