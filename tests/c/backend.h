/* A whole dump backend in C: a model of two operators, three steps, one NaN. For C11, and for C++14 of the old ABI. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tensorstat/tensorstat.h>

static int complain(const char* doing) {
  fprintf(stderr, "%s: %s\n", doing, tensorstat_last_error());
  return 1;
}

static void count_release(void* owner) { ++*(int*)owner; }

/* Measures in one batch, in pieces and in parts. All three give the same values. */
static int measure_everywhere(void) {
  float data[1000];
  int i;
  for (i = 0; i < 1000; ++i) data[i] = (float)i * 0.5f - 100.0f;
  data[7] = (float)NAN;

  tensorstat_meter_options options = TENSORSTAT_METER_OPTIONS;
  options.thread_count = 1;
  tensorstat_meter* meter = NULL;
  if (tensorstat_meter_open(&options, &meter)) return complain("opening a meter");
  tensorstat_request request = TENSORSTAT_REQUEST;
  request.statistics = "count,nan count,negative-zero-count,max,l2norm,md5";
  request.on = TENSORSTAT_ON_HOST;
  tensorstat_tensor tensor = TENSORSTAT_TENSOR;
  tensor.dtype = tensorstat_dtype_named("float32");
  tensor.element_count = 1000;
  tensor.address = data;
  tensorstat_result* whole = NULL;
  if (tensorstat_measure(meter, &tensor, 1, &request, &whole)) return complain("measuring");
  const tensorstat_value* values = tensorstat_result_values(whole, 0);
  if (values[0].is.whole != 1000 || values[1].is.whole != 1 || values[2].is.whole != 199 || !isnan(values[3].is.real)) {
    return fprintf(stderr, "wrong values\n"), 1;
  }
  if (strcmp(tensorstat_result_engine(whole, 0, 0), "host") != 0) return fprintf(stderr, "wrong engine\n"), 1;

  tensorstat_stream* stream = NULL;
  tensorstat_result* streamed = NULL;
  if (tensorstat_stream_open(meter, tensor.dtype, &request, &stream)) return complain("opening a stream");
  if (tensorstat_stream_append(stream, data, 300 * sizeof *data)) return complain("appending");
  if (tensorstat_stream_append(stream, data + 300, 700 * sizeof *data)) return complain("appending");
  if (tensorstat_stream_finish(stream, &streamed)) return complain("finishing");
  for (i = 0; i < 6; ++i) {
    char one[64], other[64];
    tensorstat_value_text(&values[i], one, sizeof one);
    tensorstat_value_text(&tensorstat_result_values(streamed, 0)[i], other, sizeof other);
    if (strcmp(one, other) != 0) return fprintf(stderr, "%s is not %s\n", one, other), 1;
  }
  tensorstat_stream_close(stream);

  /* Two parts. The second one is serialised. */
  request.statistics = "max,l2norm,nan count,first nan index";
  tensorstat_tensor parts[2] = {tensor, tensor};
  parts[0].element_count = 300;
  parts[1].element_count = 700;
  parts[1].address = data + 300;
  tensorstat_partial* partials[2];
  if (tensorstat_fold(meter, parts, 2, &request, partials)) return complain("folding");
  unsigned char bytes[4096];
  size_t size = 0;
  tensorstat_partial* arrived = NULL;
  if (tensorstat_partial_serialize(partials[1], bytes, sizeof bytes, &size)) return complain("serialising");
  if (tensorstat_partial_parse(bytes, size, &arrived)) return complain("parsing");
  if (tensorstat_partial_move_to(arrived, 300)) return complain("moving");
  if (tensorstat_partial_merge(partials[0], arrived)) return complain("merging");
  tensorstat_value nans, place;
  if (tensorstat_partial_finish(partials[0], tensorstat_statistic_named("nan count"), &nans)) return complain("finishing");
  if (nans.is.whole != 1) return fprintf(stderr, "wrong merge\n"), 1;
  const int32_t first_nan = tensorstat_statistic_named("first nan index");
  if (tensorstat_partial_finish(partials[0], first_nan, &place)) return complain("finishing");
  if (place.kind != TENSORSTAT_UNSIGNED || !isnan(data[place.is.whole])) return fprintf(stderr, "wrong place\n"), 1;
  tensorstat_partial_free(partials[0]);
  tensorstat_partial_free(partials[1]);

  /* The value of `exponents` points to its counts. */
  request.statistics = "exponents";
  if (tensorstat_fold(meter, &tensor, 1, &request, partials)) return complain("folding");
  tensorstat_value list;
  if (tensorstat_partial_finish(partials[0], tensorstat_statistic_named("exponents"), &list)) return complain("finishing");
  uint64_t counted = 0;
  int32_t exponent = 0;
  size_t binade;
  for (binade = 0; binade < tensorstat_exponents_binade_count(&list); ++binade) {
    counted += tensorstat_exponents_binade(&list, binade, &exponent);
  }
  if (list.kind != TENSORSTAT_EXPONENTS || exponent != 8 || counted != 998) return fprintf(stderr, "wrong binades\n"), 1;
  if (tensorstat_exponents_count(&list, TENSORSTAT_ZERO) != 1) return fprintf(stderr, "wrong zeros\n"), 1;
  if (tensorstat_exponents_count(&list, TENSORSTAT_NAN) != 1) return fprintf(stderr, "wrong NaN\n"), 1;
  if (tensorstat_exponents_binade_count(&nans) != 0) return fprintf(stderr, "binades of a number\n"), 1;
  tensorstat_partial_free(partials[0]);

  /* Quantiles with any number. */
  request.statistics = "p50,p100";
  const int32_t median = tensorstat_statistic_named("p50"), last = tensorstat_statistic_named("p100");
  if (strcmp(tensorstat_statistic_name(last), "p100") != 0) return fprintf(stderr, "wrong name\n"), 1;
  if (tensorstat_statistic_name(last + 1) != NULL) return fprintf(stderr, "a name of no statistic\n"), 1;
  if (tensorstat_fold(meter, &tensor, 1, &request, partials)) return complain("folding");
  tensorstat_value middle, greatest;
  if (tensorstat_partial_finish(partials[0], median, &middle)) return complain("finishing");
  if (tensorstat_partial_finish(partials[0], last, &greatest)) return complain("finishing");
  if (fabs(middle.is.real - 150.0) > 150.0 / 256) return fprintf(stderr, "wrong median\n"), 1;
  if (greatest.is.real != 399.5) return fprintf(stderr, "wrong p100\n"), 1;
  tensorstat_partial_free(partials[0]);
  tensorstat_partial_free(arrived);

  /* A refused call sets an error message and does not change its output. */
  tensorstat_result* none = NULL;
  request.statistics = "maximum";
  if (tensorstat_measure(meter, &tensor, 1, &request, &none) != TENSORSTAT_INVALID || none != NULL) return 1;
  if (strstr(tensorstat_last_error(), "maximum") == NULL) return fprintf(stderr, "no words\n"), 1;
  request.statistics = "max";
  tensor.size = 0;
  if (tensorstat_measure(meter, &tensor, 1, &request, &none) != TENSORSTAT_INVALID || none != NULL) return 1;

  tensorstat_result_free(whole);
  tensorstat_result_free(streamed);
  tensorstat_meter_close(meter);
  return 0;
}

