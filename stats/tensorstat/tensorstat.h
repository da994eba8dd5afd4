/* SPDX-License-Identifier: Apache-2.0 */
/* tensorstat in C: statistics of tensors, computed where the tensors are. For C11 and later, for C++ of any
 * standard and any ABI of its standard library, and for every language that calls C.
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
 * <tensorstat/meter.hpp> and <tensorstat/dump.hpp> describe what each call computes; this header adds what C needs.
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
 * Stability Within a major version of the library (libtensorstat.so.N), no name and no struct is changed or removed.
 *           New fields are added only at the end of structs.
 */
#ifndef TENSORSTAT_H
#define TENSORSTAT_H

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
  TENSORSTAT_OVER_BUDGET = 5,   /* the call needs more device memory than the budget allows */
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
  TENSORSTAT_SHARED_MEMORY = 2, /* `address` is an SVM pointer, readable by CPU and device */
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
 * An error if an index would reach 2^63. */
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
 * memory that the device reads in place. It must not change until the ticket's event has completed. Errors: digests,
 * strides, TENSORSTAT_ON_HOST, a batch that exceeds the budget. */
TENSORSTAT_API tensorstat_code tensorstat_submit(tensorstat_device_meter* meter, const tensorstat_tensor* tensors,
                                                 size_t tensor_count, const tensorstat_request* request,
                                                 void* const* wait_list, size_t wait_count,
                                                 tensorstat_ticket** ticket);
/* The cl_event that completes when the results are on the host. The ticket owns it; retain it to keep it longer. */
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

/* ---- files of tensors, and rows of statistics ---- */

typedef struct tensorstat_file tensorstat_file; /* the values of all tensors of a file */

/* Measures every tensor of a file: .npy, .npz, .safetensors, .pt and all other formats of the command. Holds at most a
 * few dozen MiB of the file at any time. A tensor that cannot be read or measured is a fault; the others are still
 * measured. If there are only faults, the call fails with the first one's message. If `void_is_bfloat16` is not 0,
 * the two-byte void type of an .npy is bfloat16, as ml_dtypes writes it. */
TENSORSTAT_API tensorstat_code tensorstat_file_measure(tensorstat_meter* meter, const char* path,
                                                       const tensorstat_request* request, int void_is_bfloat16,
                                                       tensorstat_file** file);
/* Frees a file and everything that its functions returned. */
TENSORSTAT_API void tensorstat_file_free(tensorstat_file* file);

/* One tensor of a file. The pointers are valid until tensorstat_file_free. */
typedef struct {
  size_t size;            /* sizeof(tensorstat_file_tensor), set by the caller: the library writes no more than this */
  const char* name;       /* its name in the file; NULL if the file holds just one tensor, without a name */
  const char* data_type;  /* "float32"; "int4" and "bfloat16" also if only the file's name says so */
  const uint64_t* shape;            /* outermost dimension first */
  uint32_t dimension_count;         /* of `shape` */
  uint32_t value_count;             /* of `values`: one for each statistic of the request */
  const tensorstat_value* values;   /* in the request's order */
  uint64_t data_size_bytes;         /* size of all elements */
} tensorstat_file_tensor;
#define TENSORSTAT_FILE_TENSOR {sizeof(tensorstat_file_tensor), NULL, NULL, NULL, 0, 0, NULL, 0}

/* How many tensors were measured. */
TENSORSTAT_API size_t tensorstat_file_tensor_count(const tensorstat_file* file);
/* Fills `tensor` with tensor number `index`, from 0. The caller sets `tensor->size` first. */
TENSORSTAT_API tensorstat_code tensorstat_file_tensor_at(const tensorstat_file* file, size_t index,
                                                         tensorstat_file_tensor* tensor);
/* The message of fault 0, 1, ...; NULL after the last. */
TENSORSTAT_API const char* tensorstat_file_fault(const tensorstat_file* file, size_t index);

/* A further column of a row, such as "rank". */
typedef struct {
  const char* name;  /* "rank" */
  const char* text;  /* NULL: the cell is the number `whole` */
  uint64_t whole;    /* the number, if `text` is NULL */
} tensorstat_cell;

