// Through C: the tensors of a file are measured, and a faulty one does not affect the others. Rows of a statistic.csv
// are passed one by one until the caller wants no more. All pointers lead to the files' contents.
#include <gtest/gtest.h>
#include <tensorstat/tensorstat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace c_files_test {

// https://github.com/huggingface/safetensors#format
std::string safetensors(const std::string& header, const std::string& bytes) {
  const std::uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + header + bytes;
}

class CFiles : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(tensorstat_meter_open(nullptr, &meter_), TENSORSTAT_OK); }
  void TearDown() override { tensorstat_meter_close(meter_); }

  std::string write(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  const ScratchFolder folder_;
  tensorstat_meter* meter_ = nullptr;
};

TEST_F(CFiles, GivesEachTensorByItsName) {
  const std::string path =
      write("m.safetensors", safetensors(R"({"a":{"dtype":"U8","shape":[2,2],"data_offsets":[0,4]},)"
                                         R"("c":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[4,12]},)"
                                         R"("b":{"dtype":"I8","shape":[1],"data_offsets":[12,13]}})",
                                         std::string("\1\2\3\4........\5")));
  tensorstat_request request = TENSORSTAT_REQUEST;
  request.statistics = "count,max";
  tensorstat_file* file = nullptr;
  ASSERT_EQ(tensorstat_file_measure(meter_, path.c_str(), &request, 0, &file), TENSORSTAT_OK)
      << tensorstat_last_error();
  ASSERT_EQ(tensorstat_file_tensor_count(file), 2u);
  tensorstat_file_tensor tensor = TENSORSTAT_FILE_TENSOR;
  ASSERT_EQ(tensorstat_file_tensor_at(file, 0, &tensor), TENSORSTAT_OK);
  EXPECT_STREQ(tensor.name, "a");
  EXPECT_STREQ(tensor.data_type, "uint8");
  ASSERT_EQ(tensor.dimension_count, 2u);
  EXPECT_EQ(tensor.shape[0], 2u);
  ASSERT_EQ(tensor.value_count, 2u);
  EXPECT_EQ(tensor.values[0].is.whole, 4u);
  EXPECT_EQ(tensor.values[1].is.whole, 4u);
  EXPECT_EQ(tensor.data_size_bytes, 4u);
  ASSERT_EQ(tensorstat_file_tensor_at(file, 1, &tensor), TENSORSTAT_OK);
  EXPECT_STREQ(tensor.name, "b");
  EXPECT_EQ(tensor.values[1].is.whole_signed, 5);
  EXPECT_NE(std::string(tensorstat_file_fault(file, 0)).find("F6_E2M3"), std::string::npos)
      << tensorstat_file_fault(file, 0);
  EXPECT_EQ(tensorstat_file_fault(file, 1), nullptr);
  EXPECT_EQ(tensorstat_file_tensor_at(file, 2, &tensor), TENSORSTAT_INVALID);
  tensorstat_file_free(file);
}

TEST_F(CFiles, SaysWhatIsWrongWithAFile) {
  tensorstat_request request = TENSORSTAT_REQUEST;
  tensorstat_file* file = nullptr;
  EXPECT_EQ(tensorstat_file_measure(meter_, (folder_ / "absent.npy").c_str(), &request, 0, &file),
            TENSORSTAT_UNREADABLE);
  EXPECT_NE(std::string(tensorstat_last_error()).find("absent.npy"), std::string::npos) << tensorstat_last_error();
  EXPECT_EQ(tensorstat_file_measure(nullptr, "x", &request, 0, &file), TENSORSTAT_INVALID);
  EXPECT_EQ(file, nullptr);
  EXPECT_EQ(tensorstat_file_tensor_count(nullptr), 0u);
  tensorstat_file_free(nullptr);
}

constexpr const char* kHeading =
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,NaN Count,Rank\n";

struct Notes {
  std::vector<std::string> words;
  std::size_t most = 9;
};

int note(void* context, const tensorstat_row* row) {
  auto& notes = *static_cast<Notes*>(context);
  std::string words = std::string(row->op_name) + " " + row->io + std::to_string(row->slot) + " " + row->data_type;
  for (std::uint32_t i = 0; i < row->dimension_count; ++i) words += " " + std::to_string(row->shape[i]);
  for (std::uint32_t i = 0; i < row->value_count; ++i) {
    char text[32];
    tensorstat_value_text(&row->values[i], text, sizeof text);
    words += std::string(" ") + tensorstat_statistic_name(row->statistics[i]) + "=" + text;
  }
  for (std::uint32_t i = 0; i < row->cell_count; ++i) {
    words += std::string(" ") + row->cells[i].name + "=" + std::to_string(row->cells[i].whole);
  }
  notes.words.push_back(words);
  return notes.words.size() >= notes.most;
}

