/* SPDX-License-Identifier: Apache-2.0 */
/* tensorstat in C: statistics of tensors, computed where the tensors live. For C11 and later, for C++ of any
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
 * What each call computes is said in <tensorstat/meter.hpp> and <tensorstat/dump.hpp>; this header adds what C needs.
 *
 * Errors    Every function that can fail returns a tensorstat_code: 0, or what went wrong. The words of the last
 *           failure in this thread are tensorstat_last_error(). A failed call leaves its output untouched.
 * Structs   The first field of a struct that the caller fills is its size. Begin with the initialiser of the same
 *           name in capitals. A later version of the library reads the smaller struct of an earlier one; the elements
 *           of an array of structs are as far apart as the first one's size says.
 * Handles   Made by one function, given back by one other, which takes NULL and does nothing then. A meter, a
 *           session and a device meter may be used by several threads at once. Of a stream, a partial, a pair, a ticket,
 *           a result, a file and an answer, several threads may use the functions that take it as const; while any
 *           other of its functions runs, no thread may use it.
 *           Give each back once: a second time uses memory that is gone.
 * Threads   A pthread_cancel of a thread inside a call waits until the call returns; asynchronous cancellation is not
 *           supported. A function that the library calls (a log, a release, one that gets rows) returns: it neither
 *           ends its thread nor throws.
 * Numbers   of dtypes and statistics are asked for by name at run time, and are not the same in all versions.
 * Strings   are UTF-8, end with 0, and are copied by the library where it needs them longer than the call.
 * Stability The names and the structs of this header do not change or go within a major version of the library
 *           (libtensorstat.so.N). Fields are added at the end of structs only.
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

typedef int32_t tensorstat_code; /* 0, or what went wrong */
enum {
  TENSORSTAT_OK = 0,
  TENSORSTAT_INVALID = 1,       /* the request makes no sense; nothing was done */
  TENSORSTAT_UNSUPPORTED = 2,   /* understood and refused: a dtype, a format, a device without a needed feature */
  TENSORSTAT_UNREADABLE = 3,    /* a file could not be read, or contradicts itself */
  TENSORSTAT_UNWRITABLE = 4,    /* a file could not be written; what was there before is whole */
  TENSORSTAT_OVER_BUDGET = 5,   /* would need more device memory than the budget allows */
  TENSORSTAT_DEVICE = 6,        /* no device, or the device or its driver failed */
  TENSORSTAT_OUT_OF_MEMORY = 7, /* the host has no memory for it */
  TENSORSTAT_IN_USE = 8         /* the device failed, and may use the tensors' memory for ever: never free it */
};

/* The words of this thread's last failure: what was being done, to what, what the system said, what to do. "" where
 * none has failed. Valid until the next failure in this thread. */
TENSORSTAT_API const char* tensorstat_last_error(void);

TENSORSTAT_API const char* tensorstat_version(void); /* "1.2.3" */

/* ---- names ---- */

/* The number of a dtype ("float32", "bfloat16", ...); -1 of an unknown name. */
TENSORSTAT_API int32_t tensorstat_dtype_named(const char* name);
/* The number of a statistic ("max", "nan count", "nan-count", "p99.9", ...); -1 of an unknown name. */
TENSORSTAT_API int32_t tensorstat_statistic_named(const char* name);
/* The numbers of "max,nan count" or "all", in the order given, each once. Writes at most `room` of them, and tells in
 * `count` how many there are; `numbers` may be NULL where `room` is 0. With too little room it is refused. */
TENSORSTAT_API tensorstat_code tensorstat_statistics_named(const char* names, int32_t* numbers, size_t room,
                                                           size_t* count);
/* The name of a number, and NULL of none: 0, 1, ... until NULL are all there are. */
TENSORSTAT_API const char* tensorstat_dtype_name(int32_t dtype);
/* As tensorstat_dtype_name, of a statistic. Quantiles, "p50" and the like, have names by their numbers, too, which are far
 * behind the others'. */
TENSORSTAT_API const char* tensorstat_statistic_name(int32_t statistic);
/* Bytes of one element; of int4, uint4, uint1 and float4_e2m1fn 1, which 2, 2, 8 and 2 elements share; of complex64 8; 0 of an
 * unknown dtype. */
TENSORSTAT_API uint32_t tensorstat_dtype_bytes(int32_t dtype);
/* How many elements share a byte: 2 of int4, uint4 and float4_e2m1fn, 8 of uint1, 1 of every other; 0 of an unknown dtype. */
TENSORSTAT_API uint32_t tensorstat_dtype_elements_a_byte(int32_t dtype);

/* ---- tensors ---- */

enum {
  TENSORSTAT_HOST = 0,          /* `address` is readable by the CPU, at any alignment */
  TENSORSTAT_CL_BUFFER = 1,     /* `address` is a cl_mem; the tensor begins `offset_bytes` into it */
  TENSORSTAT_SHARED_MEMORY = 2  /* `address` is an SVM pointer, readable by CPU and device */
};

/* Bits that the caller owns. They may not change until the call that reads them returns. */
typedef struct {
  size_t size;             /* sizeof(tensorstat_tensor) */
  int32_t dtype;           /* tensorstat_dtype_named */
  int32_t where;           /* TENSORSTAT_HOST, ... */
  uint64_t element_count;  /* where strides are given, the product of `shape` */
  const void* address;     /* a pointer, or a cl_mem */
  uint64_t offset_bytes;   /* from `address` to the first element, of a cl_mem */
  /* For elements that do not lie one after another in C order, how many dimensions there are; else 0. */
  uint32_t dimension_count;
  const uint64_t* shape;        /* outermost dimension first; NULL where there are no strides */
  const int64_t* stride_bytes;  /* from one index to the next; 0 and negative ones too; NULL: C order */
} tensorstat_tensor;
#define TENSORSTAT_TENSOR {sizeof(tensorstat_tensor), 0, TENSORSTAT_HOST, 0, NULL, 0, 0, NULL, NULL}

