// libstdc++ of a machine with glibc 2.36 takes arc4random from there for std::random_device. With this replacement a
// program that is linked with that libstdc++ also runs on an older glibc.
#include <sys/random.h>

extern "C" [[gnu::visibility("hidden")]] unsigned arc4random();

extern "C" unsigned arc4random() {
  unsigned number = 0;
  auto* to = reinterpret_cast<unsigned char*>(&number);
  for (unsigned done = 0; done < sizeof number;) {
    const auto got = ::getrandom(to + done, sizeof number - done, 0);
    if (got > 0) done += static_cast<unsigned>(got);
  }
  return number;
}
