/* Measures a tensor in OpenCL memory on the queue that wrote it. Nothing waits until the values are read.
 *
 *     cc callers_queue.c $(pkg-config --cflags --libs tensorstat OpenCL) && ./a.out */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <tensorstat/tensorstat.h>

enum { kElements = 1 << 16 };

static const char* const kText =
    "kernel void forward(global float* x) { x[get_global_id(0)] = get_global_id(0) % 5 - 2.0f; }";

static int complain(const char* words) { return fprintf(stderr, "%s\n", words), 1; }

int main(void) {
  cl_platform_id platform;
  cl_device_id device;
  if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
    return puts("no OpenCL device"), 0;
  }
  cl_int code = 0;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  cl_mem activation = clCreateBuffer(context, CL_MEM_READ_WRITE, kElements * sizeof(float), NULL, &code);
  const char* text = kText;
  cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
  if (code || clBuildProgram(program, 1, &device, "", NULL, NULL)) return complain("OpenCL failed");
  cl_kernel kernel = clCreateKernel(program, "forward", &code);
  if (code || clSetKernelArg(kernel, 0, sizeof activation, &activation)) return complain("OpenCL failed");

  tensorstat_device_meter* meter = NULL;
  if (tensorstat_device_meter_open(queue, UINT64_MAX, &meter)) return complain(tensorstat_last_error());

  const size_t size = kElements;
  cl_event written;
  if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, &written)) return complain("OpenCL failed");
  tensorstat_tensor tensor = TENSORSTAT_TENSOR;
  tensor.dtype = tensorstat_dtype_named("float32");
  tensor.element_count = kElements;
  tensor.where = TENSORSTAT_CL_BUFFER;
  tensor.address = activation;
  tensorstat_request request = TENSORSTAT_REQUEST;
  request.statistics = "max,min,zero count";
  void* wait_list[] = {written};
  tensorstat_ticket* ticket = NULL;
  if (tensorstat_submit(meter, &tensor, 1, &request, wait_list, 1, &ticket)) return complain(tensorstat_last_error());

  /* ... enqueue the next training step here; it may overwrite `activation` after tensorstat_ticket_event ... */

  tensorstat_result* result = NULL;
  if (tensorstat_ticket_collect(ticket, &result)) return complain(tensorstat_last_error());
  const tensorstat_value* values = tensorstat_result_values(result, 0);
  printf("max %g, min %g, %d zeros\n", values[0].is.real, values[1].is.real, (int)values[2].is.whole);

  tensorstat_result_free(result);
  tensorstat_ticket_close(ticket);
  tensorstat_device_meter_close(meter);
  clReleaseEvent(written);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseMemObject(activation);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return 0;
}
