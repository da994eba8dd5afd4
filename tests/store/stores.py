"""Shared by the tests of stores: the command, rows, and SQLite's own view of a store."""
import os
import sqlite3
import struct
import subprocess
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]
IDENTITY = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape"
HEADING = IDENTITY + ",Max Value,L2Norm Value,NaN Count,Iteration\n"


def run(*arguments):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, errors="replace")


def row(number, tensors=50):
    tensor, step = number % tensors, number // tensors
    return f'Add,layer/{tensor},0,0,{1000 + number},output,0,8,float32,"(2)",{number + 0.5},{number / 3!r},0,{step}\n'


def checksum_of(page):
    """The checksum that SQLite's extension cksumvfs writes into the last 8 bytes of a page."""
    first = second = 0
    words = struct.unpack(f"<{(len(page) - 8) // 4}I", page[:-8])
    for a, b in zip(words[::2], words[1::2]):
        first = (first + a + second) & 0xffffffff
        second = (second + b + first) & 0xffffffff
    return struct.pack("<II", first, second)


def seal(path, page_bytes=4096):
    """Writes the checksums of all pages anew, as one does who knows of them."""
    with open(path, "rb") as file:
        whole = bytearray(file.read())
    for offset in range(0, len(whole), page_bytes):
        whole[offset + page_bytes - 8:offset + page_bytes] = checksum_of(whole[offset:offset + page_bytes])
    with open(path, "wb") as file:
        file.write(whole)


class StoreTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(folder.name)

    def write(self, path, text):
        if os.path.dirname(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", newline="") as file:
            file.write(text)

    def add(self, *arguments, status=0):
        ran = run("store", "add", *arguments)
        self.assertEqual(ran.returncode, status, ran.stderr)
        return ran.stderr

    def ask(self, sql, store="runs.db"):
        connection = sqlite3.connect(store)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def converted(self, output, store="runs.db", to="ours"):
        ran = run("convert", store, "--to", to, "-o", output)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        with open(output, newline="") as file:
            return file.read()
