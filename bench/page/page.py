#!/usr/bin/python3
"""The page of a run of 2,000 tensors by 1,000 iterations: its size, and what a browser takes to open it, to draw it anew and to say
what is under the pointer.  COMMAND=.build/bin/tensorstat bench/page/page.py [TENSORS [ITERATIONS]]
Wants chromium-driver, python3-selenium and python3-numpy."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

tensors, iterations = (int(sys.argv[1]) if len(sys.argv) > 1 else 2000), (int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
WAIT = "return document.body && document.body.getAttribute('aria-busy')"


def write_run(folder):
    random = numpy.random.default_rng(1)
    walk = random.normal(0, 3, tensors)
    for iteration in range(iterations):
        walk += random.normal(0, .01, tensors)
        values = numpy.exp(walk + random.normal(0, .05, tensors)).astype(numpy.float32)
        place = f"{folder}/rank_0/net/0/{iteration}"
        os.makedirs(place)
        with open(place + "/statistic.csv", "w") as file:
            file.write("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,L2Norm Value\n")
            file.writelines(f"Op,model.layers.{i // 20}.w{i % 20},0,0,{iteration},output,0,64,float32,(16),{v},{v}\n"
                            for i, v in enumerate(values.tolist()))


def seconds_to_open(browser, url, ready):
    browser.get("about:blank")
    began = time.monotonic()
    browser.get(url)
    while not ready():
        time.sleep(.01)
    return time.monotonic() - began


def main():
    options = webdriver.ChromeOptions()
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,900"):
        options.add_argument(option)
    with tempfile.TemporaryDirectory() as folder:
        write_run(folder + "/dump")
        page, empty = folder + "/page.html", folder + "/empty.html"
        began = time.monotonic()
        subprocess.run([os.environ["COMMAND"], "report", folder + "/dump", "-o", page], check=True)
        print(f"report of {tensors * iterations} rows: {time.monotonic() - began:.1f} s")
        print(f"page: {os.path.getsize(page) / 1e6:.2f} MB")
        with open(empty, "w") as file:
            file.write("<!DOCTYPE html><title>empty</title>")
        browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            bare = min(seconds_to_open(browser, "file://" + empty, lambda: True) for _ in range(3))
            full = [seconds_to_open(browser, "file://" + page, lambda: browser.execute_script(WAIT) == "false") for _ in range(3)]
            print(f"open: {min(full):.2f} s, an empty page {bare:.2f} s")
            for name, call in (("repaint", "paint(); paint_strip(); paint_card()"), ("hover", "read_out(7, 9)")):
                spent = browser.execute_script(
                    f"const all = []; for (let i = 0; i < 20; ++i) {{ const t = performance.now(); {call}; all.push(performance.now() - t); }}"
                    "return all.sort((a, b) => a - b)[10];")
                print(f"{name}: {spent:.1f} ms")
        finally:
            browser.quit()


main()
