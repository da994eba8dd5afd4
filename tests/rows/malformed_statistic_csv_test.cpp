// A wrong statistic.csv is refused with a message that says what is wrong and in which line. The rows before it have
// been handed over.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stats/data/rows/csv/statistic_csv.hpp"

namespace tensorstat {
namespace malformed_statistic_csv_test {

using namespace std::string_literals;

struct Malformed {
  std::string text;
  int line;                    // the line number in the message
  std::string_view complaint;  // a part of the message
};

const std::string kIdentity = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape";
const std::string kHeading = kIdentity + ",Max Value,Count\n";
const std::string kOurs = "A,n,0,0,1,output,0,4,float32,\"(1)\",1,1\n";
const std::string kTheirs = "A,n,0,0,1,output,0,4,float32,\"(1)\",1,1,\n";
const std::string kNext = "A,n,0,0,1,output,0,4,float32,\"[1]\",1,1,\n";

// A second row in each dialect, with one field replaced.
std::vector<std::string> fields_of_a_row() {
  return {"A", "n", "0", "0", "1", "output", "0", "4", "float32", "\"(1)\"", "1", "1"};
}

std::string row_with(std::size_t field, std::string_view text, std::string_view end = "\n") {
  auto fields = fields_of_a_row();
  fields[field] = text;
  std::string row;
  for (const auto& each : fields) row += (row.empty() ? "" : ",") + each;
  return row.append(end);
}

Malformed ours(std::size_t field, std::string_view text, std::string_view complaint) {
  return {kHeading + kOurs + row_with(field, text), 3, complaint};
}
Malformed theirs(std::size_t field, std::string_view text, std::string_view complaint) {
  return {kHeading + kTheirs + row_with(field, text, ",\n"), 3, complaint};
}

std::vector<Malformed> malformed_files() {
  return {
      // The heading.
      {"", 1, "does not end"},
      {"\n", 1, "must begin with"},
      {"Op Type", 1, "does not end"},
      {kIdentity, 1, "does not end"},
      {kHeading.substr(0, kHeading.size() - 1), 1, "does not end"},
      {"\xef\xbb\xbf\xef\xbb\xbf" + kHeading, 1, "must begin with"},
      {"\xef\xbb\xbf", 1, "does not end"},
      {std::string("\xff\xfeO\0p\0\n\0", 8), 1, "UTF-16"},
      {std::string("\xfe\xff\0O\0p\0\n", 8), 1, "UTF-16"},
      {kIdentity + ",Count\rA,n,0,0,1,output,0,4,float32,\"(1)\",1\r", 1, "CR alone"},
      {" " + kHeading, 1, "must begin with"},
      {"op type" + kHeading.substr(7), 1, "must begin with"},
      {"Op Type;Op Name;Task ID\n", 1, "must begin with"},
      {"Op Name,Op Type" + kHeading.substr(15), 1, "must begin with"},
      {kIdentity.substr(0, kIdentity.rfind(',')) + "\n", 1, "must begin with"},
      {kIdentity + ",Max\n", 1, "no statistic has the column \"Max\""},
      {kIdentity + ",max value\n", 1, "\"max value\""},
      {kIdentity + ", Max Value\n", 1, "\" Max Value\""},
      {kIdentity + ",Max Value,\n", 1, "no statistic has the column \"\""},
      {kIdentity + ",,Max Value\n", 1, "no statistic has the column \"\""},
      {kIdentity + ",\"Max Value\n", 1, "never closed"},
      {kIdentity + ",\"Max Value\"x\n", 1, "between a closing quote"},
      {kIdentity + ",Max\"Value\n", 1, "a quote inside a field"},
      {std::string(5000, ','), 1, "does not end"},
      {std::string(100, '\0') + "\n", 1, "must begin with"},
      {kOurs + kHeading, 1, "must begin with"},
      // Rows with too few or too many fields.
      {kHeading + "\n", 2, "1 fields where the heading has 12"},
      {kHeading + kOurs + "\n", 3, "1 fields"},
      {kHeading + kOurs + "A\n", 3, "1 fields"},
      {kHeading + kOurs + "A,n,0,0,1,output,0,4,float32,\"(1)\",1\n", 3, "11 fields"},
      {kHeading + kOurs + row_with(11, "1,1"), 3, "13 fields"},
      {kHeading + kOurs + kTheirs, 3, "this row is of mindspore-2.7, those before it of ours"},
      {kHeading + kOurs + row_with(9, "(2,3)"), 3, "13 fields"},
      {kHeading + kTheirs + kOurs, 3, "this row is of ours, those before it of mindspore-2.7"},
      {kHeading + kTheirs + ",\n", 3, "fewer fields"},
      {kHeading + kTheirs + "\n", 3, "without the comma"},
      {kHeading + kTheirs + "A,n,0,0,1,output,0,4,float32,\"(1)\",1,\n", 3, "Shape without quotes"},
      {kHeading + kTheirs + row_with(9, "(1)", ",\n"), 3, "Shape without quotes"},
      {kHeading + kTheirs + row_with(11, "1,1", ",\n"), 3, "Shape without quotes"},
      {kHeading + kTheirs + "0,0,1,output,0,4,float32,\"(1)\",1,1,\n", 3, "fewer fields"},
      {kHeading + kTheirs + "n,0,0,1,output,0,4,float32,\"(1)\",1,1,\n", 3, "fewer fields"},
      // Two dialects in one file.
      {kHeading + kTheirs + kNext, 3, "this row is of mindspore-next, those before it of mindspore-2.7"},
      {kHeading + kNext + kTheirs, 3, "this row is of mindspore-2.7, those before it of mindspore-next"},
      // Truncated.
      {kHeading + kOurs + kOurs.substr(0, 1), 3, "cut off"},
      {kHeading + kOurs + kOurs.substr(0, kOurs.size() - 1), 3, "cut off"},
      {kHeading + kTheirs + kTheirs.substr(0, 20), 3, "cut off"},
      {kHeading + kTheirs + kTheirs.substr(0, kTheirs.size() - 1), 3, "cut off"},
      {kHeading + kOurs + std::string(4096, '\0'), 3, "cut off"},
      // Quotes.
      ours(1, "\"n", "between a closing quote and the next comma"),
      {kHeading + kOurs + "A,\"n,0,0\n", 3, "never closed"},
      ours(1, "\"n\"m", "between a closing quote and the next comma"),
      ours(1, "\"n\" ", "between a closing quote"),
      ours(1, "n\"m", "a quote inside a field"),
      {kHeading + kOurs + "\"\"\"", 3, "never closed"},
      {kHeading + "A,\"two\nlines\",0,0,1,output,0,4,float32,\"(1)\",1,1\nx\n", 4, "1 fields"},
      // Numbers of the identity.
      ours(2, "", "Task ID is \"\", not a whole number"),
      ours(2, "x", "Task ID"),
      ours(3, "-1", "Stream ID is \"-1\""),
      ours(3, "+1", "Stream ID"),
      ours(4, "1.0", "Timestamp is \"1.0\""),
      ours(4, "1e3", "Timestamp"),
      ours(4, "18446744073709551616", "Timestamp is \"18446744073709551616\""),
      ours(6, " 0", "Slot is \" 0\""),
      ours(6, "0x1", "Slot"),
      ours(7, "nan", "Data Size is \"nan\""),
      theirs(2, "", "Task ID"),
      theirs(4, "-5", "Timestamp is \"-5\""),
      theirs(7, "4 ", "Data Size is \"4 \""),
      // IO and shape.
      ours(5, "", "IO is \"\", neither input nor output"),
      ours(5, "Output", "IO is \"Output\""),
      theirs(5, "inout", "IO is \"inout\""),
      ours(9, "", "Shape is \"\", not like (2,3)"),
      ours(9, "()x", "Shape"),
      ours(9, "\"(1,)\"", "Shape is \"(1,)\""),
      ours(9, "\"(,1)\"", "Shape"),
      ours(9, "\"(1, 2)\"", "Shape is \"(1, 2)\""),
      ours(9, "(-1)", "Shape is \"(-1)\""),
      ours(9, "(1.5)", "Shape"),
      ours(9, "(18446744073709551616)", "Shape"),
      ours(9, "[1]", "Shape is \"[1]\", not like (2,3)"),
      ours(9, "(1", "Shape"),
      theirs(9, "\"(1,)\"", "Shape is \"(1,)\""),
      {kHeading + kNext + row_with(9, "\"[1,,2]\"", ",\n"), 3, "Shape is \"[1,,2]\", not like [2,3]"},
      // Statistics.
      ours(10, "x", "Max Value is \"x\""),
      ours(10, "1,5", "13 fields"),
      ours(10, "\"1,5\"", "Max Value is \"1,5\""),
      ours(10, "1 ", "Max Value is \"1 \""),
      ours(10, "+1", "Max Value is \"+1\""),
      ours(10, "0x10", "Max Value"),
      ours(10, "1e999", "Max Value is \"1e999\""),
      ours(10, "NULL", "Max Value is \"NULL\""),
      ours(10, "True", "Max Value is \"True\""),
      ours(11, "1.0", "Count is \"1.0\""),
      ours(11, "-1", "Count is \"-1\""),
      ours(11, "18446744073709551616", "Count"),
      theirs(10, "--nan", "Max Value is \"--nan\""),
      theirs(11, "1e3", "Count is \"1e3\""),
      {kIdentity + ",Rank\nA,n,0,0,1,output,0,4,float32,(1),4294967296\n", 2,
       "Rank is \"4294967296\", more than 4294967295"},
      {kIdentity + ",Graph\nA,n,0,0,1,output,0,4,float32,(1),18446744073709551615\n", 2, "Graph is"},
      {kIdentity + ",MD5\n" + "A,n,0,0,1,output,0,4,float32,(1),123\n", 2, "MD5 is \"123\""},
      {kIdentity + ",MD5\nA,n,0,0,1,output,0,4,float32,(1)," + std::string(32, 'g') + "\n", 2, "MD5"},
      {kIdentity + ",MD5\nA,n,0,0,1,output,0,4,float32,(1)," + std::string(32, 'A') + "\n", 2, "MD5"},
      {kIdentity + ",MD5\nA,n,0,0,1,output,0,4,float32,(1)," + std::string(33, 'a') + "\n", 2, "MD5"},
  };
}

TEST(MalformedStatisticCsv, ThereAreEnough) { EXPECT_GE(malformed_files().size(), 80u); }

TEST(MalformedStatisticCsv, TheRowsTheyAreMadeOfAreSound) {
  for (const auto& sound : {kHeading, kHeading + kOurs + kOurs, kHeading + kTheirs + kTheirs, kHeading + kNext,
                            kHeading + row_with(0, "A"), kHeading + row_with(0, "A", ",\n"), kIdentity + "\n"}) {
    EXPECT_TRUE(read_rows(sound, [](Row&&) { return Status(); })) << sound;
  }
}

TEST(MalformedStatisticCsv, IsRefusedWithLineAndReason) {
  for (const auto& [text, line, complaint] : malformed_files()) {
    int rows = 0;
    const auto content = read_rows(text, [&](Row&&) { return ++rows, Status(); });
    ASSERT_FALSE(content) << text;
    EXPECT_EQ(content.error().code, Code::kUnreadable);
    const std::string& message = content.error().message;
    EXPECT_TRUE(message.starts_with("statistic.csv, line " + std::to_string(line) + ": "))
        << text << "\n-> " << message;
    EXPECT_NE(message.find(complaint), message.npos) << "wanted: " << complaint << "\ngot:    " << message;
    EXPECT_EQ(rows > 0, line > 2) << message;
  }
}

TEST(MalformedStatisticCsv, WordsStayShortAndPlainWhateverTheFileHolds) {
  const std::string huge(100'000, 'x'), controls = "\x1b[31m\x07\x7f";
  for (const std::string& text :
       {kIdentity + "," + huge + "\n", kIdentity + "," + controls + "\n", kHeading + row_with(2, huge),
        kHeading + row_with(2, controls), kHeading + row_with(5, huge), kHeading + row_with(9, controls),
        kHeading + row_with(10, huge), kHeading + row_with(10, controls)}) {
    const auto content = read_rows(text, [](Row&&) { return Status(); });
    ASSERT_FALSE(content);
    EXPECT_LT(content.error().message.size(), 400u);
    for (const unsigned char c : content.error().message) {
      ASSERT_TRUE(c >= ' ' && c != 0x7f) << content.error().message;
    }
  }
}

}  // namespace malformed_statistic_csv_test
}  // namespace tensorstat
