/* SPDX-License-Identifier: Apache-2.0 */
/* tensorstat in C, whole: the core, and files of tensors, rows of statistics, answers about runs, and dump sessions.
 * <tensorstat/core.h> has the rules for errors, structs, handles and threads. libtensorstat.so has all functions of both
 * headers. <tensorstat/dump.hpp> describes what a session does; this header adds what C needs.
 */
#ifndef TENSORSTAT_H
#define TENSORSTAT_H

#include <tensorstat/core.h>

#ifdef __cplusplus
extern "C" {
#endif

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
 * For a folder, or a store ("runs.db", or "runs.db//a" for its run "a"), reads every file of rows in it. Each row then
 * has the column "path"; in the folders of a dump also "rank", "graph" and "iteration". If files cannot be read, the others are still read, and the error is the
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
 * a row, 48 with a digest. */
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
/* A CUDA graph that is captured while a session is open. See DumpSession::begin_capture in dump.hpp. */
typedef struct tensorstat_graph tensorstat_graph;
/* From here to tensorstat_end_capture, tensorstat_collect adds the tensors whose stream is being captured to a graph.
 * *graph is NULL if there will be no rows. */
TENSORSTAT_API tensorstat_code tensorstat_begin_capture(tensorstat_session* session, tensorstat_graph** graph);
/* Ends what tensorstat_begin_capture began; else does nothing. */
TENSORSTAT_API void tensorstat_end_capture(tensorstat_session* session);
/* Makes the rows of the graph's tensors. Call it once behind each replay on this stream. `iteration`: the rows' own. The
 * numbers of tensors are theirs + `added_to_numbers`. Returns 0 if rows are lost. */
TENSORSTAT_API int tensorstat_replayed(tensorstat_session* session, tensorstat_graph* graph, uint64_t iteration,
                                       void* stream, uint64_t added_to_numbers);
/* Call it when the CUDA graph is destroyed and its last replay is over. It may outlive the session. NULL: nothing. */
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
