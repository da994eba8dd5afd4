// Each door of the core gives the same bits whatever mode of floating point the caller is in: every rounding mode, with
// subnormals flushed, with every trap unmasked. The caller gets its mode back. Written in C++ as a caller does it.
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <tensorstat/collective.hpp>
#include <tensorstat/meter.hpp>
#include <tensorstat/pair.hpp>
#include <tensorstat/partial.hpp>
#include <vector>

#include "tests/support/engines.hpp"
#include "tests/support/float_control.hpp"

namespace tensorstat {
namespace float_doors_test {

struct Mode {
  std::string name;
  std::uint64_t control;
};

void enter(std::uint64_t control) {
#if defined(__x86_64__)
  _mm_setcsr(static_cast<unsigned>(control));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(control));
#endif
}

std::vector<Mode> modes() {
  std::vector<Mode> all;
#if defined(__x86_64__)
  for (const std::uint64_t rounding : {0x0, 0x2000, 0x4000, 0x6000}) {
    for (const std::uint64_t flush : {0x0, 0x8040}) {
      for (const std::uint64_t masks : {0x1f80, 0x0}) {  // all traps masked, or none, denormal operands among them
        all.push_back({std::to_string(rounding) + " " + std::to_string(flush) + " " + std::to_string(masks),
                       rounding | flush | masks});
      }
    }
  }
#elif defined(__aarch64__)
  for (const std::uint64_t rounding : {0, 1, 2, 3}) {
    for (const std::uint64_t flush : {0, 1}) {
      all.push_back({std::to_string(rounding) + " " + std::to_string(flush), rounding << 22 | flush << 24});
    }
  }
#endif
  return all;
}

// What doors gave, as text: doubles by their bits, so that nothing is computed of them here.
class Transcript {
 public:
  explicit Transcript(const Mode* mode) : mode_(mode) {}

  // Calls a door in the mode.
  template <typename Door>
  auto in_mode(const Door& door) {
    if (mode_ == nullptr) return door();
    const std::uint64_t before = test::float_control();
    enter(mode_->control);
    auto result = door();
    const std::uint64_t left = test::float_control();
    enter(before);
    EXPECT_EQ(left, mode_->control & ~std::uint64_t{0x3f}) << "the caller's mode has changed";
    return result;
  }
  void add(const std::string& what, const Value& value) {
    text += what + " ";
    if (const auto* real = std::get_if<double>(&value)) {
      text += std::to_string(std::bit_cast<std::uint64_t>(*real));
    } else if (const auto* whole = std::get_if<std::uint64_t>(&value)) {
      text += "u" + std::to_string(*whole);
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      text += "i" + std::to_string(*integer);
    } else {
      text += in_mode([&] { return to_string(value); });
    }
    text += "\n";
  }
  void add(const std::string& what, const std::string& words) { text += what + " " + words + "\n"; }
  void add(const std::string& what, std::span<const std::byte> bytes) {
    text += what + " ";
    for (const std::byte each : bytes) text += std::to_string(std::to_integer<int>(each)) + ",";
    text += "\n";
  }

  std::string text;