/* One row: the identity of a tensor and its values, as in <tensorstat/rows.hpp>. A later version may have a larger
 * struct. */
typedef struct {
  size_t size;            /* of this struct, in the library's version */
  const char* op_type;    /* "Conv2D" */
  const char* op_name;    /* "Default/network/Conv2D-op12" */
  uint64_t task_id;       /* of the run; 0 if unknown */
  uint64_t stream_id;     /* the stream that it ran on; 0 if unknown */
  uint64_t timestamp_us;  /* since the Unix epoch */
  const char* io;         /* "input" or "output" */
  uint64_t slot;          /* which input or output, from 0 */
  uint64_t data_size_bytes;        /* of the tensor's elements */
  const char* data_type;           /* "float32" */
  const uint64_t* shape;           /* outermost dimension first */
  uint32_t dimension_count;        /* of `shape` */
  uint32_t value_count;            /* of `statistics` and `values` */
  uint32_t cell_count;             /* of `cells` */
  const int32_t* statistics;       /* `value_count` numbers, for tensorstat_statistic_name; a number may repeat */
  const tensorstat_value* values;  /* one for each of `statistics` */
  const tensorstat_cell* cells;    /* the further columns */
} tensorstat_row;

/* A callback that receives each row, in order. The row and what it points to are valid during the call. Return 0 to
 * continue, anything else to stop. */
typedef int (*tensorstat_each_row)(void* context, const tensorstat_row* row);

/* Reads a statistic.csv of any dialect, in pieces: memory does not grow with the file. Rows before an error are
 * passed to `each`. `row_count` is the number of rows passed; it may be NULL.
 * For a folder, reads every file of rows below it. Each row then has the column "path"; in the folders of a dump
 * also "rank", "graph" and "iteration". If files cannot be read, the others are still read, and the error is the
 * first file's. TENSORSTAT_UNSUPPORTED if there is no file of rows. */
TENSORSTAT_API tensorstat_code tensorstat_rows_read(const char* path, tensorstat_each_row each, void* context,
                                                    uint64_t* row_count);

/* ---- where two runs differ, where NaN and Inf began in one, and what else is wrong in it, as in <tensorstat/compare.hpp> and
 * <tensorstat/findings.hpp> ---- */

typedef struct tensorstat_answer tensorstat_answer; /* of tensorstat_diff, tensorstat_origin or tensorstat_findings */

/* How two runs are compared. */
typedef struct {
  size_t size;         /* sizeof(tensorstat_diff_options) */
  double rtol;         /* within tolerance: |a - b| <= atol + rtol * max(|a|, |b|); below 0: the dtype's default */
  double atol;         /* requires rtol */
  int32_t any_dtype;   /* 1: compare tensors of different dtypes by value; requires rtol */
  int32_t first;       /* 1: also find the operators in which a difference begins */
  const char* tolerances; /* lines NAME_PATTERN rtol=1e-3 atol=1e-6 dtype=any; NULL: none */
  const char* names;      /* lines NAME_IN_A,NAME_IN_B; NULL: none */
} tensorstat_diff_options;
#define TENSORSTAT_DIFF_OPTIONS {sizeof(tensorstat_diff_options), -1, 0, 0, 0, NULL, NULL}

/* Compares two files of rows or of tensors, or two folders of them. */
TENSORSTAT_API tensorstat_code tensorstat_diff(const char* a, const char* b, const tensorstat_diff_options* options,
                                               tensorstat_answer** answer);
/* Finds where NaN and Inf began. `nan_only` 0: reports NaN, and Inf that stayed. 2: also Inf that vanished again,
 * such as a mask's Inf in a softmax. Any other value: NaN only. */
TENSORSTAT_API tensorstat_code tensorstat_origin(const char* path, int nan_only, tensorstat_answer** answer);
/* How a run is judged. */
typedef struct {
  size_t size;        /* sizeof(tensorstat_findings_options) */
  const char* limits; /* other limits for rules, such as "jump=20,drift=5"; NULL: none. stats/doc/report.md has the rules */
  int32_t page;       /* 1: the answer also holds the run's HTML page, see tensorstat_answer_page */
} tensorstat_findings_options;
#define TENSORSTAT_FINDINGS_OPTIONS {sizeof(tensorstat_findings_options), NULL, 0}

