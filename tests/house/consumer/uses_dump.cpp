// Prints the error of a wrong config.
#include <cstdio>
#include <tensorstat/dump.hpp>

int main() {
  const auto session = tensorstat::DumpSession::from_json("{}", {});
  if (session) return 1;
  std::puts(session.error().message.c_str());
}
