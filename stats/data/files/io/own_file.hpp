// A file that stays open while other code of this process runs.
//
// Programs close descriptors that they do not know (closefrom(), os.closerange), and the next file that they open gets
// the number. A write to the old number would then go into another file. So each use checks the descriptor: its device,
// inode and time of birth must be those of the opening. The time of birth matters because a file system gives the inode
// of a removed file to the next one.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace tensorstat {

class OwnFile {
 public:
  OwnFile() = default;  // no file
  // Takes a descriptor of open_file(). -1: no file; errno is unchanged.
  explicit OwnFile(int descriptor);
  OwnFile(OwnFile&& other) noexcept;
  OwnFile& operator=(OwnFile&& other) noexcept;
  ~OwnFile() { close(); }

  struct Look {
    int descriptor = -1;
    std::uint64_t size_bytes = 0, name_count = 0;  // 0 names: the file was removed
  };

  // Whether a file was opened. Its descriptor may be lost.
  bool is_open() const { return descriptor_ >= 0; }
  // The descriptor, if it still belongs to this file; else -1 and EBADF in errno. Ask again before each use. Another
  // thread may close it between this call and the use; POSIX has no way to prevent that.
  int descriptor() const { return look().descriptor; }
  Look look() const;
  // Whether the other one is the same file. False if one of them was never open.
  bool is_same_as(const OwnFile& other) const;
  // Closes the descriptor, if it still belongs to this file. Returns 0 or the error; errno is unchanged.
  int close();

 private:
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    std::int64_t birth_ns = 0;  // 0: the file system does not know it
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  static bool look_at(int descriptor, Identity& identity, Look& look);

  int descriptor_ = -1;
  Identity identity_;
};

}  // namespace tensorstat
