// Ascend's dump files, encoded by protoc, are read to the last byte. protoc reads the files that the library writes.
#include "stats/data/files/ascend/dump_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "stats/data/files/io/folders.hpp"
#include "stats/data/files/tensor_source.hpp"
#include "tests/support/dump_data_files.hpp"

namespace tensorstat {
namespace dump_data_test {

using namespace std::string_literals;
using test::dump_file;
using test::protoc;
using test::write_file;

struct Read {
  std::string data_type, shape, elements, original, fault;
};

class DumpDataFile : public testing::Test {
 protected:
  // The tensors of the file, by name.
  std::map<std::string, Read> read(const std::string& bytes) {
    std::map<std::string, Read> tensors;
    auto source = open_tensors(write_file(folder / "Add.Default_Add-op1.2.7.1612439563338023", bytes), {});
    if (!source) {
      ADD_FAILURE() << source.error().message;
      return tensors;
    }
    const auto count = (*source)->count();
    std::size_t seen = 0;
    for (; auto tensor = (*source)->next(); ++seen) {
      if (!*tensor) {
        tensors["fault " + std::to_string(seen)].fault = tensor->error().message;
        continue;
      }
      Read& one = tensors[(*tensor)->name().value_or("")];
      one.data_type = (*tensor)->data_type();
      one.shape = to_string((*tensor)->shape());
      one.elements = all(**tensor, TensorReader::View::kElements);
      one.original = all(**tensor, TensorReader::View::kOriginal);
      EXPECT_EQ(one.original.size(), (*tensor)->data_size_bytes());
    }
    EXPECT_EQ(count, seen);
    return tensors;
  }

  static std::string all(TensorReader& reader, TensorReader::View view) {
    reader.rewind(TensorReader::Order::kC, view);
    std::string bytes;
    std::byte piece[24];
    for (;;) {
      const auto got = reader.read(piece);
      if (!got) ADD_FAILURE() << got.error().message;
      if (!got || *got == 0) return bytes;
      bytes.append(reinterpret_cast<const char*>(piece), *got);
    }
  }

