"""One verdict: origin, report, its page and the watch agree about a run."""
import base64
import json
import os
import re
import subprocess
import zlib

import tensorstat

COMMAND = os.environ["COMMAND"]
# The watch has its own names for these phases.
PHASES = {"entered": "input", "parameter": "parameter", "loss": "loss", "gradient": "gradient", "optimizer": "optimizer"}


def said_by_page(page):
    """The lines of a page's verdict, read without a browser."""
    head = re.search(r'<script type="application/octet-stream" id="head">([^<]*)</script>', page)[1]
    return json.loads(zlib.decompress(base64.b64decode(head)))["verdict"].split("\n")


def bare(name):
    return name.removesuffix("/forward").removesuffix("/backward").removesuffix("/eval")


def check_report(test, path, answer):
    """`report` and its page read the rows in a stream; they say what origin says of all of them. `answer`: origin's."""
    verdict, report = answer["verdict"], tensorstat.report(path)
    findings = report.findings
    test.assertEqual(findings.notes, answer["notes"])
    test.assertEqual(said_by_page(report.html), findings.sentences)
    if verdict["kind"] == "none":
        test.assertEqual(list(findings), [])
        return
    test.assertEqual(findings.sentences[:1 + len(verdict["details"])], [verdict["sentence"], *verdict["details"]])
    first = findings[0]
    test.assertEqual((first.op_name, first.rank, first.first_iteration, first.last_clean_iteration),
                     (verdict["op_name"], verdict["rank"], verdict["iteration"], verdict["last_clean_iteration"]))


def check_watch(test, verdict, fault):
    """`fault`: the first_fault of the watch. The verdict "unknown" does not contradict it."""
    test.assertEqual(fault is None, verdict["kind"] == "none", f"{fault}; {verdict['sentence']}")
    if fault is None or verdict["kind"] == "unknown":
        return
    phase = PHASES.get(verdict["kind"], verdict["phase"])
    is_of_loss = phase == "loss" and fault.phase == "backward" and fault.op_type == "Loss"
    same = fault.iteration, fault.rank, "loss" if is_of_loss else fault.phase, bare(fault.op_name), fault.is_evaluation
    test.assertEqual(same, (verdict["iteration"], verdict["rank"], phase, bare(verdict["op_name"]), verdict.get("evaluation", False)),
                     f"{fault}; {verdict['sentence']}")
    if fault.operation and verdict["operation"]:
        test.assertEqual((fault.operation, fault.file, fault.line), (verdict["operation"], verdict["file"], verdict["line"]))


def check(test, path, *fault):
    """All of them. Returns origin's answer."""
    answer = tensorstat.origin(path)
    check_report(test, path, answer)
    for each in fault:
        check_watch(test, answer["verdict"], each)
    shown = subprocess.run([COMMAND, "origin", path], capture_output=True, text=True, check=False)
    test.assertTrue(shown.stdout.startswith(answer["verdict"]["sentence"] + "\n"), shown.stdout + shown.stderr)
    return answer
