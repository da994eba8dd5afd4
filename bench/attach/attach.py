"""What `tensorstat attach` costs a program: bench/attach/attach.py COMMAND [ROUNDS]

Programs run alone, with the layer and nothing wanted (--kernels none), and with everything measured, one after another in each
round. Each prints the seconds of its own loop, without start-up. Ratios are medians over rounds, with the least and the greatest.
Needs PyOpenCL and a device."""
import os
import statistics
import subprocess
import sys
import tempfile

# What a launch reads and writes, in buffers of `size` bytes, and what is measured of it: what it writes.
PROGRAM = r'''
import sys, time
import numpy as np, pyopencl as cl
size, launches = int(sys.argv[1]), int(sys.argv[2])
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
program = cl.Program(context, """
kernel void axpy(global const float4* x, global const float4* y, global float4* z, float a) {
  size_t i = get_global_id(0) * 64;
  for (int k = 0; k < 64; ++k) z[i + k] = a * x[i + k] + y[i + k];
}""").build()
flags = cl.mem_flags
x, y, z = (cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=np.ones(size // 4, np.float32)) for _ in range(3))
axpy = cl.Kernel(program, "axpy")
axpy.set_args(x, y, z, np.float32(0.5))
work = (size // 16 // 64,)
for _ in range(3): cl.enqueue_nd_range_kernel(queue, axpy, work, None)
queue.finish()
begin = time.perf_counter()
for _ in range(launches): cl.enqueue_nd_range_kernel(queue, axpy, work, None)
queue.finish()
print(time.perf_counter() - begin)
'''
CASES = {"64 MiB": (64 << 20, 12), "1 MiB": (1 << 20, 300), "16 KiB": (16 << 10, 2000)}


def seconds(*command):
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(ran.stdout)


def main():
    command, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 9
    print("buffers  launches  alone, us a launch  nothing wanted        everything measured   more, us a launch")
    for name, (size, launches) in CASES.items():
        program = [sys.executable, "-c", PROGRAM, str(size), str(launches)]
        alone, idle, measured = [], [], []
        with tempfile.TemporaryDirectory() as folder:
            attach = lambda number, *options: seconds(command, "attach", "-o", os.path.join(folder, number), *options, "--", *program)
            attach("first")  # builds kernels
            for each in range(rounds):
                alone.append(seconds(*program))
                idle.append(attach(f"i{each}", "--kernels", "none") / alone[-1])
                measured.append(attach(f"m{each}") / alone[-1])
        a_launch = 1e6 * statistics.median(alone) / launches
        words = lambda ratios: f"{statistics.median(ratios):.3f} ({min(ratios):.3f}-{max(ratios):.3f})"
        print(f"{name:8} {launches:8}  {a_launch:18.1f}  {words(idle):20}  {words(measured):20}  "
              f"{(statistics.median(measured) - 1) * a_launch:17.1f}")
    print("moved by a launch: two buffers read and one written; measured: one. Limits: 1.02; 1 + 1/3 and 60 us a launch")


main()
