/* SPDX-License-Identifier: Apache-2.0 */
/* The core of tensorstat in C: statistics of tensors, computed where the tensors are. For C11 and later, for C++ of any
 * standard and any ABI of its standard library, and for every language that calls C. libtensorstat-core.so has these
 * functions. libtensorstat.so has them, too, and those of <tensorstat/tensorstat.h>: a program links one of the two.
 *
 *     tensorstat_meter* meter;
 *     if (tensorstat_meter_open(NULL, &meter)) return fail(tensorstat_last_error());
 *     tensorstat_request request = TENSORSTAT_REQUEST;
 *     request.statistics = "max,avg,l2norm,nan count";
 *     tensorstat_tensor tensor = TENSORSTAT_TENSOR;
 *     tensor.dtype = tensorstat_dtype_named("float32");
 *     tensor.element_count = n;
 *     tensor.address = data;
 *     tensorstat_result* result;
 *     if (tensorstat_measure(meter, &tensor, 1, &request, &result)) return fail(tensorstat_last_error());
 *     const tensorstat_value* values = tensorstat_result_values(result, 0);  // in the order of the request
 *     tensorstat_result_free(result);
 *     tensorstat_meter_close(meter);
 *
 * <tensorstat/meter.hpp> describes what each call computes; this header adds what C needs.
 *
 * Errors    Every function that can fail returns a tensorstat_code: 0 or the kind of error. tensorstat_last_error() is
 *           the message of this thread's last failure. A failed call does not change its output.
 * Structs   The first field of a struct that the caller fills is its size. Start with the initialiser, the struct's
 *           name in capitals. A later version of the library accepts the smaller struct of an earlier version. In an
 *           array of structs, the first one's size is the distance between all of them.
 * Handles   One function makes a handle and one frees it. Free each handle once. Freeing NULL does nothing. Several
 *           threads may use a meter, a session and a device meter at once. For all other handles, several threads may
 *           call the functions that take a const pointer; while any other function runs, no other thread may use the
 *           handle.
 * Threads   pthread_cancel takes effect after the library's call returns. Asynchronous cancellation is not supported.
 *           A callback (a log, a release, a row) must return: it must not end its thread, throw or longjmp.
 * Numbers   Look up the numbers of dtypes and statistics by name at run time. They differ between versions.
 * Strings   are UTF-8 and end with 0. The library copies a string that it needs after the call.
 * Stability Within a major version of the libraries (libtensorstat.so.N), no name and no struct is changed or removed.
 *           New fields are added only at the end of structs.
 */
#ifndef TENSORSTAT_CORE_H
#define TENSORSTAT_CORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TENSORSTAT_API __attribute__((visibility("default")))
#else
#define TENSORSTAT_API
#endif

/* ---- errors ---- */

typedef int32_t tensorstat_code; /* 0 or the kind of error */
enum {
  TENSORSTAT_OK = 0,
  TENSORSTAT_INVALID = 1,       /* the request is invalid; nothing was done */
  TENSORSTAT_UNSUPPORTED = 2,   /* the request is valid, but the dtype, the format or the device does not support it,
                                 * or the file holds nothing to measure, such as a text */
  TENSORSTAT_UNREADABLE = 3,    /* a file could not be read, or is malformed */
  TENSORSTAT_UNWRITABLE = 4,    /* a file could not be written; its earlier content is unchanged */
  TENSORSTAT_OVER_BUDGET = 5,   /* the call needs more device memory than the budget allows, or than is free now */
  TENSORSTAT_DEVICE = 6,        /* no device, or the device or its driver failed */
  TENSORSTAT_OUT_OF_MEMORY = 7, /* host memory is exhausted */
  TENSORSTAT_IN_USE = 8         /* the device failed and may still use the tensors' memory: never free it */
};

/* The message of this thread's last failure: what failed, with which input, what the system said, what to do. "" if
 * nothing has failed. Valid until the next failure in this thread. */
