"""Twenty small PyOpenCL programs, each with one launch that makes the first NaN: `planted.py NAME` runs one, and prints what a user
would look at. GUILTY has the kernel and the number of its launch."""
import sys

import numpy as np
import pyopencl as cl

GUILTY = {}
PROGRAMS = {}
N = 1024


def planted(guilty):
    def keep(function):
        PROGRAMS[function.__name__] = function
        GUILTY[function.__name__] = guilty
        return function
    return keep


class Job:
    """Kernels have arguments a (given) and b (made), of elements T."""

    def __init__(self, properties=0, T="float", dtype=np.float32):
        self.context = cl.create_some_context(interactive=False)
        self.queue = cl.CommandQueue(self.context, properties=properties)
        self.dtype = np.dtype(dtype)
        self.program = cl.Program(self.context, """
            #pragma OPENCL EXTENSION cl_khr_fp64 : enable
            #define I size_t i = get_global_id(0)
            kernel void copy(global const T* a, global T* b) { I; b[i] = a[i]; }
            kernel void scale(global const T* a, global T* b) { I; b[i] = a[i] * (T)(0.5f); }
            kernel void root(global const T* a, global T* b) { I; b[i] = sqrt(a[i]); }
            kernel void divide(global const T* a, global T* b) { I; b[i] = (a[i] - a[i]) / (a[i] - a[i]); }
            kernel void one(global const T* a, global T* b) { I; b[i] = i == 777 / (sizeof(T) / 4) ? sqrt(a[i] - 1e9f) : a[i]; }
            kernel void root_in_place(global T* b) { I; b[i] = sqrt(b[i]); }
            kernel void halve(global T* b) { I; b[i] = b[i] * (T)(0.5f); }
            """).build(options=[f"-DT={T}"])

    def given(self, low=1.0, high=2.0):
        values = np.random.default_rng(1).uniform(low, high, N).astype(self.dtype)
        return cl.Buffer(self.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)

    def fresh(self):
        return cl.Buffer(self.context, cl.mem_flags.READ_WRITE, N * self.dtype.itemsize)

    def run(self, name, *arguments, queue=None, size=N, wait=None):
        return getattr(self.program, name)(queue or self.queue, (size,), None, *arguments, wait_for=wait)

    def print(self, buffer, queue=None):
        out = np.empty(N, self.dtype)
        cl.enqueue_copy(queue or self.queue, out, buffer)
        print(np.isnan(out).sum(), np.nansum(out.astype(np.float64)))


@planted("root#1")
def fresh_buffers():
    job = Job()
    a, b, c, d = job.given(-1, 1), job.fresh(), job.fresh(), job.fresh()
    job.run("scale", a, b), job.run("root", b, c), job.run("copy", c, d)
    job.print(d)


@planted("one#5")
def one_of_many():
    job = Job()
    a, b = job.given(), job.fresh()
    for i in range(12):
        job.run("one" if i == 5 else "scale", a, b)
    job.print(b)


@planted("root#1")
def typedef():
    job = Job()
    program = cl.Program(job.context, "typedef float real; typedef real number;\n"
                         "kernel void scale(global const number* a, global number* b) { size_t i = get_global_id(0); b[i] = 2 * a[i]; }\n"
                         "kernel void root(global const number* a, global number* b) { size_t i = get_global_id(0); b[i] = sqrt(a[i]); }").build()
    a, b, c = job.given(-1, 1), job.fresh(), job.fresh()
    program.scale(job.queue, (N,), None, a, b), program.root(job.queue, (N,), None, b, c)
    job.print(c)


