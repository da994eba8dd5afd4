// For tests of permissions, which root bypasses: while this object lives, the process is a plain user.
#pragma once

#include <unistd.h>

class PlainUser {
 public:
  PlainUser() : was_(geteuid()) {
    constexpr uid_t kNobody = 65534;
    if (was_ == 0) is_plain_ = seteuid(kNobody) == 0;
  }
  ~PlainUser() {
    if (geteuid() != was_) is_plain_ = seteuid(was_) == 0;
  }
  PlainUser(const PlainUser&) = delete;
  PlainUser& operator=(const PlainUser&) = delete;

  // False if the system does not let root change to a plain user.
  explicit operator bool() const { return is_plain_; }

 private:
  const uid_t was_;
  bool is_plain_ = true;
};