TENSORSTAT_API const char* tensorstat_last_error(void);

TENSORSTAT_API const char* tensorstat_version(void); /* "1.2.3" */

/* ---- names ---- */

/* The number of a dtype ("float32", "bfloat16", ...); -1 for an unknown name. */
TENSORSTAT_API int32_t tensorstat_dtype_named(const char* name);
/* The number of a statistic ("max", "nan count", "nan-count", "p99.9", ...); -1 for an unknown name. */
TENSORSTAT_API int32_t tensorstat_statistic_named(const char* name);
/* The numbers of "max,nan count" or "all", in the order given, each once. Writes at most `room` of them to
 * `numbers`, and their count to `count`. With NULL and a `room` of 0 the call only counts. If `room` is too small,
 * it fails but still sets `count`. */
TENSORSTAT_API tensorstat_code tensorstat_statistics_named(const char* names, int32_t* numbers, size_t room,
                                                           size_t* count);
/* The name of a dtype; NULL if the number is unknown. Dtypes are numbered 0, 1, ... without gaps. */
TENSORSTAT_API const char* tensorstat_dtype_name(int32_t dtype);
/* The name of a statistic; NULL if the number is unknown. Statistics of the catalog are numbered 0, 1, ... without
 * gaps. Quantiles such as "p50" have larger numbers. */
TENSORSTAT_API const char* tensorstat_statistic_name(int32_t statistic);
/* The bytes of one element: 8 for complex64, for example. 1 for int4, uint4, uint1 and float4_e2m1fn; several
 * elements share that byte. 0 for an unknown dtype. */
TENSORSTAT_API uint32_t tensorstat_dtype_bytes(int32_t dtype);
/* How many elements share a byte: 2 for int4, uint4 and float4_e2m1fn, 8 for uint1, 1 for all others; 0 for an
 * unknown dtype. */
TENSORSTAT_API uint32_t tensorstat_dtype_elements_a_byte(int32_t dtype);

/* ---- tensors ---- */

enum {
  TENSORSTAT_HOST = 0,          /* `address` is readable by the CPU, at any alignment */
  TENSORSTAT_CL_BUFFER = 1,     /* `address` is a cl_mem; the tensor begins `offset_bytes` into it */
  TENSORSTAT_SHARED_MEMORY = 2, /* `address` is an SVM pointer of the context of the queue */
  TENSORSTAT_CUDA = 3,          /* `address` is a device pointer of CUDA, read behind the work of `stream` */
  TENSORSTAT_ROCM = 4           /* as TENSORSTAT_CUDA, of ROCm */
};

/* A tensor, which the caller owns. Its bits must not change until the call that reads them returns. */
typedef struct {
  size_t size;             /* sizeof(tensorstat_tensor) */
  int32_t dtype;           /* tensorstat_dtype_named */
  int32_t where;           /* TENSORSTAT_HOST, ... */
  uint64_t element_count;  /* with strides, the product of `shape` */
  const void* address;     /* a pointer or a cl_mem */
  uint64_t offset_bytes;   /* from the beginning of a cl_mem to the first element */
  uint32_t dimension_count;     /* of `shape` and `stride_bytes`; 0 for a tensor that is contiguous in C order */
  const uint64_t* shape;        /* outermost dimension first; NULL if there are no strides */
  const int64_t* stride_bytes;  /* bytes from one index to the next, may be 0 or negative; NULL: C order */
  void* stream;                 /* CUDA and ROCm: the stream that makes the values; NULL: the default stream */
} tensorstat_tensor;
#define TENSORSTAT_TENSOR {sizeof(tensorstat_tensor), 0, TENSORSTAT_HOST, 0, NULL, 0, 0, NULL, NULL, NULL}

