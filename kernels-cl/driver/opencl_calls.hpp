// OpenCL is loaded when it is first called: a program, or Python, starts without it, and on a machine without it. So no
// function of OpenCL is called by its own name. cl.hpp includes this before OpenCL's C++ bindings, and in them and in
// all that includes cl.hpp the names below are this library's own functions.
#pragma once

#define OPENCL_CALL(result, name, parameters, arguments) result tensorstat_##name parameters;
#include "kernels-cl/driver/opencl_calls.inc"
#undef OPENCL_CALL

// A macro cannot define macros: these are the names of opencl_calls.inc once more.
#define clBuildProgram tensorstat_clBuildProgram
#define clCreateBuffer tensorstat_clCreateBuffer
#define clCreateCommandQueue tensorstat_clCreateCommandQueue
#define clCreateContext tensorstat_clCreateContext
#define clCreateKernel tensorstat_clCreateKernel
#define clCreateProgramWithBinary tensorstat_clCreateProgramWithBinary
#define clCreateProgramWithSource tensorstat_clCreateProgramWithSource
#define clEnqueueCopyBuffer tensorstat_clEnqueueCopyBuffer
#define clEnqueueFillBuffer tensorstat_clEnqueueFillBuffer
#define clEnqueueMarkerWithWaitList tensorstat_clEnqueueMarkerWithWaitList
#define clEnqueueNDRangeKernel tensorstat_clEnqueueNDRangeKernel
#define clEnqueueNativeKernel tensorstat_clEnqueueNativeKernel
#define clEnqueueReadBuffer tensorstat_clEnqueueReadBuffer
#define clEnqueueWriteBuffer tensorstat_clEnqueueWriteBuffer
#define clFinish tensorstat_clFinish
#define clFlush tensorstat_clFlush
#define clGetCommandQueueInfo tensorstat_clGetCommandQueueInfo
#define clGetContextInfo tensorstat_clGetContextInfo
#define clGetDeviceIDs tensorstat_clGetDeviceIDs
#define clGetDeviceInfo tensorstat_clGetDeviceInfo
#define clGetEventInfo tensorstat_clGetEventInfo
#define clGetMemObjectInfo tensorstat_clGetMemObjectInfo
#define clGetPlatformIDs tensorstat_clGetPlatformIDs
#define clGetPlatformInfo tensorstat_clGetPlatformInfo
#define clGetProgramBuildInfo tensorstat_clGetProgramBuildInfo
#define clGetProgramInfo tensorstat_clGetProgramInfo
#define clReleaseCommandQueue tensorstat_clReleaseCommandQueue
#define clReleaseContext tensorstat_clReleaseContext
#define clReleaseDevice tensorstat_clReleaseDevice
#define clReleaseEvent tensorstat_clReleaseEvent
#define clReleaseKernel tensorstat_clReleaseKernel
#define clReleaseMemObject tensorstat_clReleaseMemObject
#define clReleaseProgram tensorstat_clReleaseProgram
#define clRetainCommandQueue tensorstat_clRetainCommandQueue
#define clRetainContext tensorstat_clRetainContext
#define clRetainDevice tensorstat_clRetainDevice
#define clRetainEvent tensorstat_clRetainEvent
#define clRetainKernel tensorstat_clRetainKernel
#define clRetainMemObject tensorstat_clRetainMemObject
#define clRetainProgram tensorstat_clRetainProgram
#define clSetKernelArg tensorstat_clSetKernelArg
#define clSetKernelExecInfo tensorstat_clSetKernelExecInfo
#define clSetMemObjectDestructorCallback tensorstat_clSetMemObjectDestructorCallback
#define clWaitForEvents tensorstat_clWaitForEvents
