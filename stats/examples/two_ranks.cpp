// A tensor that is split over two processes. The second folds its part and sends a few hundred bytes; the first merges
// both. The result has the same bits as the statistics of the whole tensor.
//
//     find_package(tensorstat REQUIRED COMPONENTS core)
//     target_link_libraries(two_ranks PRIVATE tensorstat::core)
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <tensorstat/meter.hpp>
#include <vector>

using namespace tensorstat;

namespace {

const Request kRequest{.categories = *categories_from("max,avg,l2norm,nan count")};

Tensor tensor(std::span<const float> data) {
  return {.dtype = Dtype::kFloat32, .element_count = data.size(), .address = data.data()};
}

Result<Partial> fold(std::span<const float> data) {
  Meter meter;
  const Tensor part = tensor(data);
  auto partials = meter.fold({&part, 1}, kRequest);
  if (!partials) return partials.error();
  return std::move(partials->front());
}

// A real job uses MPI_Send.
int send_part(std::span<const float> data, int to) {
  const auto part = fold(data);
  if (!part) return 1;
  const auto bytes = part->serialize();
  return ::write(to, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) ? 0 : 1;
}

int fail(const Error& error) { return std::fprintf(stderr, "%s\n", error.message.c_str()), 1; }

}  // namespace

int main() {
  std::vector<float> gradient(100'001);
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = 1.0f / static_cast<float>(i + 1);
  const std::span<const float> all(gradient);

  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) return 1;
  const pid_t second = ::fork();  // before anything is measured: a device cannot be used after fork()
  if (second == 0) ::_exit(send_part(all.subspan(40'000), pipe_ends[1]));
  ::close(pipe_ends[1]);

  auto whole = fold(all.first(40'000));
  if (!whole) return fail(whole.error());
  std::vector<std::byte> arrived(4096);
  std::size_t size = 0;
  for (ssize_t n; (n = ::read(pipe_ends[0], arrived.data() + size, arrived.size() - size)) > 0;) {
    size += static_cast<std::size_t>(n);
  }
  ::waitpid(second, nullptr, 0);
  const auto part = Partial::parse({arrived.data(), size});  // checks every byte
  if (!part) return fail(part.error());
  if (const Status merged = whole->merge(*part); !merged) return fail(merged.error());

  const Tensor uncut = tensor(all);
  const auto expected = Meter().measure({&uncut, 1}, kRequest);
  if (!expected) return fail(expected.error());
  for (std::size_t i = 0; i < kRequest.categories.size(); ++i) {
    const Value value = whole->finish(kRequest.categories[i]);
    std::printf("%s %s%s\n", std::string(name(kRequest.categories[i])).c_str(), to_string(value).c_str(),
                value == expected->front().statistics.values[i] ? "" : ", and not what the whole tensor has");
  }
}