/* Converts a DLTensor of DLPack (major versions 0 and 1) to a view: the DLTensor, its shape and its strides must
 * outlive `tensor`. `stride_bytes` has room for `stride_room` dimensions and receives the strides in bytes; it is
 * not changed if the tensor is contiguous. Devices: CPU and pinned memory; OpenCL with a cl_mem as `data`; CUDA,
 * CUDA's managed memory and ROCm, whose values the default stream must make, or wait for: set `stream` otherwise.
 * Errors: any other device, an unsupported dtype, `lanes` other than 1 (2 for float4), strides in device memory. */
TENSORSTAT_API tensorstat_code tensorstat_tensor_from_dlpack(const void* dl_tensor, int64_t* stride_bytes,
                                                             size_t stride_room, tensorstat_tensor* tensor);

/* ---- requests and values ---- */

enum { TENSORSTAT_HIGH = 0, TENSORSTAT_LOW = 1 };  /* exact and rounded once; or in the tensor's own arithmetic */
enum {
  TENSORSTAT_AUTO = 0,        /* where the data is, if possible */
  TENSORSTAT_ON_HOST = 1,
  TENSORSTAT_ON_DEVICE = 2    /* an error if the device cannot; digests are computed on the host */
};

/* What to compute, and where. */
typedef struct {
  size_t size;             /* sizeof(tensorstat_request) */
  const char* statistics;  /* "max,avg,nan count": names between commas; "all": MindSpore's twelve */
  int32_t precision;       /* TENSORSTAT_HIGH or TENSORSTAT_LOW */
  int32_t on;              /* TENSORSTAT_AUTO, ... */
  double cast_scale;       /* "e4m3fn underflow" and the like count casts of x * cast_scale; finite, above 0 */
} tensorstat_request;
#define TENSORSTAT_REQUEST {sizeof(tensorstat_request), "max,min,avg,l2norm", TENSORSTAT_HIGH, TENSORSTAT_AUTO, 1}

enum {
  TENSORSTAT_NONE = 0,      /* no value, such as max of an empty tensor, or a refused MD5 */
  TENSORSTAT_UNSIGNED = 1,  /* counts and indices; max and min of bool and unsigned integers */
  TENSORSTAT_SIGNED = 2,    /* max and min of signed integers */
  TENSORSTAT_REAL = 3,      /* all other numbers: exact, or rounded once to binary64 */
  TENSORSTAT_DIGEST = 4,    /* `byte_count` bytes of a digest */
  TENSORSTAT_EXPONENTS = 5  /* counts; read them with tensorstat_exponents_..., not through `is` */
};

/* One value of one tensor. */
typedef struct {
  int32_t kind;         /* TENSORSTAT_NONE, ...: which member of `is` holds it */
  uint32_t byte_count;  /* of a digest */
  union {
    uint64_t whole;        /* TENSORSTAT_UNSIGNED */
    int64_t whole_signed;  /* TENSORSTAT_SIGNED */
    double real;           /* TENSORSTAT_REAL */
    uint8_t bytes[24];     /* TENSORSTAT_DIGEST */
  } is; /* the value */
} tensorstat_value;

/* ---- meters ---- */

typedef struct tensorstat_meter tensorstat_meter;     /* measures tensors; one suffices for a program */
typedef struct tensorstat_result tensorstat_result;   /* the values of a batch of tensors */
typedef struct tensorstat_stream tensorstat_stream;   /* a tensor that arrives in pieces */
typedef struct tensorstat_partial tensorstat_partial; /* the accumulators of a tensor, or of a part of one */

/* A callback for messages. Called from any thread, one call at a time, without a lock of the library. `warning` is 0
 * for information. `text` ends with 0 and is valid during the call. */
typedef void (*tensorstat_log)(void* context, int warning, const char* text);

