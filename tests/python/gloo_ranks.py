"""Ranks of torch.distributed, as processes over gloo.

An import of torch takes seconds, so one process imports it, and the ranks are its forks. Run as a program, this is that
process: it reads a job a line, {"path", "environments"}, and writes the exit statuses of its ranks.
"""
import atexit
import json
import os
import runpy
import select
import socket
import subprocess
import sys
import threading
import traceback

# The variables of a rank's program: `rank`, `ranks`, `folder`, and what was logged, in `messages`.
BEGIN = """
import logging, os, sys, torch, torch.distributed as dist, tensorstat
rank, ranks, folder = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), os.environ["FOLDER"]
dist.init_process_group("gloo")
messages = []
handler = logging.Handler()
handler.emit = lambda record: messages.append(record.getMessage())
logging.getLogger("tensorstat").addHandler(handler)
logging.getLogger("tensorstat").propagate = False
"""
_SECONDS = 300
_server = None


def _words(path, rank):
    return f"{path}.stderr{rank}"


def _serve():
    global _server
    if _server is None or _server.poll() is not None:
        _server = subprocess.Popen([sys.executable, "-B", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "OMP_NUM_THREADS": "1"}, start_new_session=True)
        atexit.register(_end, _server)
    return _server


def _end(server):
    if server.poll() is None:
        os.killpg(server.pid, 9)
    server.communicate()


def run_ranks(test, ranks, script, folder, *, fresh=False, **environment):
    """Runs the script on so many ranks. None may fail. They may write to {folder}/run. `fresh` ranks are processes from
    their start to the end of their interpreter."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = os.path.join(folder, "rank.py")
    with open(path, "w") as file:
        file.write(script)
    environment = {"WORLD_SIZE": str(ranks), "OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                   "FOLDER": os.path.join(folder, "run"), "USE_LIBUV": "0",  # Debian's torch has no libuv
                   **environment}
    environments = [{**environment, "RANK": str(rank)} for rank in range(ranks)]
    statuses = _run_fresh(path, environments) if fresh else _run_forks(path, environments)
    words = []
    for rank, status in enumerate(statuses):
        if status != 0:
            with open(_words(path, rank), "a+") as file:
                file.seek(0)
                words.append(f"rank {rank}: {status}\n{file.read()}")
    test.assertEqual(words, [])


def _run_fresh(path, environments):
    processes = []
    for environment in environments:
        with open(_words(path, environment["RANK"]), "w") as file:
            processes.append(subprocess.Popen([sys.executable, path], stderr=file, env={**os.environ, **environment}))
    return [process.wait(timeout=_SECONDS) for process in processes]


def _run_forks(path, environments):
    server = _serve()
    print(json.dumps({"path": path, "environments": environments}), file=server.stdin, flush=True)
    ended = select.select([server.stdout], [], [], _SECONDS)[0]
    statuses = json.loads(server.stdout.readline() or "[]") if ended else []
    if not statuses:
        _end(server)
        return [f"not ended in {_SECONDS} s"] * len(environments)
    return statuses


def _run(path, environment):
    """Runs the file as a program, in this fork, and ends it."""
    os.environ.update(environment)
    with open(_words(path, environment["RANK"]), "w") as file:
        os.dup2(file.fileno(), 2)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.argv = [path]
    status = 0
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if status:
            print(end, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        status = 1
    finally:
        threading._shutdown()  # what an interpreter does at its end
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _wait_for_jobs():
    import torch.distributed  # for the forks, and what an optimizer imports in its first step
    if hasattr(torch, "compile"):
        import torch._dynamo  # noqa: F401
    for line in sys.stdin:
        job = json.loads(line)
        forks = [os.fork() or _run(job["path"], environment) for environment in job["environments"]]
        print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]) for fork in forks]), flush=True)


if __name__ == "__main__":
    _wait_for_jobs()
