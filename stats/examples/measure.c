/* Statistics of one tensor, in C.
 *
 *     cc measure.c $(pkg-config --cflags --libs tensorstat) && ./a.out
 */
#include <math.h>
#include <stdio.h>
#include <tensorstat/tensorstat.h>

int main(void) {
  float gradient[6] = {0.5f, -1.5f, 2.0f, 0.0f, 3.0f, 1.0f};
  gradient[4] = (float)NAN;

  tensorstat_meter* meter = NULL;
  tensorstat_result* result = NULL;
  if (tensorstat_meter_open(NULL, &meter)) return fprintf(stderr, "%s\n", tensorstat_last_error()), 1;

  tensorstat_tensor tensor = TENSORSTAT_TENSOR;
  tensor.dtype = tensorstat_dtype_named("float32");
  tensor.element_count = 6;
  tensor.address = gradient;
  tensorstat_request request = TENSORSTAT_REQUEST;
  request.statistics = "max,count,nan count,negative zero count";

  if (tensorstat_measure(meter, &tensor, 1, &request, &result)) {
    return fprintf(stderr, "%s\n", tensorstat_last_error()), 1;
  }
  const tensorstat_value* values = tensorstat_result_values(result, 0);
  for (size_t i = 0; i < tensorstat_result_statistic_count(result); ++i) {
    char text[64];
    tensorstat_value_text(&values[i], text, sizeof text);
    printf("%s: %s\n", tensorstat_statistic_name(tensorstat_result_statistic(result, i)), text);
  }
  tensorstat_result_free(result);
  tensorstat_meter_close(meter);
  return 0;
}
