// FILE::TENSOR names tensors of a file; what is not read of a folder, and what a file is that is not read, is said.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/command_run.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace command_named_tensors_test {

using test::holds;
using test::Ran;
using test::run;
using test::write_file;

class NamedTensors : public testing::Test {
 protected:
  void SetUp() override {
    const std::string header =
        R"({"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},"b.x":{"dtype":"I8","shape":[1],"data_offsets":[1,2]},)"
        R"("b.y":{"dtype":"I8","shape":[1],"data_offsets":[2,3]}})";
    write_file(folder_ / "m.safetensors",
               std::string({static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0}) + header + "\1\2\3");
  }
  std::string names(const std::string& arguments) {
    const Ran ran = run(folder_, arguments + " --format ndjson --stats max --on host");
    std::string all;
    for (std::size_t position = 0; (position = ran.out.find("\"tensor\":\"", position)) != ran.out.npos;) {
      position += 10;
      all.append(all.empty() ? "" : " ").append(ran.out, position, ran.out.find('"', position) - position);
    }
    return all;
  }
  ScratchFolder folder_;
};

TEST_F(NamedTensors, AreReadAlone) {
  EXPECT_EQ(names("m.safetensors"), "a b.x b.y");
  EXPECT_EQ(names("m.safetensors::b.x"), "b.x");
  EXPECT_EQ(names("m.safetensors::b.y m.safetensors::a"), "a b.y");
  EXPECT_EQ(names("'m.safetensors::b.*'"), "b.x b.y");
}

TEST_F(NamedTensors, OneThatIsNotThereIsAnError) {
  const Ran ran = run(folder_, "m.safetensors::a m.safetensors::c");
  EXPECT_EQ(ran.exit, 3);
  EXPECT_PRED2(holds, ran.err, "m.safetensors::c: the file has no such tensor");
  EXPECT_PRED2(holds, ran.out, "m.safetensors::a");
}

TEST_F(NamedTensors, FilesOfAFolderThatAreNotReadAreNamed) {
  for (const char* name : {"b.parquet", "c.txt", "d.md", "e.md"}) write_file(folder_ / name, "x");
  EXPECT_PRED2(holds, run(folder_, ". --stats max").err,
               "4 files not read: b.parquet (a Parquet file), c.txt, d.md and 1 more (--verbose)\n");
  EXPECT_PRED2(holds, run(folder_, ". --stats max -v").err,
               "4 files not read: ./b.parquet (a Parquet file), ./c.txt, ./d.md, ./e.md\n");
  EXPECT_EQ(run(folder_, ". --stats max -q").err, "");
}

TEST_F(NamedTensors, AFileOfAFolderIsToldByItsFirstBytes) {
  write_file(folder_ / "optimizer.xyz", "\x80\4\x95" + std::string(32, 'x'));
  write_file(folder_ / "table", "PAR1" + std::string(32, 'x'));
  EXPECT_PRED2(holds, run(folder_, ". --stats max").err,
               "2 files not read: optimizer.xyz (a pickle), table (a Parquet file) (--verbose)\n");
}

TEST_F(NamedTensors, AFileThatIsNotReadIsToldByWhatItIs) {
  const std::string tar = "./model_weights.ckpt" + std::string(237, '\0') + "ustar";
  const std::pair<std::string, const char*> cases[] = {
      {tar + std::string("\0", 1) + "00", "x: a tar archive; not supported: unpack it first"},
      {tar + "  ", "x: a tar archive; not supported: unpack it first"},
      {"\x1c" + std::string(3, '\0') + "TFL3", "x: a TensorFlow Lite model; not supported"},
      {"PAR1", "x: a Parquet file; not supported. Supported: .npy, .npz, .safetensors"},
      {"ARROW1", "x: an Arrow file; not supported"},
      {"\x1f\x8b\x08", "x: a file packed by gzip; not supported: unpack it first. Supported: .npy"},
  };
  for (const auto& [begins, words] : cases) {
    write_file(folder_ / "x", begins + std::string(32, 'x'));
    const Ran ran = run(folder_, "x");
    EXPECT_EQ(ran.exit, 3);
    EXPECT_PRED2(holds, ran.err, words);
  }
  const std::pair<const char*, const char*> names[] = {
      {"m.tfrecord", "m.tfrecord: a TFRecord file; not supported"},
      {".zattrs", ".zattrs: metadata of a Zarr store; not supported: name the folder of the store"},
      {"_CHECKPOINT_METADATA", "_CHECKPOINT_METADATA: a part of an Orbax checkpoint; not supported"},
      {"m.pb", "m.pb: a protobuf file that is no tensor and no model of ONNX"},
      {"m.tar", "m.tar: a tar archive; not supported: unpack it first"},
  };
  for (const auto& [name, words] : names) {
    write_file(folder_ / name, "some bytes");
    EXPECT_PRED2(holds, run(folder_, name).err, words);
  }
}

}  // namespace command_named_tensors_test
}  // namespace tensorstat