/* A session's answers to its backend, and switching the dump on and off during training. */
static int ask_and_switch(tensorstat_session* session, const tensorstat_operator* op, const char* folder) {
  tensorstat_demands demands;
  demands.size = sizeof demands;
  if (tensorstat_session_demands(session, &demands)) return complain("asking what is demanded");
  if (!demands.statistics || !demands.kernel_args) return 1;
  if (demands.tensors + demands.whole_operators + demands.synchronised_operators + demands.device_format != 0) return 1;
  demands.size = 0;
  if (tensorstat_session_demands(session, &demands) != TENSORSTAT_INVALID) return 1;
  char text[1024], wanted[1100], few[4] = "???";
  if (tensorstat_session_path(session, text, sizeof text) != strlen(folder) || strcmp(text, folder) != 0) return 1;
  if (tensorstat_session_path(session, few, sizeof few) != strlen(folder) || strncmp(few, folder, 3) != 0) return 1;
  snprintf(wanted, sizeof wanted, "%s/rank_3", folder);
  if (tensorstat_session_rank_folder(session, 3, text, sizeof text) == 0 || strcmp(text, wanted) != 0) return 1;
  tensorstat_place place = TENSORSTAT_PLACE;
  place.iteration = 1;
  snprintf(wanted, sizeof wanted, "%s/rank_0/Net/0/1", folder);
  if (tensorstat_session_folder(session, &place, text, sizeof text) == 0 || strcmp(text, wanted) != 0) return 1;
  if (tensorstat_session_folder(session, NULL, text, sizeof text) != 0 || text[0] != 0) return 1;
  tensorstat_session_set_initial_iteration(session, 1);
  if (!tensorstat_wants(session, &place, op, 0)) return fprintf(stderr, "iteration 1 is not counted as 2\n"), 1;
  tensorstat_session_start(session);
  tensorstat_session_set_initial_iteration(session, 0);
  if (!tensorstat_wants(session, &place, op, 0)) return fprintf(stderr, "start was not heard\n"), 1;
  if (!tensorstat_session_stop(session)) return 1;
  if (tensorstat_wants(session, &place, op, 0)) return fprintf(stderr, "stop was not heard\n"), 1;
  return 0;
}

