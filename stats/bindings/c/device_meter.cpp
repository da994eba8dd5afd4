// Device meters and tickets of <tensorstat/core.h>.
#include <cstdint>
#include <optional>
#include <tensorstat/opencl.hpp>

#include "stats/bindings/c/handles.hpp"

using namespace tensorstat;
using c::failed;
using c::guarded;
using c::missing;

struct tensorstat_device_meter {
  DeviceMeter meter;
};

struct tensorstat_ticket {
  Ticket ticket;
  Categories categories;
};

struct tensorstat_pair_ticket {
  PairTicket ticket;
};

tensorstat_code tensorstat_device_meter_open(void* queue, uint64_t budget_bytes, tensorstat_device_meter** meter) {
  return guarded([&]() -> tensorstat_code {
    if (meter == nullptr) return missing("the pointer for the device meter");
    auto opened = DeviceMeter::on(queue, budget_bytes == UINT64_MAX ? std::nullopt : std::optional(budget_bytes));
    if (!opened) return failed(opened.error());
    *meter = new tensorstat_device_meter{*std::move(opened)};
    return TENSORSTAT_OK;
  });
}

void tensorstat_device_meter_close(tensorstat_device_meter* meter) { c::destroy(meter); }

void tensorstat_device_meter_memory(const tensorstat_device_meter* meter, uint64_t* current_bytes,
                                    uint64_t* peak_bytes) {
  const MemoryUse use = meter == nullptr ? MemoryUse{} : meter->meter.device_memory();
  if (current_bytes != nullptr) *current_bytes = use.current_bytes;
  if (peak_bytes != nullptr) *peak_bytes = use.peak_bytes;
}

tensorstat_code tensorstat_submit(tensorstat_device_meter* meter, const tensorstat_tensor* tensors, size_t tensor_count,
                                  const tensorstat_request* request, void* const* wait_list, size_t wait_count,
                                  tensorstat_ticket** ticket) {
  return guarded([&]() -> tensorstat_code {
    if (meter == nullptr || ticket == nullptr) {
      return missing(meter == nullptr ? "the device meter" : "the pointer for the ticket");
    }
    if (wait_list == nullptr && wait_count != 0) return missing("the list of events");
    auto taken = c::request_of(request);
    if (!taken) return failed(taken.error());
    c::Tensors list;
    if (const Status status = list.take(tensors, tensor_count); !status) return failed(status.error());
    // If `new` fails after this, the C++ ticket is destroyed and waits for the device.
    auto submitted = meter->meter.submit(list.all(), *taken, {wait_list, wait_count});
    if (!submitted) return failed(submitted.error());
    *ticket = new tensorstat_ticket{*std::move(submitted), std::move(taken->categories)};
    return TENSORSTAT_OK;
  });
}

void* tensorstat_ticket_event(const tensorstat_ticket* ticket) {
  return ticket == nullptr ? nullptr : ticket->ticket.event();
}

tensorstat_code tensorstat_ticket_collect(tensorstat_ticket* ticket, tensorstat_result** result) {
  return guarded([&]() -> tensorstat_code {
    if (ticket == nullptr || result == nullptr) {
      return missing(ticket == nullptr ? "the ticket" : "the pointer for the result");
    }
    return c::give(ticket->ticket.collect(), ticket->categories, result);
  });
}

tensorstat_code tensorstat_ticket_collect_partials(tensorstat_ticket* ticket, tensorstat_partial** partials) {
  return guarded([&]() -> tensorstat_code {
    if (ticket == nullptr || partials == nullptr) {
      return missing(ticket == nullptr ? "the ticket" : "the pointer for the partials");
    }
    return c::give(ticket->ticket.collect_partials(), partials);
  });
}

void tensorstat_ticket_close(tensorstat_ticket* ticket) { c::destroy(ticket); }

tensorstat_code tensorstat_submit_pairs(tensorstat_device_meter* meter, const tensorstat_tensor* a,
                                        const tensorstat_tensor* b, size_t pair_count,
                                        const tensorstat_pair_request* request, void* const* wait_list,
                                        size_t wait_count, tensorstat_pair_ticket** ticket) {
  return guarded([&]() -> tensorstat_code {
    if (meter == nullptr || ticket == nullptr) {
      return missing(meter == nullptr ? "the device meter" : "the pointer for the ticket");
    }
    if (wait_list == nullptr && wait_count != 0) return missing("the list of events");
    const auto taken = c::pair_request_of(request);
    if (!taken) return failed(taken.error());
    c::Pairs both;
    if (const Status status = both.take(a, b, pair_count); !status) return failed(status.error());
    auto submitted = meter->meter.compare(both.all(), *taken, {wait_list, wait_count});
    if (!submitted) return failed(submitted.error());
    *ticket = new tensorstat_pair_ticket{*std::move(submitted)};
    return TENSORSTAT_OK;
  });
}

void* tensorstat_pair_ticket_event(const tensorstat_pair_ticket* ticket) {
  return ticket == nullptr ? nullptr : ticket->ticket.event();
}

tensorstat_code tensorstat_pair_ticket_collect(tensorstat_pair_ticket* ticket, tensorstat_pair** pairs) {
  return guarded([&]() -> tensorstat_code {
    if (ticket == nullptr || pairs == nullptr) {
      return missing(ticket == nullptr ? "the ticket" : "the pointer for the pairs");
    }
    return c::give(ticket->ticket.collect(), pairs);
  });
}

void tensorstat_pair_ticket_close(tensorstat_pair_ticket* ticket) { c::destroy(ticket); }