/* Judges a run by fixed rules, as `tensorstat report` does: whether it went wrong, where first, and what to look at next.
 * `path` is a file of rows or a dump's folder. `options` may be NULL. */
TENSORSTAT_API tensorstat_code tensorstat_findings(const char* path, const tensorstat_findings_options* options,
                                                   tensorstat_answer** answer);
/* 1 if the two runs differ, if the run has a fault, or if a rule found something; else 0. */
TENSORSTAT_API int tensorstat_answer_found(const tensorstat_answer* answer);
/* The whole answer, as `tensorstat diff`, `tensorstat origin` and `tensorstat report` write it with --format json. Valid
 * until the answer is freed. */
TENSORSTAT_API const char* tensorstat_answer_json(const tensorstat_answer* answer);
/* The HTML page, UTF-8: one document without references to others. NULL unless tensorstat_findings_options.page asked
 * for it. Valid until the answer is freed. */
TENSORSTAT_API const char* tensorstat_answer_page(const tensorstat_answer* answer);
/* Message 0, 1, ... about a file that could not be read; NULL after the last. */
TENSORSTAT_API const char* tensorstat_answer_fault(const tensorstat_answer* answer, size_t index);
/* Frees an answer. */
TENSORSTAT_API void tensorstat_answer_free(tensorstat_answer* answer);

/* ---- a dump that is being written ---- */

typedef struct tensorstat_follower tensorstat_follower; /* used by one thread at a time */

/* Begins to follow a dump. `path` is a file of rows or a folder; it may be made later. Nothing is read yet. `options` are
 * limits of rules, and may be NULL. `findings` 1: the run is judged, too; all its values are then kept in memory, 40 bytes
 * a row. */
TENSORSTAT_API tensorstat_code tensorstat_follow(const char* path, const tensorstat_findings_options* options, int findings,
                                                 tensorstat_follower** follower);
/* Reads what is new, and passes each new row to `each`, which may be NULL, with the columns "path", "rank", "graph" and
 * "iteration". A last line without its end is left for the next look. If `each` returns anything but 0, no more rows are
 * passed in this look. `row_count` is the number of new rows; it may be NULL. `*findings` is NULL, or, if the run was
 * judged again, the findings of all rows so far, as tensorstat_findings gives them: valid until the next look. NaN and Inf
 * are in it after two more iterations, or 5 seconds without rows, if they have not ended until then. A dump that was
 * replaced is read again from its beginning. */
TENSORSTAT_API tensorstat_code tensorstat_follower_look(tensorstat_follower* follower, tensorstat_each_row each,
                                                        void* context, uint64_t* row_count, const char** findings);
/* Message 0, 1, ... about a file that the last look could not read; NULL after the last. Each is said once. */
TENSORSTAT_API const char* tensorstat_follower_fault(const tensorstat_follower* follower, size_t index);
/* How many milliseconds to wait before the next look, 250 to 1500: so looking takes about a hundredth of the time. */
TENSORSTAT_API uint32_t tensorstat_follower_pause(const tensorstat_follower* follower);
/* Frees a follower. */
TENSORSTAT_API void tensorstat_follower_free(tensorstat_follower* follower);

/* ---- a dump session, for a framework's backend ---- */

typedef struct tensorstat_session tensorstat_session;   /* one for each config; any number of ranks and threads */
typedef struct tensorstat_operator tensorstat_operator; /* owned by its session */

