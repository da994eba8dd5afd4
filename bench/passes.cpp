// One pass over one tensor, for every dtype, size and choice of statistics.
#include <memory>
#include <string_view>

#include "bench/contest.hpp"
#include "bench/data.hpp"
#include "host/digest/digest.hpp"

namespace tensorstat::bench {
namespace {

struct Choice {
  const char* name;
  const char* categories;
};
constexpr Choice kChoices[] = {{"ten", kTen},
                               {"extrema", "max,min"},
                               {"default", "max,min,l2norm"},  // MindSpore's
                               {"with-md5", "all"}};

// The limit of a digest: OpenSSL's digest alone.
Work md5_alone(std::span<const std::byte> bytes) {
  return [bytes, md5 = std::make_shared<Md5>()] {
    md5->update(bytes);
    benchmark::DoNotOptimize(value(md5->finish()));
  };
}

}  // namespace

void enter_passes() {
  for (int d = 0; d < kDtypeCount; ++d) {
    const auto dtype = static_cast<Dtype>(d);
    for (const std::uint64_t kib : {1, 4, 64, 1 << 10, 64 << 10, 256 << 10, 1 << 20}) {
      const std::uint64_t bytes = kib << 10;
      for (const Choice& choice : kChoices) {
        const std::string group = "pass/" + std::string(name(dtype)) + "/" + bytes_name(bytes) + "/" + choice.name;
        const auto size = static_cast<double>(bytes);
        const auto data = [=] { return bytes_of(make(dtype, bytes)); };
        if (choice.name == std::string_view("with-md5")) {
          enter(group, "limit:md5", size, 1, [=] { return Contestant{md5_alone(data())}; });
        } else {
          enter_limits(group, size, 1, data);
        }
        for (const Lane& lane : kLanes) {
          enter_measure(
              group, lane, size, 1, [=] { return std::vector{make(dtype, bytes)}; },
              value(categories_from(choice.categories)));
        }
      }
    }
  }
}

}  // namespace tensorstat::bench