/* The tensor that a DLTensor of DLPack describes (major versions 0 and 1 have the same one), as a view: the DLTensor,
 * its shape and its strides must outlive `tensor`. `stride_bytes` is where the strides are put, in bytes, and has room
 * for `stride_room` dimensions; it is not touched where the tensor is contiguous. Devices: CPU, and OpenCL, whose
 * `data` is a cl_mem. Refused with words: other devices, `lanes` other than 1 (of float4 2), dtypes that the library does not have. */
TENSORSTAT_API tensorstat_code tensorstat_tensor_from_dlpack(const void* dl_tensor, int64_t* stride_bytes,
                                                             size_t stride_room, tensorstat_tensor* tensor);

/* ---- requests and values ---- */

enum { TENSORSTAT_HIGH = 0, TENSORSTAT_LOW = 1 };  /* exact, rounded once; or held in the tensor's own type */
enum {
  TENSORSTAT_AUTO = 0,        /* where the data lives, as far as that place can */
  TENSORSTAT_ON_HOST = 1,
  TENSORSTAT_ON_DEVICE = 2    /* an error where the device cannot; digests stay host work */
};

/* What is to be computed, and where. */
typedef struct {
  size_t size;             /* sizeof(tensorstat_request) */
  const char* statistics;  /* "max,avg,nan count": names between commas; "all": MindSpore's twelve */
  int32_t precision;       /* TENSORSTAT_HIGH or TENSORSTAT_LOW */
  int32_t on;              /* TENSORSTAT_AUTO, ... */
  double cast_scale;       /* counts of casts, "e4m3fn underflow" and the like, are of x * cast_scale: finite, above 0 */
} tensorstat_request;
#define TENSORSTAT_REQUEST {sizeof(tensorstat_request), "max,min,avg,l2norm", TENSORSTAT_HIGH, TENSORSTAT_AUTO, 1}