enum {
  TENSORSTAT_DIALECT_OURS = 0,
  TENSORSTAT_DIALECT_MINDSPORE_27 = 1,
  TENSORSTAT_DIALECT_MINDSPORE_NEXT = 2,
  TENSORSTAT_DIALECT_CANN = 3,       /* not for sessions: each file holds one run of an operator */
  TENSORSTAT_DIALECT_MSPROBE_O2 = 4
};
enum { TENSORSTAT_SYNC_NEVER = 0, TENSORSTAT_SYNC_CLOSE = 1, TENSORSTAT_SYNC_ROW = 2 };
enum { TENSORSTAT_BY_RANK = 0, TENSORSTAT_BY_STEP = 1 };
enum { TENSORSTAT_INPUT = 0, TENSORSTAT_OUTPUT = 1 };
enum {
  TENSORSTAT_PLAIN = 0,     /* as the tensor's dtype says; with all others dtype and element_count are ignored */
  TENSORSTAT_INT4 = 1,      /* two values a byte, low half first */
  TENSORSTAT_UINT1 = 2,     /* eight values a byte, most significant bit first */
  TENSORSTAT_COMPLEX64 = 3, /* saved, but has no rows */
  TENSORSTAT_COMPLEX128 = 4
};

/* How a session dumps, in addition to its config. */
typedef struct {
  size_t size;                /* sizeof(tensorstat_session_options) */
  const tensorstat_meter_options* meter;  /* its `log` is the session's log; NULL: TENSORSTAT_METER_OPTIONS */
  int32_t dialect;            /* of statistic.csv: TENSORSTAT_DIALECT_OURS, ... */
  int32_t layout;             /* of the folders: TENSORSTAT_BY_RANK or TENSORSTAT_BY_STEP */
  int32_t sync;               /* when files are synced to the disk: TENSORSTAT_SYNC_NEVER, ... */
  uint64_t memory_bytes;      /* limit of host memory for copied tensors; 0: copy none */
  const char* path;           /* replaces the config's path; NULL: the config's */
  int32_t names_are_escaped;  /* 1: operator names are as in file names, with / \ . and space replaced by _ */
  const char* device_target;      /* "CPU", "Ascend", ...; "": unknown. With "CPU", support_device is ignored */
  const char* framework_version;  /* for .dump_metadata/config.json */
  const char* framework;          /* for msprobe's dump.json: "pytorch", "mindtorch"; "": "mindspore" */
  uint32_t world_size;            /* the number of ranks of the job, for TorchAir's folders */
  int32_t device_rows;  /* 1: with stat_calc_mode "device", rows as MindSpore's device writes them: see dump.hpp */
  /* 1: a tensor in a cl_mem changes, or is released, only by commands of the meter's `queue`, which is in order, or by
   * what waits for such commands; one in CUDA's memory only by work of its `stream`, or by what waits for such work.
   * Then tensorstat_collect enqueues the statistics of such a tensor and returns;
   * tensorstat_step_end enqueues one copy of the results. See DumpOptions::ordered_by_queue in dump.hpp. */
  int32_t ordered_by_queue;
  /* 1: from the first tensor on that is enqueued so, tensorstat_step_end waits for nothing, in spite of `enable` and
   * alerts. tensorstat_settle waits. */
  int32_t settles_later;
} tensorstat_session_options;
#define TENSORSTAT_SESSION_OPTIONS                                                                           \
  {sizeof(tensorstat_session_options), NULL, TENSORSTAT_DIALECT_MINDSPORE_27, TENSORSTAT_BY_RANK,            \
   TENSORSTAT_SYNC_CLOSE, (uint64_t)256 << 20, NULL, 0, "", "", "", 1, 0, 0, 0}

/* Where in the training a tensor comes from. */
typedef struct {
  size_t size;  /* sizeof(tensorstat_place) */
  uint32_t rank;       /* of the job */
  uint32_t device;     /* the number that support_device lists */
  uint32_t graph;      /* the graph's number */
  uint64_t iteration;  /* from 0; the config's initial_iteration is added */
  int32_t constants;   /* 1: constants of the graph */
} tensorstat_place;
#define TENSORSTAT_PLACE {sizeof(tensorstat_place), 0, 0, 0, 0, 0}

