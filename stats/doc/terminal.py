#!/usr/bin/python3
"""Draws a picture of a terminal: runs commands in one and draws their output, with its colours.

    stats/doc/terminal.py stats/doc/terminal.svg 'tensorstat stats/samples' 'tensorstat origin runs/nan'
"""
import fcntl
import html
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import unicodedata

COLUMNS, WIDTH, HEIGHT, MARGIN = 124, 8, 18, 16  # of a terminal; of a character and the border, in pixels
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "36": "#79c0ff"}


def written_by(command):
    """The output of a command on a terminal of COLUMNS columns, as lines."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    with subprocess.Popen(command, shell=True, stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm"}):
        os.close(slave)
        text = b""
        try:
            while piece := os.read(master, 65536):
                text += piece
        except OSError:  # Linux signals the end of a terminal so
            pass
    lines = re.sub(r"\r[^\n]*\r(?!\n)|\x1b\[[0-9]*[A-LN-Z]", "", text.decode()).replace("\r", "").rstrip("\n").split("\n")
    return [line[i:i + COLUMNS] if "\x1b" not in line else line for line in lines for i in range(0, len(line) or 1, COLUMNS)
            if i == 0 or "\x1b" not in line]


def drawn(line, y):
    """One line as <text>: words are placed by their column, so that any monospaced font will do."""
    column, colour, parts = 0, "", []
    for run in re.split(r"(\x1b\[[0-9;]*m| +)", line):
        if run.startswith("\x1b"):
            colour = COLOURS.get(run[2:-1], "")
            continue
        cells = sum(1 + (unicodedata.east_asian_width(each) in "WF") for each in run)
        if run.strip():
            fill = f' fill="{colour}"' if colour else ""
            parts.append(f'<tspan x="{MARGIN + WIDTH * column}" textLength="{WIDTH * cells}"{fill}>{html.escape(run)}</tspan>')
        column += cells
    return f'<text y="{y}">{"".join(parts)}</text>'


lines = [each for command in sys.argv[2:] for each in ("\x1b[32m$\x1b[0m " + command, *written_by(command), "")][:-1]
width, height = COLUMNS * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
               f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>\n'
               '<g font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="13" fill="#e6edf3">\n')
    file.writelines(drawn(line, MARGIN + HEIGHT * i + 13) + "\n" for i, line in enumerate(lines))
    file.write("</g>\n</svg>\n")