static int dump_into(const char* folder) {
  char config[1024];
  snprintf(config, sizeof config,
           "{\"common_dump_settings\": {\"dump_mode\": 0, \"path\": \"%s\", \"net_name\": \"Net\", \"iteration\": \"0|2\","
           " \"input_output\": 0, \"kernels\": [], \"support_device\": [0], \"saved_data\": \"statistic\","
           " \"statistic_category\": [\"max\", \"nan count\"]}, \"e2e_dump_settings\": {\"enable\": true, \"save_kernel_args\": true}}",
           folder);
  tensorstat_session_options options = TENSORSTAT_SESSION_OPTIONS;
  options.dialect = TENSORSTAT_DIALECT_OURS;
  tensorstat_session* session = NULL;
  if (tensorstat_session_from_json(config, &options, &session)) return complain("opening a session");
  const tensorstat_operator* relu = tensorstat_operator_named(session, "ReLU", "Default/net/ReLU-op1", 0, 0, 0);
  const char* const order[2] = {"Default/net/Conv2D-op0", "Default/net/ReLU-op1"};
  if (tensorstat_save_execution_order(session, 0, 0, order, 2)) return complain("saving an execution order");
  if (tensorstat_save_execution_order(session, 0, 0, NULL, 2) != TENSORSTAT_INVALID) return 1;
  float x[4] = {-1, 0, 1, 2}, y[4];
  int step, i, released = 0, handed = 0;
  for (step = 0; step < 3; ++step) {
    tensorstat_place place = TENSORSTAT_PLACE;
    place.iteration = (uint64_t)step;
    for (i = 0; i < 4; ++i) y[i] = step == 2 && i == 3 ? (float)NAN : x[i] > 0 ? x[i] : 0;
    if (tensorstat_wants(session, &place, relu, 0)) {
      const uint64_t shape[2] = {2, 2};
      tensorstat_tensor bits[2] = {TENSORSTAT_TENSOR, TENSORSTAT_TENSOR};
      bits[0].dtype = bits[1].dtype = tensorstat_dtype_named("float32");
      bits[0].element_count = bits[1].element_count = 4;
      bits[0].address = x;
      bits[1].address = y;
      tensorstat_dump_tensor tensors[2] = {TENSORSTAT_DUMP_TENSOR, TENSORSTAT_DUMP_TENSOR};
      for (i = 0; i < 2; ++i) {
        tensors[i].tensor = &bits[i];
        tensors[i].shape = shape;
        tensors[i].dimension_count = 2;
      }
      tensors[0].io = TENSORSTAT_INPUT;
      tensors[0].release = count_release;
      tensors[0].owner = &released;
      ++handed;
      if (!tensorstat_wants_io(session, &place, relu, TENSORSTAT_INPUT, 0)) return fprintf(stderr, "no inputs\n"), 1;
      if (tensorstat_wants_io(session, &place, relu, 2, 0)) return fprintf(stderr, "neither in nor out\n"), 1;
      const char *name = "alpha", *value = "0.5";
      if (tensorstat_save_kernel_args(session, &place, relu, &name, &value, 1)) return complain("saving arguments");
      if (tensorstat_collect(session, &place, relu, tensors, 2, 0)) return complain("collecting");
    }
    if (!tensorstat_step_end(session, &place)) return fprintf(stderr, "a step was not written\n"), 1;
  }
  tensorstat_counters counters;
  counters.size = sizeof counters;
  if (tensorstat_session_counters(session, &counters)) return complain("counting");
  if (!tensorstat_session_flush(session)) return fprintf(stderr, "not everything was written\n"), 1;
  if (ask_and_switch(session, relu, folder)) return fprintf(stderr, "what the session says of itself is wrong\n"), 1;
  tensorstat_session_close(session);
  if (counters.waiting_row_count + counters.lost_file_count + counters.complex_count != 0) return 1;
  if (handed != 2 || released != 2 || counters.row_count != 4) {
    return fprintf(stderr, "%d handed over, %d released, %d rows\n", handed, released, (int)counters.row_count), 1;
  }
  return 0;
}

static int run_backend(int argc, char** argv) {
  if (argc != 2) return fprintf(stderr, "usage: backend FOLDER\n"), 2;
  return measure_everywhere() || dump_into(argv[1]);
}