/* An input or output of an operator. */
typedef struct {
  size_t size;  /* sizeof(tensorstat_dump_tensor) */
  const tensorstat_tensor* tensor; /* its bits */
  const uint64_t* shape;  /* its product is the element count */
  uint32_t dimension_count; /* of `shape` */
  int32_t io;             /* TENSORSTAT_INPUT or TENSORSTAT_OUTPUT */
  uint32_t slot;          /* which input or output, from 0 */
  int32_t stored;         /* TENSORSTAT_PLAIN, ... */
  uint64_t timestamp_us;  /* since the Unix epoch; 0: now */
  const char* format;     /* the device's; NULL: "DefaultFormat" */
  /* If `release` is set, the bits must not change until it has been called with `owner`. It is called once, from any
   * thread, and nothing is copied. Otherwise the bits may change as soon as tensorstat_collect returns, but see
   * ordered_by_queue of the session's options. */
  void (*release)(void* owner);
  void* owner; /* the argument of `release` */
  int32_t requires_grad; /* written to msprobe's dump.json of PyTorch */
  /* If not NULL, tensorstat_collect writes here before it returns: TENSORSTAT_MEASURED if the tensor is already
   * measured, with TENSORSTAT_HAS_NAN and TENSORSTAT_HAS_INF according to its statistics. Otherwise nothing is
   * written. With `save_tensors` of tensorstat_alert_options it adds TENSORSTAT_IS_OF_ALERT if an alert names this
   * tensor. */
  uint32_t* faults;
  /* 1: only for `save_tensors`. The tensor gets no row. It is saved if an alert names a tensor of the same operator, in
   * this call or, if that has nothing else, before it in the same step. */
  int32_t is_for_event;
  /* For rules such as "differs over dp": how this tensor compares with its replicas on other ranks. NULL: they were not
   * compared. "": they are the same. Else one line for each group of ranks over which they differ: its name, and behind
   * ": " what the alert will say: "dp: of 3 replicas rank 1 differs in a bit". */
  const char* differs_over;
  /* If not 0, and the tensor is not measured when tensorstat_collect returns: tensorstat_settle tells its faults under
   * this number. */
  uint64_t number;
} tensorstat_dump_tensor;
enum { TENSORSTAT_HAS_NAN = 1, TENSORSTAT_HAS_INF = 2, TENSORSTAT_MEASURED = 4, TENSORSTAT_IS_OF_ALERT = 8 };
#define TENSORSTAT_DUMP_TENSOR                                                                               \
  {sizeof(tensorstat_dump_tensor), NULL, NULL, 0, TENSORSTAT_OUTPUT, 0, TENSORSTAT_PLAIN, 0, NULL, NULL, NULL, 0, NULL, \
   0, NULL, 0}

/* Opens a session with the config file that MINDSPORE_DUMP_CONFIG names. If the variable is not set, the session
 * wants nothing. `options` may be NULL. */
TENSORSTAT_API tensorstat_code tensorstat_session_from_environment(const tensorstat_session_options* options,
                                                                   tensorstat_session** session);
/* Opens a session with a config file. */
TENSORSTAT_API tensorstat_code tensorstat_session_from_file(const char* path, const tensorstat_session_options* options,
                                                            tensorstat_session** session);
/* Opens a session with the text of a config. */
TENSORSTAT_API tensorstat_code tensorstat_session_from_json(const char* text, const tensorstat_session_options* options,
                                                            tensorstat_session** session);
/* 0 if the session wants nothing at all; else 1. */
TENSORSTAT_API int tensorstat_session_enabled(const tensorstat_session* session);

/* What a config requires from a backend. It does not change during a session. */
typedef struct {
  size_t size;                     /* sizeof(tensorstat_demands), set by the caller: the library writes no more */
  int32_t tensors;                 /* 1: tensors are saved */
  int32_t statistics;              /* 1: tensors are measured */
  int32_t whole_operators;         /* 1: pass all inputs and outputs of a run in one call */
  int32_t synchronised_operators;  /* 1: wait for each operator before the next runs, and pass whether it failed */
  int32_t device_format;           /* 1: tensors are wanted in the device's format, 0: in the host's */
  int32_t kernel_args;             /* 1: tensorstat_save_kernel_args is wanted */
} tensorstat_demands;
/* Fills `demands`. The caller sets `demands->size` first. */
TENSORSTAT_API tensorstat_code tensorstat_session_demands(const tensorstat_session* session,
                                                          tensorstat_demands* demands);