/* What a meter may use. */
typedef struct {
  size_t size;            /* sizeof(tensorstat_meter_options) */
  uint64_t budget_bytes;  /* limit of device bytes held at any time; UINT64_MAX: no limit */
  int32_t platform;       /* clinfo's number of the platform; -1: the best one */
  int32_t device;         /* clinfo's number of the device on it; -1: the best one */
  void* queue;            /* a cl_command_queue that the meter retains and works on; NULL: the meter makes one */
  uint32_t thread_count;  /* host threads, including the caller's; 0: one for each core */
  tensorstat_log log;     /* NULL: no messages */
  void* log_context;      /* the `context` of `log` */
} tensorstat_meter_options;
#define TENSORSTAT_METER_OPTIONS \
  {sizeof(tensorstat_meter_options), UINT64_MAX, -1, -1, NULL, 0, NULL, NULL}

/* Makes a meter. `options` may be NULL, which means TENSORSTAT_METER_OPTIONS. The meter finds and checks a device at
 * the first request that may need one. */
TENSORSTAT_API tensorstat_code tensorstat_meter_open(const tensorstat_meter_options* options, tensorstat_meter** meter);
/* Frees a meter. Its streams and results stay valid. */
TENSORSTAT_API void tensorstat_meter_close(tensorstat_meter* meter);

/* Measures `tensor_count` tensors in one batch. Errors as of Meter::measure. */
TENSORSTAT_API tensorstat_code tensorstat_measure(tensorstat_meter* meter, const tensorstat_tensor* tensors,
                                                  size_t tensor_count, const tensorstat_request* request,
                                                  tensorstat_result** result);

/* Which elements of a tensor share a row. */
typedef struct {
  size_t size;              /* sizeof(tensorstat_by) */
  uint32_t dimension_count; /* of `shape` */
  const uint64_t* shape;    /* the tensor's, outermost dimension first */
  uint32_t axis_count;      /* of `axes` */
  const int64_t* axes;      /* the kept axes, each once; -1 is the last */
  uint64_t block_elements;  /* if not 0: no axes; each row is a block of this many elements; the last may be shorter */
} tensorstat_by;
#define TENSORSTAT_BY {sizeof(tensorstat_by), 0, NULL, 0, NULL, 0}

/* Measures each row of one tensor. The tensors of the result are the rows, in C order of the kept axes, at most
 * 2^20. */
TENSORSTAT_API tensorstat_code tensorstat_measure_by(tensorstat_meter* meter, const tensorstat_tensor* tensor,
                                                     const tensorstat_by* by, const tensorstat_request* request,
                                                     tensorstat_result** result);

/* The device bytes that the library holds now, and the highest number so far. Either pointer may be NULL. */
TENSORSTAT_API void tensorstat_meter_device_memory(const tensorstat_meter* meter, uint64_t* current_bytes,
                                                   uint64_t* peak_bytes);

/* How many tensors were measured. All pointers from a result are valid until tensorstat_result_free. */
TENSORSTAT_API size_t tensorstat_result_tensor_count(const tensorstat_result* result);
/* How many statistics each tensor has. */
TENSORSTAT_API size_t tensorstat_result_statistic_count(const tensorstat_result* result);
/* The number of the statistic at `index` in the request, for tensorstat_statistic_name. A repeated name counts once. */
TENSORSTAT_API int32_t tensorstat_result_statistic(const tensorstat_result* result, size_t index);
/* The values of a tensor, one for each statistic; NULL if there is no such tensor. */
TENSORSTAT_API const tensorstat_value* tensorstat_result_values(const tensorstat_result* result, size_t tensor);
/* Where a statistic was computed: "host" or "opencl"; NULL if there is no such tensor or statistic. */
TENSORSTAT_API const char* tensorstat_result_engine(const tensorstat_result* result, size_t tensor, size_t index);
/* The reason for that, as a text; NULL if there is no such tensor or statistic. */
TENSORSTAT_API const char* tensorstat_result_reason(const tensorstat_result* result, size_t tensor, size_t index);
/* Frees a result and everything that its functions returned. */
TENSORSTAT_API void tensorstat_result_free(tensorstat_result* result);