// ml_dtypes writes bfloat16 as two-byte voids.
TEST_F(CFiles, ReadsVoidsAsBfloat16WhereItIsAsked) {
  std::string header = "{'descr': '|V2', 'fortran_order': False, 'shape': (2,)}";
  header.resize(117, ' ');
  const std::string path =
      write("x.npy", std::string("\x93NUMPY\x01\0v\0", 10) + header + '\n' + std::string("\x80\x3f\0\xc0", 4));
  tensorstat_request request = TENSORSTAT_REQUEST;
  request.statistics = "max,min";
  tensorstat_file* file = nullptr;
  EXPECT_NE(tensorstat_file_measure(meter_, path.c_str(), &request, 0, &file), TENSORSTAT_OK);
  ASSERT_EQ(tensorstat_file_measure(meter_, path.c_str(), &request, 1, &file), TENSORSTAT_OK)
      << tensorstat_last_error();
  tensorstat_file_tensor tensor = TENSORSTAT_FILE_TENSOR;
  ASSERT_EQ(tensorstat_file_tensor_at(file, 0, &tensor), TENSORSTAT_OK);
  EXPECT_STREQ(tensor.data_type, "bfloat16");
  EXPECT_EQ(tensor.values[0].is.real, 1.0);
  EXPECT_EQ(tensor.values[1].is.real, -2.0);
  tensorstat_file_free(file);
}

TEST_F(CFiles, GivesRowsOneByOne) {
  const std::string rows = std::string(kHeading) + "Add,n/a,1,2,3,input,0,8,float32,\"(1,2)\",1.5,0,7\n" +
                           "Add,n/a,1,2,4,output,1,4,int8,\"(4)\",-3,0,7\n";
  const std::string path = write("statistic.csv", rows);
  Notes notes;
  std::uint64_t count = 0;
  ASSERT_EQ(tensorstat_rows_read(path.c_str(), note, &notes, &count), TENSORSTAT_OK) << tensorstat_last_error();
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(notes.words, (std::vector<std::string>{"n/a input0 float32 1 2 max=1.5 nan count=0 rank=7",
                                                   "n/a output1 int8 4 max=-3 nan count=0 rank=7"}));
  Notes first{.words = {}, .most = 1};
  ASSERT_EQ(tensorstat_rows_read(path.c_str(), note, &first, &count), TENSORSTAT_OK);
  EXPECT_EQ(count, 1u);

  const std::string cut = write("cut.csv", rows.substr(0, rows.size() - 5));
  notes.words.clear();
  EXPECT_EQ(tensorstat_rows_read(cut.c_str(), note, &notes, &count), TENSORSTAT_UNREADABLE);
  EXPECT_EQ(notes.words.size(), 1u);
  EXPECT_EQ(tensorstat_rows_read(nullptr, note, &notes, &count), TENSORSTAT_INVALID);
}

TEST_F(CFiles, GivesTheRowsOfAFolder) {
  Notes notes;
  std::uint64_t count = 7;
  EXPECT_EQ(tensorstat_rows_read(folder_.path().c_str(), note, &notes, &count), TENSORSTAT_UNSUPPORTED);
  EXPECT_EQ(count, 0u);
  const std::string heading =
      "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value\n";
  for (const char* step : {"3", "10"}) {
    std::filesystem::create_directories(folder_ / (std::string("rank_2/Net/1/") + step));
    write(std::string("rank_2/Net/1/") + step + "/statistic.csv",
          heading + "Add,a,0,0,3,input,0,4,int8,\"(4)\"," + step + "\n");
  }
  ASSERT_EQ(tensorstat_rows_read(folder_.path().c_str(), note, &notes, &count), TENSORSTAT_OK)
      << tensorstat_last_error();
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(notes.words, (std::vector<std::string>{"a input0 int8 4 max=3 path=0 rank=2 graph=1 iteration=3",
                                                   "a input0 int8 4 max=10 path=0 rank=2 graph=1 iteration=10"}));
  write("rank_2/Net/1/3/statistic.csv", heading + "Add\n");
  EXPECT_EQ(tensorstat_rows_read(folder_.path().c_str(), note, &notes, &count), TENSORSTAT_UNREADABLE);
  EXPECT_EQ(count, 1u) << "the other file is read all the same";
}

}  // namespace c_files_test
}  // namespace tensorstat