/* The root of all files; "" if the session wants nothing. Writes at most `room` bytes, including the final 0.
 * Returns the length of the whole text without the 0. */
TENSORSTAT_API size_t tensorstat_session_path(const tensorstat_session* session, char* text, size_t room);
/* As tensorstat_session_path: the folder for files of a rank that belong to no iteration. */
TENSORSTAT_API size_t tensorstat_session_rank_folder(const tensorstat_session* session, uint32_t rank, char* text,
                                                     size_t room);
/* As tensorstat_session_path: the folder in which files of this place are written now; "" if the first write makes
 * its name. */
TENSORSTAT_API size_t tensorstat_session_folder(const tensorstat_session* session, const tensorstat_place* place,
                                                char* text, size_t room);
/* Switch dumping at run time. With a data_dump.json: after the first call of either, the config's iterations are
 * ignored and every step between start and stop is dumped. msprobe's `step` and CANN's `dump_step` still apply. */
TENSORSTAT_API void tensorstat_session_start(tensorstat_session* session);
/* Ends what tensorstat_session_start began. With `enable` in the config, waits until everything before it is in its
 * files and returns what tensorstat_session_flush returns; else returns 1. */
TENSORSTAT_API int tensorstat_session_stop(tensorstat_session* session);
/* Replaces the config's initial_iteration, which is added to every place's iteration. */
TENSORSTAT_API void tensorstat_session_set_initial_iteration(tensorstat_session* session, uint64_t iteration);

/* Rules that are asked of each row, and the rows of the last steps. <tensorstat/alerts.hpp> and doc/alerts.md say what each
 * member means. */
typedef struct {
  size_t size;             /* sizeof(tensorstat_alert_options) */
  const char* rules;       /* separated by commas; NULL or "": none */
  uint32_t keep_steps;     /* 0: rows are written as the config says; else the rows of so many steps are kept */
  uint32_t steps_after;    /* steps that are added to an event */
  uint64_t keep_bytes;     /* the limit of the kept rows, for each rank */
  uint32_t most_events;    /* that are written */
  /* If set, called for each alert by the thread that calls tensorstat_step_end or tensorstat_session_end. No lock is
   * held, so it may call the session. `alert` is a line of alerts.ndjson: a JSON object. It is valid during the call. If
   * not set, the log gets a sentence. */
  void (*on_alert)(const char* alert, void* user);
  void* user; /* the second argument of `on_alert` */
  int32_t save_tensors; /* 1: the tensor that an alert names, and its operator's inputs, are saved in the event's folder */
  uint64_t event_bytes; /* the limit of an event's files, for each rank */
} tensorstat_alert_options;
#define TENSORSTAT_ALERT_OPTIONS \
  {sizeof(tensorstat_alert_options), NULL, 0, 0, (uint64_t)256 << 20, 16, NULL, NULL, 0, (uint64_t)1 << 30}
/* Call it before the first tensor is handed over; a second call replaces the first. TENSORSTAT_INVALID: a rule is wrong,
 * and where; or the config saves no statistics. */
TENSORSTAT_API tensorstat_code tensorstat_session_set_alerts(tensorstat_session* session,
                                                             const tensorstat_alert_options* options);
/* As tensorstat_session_path: the groups of ranks that rules "differs over GROUP" name, each once, one in a line. The
 * caller compares the replicas over them, and says so by `differs_over` of tensorstat_dump_tensor. */
TENSORSTAT_API size_t tensorstat_session_alert_groups(const tensorstat_session* session, char* text, size_t room);

/* A stream or task id that the caller does not know. The session writes what the config's framework writes: 65535 with a
 * data_dump.json without e2e_dump_settings (MindSpore's O2), but for the device targets CPU and GPU; else 0. */
