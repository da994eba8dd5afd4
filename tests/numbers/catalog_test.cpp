// Every category and dtype is found by its name, and by nothing else.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tensorstat/catalog.hpp>
#include <tensorstat/tensor.hpp>

namespace tensorstat {
namespace catalog_test {

// MindSpore's documentation of statistic_category and of statistic.csv, typed off by hand.
const std::pair<const char*, const char*> kKnown[] = {
    {"max", "Max Value"},
    {"min", "Min Value"},
    {"avg", "Avg Value"},
    {"count", "Count"},
    {"negative zero count", "Negative Zero Count"},
    {"positive zero count", "Positive Zero Count"},
    {"nan count", "NaN Count"},
    {"negative inf count", "Negative Inf Count"},
    {"positive inf count", "Positive Inf Count"},
    {"zero count", "Zero Count"},
    {"md5", "MD5"},
    {"l2norm", "L2Norm Value"},
};

TEST(Catalog, HoldsMindSporesCategoriesUnderTheirColumns) {
  for (const auto& [word, heading] : kKnown) {
    const auto category = category_from(word);
    ASSERT_TRUE(category) << word;
    EXPECT_EQ(name(*category), word);
    EXPECT_EQ(column(*category), heading);
  }
}

// Typed off by hand as well: what a file's cell below each column is.
TEST(Catalog, SaysWhatEachValueIs) {
  for (const auto& [word, kind_of_value] :
       std::initializer_list<std::pair<const char*, ValueKind>>{{"max", ValueKind::kElement},
                                                                {"min", ValueKind::kElement},
                                                                {"avg", ValueKind::kReal},
                                                                {"l2norm", ValueKind::kReal},
                                                                {"count", ValueKind::kCount},
                                                                {"nan count", ValueKind::kCount},
                                                                {"zero count", ValueKind::kCount},
                                                                {"md5", ValueKind::kDigest},
                                                                {"hash", ValueKind::kDigest}}) {
    EXPECT_EQ(kind(*category_from(word)), kind_of_value) << word;
  }
}

// What a person is told of each.
TEST(Catalog, SaysWhatEachCategoryIsAndWhatNanDoesToIt) {
  for (const Category category : every_category()) {
    EXPECT_FALSE(formula(category).empty()) << name(category);
    EXPECT_FALSE(nan_rule(category).empty()) << name(category);
  }
}

TEST(Catalog, NamesAreDistinct) {
  std::set<std::string_view> names, columns, dtypes;
  for (const Category category : every_category()) {
    names.insert(name(category));
    columns.insert(column(category));
    EXPECT_EQ(category_from(name(category)), category);
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kCategoryCount));
  EXPECT_EQ(columns.size(), static_cast<std::size_t>(kCategoryCount));
  for (int i = 0; i < kDtypeCount; ++i) {
    dtypes.insert(name(Dtype(i)));
    EXPECT_EQ(dtype_from(name(Dtype(i))), Dtype(i));
  }
  EXPECT_EQ(dtypes.size(), static_cast<std::size_t>(kDtypeCount));
}

TEST(Catalog, DashAndUnderscoreStandForASpace) {
  EXPECT_EQ(category_from("nan-count"), Category::kNanCount);
  EXPECT_EQ(category_from("nan_count"), Category::kNanCount);
  EXPECT_EQ(category_from("negative_zero-count"), Category::kNegativeZeroCount);
}

TEST(Catalog, NothingElseIsACategory) {
  for (const char* text : {"", " ", "Max", "MAX", "max ", " max", "nancount", "nan  count", "nan.count", "nan count\n",
                           "l2-norm", "m", "maxx", "all"}) {
    EXPECT_FALSE(category_from(text)) << '"' << text << '"';
  }
}

TEST(Catalog, QuantilesAreNumbersUpTo100WithThreeDigitsBehindThePoint) {
  for (const char* text : {"p0", "p5", "p50", "p100", "p99.9", "p99.999", "p0.001"}) {
    const auto quantile = category_from(text);
    ASSERT_TRUE(quantile) << text;
    EXPECT_EQ(name(*quantile), text);
  }
  EXPECT_EQ(category_from("p50.000"), category_from("p50"));
  for (const char* text :
       {"p", "p.", "p.5", "p5.", "p05", "p-5", "p100.001", "p101", "p1000", "p99.9999", "p1e1", "p5 "}) {
    EXPECT_FALSE(category_from(text)) << text;
  }
}

TEST(Catalog, DtypeSizesAreWhatTheirNamesSay) {
  for (int i = 0; i < kDtypeCount; ++i) {
    const std::string text(name(Dtype(i)));
    const std::size_t digits = text.find_first_of("0123456789");
    const unsigned bits = digits == text.npos ? 8 : std::stoul(text.substr(digits));
    EXPECT_EQ(size_bytes(Dtype(i)) * 8, bits * elements_a_byte(Dtype(i))) << text;
    EXPECT_EQ(is_float(Dtype(i)), text.find("float") != text.npos || is_complex(Dtype(i))) << text;
    EXPECT_EQ(is_complex(Dtype(i)), text.starts_with("complex")) << text;
  }
  EXPECT_FALSE(dtype_from("complex32"));
  EXPECT_FALSE(dtype_from("Float32"));
}

// From the formats' definitions (IEEE 754, OCP 8-bit and microscaling formats, ONNX for fnuz), typed off by hand.
TEST(Catalog, FloatsEndAtTheirGreatestFiniteValue) {
  const std::map<std::string_view, double> ends = {{"float64", 0x1.fffffffffffffp1023},
                                                   {"float32", 0x1.fffffep127},
                                                   {"float16", 65504},
                                                   {"bfloat16", 0x1.fep127},
                                                   {"float8_e5m2", 57344},
                                                   {"float8_e4m3fn", 448},
                                                   {"float8_e4m3fnuz", 240},
                                                   {"float8_e5m2fnuz", 57344},
                                                   {"float8_e8m0fnu", 0x1p127},
                                                   {"float4_e2m1fn", 6}};
  std::size_t known = 0;
  for (int i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    const auto end = ends.find(name(dtype));
    known += end != ends.end();
    EXPECT_EQ(greatest_finite(dtype), end == ends.end() ? std::nullopt : std::optional(end->second)) << name(dtype);
  }
  EXPECT_EQ(known, ends.size());
}

TEST(Categories, KeepTheOrderAndDropRepetitions) {
  const auto categories = categories_from("nan-count,max,nan_count,min,max");
  ASSERT_TRUE(categories);
  EXPECT_EQ(*categories, (Categories{Category::kNanCount, Category::kMax, Category::kMin}));
  EXPECT_EQ(*categories_from("all"), all_categories());
  const auto md5_first = categories_from("md5,all");
  EXPECT_EQ(md5_first->front(), Category::kMd5);
  EXPECT_EQ(md5_first->size(), all_categories().size());
}

TEST(Categories, AllIsMindSporesTwelve) {
  Categories twelve;
  for (const auto& known : kKnown) twelve.push_back(*category_from(known.first));
  std::ranges::sort(twelve);
  EXPECT_EQ(twelve, all_categories());
}

TEST(Categories, AliasesAreTypedAndNeverWritten) {
  const auto categories = categories_from("mean,norm,l2,amax");
  ASSERT_TRUE(categories) << categories.error().message;
  EXPECT_EQ(*categories, (Categories{Category::kAvg, Category::kL2norm, Category::kAbsmax}));
  // TransformerEngine's.
  EXPECT_EQ(*categories_from("cur_amax,dynamic_range,l1_norm,l2_norm"),
            (Categories{Category::kAbsmax, Category::kDynamicRange, Category::kL1norm, Category::kL2norm}));
  for (const char* alias : {"mean", "norm", "l2", "amax", "cur_amax", "l1_norm", "l2_norm"}) {
    EXPECT_FALSE(category_from(alias)) << alias;
    for (const Category category : every_category()) EXPECT_NE(name(category), alias);
  }
}

TEST(Categories, TheErrorSaysWhereTransformerEnginesNumbersAre) {
  const std::pair<const char*, const char*> kSaid[] = {{"underflows%", "100 * 'e4m3fn underflow' / count"},
                                                       {"overflows%", "100 * 'e4m3fn overflow' / count"},
                                                       {"scale_inv_min", "ask for its min"},
                                                       {"scale_inv_max", "ask for its max"},
                                                       {"mse", "the square of their rmse"},
                                                       {"max_blockwise_dynamic_range", "a block of 32 elements"}};
  for (const auto& [name, advice] : kSaid) {
    const auto categories = categories_from(std::string("max,") + name);
    ASSERT_FALSE(categories) << name;
    EXPECT_NE(categories.error().message.find(advice), std::string::npos) << categories.error().message;
  }
}

TEST(Categories, TheErrorNamesEveryUnknownAndTheNearest) {
  const auto categories = categories_from("max,foo,min,bar");
  ASSERT_FALSE(categories);
  EXPECT_EQ(categories.error().code, Code::kInvalid);
  for (const char* part : {"'foo'", "'bar'", "; the nearest names are "}) {
    EXPECT_NE(categories.error().message.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(categories.error().message.find("'max'"), std::string::npos);
  EXPECT_NE(categories_from("meen").error().message.find("names are mean, min, "), std::string::npos);
  EXPECT_NE(categories_from("l2nrom").error().message.find("names are l2norm, "), std::string::npos);
  EXPECT_EQ(*categories_from("nan,inf"),
            (Categories{Category::kNanCount, Category::kNegativeInfCount, Category::kPositiveInfCount}));
  for (const char* text : {"", ",", "max,", ",max", "max,,min", "max min"}) {
    EXPECT_FALSE(categories_from(text)) << '"' << text << '"';
  }
}

TEST(Shape, CountsItsElements) {
  EXPECT_EQ(*element_count({}), 1u);
  EXPECT_EQ(*element_count({2, 3}), 6u);
  EXPECT_EQ(*element_count({0}), 0u);
  EXPECT_EQ(*element_count({~0ull, ~0ull, 0}), 0u);
  EXPECT_EQ(*element_count({(1ull << 60) - 1}, 8), (1ull << 60) - 1);
}

TEST(Shape, TooManyBytesAreAnError) {
  EXPECT_FALSE(element_count({1ull << 60}, 8));
  EXPECT_FALSE(element_count({1ull << 63}));
  EXPECT_FALSE(element_count({1ull << 32, 1ull << 32}));
  EXPECT_FALSE(element_count({~0ull, ~0ull}));
  EXPECT_FALSE(element_count({3, 6148914691236517206ull}));  // 2^64 + 2, which wraps to 2
}

TEST(Shape, IsWrittenAsMindSporeDoes) {
  EXPECT_EQ(to_string(Shape{}), "()");
  EXPECT_EQ(to_string(Shape{3}), "(3)");
  EXPECT_EQ(to_string(Shape{2, 3, 0}), "(2,3,0)");
}

}  // namespace catalog_test
}  // namespace tensorstat