/* The text of a value, as in statistic.csv: the shortest digits that read back as the same number; "" if there is no
 * value. Writes at most `room` bytes, including the final 0. Returns the length of the whole text without the 0. */
TENSORSTAT_API size_t tensorstat_value_text(const tensorstat_value* value, char* text, size_t room);

/* For values of kind TENSORSTAT_EXPONENTS; for any other value all counts are 0. The value is valid as long as the
 * result, file or row that it came from. A value from a partial is valid until the same statistic is finished again
 * after the partial has changed. */
enum { TENSORSTAT_ZERO = 0, TENSORSTAT_SUBNORMAL = 1, TENSORSTAT_INF = 2, TENSORSTAT_NAN = 3 };
/* The number of elements that are 0, subnormal, infinite or NaN. `which` is TENSORSTAT_ZERO, ... */
TENSORSTAT_API uint64_t tensorstat_exponents_count(const tensorstat_value* value, int32_t which);
/* How many binades are not empty. */
TENSORSTAT_API size_t tensorstat_exponents_binade_count(const tensorstat_value* value);
/* The number of elements in non-empty binade number `index`, with 2^exponent <= |x| < 2^(exponent + 1). Binades are
 * in ascending order. `exponent` may be NULL. */
TENSORSTAT_API uint64_t tensorstat_exponents_binade(const tensorstat_value* value, size_t index, int32_t* exponent);

/* ---- streams ---- */

/* A tensor that arrives in pieces, in C order. Pieces may be cut between any two elements. A stream may outlive its
 * meter. */
TENSORSTAT_API tensorstat_code tensorstat_stream_open(tensorstat_meter* meter, int32_t dtype,
                                                      const tensorstat_request* request, tensorstat_stream** stream);
/* Adds a piece. The bytes may be reused after this returns. */
TENSORSTAT_API tensorstat_code tensorstat_stream_append(tensorstat_stream* stream, const void* whole_elements,
                                                        size_t bytes);
/* Adds the last piece of a tensor of a packed dtype. `unused_elements`: the number of elements at the end of the
 * last byte that are not part of the tensor. */
TENSORSTAT_API tensorstat_code tensorstat_stream_append_last(tensorstat_stream* stream, const void* bytes, size_t byte_count,
                                                             uint32_t unused_elements);
/* Returns the values of the one tensor. A second call is an error. */
TENSORSTAT_API tensorstat_code tensorstat_stream_finish(tensorstat_stream* stream, tensorstat_result** result);
/* Frees a stream, finished or not. */
TENSORSTAT_API void tensorstat_stream_close(tensorstat_stream* stream);

/* ---- partials: parts of a tensor on several threads, devices, processes or machines ---- */

/* Writes a partial of each tensor to `partials`, which has room for `tensor_count`. Digests are an error. */
TENSORSTAT_API tensorstat_code tensorstat_fold(tensorstat_meter* meter, const tensorstat_tensor* tensors,
                                               size_t tensor_count, const tensorstat_request* request,
                                               tensorstat_partial** partials);
/* Frees a partial. */
TENSORSTAT_API void tensorstat_partial_free(tensorstat_partial* partial);
/* Adds the elements of `other` to `into`. The order of merging does not change the bits. Both must have the same
 * dtype and request. */
TENSORSTAT_API tensorstat_code tensorstat_partial_merge(tensorstat_partial* into, const tensorstat_partial* other);
/* Declares that a part begins at element `first_element` of the whole tensor, in C order. Its indices ("argmax" and
 * the like) then count in the whole; crc32 and xor64 are adapted, too. Call it once for each part, before merging.
 * An error if an index would reach 2^63 - 1. */
TENSORSTAT_API tensorstat_code tensorstat_partial_move_to(tensorstat_partial* partial, uint64_t first_element);
/* The value of a statistic. TENSORSTAT_NONE if there is no value, or if the request did not name the statistic;
 * tensorstat_partial_keeps tells which. */
