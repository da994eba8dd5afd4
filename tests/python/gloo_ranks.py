"""Ranks of torch.distributed, as real processes over gloo."""
import os
import socket
import subprocess
import sys

# What a rank begins with: `rank`, `ranks`, `folder`, and what was logged, in `said`.
BEGIN = """
import logging, os, sys, torch, torch.distributed as dist, tensorstat
rank, ranks, folder = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), os.environ["FOLDER"]
dist.init_process_group("gloo")
said = []
handler = logging.Handler()
handler.emit = lambda record: said.append(record.getMessage())
logging.getLogger("tensorstat").addHandler(handler)
logging.getLogger("tensorstat").propagate = False
"""


def run_ranks(test, ranks, script, folder, **environment):
    """Runs the script on so many ranks. None may fail. They may write to {folder}/run."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = os.path.join(folder, "rank.py")
    with open(path, "w") as file:
        file.write(script)
    environment = {**os.environ, "WORLD_SIZE": str(ranks), "OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1",
                   "MASTER_PORT": str(port), "FOLDER": os.path.join(folder, "run"), "USE_LIBUV": "0",  # Debian's torch has no libuv
                   **environment}
    processes = [subprocess.Popen([sys.executable, path], stderr=subprocess.PIPE, text=True, env={**environment, "RANK": str(rank)})
                 for rank in range(ranks)]
    words = [process.communicate(timeout=300)[1] for process in processes]
    test.assertEqual([each for process, each in zip(processes, words) if process.returncode != 0], [])
