#include "stats/bindings/c/support.hpp"

#include <algorithm>
#include <type_traits>

namespace tensorstat::c {
namespace {

thread_local std::string words_of_this_thread;
thread_local const char* last_words = "";

tensorstat_code number_of(Code code) {
  switch (code) {
    case Code::kInvalid:
      return TENSORSTAT_INVALID;
    case Code::kUnsupported:
    case Code::kNoNumbers:
      return TENSORSTAT_UNSUPPORTED;
    case Code::kUnreadable:
      return TENSORSTAT_UNREADABLE;
    case Code::kUnwritable:
      return TENSORSTAT_UNWRITABLE;
    case Code::kOverBudget:
      return TENSORSTAT_OVER_BUDGET;
    case Code::kDevice:
      return TENSORSTAT_DEVICE;
    case Code::kOutOfMemory:
      return TENSORSTAT_OUT_OF_MEMORY;
    case Code::kInUse:
      return TENSORSTAT_IN_USE;
  }
  return TENSORSTAT_INVALID;
}

Error of_size(const char* name) {
  return {Code::kInvalid, std::string("the struct ") + name +
                              " is NULL, or its `size` is not set; start with the initialiser, its name in capitals"};
}

// The statistics with these names. The last names of each thread are cached: most requests repeat them, and parsing ten
// names takes as long as measuring some hundred elements.
Result<Categories> named(const char* names) {
  struct Named {
    std::string names;
    Categories categories;
  };
  thread_local std::optional<Named> last;
  const std::string_view text = names == nullptr ? "" : names;
  if (!last || last->names != text) {
    auto categories = categories_from(text);
    if (!categories) return categories.error();
    last = Named{std::string(text), *std::move(categories)};
  }
  return last->categories;
}

}  // namespace

tensorstat_code failed(tensorstat_code code, const char* words) noexcept {
  try {
    words_of_this_thread = words;
    last_words = words_of_this_thread.c_str();
  } catch (...) {
    last_words = "the host has no memory for the words of the last failure";
  }
  return code;
}

const char* last_error() noexcept { return last_words; }

tensorstat_code failed(const Error& error) noexcept { return failed(number_of(error.code), error.message.c_str()); }

tensorstat_code missing(const char* what) {
  return failed({Code::kInvalid, std::string(what) + " is NULL, or its `size` is not set"});
}

Result<Dtype> dtype_of(std::int32_t number) {
  if (number >= 0 && number < kDtypeCount) return static_cast<Dtype>(number);
  return Error{Code::kInvalid, "dtype " + std::to_string(number) +
                                   " does not exist; tensorstat_dtype_named gives the number of a name"};
}

Status Tensors::take(const tensorstat_tensor* tensors, std::size_t count) {
  if (count != 0 && tensors == nullptr) return of_size("tensorstat_tensor");
  tensors_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto given = taken(at(tensors, i), tensorstat_tensor TENSORSTAT_TENSOR);
    if (!given || at(tensors, i)->size != tensors->size) return of_size("tensorstat_tensor");
    if (const Status added = add(*given); !added) {
      return Error{added.error().code, "tensor " + std::to_string(i) + ": " + added.error().message};
    }
  }
  return {};
}

Status Tensors::add(const tensorstat_tensor& given) {
  const auto dtype = dtype_of(given.dtype);
  if (!dtype) return dtype.error();
  const auto where = chosen<Where>(given.where, TENSORSTAT_ROCM, "where");
  if (!where) return where.error();
  Tensor tensor{.dtype = *dtype,
                .element_count = given.element_count,
                .address = given.address,
                .offset_bytes = given.offset_bytes,
                .where = *where,
                .stream = given.stream};
  if (given.stride_bytes != nullptr) {
    if (given.shape == nullptr && given.dimension_count != 0)
      return Error{Code::kInvalid, "it has strides and no shape"};
    auto strides = std::make_unique<Strides>();
    strides->shape.assign(given.shape, given.shape + given.dimension_count);
    strides->bytes.assign(given.stride_bytes, given.stride_bytes + given.dimension_count);
    tensor.strides = strides.get();
    strides_.push_back(std::move(strides));
  }
  tensors_.push_back(tensor);
  return {};
}