TENSORSTAT_API tensorstat_code tensorstat_partial_finish(const tensorstat_partial* partial, int32_t statistic,
                                                         tensorstat_value* value);
/* 1 if the partial has what the statistic needs; else 0. */
TENSORSTAT_API int tensorstat_partial_keeps(const tensorstat_partial* partial, int32_t statistic);
/* The serialised form: little-endian, versioned; equal partials give equal bytes. Writes at most `room` bytes, and
 * their number to `bytes`. With NULL and a `room` of 0 the call only counts. If `room` is too small, it fails but
 * still sets `bytes`. */
TENSORSTAT_API tensorstat_code tensorstat_partial_serialize(const tensorstat_partial* partial, void* to, size_t room,
                                                            size_t* bytes);
/* Makes a partial from its serialised form. Checks every byte and may read untrusted input. */
TENSORSTAT_API tensorstat_code tensorstat_partial_parse(const void* from, size_t bytes, tensorstat_partial** partial);

/* ---- ranks: partials merged by the collectives of MPI, NCCL or any other library, as in <tensorstat/collective.hpp> ----
 *
 *     tensorstat_collective_open(rank, ranks, &collective);  // once; keep it for all steps that merge the same list
 *     tensorstat_collective_begin(collective, partials, count, NULL);
 *     while ((round = tensorstat_collective_next(collective, &words, &word_count)) != TENSORSTAT_ROUNDS_DONE)
 *       MPI_Allreduce(MPI_IN_PLACE, words, (int)word_count, MPI_INT64_T,
 *                     round == TENSORSTAT_ROUND_MAX ? MPI_MAX : MPI_SUM, comm);
 *     if (tensorstat_collective_finish(collective, whole)) return fail(tensorstat_last_error());
 *
 * A step has two rounds, whatever the number of partials: one MAX, one SUM; a third if indices are kept. The first step
 * has one more, and so has a step with another list. Every rank has the same rounds, one that has an error included, so
 * no rank waits. */

/* One rank's side of the collectives. A handle is one thread's. */
typedef struct tensorstat_collective tensorstat_collective;
enum { TENSORSTAT_ROUNDS_DONE = 0, TENSORSTAT_ROUND_MAX = 1, TENSORSTAT_ROUND_SUM = 2 };

/* Rank `rank` of `ranks`; each rank has a number of its own. */
TENSORSTAT_API tensorstat_code tensorstat_collective_open(uint32_t rank, uint32_t ranks,
                                                          tensorstat_collective** collective);
/* Begins a step with this rank's partials: the same list on every rank, and an empty partial for a tensor that has no
 * elements here. The partials are copied. `label`: what must agree beside them, such as the names of the tensors; may be
 * NULL. If it fails, the step has begun with this error: go on with the rounds, as the other ranks do. */
TENSORSTAT_API tensorstat_code tensorstat_collective_begin(tensorstat_collective* collective,
                                                           const tensorstat_partial* const* partials,
                                                           size_t partial_count, const char* label);
/* For a rank that has no partials because of an error. The message becomes an error on every rank. */
TENSORSTAT_API tensorstat_code tensorstat_collective_begin_failed(tensorstat_collective* collective, const char* message);
/* The next round: how all ranks have to reduce `words` in place, or TENSORSTAT_ROUNDS_DONE. The words are the
 * collective's; they are valid until the next call. If memory for the quantiles of all ranks is exhausted, the rounds of
 * this rank end, and the caller has to stop the others; finish() says so. */
TENSORSTAT_API int32_t tensorstat_collective_next(tensorstat_collective* collective, int64_t** words, size_t* word_count);
/* The partials of the whole tensors, on every rank with the same bits. `partials` has room for as many as begin() was
 * given; free each. An error on one rank is an error on all: a rank failed; the lists differ in number, dtype, precision,
 * statistics, cast scale or label; or the ranks together may have 2^63 elements or more of a tensor. */
