// Equal texts have one number and others another, however many there are and however long; what was kept stays in
// place.

#include "stats/answer/compare/interned_texts.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/samples.hpp"

namespace tensorstat {
namespace interned_texts_test {

TEST(InternedTexts, KnowWhatIsEqual) {
  samples::Random random(samples::seed());
  InternedTexts texts;
  std::map<std::string, std::uint32_t> known;
  std::vector<std::string_view> kept;
  for (int i = 0; i < 200'000; ++i) {
    // Few different short ones, so that many come again; now and then one as long as a block, and longer.
    std::string text = i % 5000 == 17 ? std::string(60'000 + random() % 10'000, 'x') : "layer.";
    text += std::to_string(random() % 60'000);
    if (i == 100) text.clear();
    const auto entry = known.find(text);
    EXPECT_EQ(texts.find(text), entry == known.end() ? InternedTexts::kNone : entry->second);
    const std::uint32_t id = texts.id(text);
    if (entry == known.end()) {
      EXPECT_EQ(id, known.size());
      known.emplace(text, id);
      kept.push_back(texts[id]);
    } else {
      EXPECT_EQ(id, entry->second);
    }
  }
  EXPECT_EQ(texts.size(), known.size());
  const InternedTexts moved = std::move(texts);
  for (const auto& [text, id] : known) {
    EXPECT_EQ(moved[id], text);
    EXPECT_EQ(kept[id].data(), moved[id].data());
  }
}

TEST(InternedTexts, MayBeginWithAnEmptyOne) {
  InternedTexts texts;
  EXPECT_EQ(texts.id(""), 0u);
  EXPECT_EQ(texts.id("x"), 1u);
  EXPECT_EQ(texts.id(""), 0u);
  EXPECT_EQ(texts[0], "");
}

TEST(InternedTexts, HaveNoneAtFirst) {
  const InternedTexts texts;
  EXPECT_EQ(texts.find("x"), InternedTexts::kNone);
  EXPECT_EQ(texts.find(""), InternedTexts::kNone);
  EXPECT_EQ(texts.size(), 0u);
}

}  // namespace interned_texts_test
}  // namespace tensorstat
