// What a page holds of a run: each row's values in the cell of its tensor, rank and iteration, faults, differences
// between ranks and between two runs, and in a run that is too large the worst of several iterations.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "stats/show/page/contents.hpp"
#include "stats/show/page/packed.hpp"
#include "stats/show/page/page.hpp"

namespace tensorstat {
namespace page_contents_test {

const Categories kCategories = {Category::kMax, Category::kMin, Category::kL2norm};

struct Sample {
  std::string name;
  std::uint64_t iteration = 0;
  double max = 1, min = -1, l2norm = 1;
  std::uint32_t rank = 0;
};

History history_of(const std::vector<Sample>& samples) {
  History history;
  std::uint64_t time = 0;
  for (const Sample& each : samples) {
    const std::vector<Value> values = {each.max, each.min, each.l2norm};
    history.add({.op_type = "Add",
                 .op_name = each.name,
                 .dtype = "float32",
                 .shape = "(1)",
                 .place = {.rank = each.rank, .iteration = each.iteration},
                 .timestamp_us = ++time,
                 .statistics = StatisticsView{kCategories, values}});
  }
  history.finish();
  return history;
}

const PageContents::Plane& plane(const PageContents& contents, const std::string& name) {
  for (const PageContents::Plane& each : contents.planes) {
    if (each.name == name) return each;
  }
  throw std::runtime_error("no plane " + name);
}

TEST(PageContents, HaveEachRowInItsCell) {
  const History history =
      history_of({{"a", 3, 2, -5, 7}, {"b", 3, 4, 1, 9}, {"a", 10, 3, -6, 8}, {"a", 3, 20, -50, 70, 1}});
  const PageContents contents = page_contents({&history}, {});
  ASSERT_EQ(contents.tensors.size(), 2u);
  EXPECT_EQ(contents.tensors[0].name + " " + contents.tensors[0].io, "a output.0");
  EXPECT_EQ(contents.iterations, (std::vector<std::uint64_t>{3, 10}));
  ASSERT_EQ(contents.lanes.size(), 2u);
  EXPECT_EQ(contents.lanes[1].rank, 1u);
  EXPECT_EQ(contents.row_count, 4u);
  const auto expect = [&](std::size_t tensor, std::size_t lane, std::uint64_t iteration, double absmax, double l2norm) {
    const std::size_t cell = contents.cell(tensor, lane, contents.column_of(iteration));
    EXPECT_EQ(plane(contents, "absmax").values[cell], absmax);
    EXPECT_EQ(plane(contents, "l2norm").values[cell], l2norm);
  };
  expect(0, 0, 3, 5, 7);
  expect(1, 0, 3, 4, 9);
  expect(0, 0, 10, 6, 8);
  expect(0, 1, 3, 50, 70);
  const std::size_t missing = contents.cell(1, 1, 1);
  EXPECT_EQ(plane(contents, "max").has[missing], 0);
  EXPECT_EQ(contents.faults[missing], PageContents::kNoFault);
}

TEST(PageContents, HaveCountsOfCastsWhereARowHasThem) {
  const Category overflow = Category::kFloat16Overflow;
  const Categories with{Category::kMax, overflow}, without{Category::kMax};
  const std::vector<Value> both{1.0, std::uint64_t{3}}, alone{1.0};
  History history;
  std::uint64_t time = 0;
  for (const std::string op_name : {"counted", "bare", "also counted"}) {
    const bool is_bare = op_name == "bare";
    history.add({.op_type = "Add",
                 .op_name = op_name,
                 .dtype = "float32",
                 .shape = "(8)",
                 .place = {},
                 .timestamp_us = ++time,
                 .statistics = is_bare ? StatisticsView{without, alone} : StatisticsView{with, both}});
  }
  history.finish();
  const PageContents contents = page_contents({&history}, {});
  const PageContents::Plane counts = plane(contents, std::string(name(overflow)));
  EXPECT_EQ(counts.has, (std::vector<std::uint8_t>{1, 0, 1}));
  EXPECT_EQ(counts.values, (std::vector<double>{3, 0, 3}));
}

TEST(PageContents, ShowFaults) {
  const History history = history_of(
      {{"nan", 0, NAN, NAN, NAN}, {"up", 0, INFINITY, 0, INFINITY}, {"down", 0, 0, -INFINITY, INFINITY}, {"clean", 0}});
  const PageContents contents = page_contents({&history}, {});
  std::vector<int> faults;
  for (const std::uint8_t each : contents.faults) faults.push_back(each & ~PageContents::kHasRow);
  EXPECT_EQ(faults, (std::vector<int>{PageContents::kNan, PageContents::kPlusInf, PageContents::kMinusInf,
                                      PageContents::kNoFault}));
}

// A bit is enough. NaN is the same in both, -0 is not 0, and what one of two lacks is no difference.
TEST(PageContents, MarkRanksThatDiffer) {
  std::vector<Sample> samples;
  for (const std::uint32_t rank : {0u, 1u}) {
    const bool is_second = rank == 1;
    samples.push_back({"same", 0, 1, -1, 1, rank});
    samples.push_back({"bit", 0, is_second ? std::nextafter(1.0, 2) : 1, -1, 1, rank});
    samples.push_back({"zero", 0, is_second ? -0.0 : 0.0, -1, 1, rank});
    samples.push_back({"nan", 0, NAN, NAN, NAN, rank});
  }
  samples.push_back({"alone", 0, 1, -1, 1, 1});
  const History history = history_of(samples);
  const PageContents contents = page_contents({&history}, {});
  for (std::size_t tensor = 0; tensor < contents.tensors.size(); ++tensor) {
    const std::string& name = contents.tensors[tensor].name;
    const bool is_marked = (contents.faults[contents.cell(tensor, 1, 0)] & PageContents::kDiffers) != 0;
    EXPECT_EQ(is_marked, name == "bit" || name == "zero") << name;
    EXPECT_EQ(contents.faults[contents.cell(tensor, 0, 0)] & PageContents::kDiffers, 0) << name;
  }
}

TEST(PageContents, SayWhereTwoRunsPart) {
  const auto verdict_of = [](double at_2, double at_5) {
    std::vector<Sample> a, b;
    for (std::uint64_t i = 0; i < 8; ++i) {
      a.push_back({"w", i});
      b.push_back({"w", i, 1, -1, i == 2 ? at_2 : i >= 5 ? at_5 : 1});
    }
    const History history_a = history_of(a), history_b = history_of(b);
    return page_contents({&history_a, &history_b}, {}, {"A", "B"}).words.verdict;
  };
  using Verdict = std::vector<std::string>;
  EXPECT_EQ(verdict_of(1, 1), (Verdict{"A and B agree in every bit of what both have"}));
  const std::string in_a_bit = "iteration 2, rank 0, in w output.0: l2norm 1 in A, 1.001 in B";
  EXPECT_EQ(verdict_of(1.001, 1), (Verdict{"A and B agree within 1 % in l2norm", "They differ first at " + in_a_bit}));
  EXPECT_EQ(verdict_of(1.001, 2), (Verdict{"A and B part at iteration 5, rank 0, in w output.0: l2norm 1 in A, 2 in B",
                                           "They differ in a bit first at " + in_a_bit}));
  EXPECT_EQ(verdict_of(1, NAN).front(), "A and B part at iteration 5, rank 0, in w output.0: l2norm 1 in A, nan in B");
}

struct Measured {
  Categories categories;
  std::vector<Value> values;
};
History history_of(const std::vector<Measured>& rows, const std::string& name = "w") {
  History history;
  for (std::uint64_t i = 0; i < rows.size(); ++i) {
    history.add({.op_type = "Add",
                 .op_name = name,
                 .dtype = "float32",
                 .shape = "(1)",
                 .place = {.iteration = i},
                 .timestamp_us = i,
                 .statistics = StatisticsView{rows[i].categories, rows[i].values}});
  }
  history.finish();
  return history;
}
std::string verdict_of(const History& a, const History& b) {
  return page_contents({&a, &b}, {}, {"A", "B"}).words.verdict.front();
}

// By the statistic that differs, and that both have; by a digest if both have one of a kind.
TEST(PageContents, CompareWhatBothHave) {
  const auto digest = [](const char* text) { return Value(*Digest::from(text)); };
  const auto of_max = [](double max) { return history_of({{{Category::kMax}, {max}}}); };
  const auto of_both = [](double l2norm, double max) {
    return history_of({{{Category::kL2norm}, {3.0}}, {{Category::kL2norm, Category::kMax}, {l2norm, max}}});
  };
  EXPECT_EQ(verdict_of(of_max(1), of_max(2)), "A and B part at iteration 0, rank 0, in w output.0: max 1 in A, 2 in B");
  EXPECT_EQ(verdict_of(of_both(3, 1), of_both(3, 2)), "A and B agree within 1 % in l2norm");
  EXPECT_EQ(verdict_of(of_max(1), history_of({{{Category::kL2norm}, {1.0}}})),
            "A and B have nothing in common that could be compared");
  EXPECT_EQ(verdict_of(of_max(1), history_of({{{Category::kMax}, {1.0}}}, "another")),
            "A and B have nothing in common that could be compared");
  EXPECT_EQ(verdict_of(of_max(INFINITY), of_max(-INFINITY)),
            "A and B part at iteration 0, rank 0, in w output.0: max inf in A, -inf in B");
  const auto of_xor = [&](const char* text) {
    return history_of({{{Category::kMax}, {1.0}}, {{Category::kMax, Category::kXor64}, {1.0, digest(text)}}});
  };
  const History a = of_xor("0000000000000001"), b = of_xor("0000000000000002");
  EXPECT_EQ(verdict_of(a, a), "A and B agree in every bit of what both have");
  EXPECT_EQ(page_contents({&a, &b}, {}, {"A", "B"}).words.verdict,
            (std::vector<std::string>{"A and B agree within 1 % in max",
                                      "They differ first at iteration 1, rank 0, in w output.0: only the digest"}));
  const History other = history_of({{{Category::kMax, Category::kCrc32}, {1.0, digest("00000001")}}});
  EXPECT_EQ(verdict_of(history_of({{{Category::kMax, Category::kXor64}, {1.0, digest("0000000000000001")}}}), other),
            "A and B agree in every bit of what both have");
}

// Above 4 million cells the page has one statistic, above 16 million a column stands for several iterations.
TEST(PageContents, SayWhatOfALargeRunWasCompared) {
  const auto verdict = [](std::uint64_t tensors, std::uint64_t iterations) {
    const Categories categories = {Category::kMax, Category::kL2norm};
    const std::vector<Value> values = {1.0, 2.0};
    History history;
    const auto add = [&](std::uint64_t tensor, std::uint64_t iteration) {
      history.add({.op_type = "Add",
                   .op_name = "w" + std::to_string(tensor),
                   .dtype = "float32",
                   .shape = "(1)",
                   .place = {.iteration = iteration},
                   .timestamp_us = iteration,
                   .statistics = StatisticsView{categories, values}});
    };
    for (std::uint64_t i = 1; i < tensors; ++i) add(i, 0);
    for (std::uint64_t i = 0; i < iterations; ++i) add(0, i);
    history.finish();
    return verdict_of(history, history);
  };
  EXPECT_EQ(verdict(10, 10), "A and B agree in every bit of what both have");
  EXPECT_EQ(verdict(1500, 1500), "A and B agree in every l2norm. No other statistic was compared");
  EXPECT_EQ(verdict(3000, 3000), "A and B agree in the worst l2norm of each column. Nothing else was compared");
}

// The map shows them, and their faults.
TEST(PageContents, HaveRowsWithoutAnyOfTheStatistics) {
  const History history =
      history_of({{{Category::kNanCount}, {std::uint64_t{0}}}, {{Category::kNanCount}, {std::uint64_t{1}}}});
  const PageContents contents = page_contents({&history}, {});
  EXPECT_EQ(contents.planes.size(), 1u);
  EXPECT_EQ(contents.faults,
            (std::vector<std::uint8_t>{PageContents::kHasRow, PageContents::kHasRow | PageContents::kNan}));
}

// 17.6 million cells, a row in each 4,200th of them.
TEST(PageContents, OfARunThatIsTooLargeArePooled) {
  constexpr std::uint64_t kTensors = 4200, kBad = 3001;
  std::vector<Sample> samples;
  for (std::uint64_t i = 0; i < kTensors; ++i) {
    const double value = i == kBad ? NAN : 1;
    samples.push_back({"t" + std::to_string(i), i, value, value, value});
  }
  const History history = history_of(samples);
  const PageContents contents = page_contents({&history}, {});
  EXPECT_EQ(contents.pooled, 2u);
  EXPECT_EQ(contents.tensors.size(), kTensors);
  EXPECT_EQ(contents.iterations.size(), kTensors / 2);
  EXPECT_NE(contents.words.notes.at(0).find("each column of this page has 2 iterations"), std::string::npos);
  std::vector<std::size_t> faulty;
  for (std::size_t cell = 0; cell < contents.faults.size(); ++cell) {
    if ((contents.faults[cell] & 7) != 0) faulty.push_back(cell);
  }
  EXPECT_EQ(faulty, std::vector<std::size_t>{contents.cell(kBad, 0, kBad / 2)});
}

std::string page_of(const PageContents& contents) {
  std::string page;
  EXPECT_TRUE(write_page(contents, [&](std::string_view piece) {
    page += piece;
    return Status();
  }));
  return page;
}

TEST(PageContents, OfTheSameRowsGiveTheSameBytes) {
  const auto make = [] {
    const History history = history_of({{"a", 0}, {"b", 0, NAN, NAN, NAN}, {"a", 1}, {"b", 1, 4, 2, 1, 1}});
    PageWords words;
    words.source = "@style@ </script><b>";
    words.verdict = {"@blocks@"};
    return page_of(page_contents({&history}, std::move(words)));
  };
  const std::string page = make();
  EXPECT_EQ(page, make());
  for (const char* text : {"@style@", "@blocks@", "</script><b>"}) {
    EXPECT_EQ(page.find(text), page.npos) << "texts of the run are in deflated blocks: " << text;
  }
}

TEST(Packed, IsBase64AndZlib) {
  const std::pair<std::string, std::string> vectors[] = {
      // RFC 4648
      {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}};
  for (const auto& [bytes, text] : vectors) EXPECT_EQ(base64(bytes), text);
  EXPECT_EQ(base64("\xfb\xff"), "+/8=");
  const std::string bytes = std::string(100'000, 'a') + "b";
  const auto small = deflated(bytes);
  ASSERT_TRUE(small);
  EXPECT_LT(small->size(), 1000u);
  std::string back(bytes.size(), '\0');
  uLongf size = back.size();
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(back.data()), &size, reinterpret_cast<const Bytef*>(small->data()),
                       small->size()),
            Z_OK);
  EXPECT_EQ(back, bytes);
}

}  // namespace page_contents_test
}  // namespace tensorstat