TENSORSTAT_API tensorstat_code tensorstat_collective_finish(tensorstat_collective* collective,
                                                            tensorstat_partial** partials);
/* Frees a collective. */
TENSORSTAT_API void tensorstat_collective_free(tensorstat_collective* collective);

/* ---- pairs: two tensors of one shape, compared element by element, as in <tensorstat/pair.hpp> ---- */

typedef struct tensorstat_pair tensorstat_pair; /* the accumulators of two tensors, or of the same part of both */

enum {
  TENSORSTAT_SCALE_B = 0,       /* |b|: NumPy's allclose */
  TENSORSTAT_SCALE_GREATER = 1  /* the greater of |a| and |b|: Python's isclose */
};

/* How two tensors are compared. */
typedef struct {
  size_t size;           /* sizeof(tensorstat_pair_request) */
  double rtol;           /* elements are within tolerance if |a - b| <= atol + rtol * scale; finite, not negative */
  double atol;           /* finite, not negative */
  int32_t scale;         /* TENSORSTAT_SCALE_B, ...; "max rel diff" uses it, too */
  uint64_t first_index;  /* if the tensors are parts of larger ones: the index of their first element there */
  int32_t on;            /* TENSORSTAT_AUTO, ... */
} tensorstat_pair_request;
#define TENSORSTAT_PAIR_REQUEST {sizeof(tensorstat_pair_request), 0, 0, TENSORSTAT_SCALE_B, 0, TENSORSTAT_AUTO}

/* Compares a[i] with b[i] and writes pairs[i]; `pairs` has room for `pair_count`. a[i] and b[i] have equal element
 * counts; their dtypes may differ. `request` may be NULL. Tensors may be anywhere that tensorstat_measure accepts. */
TENSORSTAT_API tensorstat_code tensorstat_compare(tensorstat_meter* meter, const tensorstat_tensor* a,
                                                  const tensorstat_tensor* b, size_t pair_count,
                                                  const tensorstat_pair_request* request, tensorstat_pair** pairs);
/* Frees a pair. */
TENSORSTAT_API void tensorstat_pair_free(tensorstat_pair* pair);
/* Adds the elements of `other` to `into`. The order of merging does not change the bits. Dtypes and tolerance must
 * agree. */
TENSORSTAT_API tensorstat_code tensorstat_pair_merge(tensorstat_pair* into, const tensorstat_pair* other);
/* The value of a statistic by its number; TENSORSTAT_NONE if there is no value. */
TENSORSTAT_API tensorstat_code tensorstat_pair_finish(const tensorstat_pair* pair, int32_t statistic,
                                                      tensorstat_value* value);
/* The serialised form; see tensorstat_partial_serialize. */
TENSORSTAT_API tensorstat_code tensorstat_pair_serialize(const tensorstat_pair* pair, void* to, size_t room, size_t* bytes);
/* Makes a pair from its serialised form. Checks every byte and may read untrusted input. */
TENSORSTAT_API tensorstat_code tensorstat_pair_parse(const void* from, size_t bytes, tensorstat_pair** pair);
/* The number of a statistic such as "max abs diff"; - or _ may stand for a space. -1 for any other text. */
TENSORSTAT_API int32_t tensorstat_pair_statistic_named(const char* name);
/* The name of statistic 0, 1, ...; NULL after the last. */
TENSORSTAT_API const char* tensorstat_pair_statistic_name(int32_t statistic);

/* ---- on a caller's OpenCL queue: batches without waiting ----
 *
 *     tensorstat_device_meter_open(queue, UINT64_MAX, &meter);
 *     tensorstat_submit(meter, tensors, n, &request, (void**)&written, 1, &ticket);
 *     ...                                             // the next training step
 *     tensorstat_ticket_collect(ticket, &result);     // waits only if it must
 *     tensorstat_ticket_close(ticket);
 */

typedef struct tensorstat_device_meter tensorstat_device_meter; /* measures on a queue of the caller */
typedef struct tensorstat_ticket tensorstat_ticket; /* a batch under way; it may outlive its device meter */

