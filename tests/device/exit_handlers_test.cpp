// A static Meter is older than the driver. So exit() runs the driver's handlers and destructors before the Meter's.
// So what such a Meter holds is left to the system: no driver is called then.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <tensorstat/opencl.hpp>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "tests/support/built.hpp"
#include "tests/support/cl_layer/loaded.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace exit_handlers_test {

const Request kRequest{.categories = *categories_from("max"), .on = On::kDevice};

// All are older than the driver.
struct Objects {
  Meter meter;
  std::optional<Meter> queue_meter;
  std::optional<Meter::Stream> stream;
  std::optional<DeviceMeter> device_meter;
  std::optional<Ticket> ticket;
  std::optional<Board> board;
  std::optional<BoardTicket> board_ticket;
};

TEST(StaticObjects, OfTheChild) {
  if (std::getenv("CL_LAYER_ENDS") == nullptr) GTEST_SKIP() << "runs in a process that the other test starts";
  static Objects objects;
  static const std::vector<float> values(100'000, 1.5F);
  const Tensor here{.element_count = values.size(), .address = values.data()};
  ASSERT_TRUE(objects.meter.measure({&here, 1}, kRequest));
  static_cast<void>(cl_layer());
  auto stream = objects.meter.stream(Dtype::kFloat32, kRequest);
  ASSERT_TRUE(stream);
  ASSERT_TRUE(stream->append(std::as_bytes(std::span(values))));
  objects.stream = *std::move(stream);
  const auto device = cl_engine::choose_device({});
  ASSERT_TRUE(device);
  // The caller's own objects are his, and are left, too.
  auto* const context = new cl::Context(device->device);
  auto* const queue = new cl::CommandQueue(*context, device->device);
  auto* const buffer = new cl::Buffer(*context, CL_MEM_COPY_HOST_PTR, here.bytes(), const_cast<float*>(values.data()));
  const Tensor there{.element_count = values.size(), .address = (*buffer)(), .where = Where::kClBuffer};
  auto device_meter = DeviceMeter::on((*queue)());
  ASSERT_TRUE(device_meter);
  objects.device_meter = *std::move(device_meter);
  auto ticket = objects.device_meter->submit({&there, 1}, kRequest);
  ASSERT_TRUE(ticket);
  objects.ticket = *std::move(ticket);
  auto board = Board::on(objects.queue_meter.emplace(MeterOptions{.queue = (*queue)()}), kRequest);
  ASSERT_TRUE(board) << board.error().message;
  objects.board = *std::move(board);
  auto board_ticket = objects.board->fold(there);
  ASSERT_TRUE(board_ticket);
  objects.board_ticket = *std::move(board_ticket);
  objects.board->end_step();
  ASSERT_EQ(queue->finish(), CL_SUCCESS);
}

TEST(StaticObjects, CallNoDriverAtTheEnd) {
  if (std::getenv("CL_LAYER_ENDS") != nullptr) GTEST_SKIP() << "this is the process that it starts";
  if (std::getenv("TENSORSTAT_NO_DEVICE") != nullptr) GTEST_SKIP() << "this machine has no OpenCL device";
  const ScratchFolder folder;
  const std::string command = "'" + (folder_of_this_program() / "device_tests").string() +
                              "' --gtest_filter=StaticObjects.OfTheChild >'" + (folder / "out") + "' 2>&1";
  for (const char* pointers : {"1", "0"}) {
    const std::string environment = std::string("CL_LAYER_ENDS=1 TENSORSTAT_CL_POINTERS=") + pointers +
                                    " OPENCL_LAYERS='" + built::cl_layer() + "' prlimit --core=0 ";
    EXPECT_EQ(std::system((environment + command).c_str()), 0) << content_of(folder / "out");
  }
}

}  // namespace exit_handlers_test
}  // namespace tensorstat