 private:
  const Mode* const mode_;
};

template <typename Number>
struct Data {
  std::vector<Number> values;
  Dtype dtype;
  std::string name;
};

// Subnormals of both signs, values that round, NaN, and values that overflow a sum.
template <typename Number>
Data<Number> data_of(Dtype dtype, int which) {
  using Limits = std::numeric_limits<Number>;
  Data<Number> data{{}, dtype, std::string(name(dtype)) + " " + std::to_string(which)};
  for (int i = 0; i < 300; ++i) {
    const Number small = Limits::denorm_min() * static_cast<Number>(i + 1);
    data.values.push_back(which == 0 ? small : which == 1 ? (i % 2 ? -small : Limits::max() / 7) : Number(i) / 3);
  }
  if (which == 2) data.values[7] = Limits::quiet_NaN(), data.values[9] = -Limits::infinity();
  return data;
}

template <typename Number>
void call_doors(const Data<Number>& data, On on, Transcript& script) {
  Categories categories = every_category();
  for (const Category each : usual_quantiles()) categories.push_back(each);
  std::erase_if(categories, [&](Category each) { return is_digest(each) || !has(data.dtype, each); });
  const Tensor tensor{.dtype = data.dtype, .element_count = data.values.size(), .address = data.values.data()};
  const auto made = script.in_mode([] { return std::make_unique<Meter>(MeterOptions{.threads = 2}); });
  Meter& meter = *made;
  // Values that only flushing or a trap makes odd are written as bits.
  for (const std::uint64_t scale : {std::bit_cast<std::uint64_t>(1.0), std::uint64_t{1}, std::uint64_t{3} << 40}) {
    const Request request{categories, {}, on, std::bit_cast<double>(scale)};
    const std::string what = data.name + " at the scale " + std::to_string(scale) + ", ";
    const auto measured = script.in_mode([&] { return meter.measure({&tensor, 1}, request); });
    script.add(what + "measure", measured ? "" : measured.error().message);
    for (std::size_t i = 0; measured && i < categories.size(); ++i) {
      script.add(what + std::string(name(categories[i])), (*measured)[0].statistics.values[i]);
    }
    auto folded = script.in_mode([&] { return meter.fold({&tensor, 1}, request); });
    if (!folded) {
      script.add(what + "fold", folded.error().message);
      continue;
    }
    Partial& partial = folded->front();
    const auto bytes = script.in_mode([&] { return partial.serialize(); });
    script.add(what + "serialize", bytes);
    auto parsed = script.in_mode([&] { return Partial::parse(bytes); });
    script.add(what + "parse", parsed ? "" : parsed.error().message);
    const auto merged = script.in_mode([&] { return partial.merge(*parsed); });
    script.add(what + "merge", merged ? "" : merged.error().message);
    for (const Category each : categories) {
      script.add(what + "finish", script.in_mode([&] { return partial.finish(each); }));
      script.add(what + "finish_binary32", script.in_mode([&] { return partial.finish_binary32(each); }));
    }
    auto stream = script.in_mode([&] { return meter.stream(data.dtype, request); });
    if (!stream) {
      script.add(what + "stream", stream.error().message);
      continue;
    }
    const auto all = std::as_bytes(std::span(data.values));
    for (const auto& piece : {all.first(100 * sizeof(Number)), all.subspan(100 * sizeof(Number))}) {
      const auto taken = script.in_mode([&] { return stream->append(piece); });
      script.add(what + "append", taken ? "" : taken.error().message);
    }
    const auto streamed = script.in_mode([&] { return stream->finish(); });
    for (std::size_t i = 0; streamed && i < categories.size(); ++i) {
      script.add(what + "stream's " + std::string(name(categories[i])), (*streamed)[0].statistics.values[i]);
    }
    Collective collective(0, 1);
    script.in_mode([&] { return collective.begin(*folded, "x"), 0; });
    while (script.in_mode([&] { return collective.next(); })) continue;
    const auto reduced = script.in_mode([&] { return collective.finish(); });
    script.add(what + "collective", reduced ? "" : reduced.error().message);
    const By by{.shape = {30, 10}, .axes = {0}};
    const auto rows = script.in_mode([&] { return meter.measure_by(tensor, by, request); });
    for (std::size_t i = 0; rows && i < rows->size(); ++i) {
      for (std::size_t j = 0; j < categories.size(); ++j)
        script.add(what + "row's " + std::string(name(categories[j])), (*rows)[i].statistics.values[j]);
    }
  }
  std::vector<Number> other = data.values;
  std::swap(other.front(), other.back());
  const TensorPair pair{tensor, {.dtype = data.dtype, .element_count = other.size(), .address = other.data()}};
  for (const std::uint64_t tolerance : {std::uint64_t{0}, std::uint64_t{1}, std::bit_cast<std::uint64_t>(1e-3)}) {
    PairRequest request;
    request.on = on;
    request.tolerance = {.rtol = std::bit_cast<double>(tolerance), .atol = std::bit_cast<double>(tolerance)};
    auto compared = script.in_mode([&] { return meter.compare({&pair, 1}, request); });
    script.add(data.name + " compare", compared ? "" : compared.error().message);
    if (!compared) continue;
    PairPartial& partial = compared->front();
    for (int i = 0; i < kPairStatisticCount; ++i) {
      script.add(data.name + " pair's", script.in_mode([&] { return partial.finish(static_cast<PairStatistic>(i)); }));
    }
    const auto bytes = script.in_mode([&] { return partial.serialize(); });
    auto again = script.in_mode([&] { return PairPartial::parse(bytes); });
    script.add(data.name + " pair's parse", again ? "" : again.error().message);
    const auto merged = script.in_mode([&] { return partial.merge(*again); });
    script.add(data.name + " pair's merge", merged ? "" : merged.error().message);
  }
}

std::string transcript(const Mode* mode, On on) {
  Transcript script(mode);
  for (int which = 0; which < 3; ++which) {
    call_doors(data_of<double>(Dtype::kFloat64, which), on, script);
    call_doors(data_of<float>(Dtype::kFloat32, which), on, script);
  }
  for (const char* words : {"p0.1,p99.999", "max, mean"}) {
    const auto categories = script.in_mode([&] { return categories_from(words); });
    script.add(words, std::to_string(categories ? categories->size() : 0));
  }
  return script.text;
}

void expect_same(const std::string& expected, const std::string& got, const std::string& mode) {
  if (expected == got) return;
  std::size_t offset = 0;
  while (offset < expected.size() && offset < got.size() && expected[offset] == got[offset]) ++offset;
  const std::size_t begin = offset == 0 ? 0 : expected.rfind('\n', offset - 1) + 1;
  ADD_FAILURE() << "in the mode " << mode << ": " << got.substr(begin, 200) << "\nmust be "
                << expected.substr(begin, 200);
}

TEST(FloatDoors, GiveTheSameBitsInEveryMode) {
  for (const On on : {On::kHost, On::kDevice}) {
    if (on == On::kDevice && !expects_device()) continue;
    std::vector<std::pair<std::string, std::string>> transcripts;
    for (const Mode& mode : modes()) transcripts.emplace_back(mode.name, transcript(&mode, on));
    const std::string expected = transcript(nullptr, on);
    EXPECT_EQ(expected.find("must be above 0"), expected.npos);
    for (const auto& [mode, got] : transcripts) expect_same(expected, got, mode);
  }
}

}  // namespace float_doors_test
}  // namespace tensorstat