  ScratchFolder folder;
};

TEST_F(DumpDataFile, HasInputsThenOutputsThenBuffersThenWorkspaces) {
  const std::string message = protoc("encode", R"(
    version: "2.0" dump_time: 1612439563338023 op_name: "Default/Add-op1"
    output { data_type: 2 format: 2 shape { dim: 3 } size: 6 original_op { name: "Add" output_index: 1 data_type: 1 }
             original_shape { dim: 3 } sub_format: 5 address: 77 dim_range { dim_start: 1 dim_end: 2 } offset: 9 }
    input { data_type: 1 format: 3 shape { dim: 2 dim: 1 } size: 8 original_shape { dim: 2 } sub_format: -1 address: 1
            offset: 2 arg_index: 3 input_type: 4 }
    input { data_type: 11 shape { dim: 2 } size: 2 }
    buffer { size: 5 } attr { name: "a" value: "b" } space { type: 0 size: 3 } dfx_message: "of later versions")");
  const auto tensors = read(dump_file(message, "12345678\1\0abcdefBUFFESPA"s));
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors.at("input.0").elements, "12345678");
  EXPECT_EQ(tensors.at("input.0").data_type, "float32");
  EXPECT_EQ(tensors.at("input.0").shape, "(2,1)");
  EXPECT_EQ(tensors.at("input.1").elements, "\1\0"s);
  EXPECT_EQ(tensors.at("input.1").data_type, "bool");
  EXPECT_EQ(tensors.at("output.0").elements, "abcdef");
  EXPECT_EQ(tensors.at("output.0").data_type, "float16");
}

TEST_F(DumpDataFile, OfEachDtypeIsReadOrRefusedByName) {
  struct Case {
    int number;
    std::string_view data_type;  // empty: refused
    std::size_t bytes;           // size of four values
  };
  const Case cases[] = {
      {1, "float32", 16},
      {2, "float16", 8},
      {3, "int8", 4},
      {4, "uint8", 4},
      {5, "int16", 8},
      {6, "uint16", 8},
      {7, "int32", 16},
      {8, "int64", 32},
      {9, "uint32", 16},
      {10, "uint64", 32},
      {11, "bool", 4},
      {12, "float64", 32},
      {27, "bfloat16", 8},
      {34, "float8_e5m2", 4},
      {35, "float8_e4m3fn", 4},
      {0, "", 4},
      {13, "", 4},
      {14, "", 4},
      {15, "", 4},
      {16, "complex64", 32},
      {17, "complex128", 64},
      {18, "", 4},
      {19, "", 4},
      {20, "", 4},
      {21, "", 4},
      {22, "", 4},
      {23, "", 4},
      {24, "", 4},
      {25, "", 4},
      {26, "", 4},
      {30, "", 1},
      {31, "", 1},
      {32, "", 16},
      {33, "", 4},
      {36, "float8_e8m0fnu", 4},
      {37, "", 3},
      {38, "", 3},
      {39, "float4_e2m1fn", 2},
      {40, "", 2},
      {41, "", 4},
      {2147483647, "", 4},
      {-1, "", 4},
  };
  for (const auto& [number, data_type, bytes] : cases) {
    std::string data;
    for (std::size_t i = 0; i < bytes; ++i) data += static_cast<char>(i % 2);
    const auto tensors = read(dump_file(protoc("encode", "version: '2.0' input { data_type: " + std::to_string(number) +
                                                             " shape { dim: 4 } size: " + std::to_string(bytes) + "}"),
                                        data));
    ASSERT_EQ(tensors.size(), 1u);
    if (data_type.empty()) {
      const std::string& fault = tensors.begin()->second.fault;
      EXPECT_NE(fault.find("::input.0: "), fault.npos) << number << ": " << fault;
      EXPECT_TRUE(fault.ends_with("is not supported")) << number << ": " << fault;
    } else {
      ASSERT_TRUE(tensors.contains("input.0")) << number << ": " << tensors.begin()->second.fault;
      EXPECT_EQ(tensors.at("input.0").data_type, data_type);
      // 0, 0, 0.5, 0 of float4 as float8_e4m3fn.
      EXPECT_EQ(tensors.at("input.0").elements, data_type == "float4_e2m1fn" ? std::string("\0\0\x30\0", 4) : data)
          << number;
    }
  }
}

TEST_F(DumpDataFile, OfSmallerThanAByteIsUnpackedAndItsOriginalBytesAreThere) {
  const auto int4 = read(dump_file(
      protoc("encode", "version: '2.0' output { data_type: 28 shape { dim: 2 dim: 2 } size: 2 }"), "\x7f\x81"));
  EXPECT_EQ(int4.at("output.0").data_type, "int4");
  EXPECT_EQ(int4.at("output.0").shape, "(2,2)");
  EXPECT_EQ(int4.at("output.0").elements, "\xff\x07\x01\xf8");
  EXPECT_EQ(int4.at("output.0").original, "\x7f\x81");
  const auto bits = read(
      dump_file(protoc("encode", "version: '2.0' output { data_type: 29 shape { dim: 11 } size: 2 }"), "\x81\x40"));
  EXPECT_EQ(bits.at("output.0").data_type, "uint1");
  EXPECT_EQ(bits.at("output.0").elements, "\1\0\0\0\0\0\0\1\0\1\0"s);
  EXPECT_EQ(bits.at("output.0").original, "\x81\x40");
  const auto odd =
      read(dump_file(protoc("encode", "version: '2.0' output { data_type: 28 shape { dim: 3 } size: 2 }"), "\x7f\x81"));
  EXPECT_EQ(odd.at("output.0").elements, "\xff\x07\x01");
  EXPECT_EQ(odd.at("output.0").original, "\x7f\x01");
}

TEST_F(DumpDataFile, LongPackedTensorsAreUnpackedWholeInPiecesOfAnySize) {
  std::mt19937 random(20261122);
  std::string packed(70'001, '\0');
  for (char& c : packed) c = static_cast<char>(random());
  const std::string size = " size: " + std::to_string(packed.size());
  const auto int4 = read(
      dump_file(protoc("encode", "version: '2.0' input { data_type: 28 shape { dim: 140002 }" + size + "}"), packed));
  std::string nibbles, bits;
  for (const unsigned char c : packed) {
    for (const int nibble : {c & 15, c >> 4}) nibbles += static_cast<char>(nibble < 8 ? nibble : nibble - 16);
    for (int i = 7; i >= 0; --i) bits += static_cast<char>(c >> i & 1);
  }
  EXPECT_TRUE(int4.at("input.0").elements == nibbles);
  EXPECT_TRUE(int4.at("input.0").original == packed);
  const auto uint1 = read(
      dump_file(protoc("encode", "version: '2.0' input { data_type: 29 shape { dim: 560008 }" + size + "}"), packed));
  EXPECT_TRUE(uint1.at("input.0").elements == bits);
  EXPECT_TRUE(uint1.at("input.0").original == packed);
}

TEST_F(DumpDataFile, ComplexTensorsHaveBothParts) {
  const std::string message = protoc(
      "encode", "version: '2.0' input { data_type: 16 shape { dim: 2 } size: 16 } input { data_type: 17 size: 16 }");
  const std::string data = "0123456789abcdef0123456789ABCDEF", file = dump_file(message, data);
  const auto tensors = read(file);
  EXPECT_EQ(tensors.at("input.0").data_type, "complex64");
  EXPECT_EQ(tensors.at("input.0").shape, "(2)");
  EXPECT_EQ(tensors.at("input.0").elements, data.substr(0, 16));
  EXPECT_EQ(tensors.at("input.1").data_type, "complex128");
  EXPECT_EQ(tensors.at("input.1").shape, "()");
}

TEST_F(DumpDataFile, ASlotWithoutBytesWasNotDumped) {
  const auto tensors = read(dump_file(protoc("encode", R"(version: "2.0"
      input { data_type: 1 shape { dim: 4 } } input { } input { data_type: 3 shape { dim: 0 dim: 7 } }
      input { data_type: 3 shape { dim: 1 } size: 1 })"),
                                      "x"));
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors.at("input.2").shape, "(0,7)");
  EXPECT_EQ(tensors.at("input.2").elements, "");
  EXPECT_EQ(tensors.at("input.3").elements, "x");
}

TEST_F(DumpDataFile, WithoutDimensionsIsAScalarOrAllThatIsThere) {
  const auto tensors = read(dump_file(
      protoc("encode", "version: '2.0' input { data_type: 1 size: 4 } input { data_type: 5 shape { } size: 6 }"),
      "abcd123456"));
  EXPECT_EQ(tensors.at("input.0").shape, "()");
  EXPECT_EQ(tensors.at("input.0").elements, "abcd");
  EXPECT_EQ(tensors.at("input.1").shape, "(3)");
  EXPECT_EQ(tensors.at("input.1").elements, "123456");
}

TEST_F(DumpDataFile, WhatFollowsTheShapesElementsIsPadding) {
  const auto tensors = read(dump_file(protoc("encode",
                                             "version: '2.0' input { data_type: 1 shape { dim: 1 } size: 32 } output { "
                                             "data_type: 3 shape { dim: 2 } size: 2 }"),
                                      "abcd" + std::string(28, '?') + "yz"));
  EXPECT_EQ(tensors.at("input.0").elements, "abcd");
  EXPECT_EQ(tensors.at("output.0").elements, "yz");
}

TEST_F(DumpDataFile, TheOldestHaveTheBytesInTheMessage) {
  const auto tensors = read(protoc("encode", R"(version: "1.0" dump_time: 5
      output { data_type: 7 shape { dim: 2 } data: "abcdefgh" size: 8 } input { data_type: 3 shape { dim: 3 } data: "xyz" })"));
  EXPECT_EQ(tensors.at("output.0").elements, "abcdefgh");
  EXPECT_EQ(tensors.at("input.0").elements, "xyz");
}

// Fields in any order, repeated, split, or with an unknown number or wire type, are accepted as by protoc.
TEST_F(DumpDataFile, FieldsComeInAnyOrder) {
  // input { size: 9 size: 2 shape { dim: 1 } shape { dim (packed): 2 } data_type: 3 and unknown fields of each width }
  const std::string input =
      "\x28\x09\x28\x02\x1a\x02\x08\x01\x1a\x03\x0a\x01\x02\x08\x03"
      "\xa0\x06\x01\xa1\x06"
      "12345678"
      "\xa5\x06"
      "1234"
      "\xaa\x06\x01z"s;
  const std::string message = "\x22"s + static_cast<char>(input.size()) + input +
                              "\x0a\x03"
                              "2.0";
  EXPECT_NE(protoc("decode", message).find("dim: 1\n    dim: 2"), std::string::npos) << protoc("decode", message);
  const auto tensors = read(dump_file(message, "xy"));
  EXPECT_EQ(tensors.at("input.0").shape, "(1,2)");
  EXPECT_EQ(tensors.at("input.0").elements, "xy");
}

TEST_F(DumpDataFile, WhatIsWrittenProtocReads) {
  DumpData dumped;
  dumped.outputs.push_back({.data_type = dump_dtype("bfloat16")->number,
                            .format = dump_format("NC1HWC0"),
                            .shape = {2, 300},
                            .size_bytes = 1200});
  dumped.inputs.push_back({});
  dumped.inputs.push_back(
      {.data_type = dump_dtype("int4")->number, .format = dump_format("DefaultFormat"), .shape = {}, .size_bytes = 1});
  const std::string header = dump_data_header(dumped, "Default/Add-op1", 1612439563338023);
  ASSERT_GT(header.size(), 8u);
  EXPECT_EQ(header.substr(0, 8), test::eight_bytes(header.size() - 8));
  EXPECT_EQ(protoc("decode", header.substr(8)),
            "version: \"2.0\"\n"
            "dump_time: 1612439563338023\n"
            "output {\n  data_type: 27\n  format: 3\n  shape {\n    dim: 2\n    dim: 300\n  }\n  size: 1200\n}\n"
            "input {\n  shape {\n  }\n}\n"
            "input {\n  data_type: 28\n  format: 2\n  shape {\n  }\n  size: 1\n}\n"
            "op_name: \"Default/Add-op1\"\n");
}

// Random messages, encoded by protoc, are read with the same contents.
TEST_F(DumpDataFile, RandomMessagesSayWhatWasPutIntoThem) {
  const unsigned seed = 15;
  std::cout << "seed " << seed << std::endl;
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  for (int round = 0; round < 40; ++round) {
    std::string text = "version: '2.0' dump_time: " + std::to_string(random() >> below(60)), data[2];
    std::map<std::string, std::pair<std::string, std::string>> wanted;  // shape and bytes by name
    for (const bool is_output : {true, false}) {
      const std::uint64_t count = below(6);
      for (std::uint64_t slot = 0; slot < count; ++slot) {
        Shape shape(1 + below(4));
        std::uint64_t bytes = 1;
        std::string dims, content;
        for (auto& dim : shape) bytes *= dim = below(12), dims += " dim: " + std::to_string(dim);
        for (std::uint64_t i = 0; i < bytes; ++i) content += static_cast<char>(random());
        const std::string io = is_output ? "output" : "input";
        text += "\n" + io + " { data_type: 4 format: " + std::to_string(below(50)) + " shape {" + dims +
                "} size: " + std::to_string(bytes) + "}";
        wanted[io + "." + std::to_string(slot)] = {to_string(shape), content};
        data[is_output] += content;
      }
    }
    const auto tensors = read(dump_file(protoc("encode", text), data[0] + data[1]));
    EXPECT_EQ(tensors.size(), wanted.size());
    for (const auto& [name, what] : wanted) {
      ASSERT_TRUE(tensors.contains(name)) << name << "\n" << text;
      EXPECT_EQ(tensors.at(name).shape, what.first) << text;
      EXPECT_EQ(tensors.at(name).elements, what.second) << text;
    }
  }
}

TEST_F(DumpDataFile, IsFoundInAFolderByItsName) {
  const std::string sound[] = {"Add.Default_Add-op1.2.161243956333802", "Add.Default_Add-op1.2.7.161243956333802",
                               "Add.12.2.7.1612439563338020",           "Add.n.2.7.1612439563338020.bin",
                               "Add.n.2.7.1612439563338020.0.1.2.3",    "my.Add.n.2.7.1612439563338020"};
  const std::string other[] = {"app.log.2.7",
                               "lib.so.1.2.3",
                               "data.bin",
                               "x.1612439563338023",
                               "Add.n.1612439563338023",
                               "Opdebug.Node_OpDebug.2.7.1612439563338020",
                               "Add.n.2.7.1612439563338020.csv",
                               "Add.n.x.7.16124395633380201234567",
                               "Add..2.7.1612439563338020",
                               ".n.2.7.1612439563338020"};
  for (const auto* names : {&sound[0], &other[0]}) {
    const std::size_t count = names == sound ? std::size(sound) : std::size(other);
    for (std::size_t i = 0; i < count; ++i) write_file(folder / names[i], "");
  }
  std::vector<std::string> files;
  std::vector<Error> faults;
  find_tensor_files(folder.path(), files, faults);
  for (const std::string& name : sound) EXPECT_EQ(std::ranges::count(files, folder / name), 1) << name;
  for (const std::string& name : other) EXPECT_EQ(std::ranges::count(files, folder / name), 0) << name;
}

}  // namespace dump_data_test
}  // namespace tensorstat