Log log_of(tensorstat_log log, void* context) {
  if (log == nullptr) return {};
  return [log, context](Severity severity, std::string_view text) {
    log(context, severity == Severity::kWarning, std::string(text).c_str());
  };
}

Result<MeterOptions> meter_options(const tensorstat_meter_options* given) {
  constexpr tensorstat_meter_options kDefaults = TENSORSTAT_METER_OPTIONS;
  const auto options = taken(given == nullptr ? &kDefaults : given, kDefaults);
  if (!options) return of_size("tensorstat_meter_options");
  MeterOptions to;
  if (options->budget_bytes != UINT64_MAX) to.budget_bytes = options->budget_bytes;
  to.platform = options->platform;
  to.device = options->device;
  to.queue = options->queue;
  to.threads = options->thread_count;
  to.log = log_of(options->log, options->log_context);
  return to;
}

Result<Request> request_of(const tensorstat_request* given) {
  const auto request = taken(given, tensorstat_request TENSORSTAT_REQUEST);
  if (!request) return of_size("tensorstat_request");
  auto categories = named(request->statistics);
  if (!categories) return categories.error();
  const auto precision = chosen<Precision>(request->precision, TENSORSTAT_LOW, "precision");
  if (!precision) return precision.error();
  const auto on = chosen<On>(request->on, TENSORSTAT_ON_DEVICE, "on");
  if (!on) return on.error();
  return Request{
      .categories = *std::move(categories), .precision = *precision, .on = *on, .cast_scale = request->cast_scale};
}

tensorstat_code copy_out(std::span<const std::byte> bytes, const char* what, void* to, std::size_t room,
                         std::size_t* count) {
  *count = bytes.size();
  if (to == nullptr && room == 0) return TENSORSTAT_OK;
  if (to == nullptr || room < bytes.size()) {
    return failed({Code::kInvalid, std::string(what) + " of " + std::to_string(bytes.size()) +
                                       " bytes does not fit into the room given"});
  }
  std::memcpy(to, bytes.data(), bytes.size());
  return TENSORSTAT_OK;
}

tensorstat_value value_of(const Value& value) {
  tensorstat_value to{TENSORSTAT_NONE, 0, {}};
  std::visit(
      [&to](const auto& is) {
        using Is = std::decay_t<decltype(is)>;
        if constexpr (std::is_same_v<Is, std::uint64_t>) {
          to.kind = TENSORSTAT_UNSIGNED;
          to.is.whole = is;
        } else if constexpr (std::is_same_v<Is, std::int64_t>) {
          to.kind = TENSORSTAT_SIGNED;
          to.is.whole_signed = is;
        } else if constexpr (std::is_same_v<Is, double>) {
          to.kind = TENSORSTAT_REAL;
          to.is.real = is;
        } else if constexpr (std::is_same_v<Is, Digest>) {
          to.kind = TENSORSTAT_DIGEST;
          to.byte_count = static_cast<std::uint32_t>(is.bytes().size());
          std::memcpy(to.is.bytes, is.bytes().data(), is.bytes().size());
        } else if constexpr (std::is_same_v<Is, Exponents>) {
          to.kind = TENSORSTAT_EXPONENTS;
          const ExponentCounts* const counts = &*is;
          std::memcpy(to.is.bytes, &counts, sizeof counts);
        }
      },
      value);
  return to;
}

const ExponentCounts* exponents_of(const tensorstat_value* value) {
  const ExponentCounts* counts = nullptr;
  if (value != nullptr && value->kind == TENSORSTAT_EXPONENTS) std::memcpy(&counts, value->is.bytes, sizeof counts);
  return counts;
}

std::size_t put_text(std::string_view whole, char* text, std::size_t room) {
  if (text != nullptr && room != 0) {
    const std::size_t copied = std::min(whole.size(), room - 1);
    std::memcpy(text, whole.data(), copied);
    text[copied] = 0;
  }
  return whole.size();
}

}  // namespace tensorstat::c