/* Works on a cl_command_queue, in-order or out-of-order, which it retains, in the queue's context and on its device.
 * All batches in flight together take at most `budget_bytes` of device memory; UINT64_MAX: no limit. Any number of
 * batches may be in flight. */
TENSORSTAT_API tensorstat_code tensorstat_device_meter_open(void* queue, uint64_t budget_bytes,
                                                            tensorstat_device_meter** meter);
/* Frees a device meter. Batches under way continue; their tickets stay valid. */
TENSORSTAT_API void tensorstat_device_meter_close(tensorstat_device_meter* meter);
/* See tensorstat_meter_device_memory. */
TENSORSTAT_API void tensorstat_device_meter_memory(const tensorstat_device_meter* meter, uint64_t* current_bytes,
                                                   uint64_t* peak_bytes);

/* Enqueues the batch after the cl_events of `wait_list` and flushes the queue. Does not wait, except that the first
 * batch of a dtype and its statistics builds a kernel. Each tensor is a cl_mem, shared virtual memory, or host
 * memory if the device follows host pointers. It must not change until the ticket's event has completed. Errors: digests,
 * strides, TENSORSTAT_ON_HOST, a batch that exceeds the budget. */
TENSORSTAT_API tensorstat_code tensorstat_submit(tensorstat_device_meter* meter, const tensorstat_tensor* tensors,
                                                 size_t tensor_count, const tensorstat_request* request,
                                                 void* const* wait_list, size_t wait_count,
                                                 tensorstat_ticket** ticket);
/* The cl_event that completes when the results are on the host. The ticket owns it; retain it to keep it longer.
 * Its callback must not collect or destroy the ticket, because OpenCL forbids to wait there. */
TENSORSTAT_API void* tensorstat_ticket_event(const tensorstat_ticket* ticket);
/* Returns the results. Waits for this batch only. After any error but TENSORSTAT_IN_USE, nothing reads the tensors
 * any more. A ticket is collected once, by this or by tensorstat_ticket_collect_partials. */
TENSORSTAT_API tensorstat_code tensorstat_ticket_collect(tensorstat_ticket* ticket, tensorstat_result** result);
/* As tensorstat_ticket_collect, but writes a partial of each tensor to `partials`, which has room for them. */
TENSORSTAT_API tensorstat_code tensorstat_ticket_collect_partials(tensorstat_ticket* ticket,
                                                                  tensorstat_partial** partials);
/* Frees a ticket. Waits if the device still writes results. */
TENSORSTAT_API void tensorstat_ticket_close(tensorstat_ticket* ticket);

typedef struct tensorstat_pair_ticket tensorstat_pair_ticket; /* pairs under way; it may outlive its device meter */
/* As tensorstat_submit, for the pairs a[i] and b[i]; see tensorstat_compare. The device needs fp64. */
TENSORSTAT_API tensorstat_code tensorstat_submit_pairs(tensorstat_device_meter* meter, const tensorstat_tensor* a,
                                                       const tensorstat_tensor* b, size_t pair_count,
                                                       const tensorstat_pair_request* request, void* const* wait_list,
                                                       size_t wait_count, tensorstat_pair_ticket** ticket);
/* See tensorstat_ticket_event. */
TENSORSTAT_API void* tensorstat_pair_ticket_event(const tensorstat_pair_ticket* ticket);
/* Writes the pairs to `pairs`, which has room for them. Waits for this batch only. A ticket is collected once. */
TENSORSTAT_API tensorstat_code tensorstat_pair_ticket_collect(tensorstat_pair_ticket* ticket, tensorstat_pair** pairs);
/* Frees a ticket. Waits for the device if the ticket was not collected. */
TENSORSTAT_API void tensorstat_pair_ticket_close(tensorstat_pair_ticket* ticket);

#ifdef __cplusplus
}
#endif

#endif