#define TENSORSTAT_NO_ID UINT64_MAX
/* An operator by its type and full scope name, found or made. Call this once per operator and keep the pointer.
 * `set_dump`: whether the user flagged it: for dump_mode 2, and in addition to the dump_list of an acl.json. With
 * msprobe's level "debug", the type "debug" takes tensors that no operator has, as PrecisionDebugger.save does; they are
 * output 0, and with any other config such an operator is not wanted. `stream_id`, `task_id`: 0 is an id like any other;
 * TENSORSTAT_NO_ID if unknown. NULL if the session wants nothing; every function
 * accepts NULL as an operator that is not wanted. */
TENSORSTAT_API const tensorstat_operator* tensorstat_operator_named(tensorstat_session* session, const char* type,
                                                                    const char* full_scope_name, int set_dump,
                                                                    uint64_t stream_id, uint64_t task_id);
/* For msprobe's stack.json and construct.json: the stack frames from which the operator was called, and the module
 * that contains it, NULL or "" if none. Call it before the operator's first run. The only error is a missing
 * argument. */
TENSORSTAT_API tensorstat_code tensorstat_describe(tensorstat_session* session, const tensorstat_operator* op,
                                                   const char* const* stack, size_t frame_count, const char* parent);
/* 1 if the config wants anything of this operator at this place. Use it to save work. `failed`: whether the operator
 * failed. */
TENSORSTAT_API int tensorstat_wants(const tensorstat_session* session, const tensorstat_place* place,
                                    const tensorstat_operator* op, int failed);
/* As tensorstat_wants, for its inputs (`io` is TENSORSTAT_INPUT) or its outputs only. */
TENSORSTAT_API int tensorstat_wants_io(const tensorstat_session* session, const tensorstat_place* place,
                                       const tensorstat_operator* op, int32_t io, int failed);
/* Takes the tensors of one run of an operator. Errors are errors of the arguments; after one, nothing was taken and
 * no `release` is called. Errors of the disk and the device are counted. */
TENSORSTAT_API tensorstat_code tensorstat_collect(tensorstat_session* session, const tensorstat_place* place,
                                                  const tensorstat_operator* op, const tensorstat_dump_tensor* tensors,
                                                  size_t tensor_count, int failed);
/* As tensorstat_collect, with the layout of msprobe's call; see DumpSession::collect in dump.hpp. NULL or "": none. */
TENSORSTAT_API tensorstat_code tensorstat_collect_call(tensorstat_session* session, const tensorstat_place* place,
                                                       const tensorstat_operator* op,
                                                       const tensorstat_dump_tensor* tensors, size_t tensor_count,
                                                       int failed, const char* layout);
/* Gives the name of a graph's model, before the graph's first run; see DumpSession::name_graph in dump.hpp.
 * The only error is a missing argument. */
TENSORSTAT_API tensorstat_code tensorstat_name_graph(tensorstat_session* session, uint32_t graph, const char* model);
/* Takes the arguments of an operator, for configs with save_kernel_args. `names` and `values` have `count` texts
 * each. */
TENSORSTAT_API tensorstat_code tensorstat_save_kernel_args(tensorstat_session* session, const tensorstat_place* place,
                                                           const tensorstat_operator* op, const char* const* names,
                                                           const char* const* values, size_t count);
/* Takes the operators of a compiled graph, by full scope name, in the order of their execution. */
TENSORSTAT_API tensorstat_code tensorstat_save_execution_order(tensorstat_session* session, uint32_t rank,
                                                               uint32_t graph, const char* const* full_scope_names,
                                                               size_t count);
/* Ends the iteration of this rank and graph. With `enable` in the config, waits until all of it is in its files and
 * returns what tensorstat_session_flush returns; else returns 1. */
TENSORSTAT_API int tensorstat_step_end(tensorstat_session* session, const tensorstat_place* place);
/* Rows of CUDA graphs: between the first two calls, tensorstat_collect adds the tensors whose stream is being captured to
 * a graph, and tensorstat_replayed makes their rows, once behind each replay on this stream. `iteration`: the rows' own.
 * The numbers of tensors are theirs + `added_to_numbers`. *graph is NULL if there will be no rows. Free it when the CUDA
 * graph is destroyed and its last replay is over; it may outlive the session. See DumpSession::begin_capture in
 * dump.hpp. tensorstat_replayed returns 0 if rows are lost. */
