#include <stdio.h>
#include <tensorstat/core.h>

int main() {
  tensorstat_meter* meter;
  if (tensorstat_meter_open(NULL, &meter)) return 1;
  tensorstat_tensor tensor = TENSORSTAT_TENSOR;
  tensor.dtype = tensorstat_dtype_named("uint8");
  tensor.element_count = 2;
  tensor.address = "ab";
  const tensorstat_request request = TENSORSTAT_REQUEST;
  tensorstat_result* result;
  if (tensorstat_measure(meter, &tensor, 1, &request, &result)) return 1;
  printf("%d\n", (int)tensorstat_result_values(result, 0)[0].is.whole);
  tensorstat_result_free(result);
  tensorstat_meter_close(meter);
}