@planted("root#1")
def vectors_of_four():
    job = Job(T="float4")
    a, b, c = job.given(-1, 1), job.fresh(), job.fresh()
    job.run("scale", a, b, size=N // 4), job.run("root", b, c, size=N // 4)
    job.print(c)


@planted("root#1")
def vectors_of_sixteen():
    job = Job(T="float16")
    a, b, c = job.given(-1, 1), job.fresh(), job.fresh()
    job.run("scale", a, b, size=N // 16), job.run("root", b, c, size=N // 16)
    job.print(c)


@planted("root#1")
def doubles():
    job = Job(T="double", dtype=np.float64)
    a, b, c = job.given(-1, 1), job.fresh(), job.fresh()
    job.run("scale", a, b), job.run("root", b, c)
    job.print(c)


@planted("root_in_place#2")
def in_place():
    job = Job()
    b = job.given(-1, 1)
    job.run("halve", b), job.run("halve", b), job.run("root_in_place", b), job.run("halve", b)
    job.print(b)


@planted("divide#1")
def zero_by_zero():
    job = Job()
    a, b, c = job.given(), job.fresh(), job.fresh()
    job.run("scale", a, b), job.run("divide", b, c), job.run("copy", c, b)
    job.print(b)


@planted("root#1")
def two_queues():
    job = Job()
    other = cl.CommandQueue(job.context)
    a, b, c = job.given(-1, 1), job.fresh(), job.fresh()
    done = job.run("scale", a, b)
    done = job.run("root", b, c, queue=other, wait=[done])
    job.run("copy", a, c, wait=[done])  # overwrites it at once
    job.print(c)


@planted("root#1")
def out_of_order():
    job = Job(cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    a, b, c = job.given(-1, 1), job.fresh(), job.fresh()
    done = job.run("scale", a, b)
    done = job.run("root", b, c, wait=[done])
    done = job.run("copy", a, c, wait=[done])
    done.wait()
    job.print(c)


@planted("root#1")
def profiled():
    job = Job(cl.command_queue_properties.PROFILING_ENABLE)
    a, b, c = job.given(-1, 1), job.fresh(), job.fresh()
    job.run("scale", a, b)
    done = job.run("root", b, c)
    done.wait()
    print(done.profile.end >= done.profile.start)
    job.print(c)


@planted("root#20")
def released_buffers():
    job = Job()
    a = job.given(-1, 1)
    for i in range(30):
        b = job.fresh()
        job.run("root" if i == 20 else "scale", a, b)
        b.release()
    job.queue.finish()
    job.print(a)


@planted("root#1")
def sub_buffer():
    job = Job()
    a, b = job.given(-1, 1), job.given()
    part = b.get_sub_region(2048, 2048)
    job.run("halve", b), job.run("root", a, part, size=512), job.run("halve", b)
    job.print(b)


@planted("root#1")
def arguments_set_again():
    job = Job()
    a, good, b, c = job.given(-1, 1), job.given(), job.fresh(), job.fresh()
    kernel = cl.Kernel(job.program, "root")
    for given, made in ((good, b), (a, c), (good, b)):
        kernel.set_args(given, made)
        cl.enqueue_nd_range_kernel(job.queue, kernel, (N,), None)
    job.print(b), job.print(c)


@planted("root#1")
def written_between():
    job = Job()
    a, b = job.given(), job.fresh()
    job.run("root", a, b)
    bad = np.full(N, -1, np.float32)
    cl.enqueue_copy(job.queue, a, bad)
    job.run("root", a, b)
    job.print(b)


@planted("one#1")
def filled():
    job = Job()
    a, b = job.fresh(), job.fresh()
    cl.enqueue_fill_buffer(job.queue, a, np.float32(4), 0, N * 4)
    job.run("root", a, b), job.run("one", a, b)
    job.print(b)


@planted("root#2")
def copied():
    job = Job()
    a, b, c = job.given(-1, 1), job.fresh(), job.fresh()
    job.run("halve", a)
    cl.enqueue_copy(job.queue, b, a)
    job.run("scale", b, c), job.run("root", b, c)
    job.print(c)


@planted("root#1")
def user_event():
    job = Job()
    a, b, c = job.given(-1, 1), job.fresh(), job.fresh()
    gate = cl.UserEvent(job.context)
    job.run("scale", a, b, wait=[gate]), job.run("root", b, c)
    job.queue.flush()
    gate.set_status(cl.command_execution_status.COMPLETE)
    job.print(c)


@planted("root#1")
def arrays():
    import pyopencl.array as arrays
    job = Job()
    a = arrays.to_device(job.queue, np.linspace(-1, 1, N, dtype=np.float32))
    b, c = arrays.empty_like(a), arrays.empty_like(a)
    job.run("scale", a.data, b.data), job.run("root", b.data, c.data)
    print(np.isnan(c.get()).sum())


@planted("root#2")
def two_contexts():
    first, second = Job(), Job()
    good, b = first.given(), first.fresh()
    first.run("root", good, b), first.run("scale", good, b)
    a, c = second.given(-1, 1), second.fresh()
    second.run("root", a, c)
    second.print(c), first.print(b)


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