typedef struct tensorstat_graph tensorstat_graph;
TENSORSTAT_API tensorstat_code tensorstat_begin_capture(tensorstat_session* session, tensorstat_graph** graph);
TENSORSTAT_API void tensorstat_end_capture(tensorstat_session* session);
TENSORSTAT_API int tensorstat_replayed(tensorstat_session* session, tensorstat_graph* graph, uint64_t iteration,
                                       void* stream, uint64_t added_to_numbers);
TENSORSTAT_API void tensorstat_graph_free(tensorstat_graph* graph);
/* Waits until the steps that have ended are measured, and delivers their alerts. If `tell` is not NULL, it is called
 * once for each tensor with a `number` that was not measured when tensorstat_collect returned, in no order, with what
 * tensorstat_collect writes to `faults`; 0: the tensor is lost. No lock is held. If `with_this_step` is not 0: the same
 * for what was collected since the last tensorstat_step_end; its step goes on. Call it once a step if tensors have
 * numbers: until then their faults take memory. See DumpSession::settle in dump.hpp. */
TENSORSTAT_API void tensorstat_settle(tensorstat_session* session, int with_this_step,
                                      void (*tell)(uint64_t number, uint32_t faults, void* user), void* user);
/* Waits until everything handed over is in its file, is lost and counted, or has to be retried because of the disk.
 * Returns 1 if everything is in its file; 0 while anything waits for the disk, and after anything was lost. */
TENSORSTAT_API int tensorstat_session_flush(tensorstat_session* session);
/* A last flush; returns what tensorstat_session_flush returns. After it the counters are final and the session wants
 * nothing. The session must still be closed. */
TENSORSTAT_API int tensorstat_session_end(tensorstat_session* session);
/* Ends the session if tensorstat_session_end was not called, and frees it and its operators. */
TENSORSTAT_API void tensorstat_session_close(tensorstat_session* session);

/* Counts of everything that was handed over. Correct at any time. */
typedef struct {
  size_t size;                /* sizeof(tensorstat_counters), set by the caller: the library writes no more */
  uint64_t operator_count;    /* handed over and wanted */
  uint64_t tensor_count;      /* done as the config says: measured, saved, or both */
  uint64_t overflow_count;    /* operators found to overflow */
  uint64_t row_count;         /* rows written to files */
  uint64_t lost_row_count;    /* rows that could not be written */
  uint64_t file_count;        /* files of tensors written */
  uint64_t lost_tensor_count; /* tensors for which a wanted row or file was not made, because of errors */
  uint64_t stall_count;       /* hand-overs that did not fit into memory_bytes, or could not be enqueued */
  uint64_t stalled_us;        /* the time that they took from the calling threads */
  uint64_t held_bytes;        /* the part of memory_bytes in use now */
  uint64_t most_held_bytes;   /* the highest number so far */
  uint64_t waiting_row_count; /* rows that could not be written yet; they are kept in memory and retried */
  uint64_t lost_file_count;   /* files of tensors that could not be written */
  uint64_t complex_count;     /* complex tensors that were skipped because only statistics are wanted */
  /* Where the tensors that rows are made of were measured. */
  uint64_t device_row_count;   /* by an OpenCL device, or by the GPU that has the tensor */
  uint64_t host_row_count;     /* by the host */
  uint64_t fallback_row_count; /* of host_row_count: a device failed, or could not measure its memory; see the log */
  uint64_t device_bytes;       /* device memory that the session holds now, without the tensors themselves */
  uint64_t most_device_bytes;  /* the highest number so far */
} tensorstat_counters;
/* Fills `counters`. The caller sets `counters->size` first. */
TENSORSTAT_API tensorstat_code tensorstat_session_counters(const tensorstat_session* session,
                                                           tensorstat_counters* counters);

#ifdef __cplusplus
}
#endif

#endif