enum {
  TENSORSTAT_NONE = 0,      /* there is no value: max of an empty tensor, a refused MD5 */
  TENSORSTAT_UNSIGNED = 1,  /* counts and indices; max and min of bool and unsigned integers */
  TENSORSTAT_SIGNED = 2,    /* max and min of signed integers */
  TENSORSTAT_REAL = 3,      /* all else: exact, or rounded once to binary64 */
  TENSORSTAT_DIGEST = 4,    /* `byte_count` bytes of a digest */
  TENSORSTAT_EXPONENTS = 5  /* counts that the functions tensorstat_exponents_... read; `is` says only where they are */
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

typedef struct tensorstat_meter tensorstat_meter;     /* measures tensors; one for a whole program */
typedef struct tensorstat_result tensorstat_result;   /* what was measured of a batch */
typedef struct tensorstat_stream tensorstat_stream;   /* a tensor that arrives in pieces */
typedef struct tensorstat_partial tensorstat_partial; /* what is known of a part of a tensor */

/* Called from any thread, one call at a time, never under a lock of the library. `warning` is 0 for information. The
 * text ends with 0 and is gone when the call returns. */
typedef void (*tensorstat_log)(void* context, int warning, const char* text);

/* What a meter may use. */
typedef struct {
  size_t size;            /* sizeof(tensorstat_meter_options) */
  uint64_t budget_bytes;  /* most device bytes held at any time; UINT64_MAX: no limit */
  int32_t platform;       /* clinfo's number of the platform; -1: the best there is */
  int32_t device;         /* and of the device on it */
  void* queue;            /* a cl_command_queue that the meter retains and works on; NULL: one of its own */
  uint32_t thread_count;  /* host threads, the caller's among them; 0: one a core */
  tensorstat_log log;     /* NULL: nothing is said */
  void* log_context;      /* what `log` is called with */
} tensorstat_meter_options;
#define TENSORSTAT_METER_OPTIONS \
  {sizeof(tensorstat_meter_options), UINT64_MAX, -1, -1, NULL, 0, NULL, NULL}

/* `options` may be NULL: all as in TENSORSTAT_METER_OPTIONS. A meter finds and checks a device at the first request that
 * may need one. */
TENSORSTAT_API tensorstat_code tensorstat_meter_open(const tensorstat_meter_options* options, tensorstat_meter** meter);
/* Streams and results that came of it stay valid. */
TENSORSTAT_API void tensorstat_meter_close(tensorstat_meter* meter);

/* Measures `tensor_count` tensors in one batch. */
TENSORSTAT_API tensorstat_code tensorstat_measure(tensorstat_meter* meter, const tensorstat_tensor* tensors,
                                                  size_t tensor_count, const tensorstat_request* request,
                                                  tensorstat_result** result);

/* Which elements of a tensor share a row. */
typedef struct {
  size_t size;              /* sizeof(tensorstat_by) */
  uint32_t dimension_count; /* of `shape` */
  const uint64_t* shape;    /* the tensor's, outermost dimension first */
  uint32_t axis_count;      /* of `axes` */
  const int64_t* axes;      /* that are kept, each once; -1 is the last */
  uint64_t block_elements;  /* not 0: instead of axes, blocks of so many elements; the last may be shorter */
} tensorstat_by;
#define TENSORSTAT_BY {sizeof(tensorstat_by), 0, NULL, 0, NULL, 0}

/* Measures each row of one tensor: result's tensors are the rows, in C order of the kept axes, at most 2^20. */
TENSORSTAT_API tensorstat_code tensorstat_measure_by(tensorstat_meter* meter, const tensorstat_tensor* tensor,
                                                     const tensorstat_by* by, const tensorstat_request* request,
                                                     tensorstat_result** result);

/* The device bytes that the library holds now, and the most it has held. Either may be NULL. */
TENSORSTAT_API void tensorstat_meter_device_memory(const tensorstat_meter* meter, uint64_t* current_bytes,
                                                   uint64_t* peak_bytes);

/* How many tensors were measured. All that the functions of a result return lives until tensorstat_result_free. */
TENSORSTAT_API size_t tensorstat_result_tensor_count(const tensorstat_result* result);
/* How many statistics there are of each. */
TENSORSTAT_API size_t tensorstat_result_statistic_count(const tensorstat_result* result);
/* The number of the statistic at `index` of the request, for tensorstat_statistic_name; a name given twice counts once. */
TENSORSTAT_API int32_t tensorstat_result_statistic(const tensorstat_result* result, size_t index);
/* As many values as statistics; NULL where there is no such tensor. */
TENSORSTAT_API const tensorstat_value* tensorstat_result_values(const tensorstat_result* result, size_t tensor);
/* Where a statistic was computed: "host" or "opencl"; NULL where there is no such tensor or statistic. */
TENSORSTAT_API const char* tensorstat_result_engine(const tensorstat_result* result, size_t tensor, size_t index);
/* Why there, in words; NULL where there is no such tensor or statistic. */
TENSORSTAT_API const char* tensorstat_result_reason(const tensorstat_result* result, size_t tensor, size_t index);
/* Ends the life of all that the result's functions returned. */
TENSORSTAT_API void tensorstat_result_free(tensorstat_result* result);

/* The text of a value, as statistic.csv has it: the shortest digits that read back as the same number, "" of none.
 * Writes at most `room` bytes, the final 0 among them, and returns how many bytes the text has without it. */
TENSORSTAT_API size_t tensorstat_value_text(const tensorstat_value* value, char* text, size_t room);

/* Of a value that is TENSORSTAT_EXPONENTS. It is good as long as what it came from: a result, a file, a row, and of a
 * partial until the statistic is asked again after the partial has changed. Of any other value there are none. */
enum { TENSORSTAT_ZERO = 0, TENSORSTAT_SUBNORMAL = 1, TENSORSTAT_INF = 2, TENSORSTAT_NAN = 3 };
/* How many elements are 0, subnormal, infinite or NaN: one of TENSORSTAT_ZERO, ... */
TENSORSTAT_API uint64_t tensorstat_exponents_count(const tensorstat_value* value, int32_t which);
/* How many binades hold elements. */
TENSORSTAT_API size_t tensorstat_exponents_binade_count(const tensorstat_value* value);
/* How many elements the binade at `index` holds, and its exponent: 2^exponent <= |x| < 2^(exponent + 1). They are in the
 * order of their exponents. `exponent` may be NULL. */
TENSORSTAT_API uint64_t tensorstat_exponents_binade(const tensorstat_value* value, size_t index, int32_t* exponent);

/* ---- streams ---- */

/* A tensor that arrives in pieces, in C order, cut between any two elements. It may outlive its meter. */
TENSORSTAT_API tensorstat_code tensorstat_stream_open(tensorstat_meter* meter, int32_t dtype,
                                                      const tensorstat_request* request, tensorstat_stream** stream);
/* The bytes may be reused as soon as this returns. */
TENSORSTAT_API tensorstat_code tensorstat_stream_append(tensorstat_stream* stream, const void* whole_elements,
                                                        size_t bytes);
/* The same of the last piece of a tensor whose elements share bytes: the last byte has so many elements less than it
 * could hold. */
TENSORSTAT_API tensorstat_code tensorstat_stream_append_last(tensorstat_stream* stream, const void* bytes, size_t byte_count,
                                                             uint32_t unused_elements);
/* Of the one tensor. A second call is refused. */
TENSORSTAT_API tensorstat_code tensorstat_stream_finish(tensorstat_stream* stream, tensorstat_result** result);
/* A stream that was not finished measures nothing. */
TENSORSTAT_API void tensorstat_stream_close(tensorstat_stream* stream);

/* ---- partials: parts of a tensor on several threads, devices, processes or machines ---- */

/* A partial of each tensor into `partials`, which has room for `tensor_count`. Digests are refused. */
TENSORSTAT_API tensorstat_code tensorstat_fold(tensorstat_meter* meter, const tensorstat_tensor* tensors,
                                               size_t tensor_count, const tensorstat_request* request,
                                               tensorstat_partial** partials);
/* Of a partial that was folded, parsed or collected. */
TENSORSTAT_API void tensorstat_partial_free(tensorstat_partial* partial);
/* Takes the elements of `other` into `into`, in any order, to the same bits. Both are of one dtype and request. */
TENSORSTAT_API tensorstat_code tensorstat_partial_merge(tensorstat_partial* into, const tensorstat_partial* other);
/* Of a part whose first element is number `first_element` of the whole tensor, in C order: from now on its indices
 * ("argmax" and the like) are those of the whole. Each part once, before it is merged with others; values that are no
 * index stay as they are. Refused where an index would reach 2^63. */
TENSORSTAT_API tensorstat_code tensorstat_partial_move_to(tensorstat_partial* partial, uint64_t first_element);
/* The value of a statistic that the request named; TENSORSTAT_NONE of any other, which tensorstat_partial_keeps tells
 * from a statistic without a value. */
TENSORSTAT_API tensorstat_code tensorstat_partial_finish(const tensorstat_partial* partial, int32_t statistic,
                                                         tensorstat_value* value);
/* 1 where what the statistic needs was kept; else 0. */
TENSORSTAT_API int tensorstat_partial_keeps(const tensorstat_partial* partial, int32_t statistic);
/* The serialised form: little-endian, versioned, equal of equal partials. Writes at most `room` bytes and tells in
 * `bytes` how many there are; `to` may be NULL where `room` is 0, to learn just that. With too little room it is
 * refused. */
TENSORSTAT_API tensorstat_code tensorstat_partial_serialize(const tensorstat_partial* partial, void* to, size_t room,
                                                            size_t* bytes);
/* Takes nothing on trust. */
TENSORSTAT_API tensorstat_code tensorstat_partial_parse(const void* from, size_t bytes, tensorstat_partial** partial);

/* ---- pairs: two tensors of one shape, compared element by element, as in <tensorstat/pair.hpp> ---- */

typedef struct tensorstat_pair tensorstat_pair; /* what is known of two tensors, or of the same part of both */

enum {
  TENSORSTAT_SCALE_B = 0,       /* |b|: NumPy's allclose */
  TENSORSTAT_SCALE_GREATER = 1  /* the greater of |a| and |b|: Python's isclose */
};

/* How two tensors are compared. */
typedef struct {
  size_t size;           /* sizeof(tensorstat_pair_request) */
  double rtol;           /* an element is within where |a - b| <= atol + rtol * scale; finite, from 0 */
  double atol;           /* the same, absolute */
  int32_t scale;         /* TENSORSTAT_SCALE_B, ...; of "max rel diff", too */
  uint64_t first_index;  /* of the first element, where the tensors are parts of larger ones */
  int32_t on;            /* TENSORSTAT_AUTO, ... */
} tensorstat_pair_request;
#define TENSORSTAT_PAIR_REQUEST {sizeof(tensorstat_pair_request), 0, 0, TENSORSTAT_SCALE_B, 0, TENSORSTAT_AUTO}

/* Compares a[i] with b[i], which has as many elements and any dtype, into `pairs`, which has room for `pair_count`.
 * `request` may be NULL. Each tensor may be wherever tensorstat_measure takes one. */
TENSORSTAT_API tensorstat_code tensorstat_compare(tensorstat_meter* meter, const tensorstat_tensor* a,
                                                  const tensorstat_tensor* b, size_t pair_count,
                                                  const tensorstat_pair_request* request, tensorstat_pair** pairs);
/* Of a pair that was compared or parsed. */
TENSORSTAT_API void tensorstat_pair_free(tensorstat_pair* pair);
/* Takes the elements of `other` into `into`, in any order, to the same bits. Dtypes and tolerance must agree. */
TENSORSTAT_API tensorstat_code tensorstat_pair_merge(tensorstat_pair* into, const tensorstat_pair* other);
/* The value of a statistic by its number; TENSORSTAT_NONE where there is none. */
TENSORSTAT_API tensorstat_code tensorstat_pair_finish(const tensorstat_pair* pair, int32_t statistic,
                                                      tensorstat_value* value);
/* The serialised form, as tensorstat_partial_serialize gives it. */
TENSORSTAT_API tensorstat_code tensorstat_pair_serialize(const tensorstat_pair* pair, void* to, size_t room, size_t* bytes);
/* Takes nothing on trust. */
TENSORSTAT_API tensorstat_code tensorstat_pair_parse(const void* from, size_t bytes, tensorstat_pair** pair);
/* The number of "max abs diff"; - or _ may stand for a space. -1 of any other text. */
TENSORSTAT_API int32_t tensorstat_pair_statistic_named(const char* name);
/* The name of 0, 1, ... ; NULL behind the last. */
TENSORSTAT_API const char* tensorstat_pair_statistic_name(int32_t statistic);

/* ---- on a caller's OpenCL queue: batches that nobody waits for ----
 *
 *     tensorstat_device_meter_open(queue, UINT64_MAX, &meter);
 *     tensorstat_submit(meter, tensors, n, &request, (void**)&written, 1, &ticket);
 *     ...                                             // the next training step
 *     tensorstat_ticket_collect(ticket, &result);     // waits only if it must
 *     tensorstat_ticket_close(ticket);
 */

typedef struct tensorstat_device_meter tensorstat_device_meter; /* a queue of the caller's, at work for tensorstat */
typedef struct tensorstat_ticket tensorstat_ticket; /* a batch under way; it may outlive its device meter */

/* On a cl_command_queue, in or out of order, which is retained; in its context and on its device. Takes at most
 * `budget_bytes` of device memory for all batches in flight together; UINT64_MAX: no limit. Any number of batches may
 * be in flight. */
TENSORSTAT_API tensorstat_code tensorstat_device_meter_open(void* queue, uint64_t budget_bytes,
                                                            tensorstat_device_meter** meter);
/* Batches under way go on; their tickets stay valid. */
TENSORSTAT_API void tensorstat_device_meter_close(tensorstat_device_meter* meter);
/* As tensorstat_meter_device_memory. */
TENSORSTAT_API void tensorstat_device_meter_memory(const tensorstat_device_meter* meter, uint64_t* current_bytes,
                                                   uint64_t* peak_bytes);

/* Enqueues the batch behind the cl_events of `wait_list`, flushes the queue and does not wait, except that the first
 * batch of a dtype and its statistics builds a kernel. The tensors (cl_mem, shared virtual memory, or host memory that
 * the device reads in place) hold their bits until the ticket's event has completed. Refused with words: digests,
 * strides, TENSORSTAT_ON_HOST, and what the budget has no room for. */
TENSORSTAT_API tensorstat_code tensorstat_submit(tensorstat_device_meter* meter, const tensorstat_tensor* tensors,
                                                 size_t tensor_count, const tensorstat_request* request,
                                                 void* const* wait_list, size_t wait_count,
                                                 tensorstat_ticket** ticket);
/* The cl_event that completes when the results are on the host. The ticket owns it: retain it to keep it longer. */
TENSORSTAT_API void* tensorstat_ticket_event(const tensorstat_ticket* ticket);
/* The results. Waits for this batch alone. After any error but TENSORSTAT_IN_USE nothing reads the tensors any more. A
 * ticket is collected once, by this or by tensorstat_ticket_collect_partials. */
TENSORSTAT_API tensorstat_code tensorstat_ticket_collect(tensorstat_ticket* ticket, tensorstat_result** result);
/* As tensorstat_ticket_collect, a partial of each tensor into `partials`, which has room for them. */
TENSORSTAT_API tensorstat_code tensorstat_ticket_collect_partials(tensorstat_ticket* ticket,
                                                                  tensorstat_partial** partials);
/* Waits for a device that still writes results. */
TENSORSTAT_API void tensorstat_ticket_close(tensorstat_ticket* ticket);

typedef struct tensorstat_pair_ticket tensorstat_pair_ticket; /* pairs under way; it may outlive its device meter */
/* As tensorstat_submit, of pairs: a[i] and b[i], as tensorstat_compare takes them. The device needs fp64. */
TENSORSTAT_API tensorstat_code tensorstat_submit_pairs(tensorstat_device_meter* meter, const tensorstat_tensor* a,
                                                       const tensorstat_tensor* b, size_t pair_count,
                                                       const tensorstat_pair_request* request, void* const* wait_list,
                                                       size_t wait_count, tensorstat_pair_ticket** ticket);
/* As tensorstat_ticket_event. */
TENSORSTAT_API void* tensorstat_pair_ticket_event(const tensorstat_pair_ticket* ticket);
/* A pair each into `pairs`, which has room for them. Waits for this batch alone; a ticket is collected once. */
TENSORSTAT_API tensorstat_code tensorstat_pair_ticket_collect(tensorstat_pair_ticket* ticket, tensorstat_pair** pairs);
/* Waits for the device where the ticket was not collected. */
TENSORSTAT_API void tensorstat_pair_ticket_close(tensorstat_pair_ticket* ticket);

/* ---- files of tensors, and rows of statistics ---- */

typedef struct tensorstat_file tensorstat_file; /* what was measured of a file */

/* Measures every tensor of a file: .npy, .npz, .safetensors, .pt, and whatever else the command reads. No more than a few dozen
 * MiB of it are held at any time. A tensor that cannot be read, or not be measured, is a fault, and the others are
 * measured all the same; it is refused where all there is are faults, with the words of the first.
 * `void_is_bfloat16` other than 0: two-byte voids of an .npy are bfloat16, as ml_dtypes writes them. */
TENSORSTAT_API tensorstat_code tensorstat_file_measure(tensorstat_meter* meter, const char* path,
                                                       const tensorstat_request* request, int void_is_bfloat16,
                                                       tensorstat_file** file);
/* Ends the life of all that the file's functions returned. */
TENSORSTAT_API void tensorstat_file_free(tensorstat_file* file);

/* What was measured of one of its tensors. What is pointed to lives until tensorstat_file_free. */
typedef struct {
  size_t size;            /* sizeof(tensorstat_file_tensor), set by the caller: no more is written */
  const char* name;       /* in its container; NULL where the file is the tensor */
  const char* data_type;  /* "float32"; "int4" and "bfloat16" also where the file's name says so */
  const uint64_t* shape;            /* outermost dimension first */
  uint32_t dimension_count;         /* of `shape` */
  uint32_t value_count;             /* as many as statistics of the request, each once */
  const tensorstat_value* values;   /* in their order */
  uint64_t data_size_bytes;         /* of its elements */
} tensorstat_file_tensor;
#define TENSORSTAT_FILE_TENSOR {sizeof(tensorstat_file_tensor), NULL, NULL, NULL, 0, 0, NULL, 0}

/* How many tensors were measured. */
TENSORSTAT_API size_t tensorstat_file_tensor_count(const tensorstat_file* file);
/* Fills `tensor`, whose `size` is set, with the one at `index`, from 0. */
TENSORSTAT_API tensorstat_code tensorstat_file_tensor_at(const tensorstat_file* file, size_t index,
                                                         tensorstat_file_tensor* tensor);
/* The words of a fault; NULL where there are no more: 0, 1, ... until NULL are all there are. */
TENSORSTAT_API const char* tensorstat_file_fault(const tensorstat_file* file, size_t index);

/* A further column of a row, such as "rank". */
typedef struct {
  const char* name;  /* "rank" */
  const char* text;  /* NULL: it is the number `whole` */
  uint64_t whole;    /* where there is no text */
} tensorstat_cell;

/* Whose tensor it was, and what was found, as in <tensorstat/rows.hpp>. A later version may have a larger one. */
typedef struct {
  size_t size;            /* of this struct, in the library's version */
  const char* op_type;    /* "Conv2D" */
  const char* op_name;    /* "Default/network/Conv2D-op12" */
  uint64_t task_id;       /* of the run; 0 where there is none */
  uint64_t stream_id;     /* that it ran on; 0 where there is none */
  uint64_t timestamp_us;  /* since the Unix epoch */
  const char* io;         /* "input" or "output" */
  uint64_t slot;          /* which input or output, from 0 */
  uint64_t data_size_bytes;        /* of the tensor's elements */
  const char* data_type;           /* "float32" */
  const uint64_t* shape;           /* outermost dimension first */
  uint32_t dimension_count;        /* of `shape` */
  uint32_t value_count;            /* of `statistics` and `values` */
  uint32_t cell_count;             /* of `cells` */
  const int32_t* statistics;       /* `value_count` numbers, for tensorstat_statistic_name; one may come twice */
  const tensorstat_value* values;  /* of these */
  const tensorstat_cell* cells;    /* of further columns */
} tensorstat_row;

/* Gets each row, in order; it, and what it points to, is gone when this returns. Other than 0: no more rows are wanted. */
typedef int (*tensorstat_each_row)(void* context, const tensorstat_row* row);

/* Reads a statistic.csv of any dialect, in pieces: memory does not grow with the file. Before an error the rows in front
 * of it have been handed over. `row_count`, of those that were, may be NULL.
 * Of a folder, reads every file of rows below it; each row then has the column "path", and where the folders are those of
 * a dump, "rank", "graph" and "iteration". An error is that of the first file that cannot be read, and the others are read
 * all the same; TENSORSTAT_UNSUPPORTED where there is no file of rows. */
TENSORSTAT_API tensorstat_code tensorstat_rows_read(const char* path, tensorstat_each_row each, void* context,
                                                    uint64_t* row_count);

/* ---- where two runs part, and where NaN and Inf began in one, as in <tensorstat/compare.hpp> ---- */

typedef struct tensorstat_answer tensorstat_answer; /* what was found */

/* How two runs are compared. */
typedef struct {
  size_t size;         /* sizeof(tensorstat_diff_options) */
  double rtol;         /* |a - b| <= atol + rtol * max(|a|, |b|) is within the tolerance; below 0: that of the dtype */
  double atol;         /* wants rtol */
  int32_t any_dtype;   /* 1: tensors of different dtypes are compared by their values; wants rtol */
  int32_t first;       /* 1: the operators where a difference begins are found, too */
  const char* tolerances; /* lines of NAME_PATTERN rtol=1e-3 atol=1e-6 dtype=any; NULL: none */
  const char* names;      /* lines of NAME_IN_A,NAME_IN_B; NULL: none */
} tensorstat_diff_options;
#define TENSORSTAT_DIFF_OPTIONS {sizeof(tensorstat_diff_options), -1, 0, 0, 0, NULL, NULL}

/* Compares two files of rows or of tensors, or two folders of them. */
TENSORSTAT_API tensorstat_code tensorstat_diff(const char* a, const char* b, const tensorstat_diff_options* options,
                                               tensorstat_answer** answer);
/* Looks for where NaN and Inf began. `nan_only` 0: NaN, and Inf that did not end; 2: Inf that ended, as that of a mask
   does in a softmax, too; any other: Inf is no fault. */
TENSORSTAT_API tensorstat_code tensorstat_origin(const char* path, int nan_only, tensorstat_answer** answer);
/* 1 where the two differ, or something is wrong in a run; else 0. */
TENSORSTAT_API int tensorstat_answer_found(const tensorstat_answer* answer);
/* All of it, as `tensorstat diff` and `tensorstat origin` write it with --format json. Lives as long as the answer. */
TENSORSTAT_API const char* tensorstat_answer_json(const tensorstat_answer* answer);
/* What could not be read, while the rest was: 0, 1, ... until NULL. */
TENSORSTAT_API const char* tensorstat_answer_fault(const tensorstat_answer* answer, size_t index);
/* Gives the answer back. NULL is nothing to do. */
TENSORSTAT_API void tensorstat_answer_free(tensorstat_answer* answer);

/* ---- a dump session, for a framework's backend ---- */

typedef struct tensorstat_session tensorstat_session;   /* one for each config; any number of ranks and threads */
typedef struct tensorstat_operator tensorstat_operator; /* owned by its session */

enum {
  TENSORSTAT_DIALECT_OURS = 0,
  TENSORSTAT_DIALECT_MINDSPORE_27 = 1,
  TENSORSTAT_DIALECT_MINDSPORE_NEXT = 2,
  TENSORSTAT_DIALECT_CANN = 3,       /* of no session: its files are each of one run of an operator */
  TENSORSTAT_DIALECT_MSPROBE_O2 = 4
};
enum { TENSORSTAT_SYNC_NEVER = 0, TENSORSTAT_SYNC_CLOSE = 1, TENSORSTAT_SYNC_ROW = 2 };
enum { TENSORSTAT_BY_RANK = 0, TENSORSTAT_BY_STEP = 1 };
enum { TENSORSTAT_INPUT = 0, TENSORSTAT_OUTPUT = 1 };
enum {
  TENSORSTAT_PLAIN = 0,     /* as the tensor's dtype says */
  TENSORSTAT_INT4 = 1,      /* two values a byte, low half first; the tensor's dtype and element_count are not read */
  TENSORSTAT_UINT1 = 2,     /* eight values a byte, most significant bit first */
  TENSORSTAT_COMPLEX64 = 3, /* saved; has no statistics */
  TENSORSTAT_COMPLEX128 = 4
};

/* How a session dumps, beside what its config says. */
typedef struct {
  size_t size;                /* sizeof(tensorstat_session_options) */
  const tensorstat_meter_options* meter;  /* its `log` is the session's; NULL: TENSORSTAT_METER_OPTIONS */
  int32_t dialect;            /* of statistic.csv: TENSORSTAT_DIALECT_OURS, ... */
  int32_t layout;             /* of the folders: TENSORSTAT_BY_RANK or TENSORSTAT_BY_STEP */
  int32_t sync;               /* when the disk is made to have what is written */
  uint64_t memory_bytes;      /* host memory for tensors whose bits outlive the hand-over; 0: none do */
  const char* path;           /* takes the place of the config's; NULL: the config's */
  int32_t names_are_escaped;  /* 1: operators have the names of files, in which / \ . and space are _ */
  const char* device_target;      /* "CPU", "Ascend", ...; "": not said. "CPU": support_device is not looked at */
  const char* framework_version;  /* "" */
  const char* framework;          /* for msprobe's dump.json: "pytorch", "mindtorch"; "": "mindspore" */
  uint32_t world_size;            /* how many ranks the job has, for TorchAir's folders */
  int32_t device_rows;  /* 1: with stat_calc_mode "device", rows as MindSpore has them from its device: see dump.hpp */
} tensorstat_session_options;
#define TENSORSTAT_SESSION_OPTIONS                                                                           \
  {sizeof(tensorstat_session_options), NULL, TENSORSTAT_DIALECT_MINDSPORE_27, TENSORSTAT_BY_RANK,            \
   TENSORSTAT_SYNC_CLOSE, (uint64_t)256 << 20, NULL, 0, "", "", "", 1, 0}

/* Where in the training a tensor comes from. */
typedef struct {
  size_t size;  /* sizeof(tensorstat_place) */
  uint32_t rank;       /* of the job */
  uint32_t device;     /* what support_device counts */
  uint32_t graph;      /* the graph's number */
  uint64_t iteration;  /* from 0; the config's initial_iteration is added */
  int32_t constants;   /* 1: constants of the graph */
} tensorstat_place;
#define TENSORSTAT_PLACE {sizeof(tensorstat_place), 0, 0, 0, 0, 0}

/* An input or output of an operator. */
typedef struct {
  size_t size;  /* sizeof(tensorstat_dump_tensor) */
  const tensorstat_tensor* tensor; /* its bits */
  const uint64_t* shape;  /* in values */
  uint32_t dimension_count; /* of `shape` */
  int32_t io;             /* TENSORSTAT_INPUT or TENSORSTAT_OUTPUT */
  uint32_t slot;          /* which input or output, from 0 */
  int32_t stored;         /* TENSORSTAT_PLAIN, ... */
  uint64_t timestamp_us;  /* since the Unix epoch; 0: now */
  const char* format;     /* the device's; NULL: "DefaultFormat" */
  /* With `release`, the bits stay as they are until it has been called with `owner`, once, from any thread; nothing is
   * copied. Without, they may change as soon as tensorstat_collect returns. */
  void (*release)(void* owner);
  void* owner; /* what `release` is called with */
  int32_t requires_grad; /* 1: so msprobe's dump.json of PyTorch has it */
  /* NULL, or where to put what is known when tensorstat_collect returns: TENSORSTAT_MEASURED where the session has measured
   * the tensor, with TENSORSTAT_HAS_NAN and TENSORSTAT_HAS_INF as its statistics tell. Else it is left as it is. */
  uint32_t* faults;
} tensorstat_dump_tensor;
enum { TENSORSTAT_HAS_NAN = 1, TENSORSTAT_HAS_INF = 2, TENSORSTAT_MEASURED = 4 };
#define TENSORSTAT_DUMP_TENSOR \
  {sizeof(tensorstat_dump_tensor), NULL, NULL, 0, TENSORSTAT_OUTPUT, 0, TENSORSTAT_PLAIN, 0, NULL, NULL, NULL, 0, NULL}

/* Of the config that MINDSPORE_DUMP_CONFIG names; a session that wants nothing where it is not set. `options` may be
 * NULL. */
TENSORSTAT_API tensorstat_code tensorstat_session_from_environment(const tensorstat_session_options* options,
                                                                   tensorstat_session** session);
/* Of a config in a file. */
TENSORSTAT_API tensorstat_code tensorstat_session_from_file(const char* path, const tensorstat_session_options* options,
                                                            tensorstat_session** session);
/* Of a config as a text. */
TENSORSTAT_API tensorstat_code tensorstat_session_from_json(const char* text, const tensorstat_session_options* options,
                                                            tensorstat_session** session);
/* 0 where the session wants nothing at all. */
TENSORSTAT_API int tensorstat_session_enabled(const tensorstat_session* session);

/* What a backend has to know of a config before it runs operators. The same for a session's life. */
typedef struct {
  size_t size;                     /* sizeof(tensorstat_demands), set by the caller: no more is written */
  int32_t tensors;                 /* 1: they are saved */
  int32_t statistics;              /* 1: they are measured */
  int32_t whole_operators;         /* 1: all inputs and outputs of a run have to come in one call */
  int32_t synchronised_operators;  /* 1: each operator has to be waited for, and whether it failed to be said */
  int32_t device_format;           /* 1: tensors are wanted in the device's format, 0: as the host has them */
  int32_t kernel_args;             /* 1: tensorstat_save_kernel_args is wanted */
} tensorstat_demands;
/* Fills `demands`, whose `size` is set. */
TENSORSTAT_API tensorstat_code tensorstat_session_demands(const tensorstat_session* session,
                                                          tensorstat_demands* demands);
/* The folder below which everything is left; "" in a session that wants nothing. Writes at most `room` bytes, the final
 * 0 among them, and returns how many bytes the text has without it. */
TENSORSTAT_API size_t tensorstat_session_path(const tensorstat_session* session, char* text, size_t room);
/* The same of the folder of a rank, for what is its own and of no iteration. */
TENSORSTAT_API size_t tensorstat_session_rank_folder(const tensorstat_session* session, uint32_t rank, char* text,
                                                     size_t room);
/* The same of the folder that the files of this place go to now; "" where its name is made up by writing. */
TENSORSTAT_API size_t tensorstat_session_folder(const tensorstat_session* session, const tensorstat_place* place,
                                                char* text, size_t room);
/* With a data_dump.json: from the first call of either on, the config's iterations do not count, and every step between
 * start and stop is dumped. msprobe's `step` and CANN's `dump_step` go on to count. With `enable`, stop returns when all that came before is in its files, and then what tensorstat_session_flush
 * returns; else 1. */
TENSORSTAT_API void tensorstat_session_start(tensorstat_session* session);
/* The other of the two. */
TENSORSTAT_API int tensorstat_session_stop(tensorstat_session* session);
/* From now on this is added to every place's iteration, in place of the config's initial_iteration. */
TENSORSTAT_API void tensorstat_session_set_initial_iteration(tensorstat_session* session, uint64_t iteration);

/* An operator by its type and full scope name, found or made: ask once and keep it. `set_dump`: whether the user
 * flagged it, for dump_mode 2. NULL in a session that wants nothing; every function takes it and wants nothing then. */
TENSORSTAT_API const tensorstat_operator* tensorstat_operator_named(tensorstat_session* session, const char* type,
                                                                    const char* full_scope_name, int set_dump,
                                                                    uint64_t stream_id, uint64_t task_id);
/* For stack.json and construct.json of msprobe: the frames of the stack that the operator comes from, and the module that
 * it is a part of, NULL or "" where there is none. Said before its first run. An error only of missing arguments. */
TENSORSTAT_API tensorstat_code tensorstat_describe(tensorstat_session* session, const tensorstat_operator* op,
                                                   const char* const* stack, size_t frame_count, const char* parent);
/* Whether anything of this operator is wanted at this place: a hint to save work. `failed`: whether it failed. */
TENSORSTAT_API int tensorstat_wants(const tensorstat_session* session, const tensorstat_place* place,
                                    const tensorstat_operator* op, int failed);
/* The same of its inputs (`io` is TENSORSTAT_INPUT) or of its outputs alone. */
TENSORSTAT_API int tensorstat_wants_io(const tensorstat_session* session, const tensorstat_place* place,
                                       const tensorstat_operator* op, int32_t io, int failed);
/* Hands the tensors of one run of an operator over. An error is one of the arguments; faults of disk and device are
 * counted. After an error nothing was taken and no `release` is called. */
TENSORSTAT_API tensorstat_code tensorstat_collect(tensorstat_session* session, const tensorstat_place* place,
                                                  const tensorstat_operator* op, const tensorstat_dump_tensor* tensors,
                                                  size_t tensor_count, int failed);
/* The same with the layout of msprobe's call, as DumpSession::collect of dump.hpp takes it; NULL or "": none. */
TENSORSTAT_API tensorstat_code tensorstat_collect_call(tensorstat_session* session, const tensorstat_place* place,
                                                       const tensorstat_operator* op,
                                                       const tensorstat_dump_tensor* tensors, size_t tensor_count,
                                                       int failed, const char* layout);
/* With save_kernel_args in the config: the arguments of an operator, by name and value. Both lists have `count` texts. */
TENSORSTAT_API tensorstat_code tensorstat_save_kernel_args(tensorstat_session* session, const tensorstat_place* place,
                                                           const tensorstat_operator* op, const char* const* names,
                                                           const char* const* values, size_t count);
/* The operators of a compiled graph, by full scope name, in the order of their execution. */
TENSORSTAT_API tensorstat_code tensorstat_save_execution_order(tensorstat_session* session, uint32_t rank,
                                                               uint32_t graph, const char* const* full_scope_names,
                                                               size_t count);
/* The iteration of this rank and graph is over. With `enable`, returns when all of it is in its files, and then what
 * tensorstat_session_flush returns; else 1. */
TENSORSTAT_API int tensorstat_step_end(tensorstat_session* session, const tensorstat_place* place);
/* Returns when all that was handed over is in its file, waits for the disk, or is lost and counted: 1 where all of it
 * is in its file, 0 while anything waits and once anything was lost. */
TENSORSTAT_API int tensorstat_session_flush(tensorstat_session* session);
/* Flushes, as the last try for what waits for the disk: after it the counters are final, and the session wants nothing.
 * Returns what tensorstat_session_flush returns. The session is still to be given back. */
TENSORSTAT_API int tensorstat_session_end(tensorstat_session* session);
/* The same, where it has not been done, and gives the session and its operators back. */
TENSORSTAT_API void tensorstat_session_close(tensorstat_session* session);

/* What became of all that was handed over. Right at any time. */
typedef struct {
  size_t size;                /* sizeof(tensorstat_counters), set by the caller: no more is written */
  uint64_t operator_count;    /* handed over and wanted */
  uint64_t tensor_count;      /* measured, saved, or both: all that the config wants of them */
  uint64_t overflow_count;    /* operators found to overflow */
  uint64_t row_count;         /* that a statistic.csv has */
  uint64_t lost_row_count;    /* that the disk did not take in the end */
  uint64_t file_count;        /* files of tensors written */
  uint64_t lost_tensor_count; /* of which something that the config wants was not made, because of faults */
  uint64_t stall_count;       /* hand-overs that did not fit memory_bytes */
  uint64_t stalled_us;        /* what they cost their threads */
  uint64_t held_bytes;        /* of memory_bytes, now */
  uint64_t most_held_bytes;   /* and at most so far */
  uint64_t waiting_row_count; /* in memory, because the disk does not take them; they are tried again */
  uint64_t lost_file_count;   /* files of tensors that could not be written */
  uint64_t complex_count;     /* complex tensors where only statistics are wanted: they have none */
} tensorstat_counters;
/* Fills `counters`, whose `size` is set. */
TENSORSTAT_API tensorstat_code tensorstat_session_counters(const tensorstat_session* session,
                                                           tensorstat_counters* counters);

#ifdef __cplusplus
}
#endif

#endif
