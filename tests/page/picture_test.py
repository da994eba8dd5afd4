"""Pictures of a run without a browser: `report -o map.png` and `.svg`, read by Python's own zlib and XML. One NaN among all cells is
seen."""
import base64
import math
import os
import struct
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree
import zlib

COMMAND = os.environ["COMMAND"]
HEADING = ("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,L2Norm Value,"
           "NaN Count,Iteration\n")
FAULT = (0xb0, 0x10, 0x7e)


def row(name, iteration, value, nan=0):
    quoted = '"' + name.replace('"', '""') + '"'
    return f'Op,{quoted},0,0,{iteration},output,0,64,float32,"(16)",{value!r},-1.0,{value / 4!r},{value!r},{nan},{iteration}\n'


def pixels_of(png):
    """(width, height, palette, bytes of numbers of the palette) of a PNG of one IDAT, without a filter."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    offset, chunks = 8, {}
    while offset < len(png):
        size, kind = struct.unpack(">I4s", png[offset:offset + 8])
        body = png[offset + 8:offset + 8 + size]
        assert struct.unpack(">I", png[offset + 8 + size:offset + 12 + size])[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        offset += 12 + size
    width, height, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colour) == (8, 3) and b"IEND" in chunks
    lines = zlib.decompress(chunks[b"IDAT"])
    assert len(lines) == height * (width + 1) and not any(lines[::width + 1])
    palette = [tuple(chunks[b"PLTE"][i:i + 3]) for i in range(0, len(chunks[b"PLTE"]), 3)]
    return width, height, palette, b"".join(lines[y * (width + 1) + 1:(y + 1) * (width + 1)] for y in range(height))


class Pictures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def report(self, rows, output):
        dump, path = os.path.join(self.folder, "statistic.csv"), os.path.join(self.folder, output)
        with open(dump, "w", encoding="utf-8") as file:
            file.write(HEADING + "".join(rows))
        ran = subprocess.run([COMMAND, "report", dump, "-o", path], capture_output=True, text=True)
        self.assertIn(ran.returncode, (0, 1), ran.stderr)
        with open(path, "rb") as file:
            return file.read()

    def run_rows(self, tensors, iterations, bad=None, names="layer.{}"):
        return [row(names.format(t), i, math.nan if (t, i) == bad else 1.0 + 0.01 * ((t + i) % 3), 1 if (t, i) == bad else 0)
                for i in range(iterations) for t in range(tensors)]

    def test_one_nan_is_seen_in_a_png(self):
        width, height, palette, pixels = pixels_of(self.report(self.run_rows(900, 30, bad=(451, 17)), "map.png"))
        self.assertEqual((width, height), (720, 640))
        self.assertIn(FAULT, {palette[pixel] for pixel in pixels})
        clean = pixels_of(self.report(self.run_rows(40, 30), "map.png"))
        self.assertEqual({clean[2][pixel] for pixel in clean[3]}, {(0xf9, 0xf9, 0xf7)}, "a calm run is calm")

    def test_the_greatest_changes_have_the_full_colours(self):
        """Those of page.css in its light form: orange for a rise, blue for a fall."""
        for value, colour in ((1e30, (0xd9, 0x5f, 0x02)), (1e-30, (0x21, 0x66, 0xac))):
            rows = [row(f"layer.{tensor}", i, value if (tensor, i) == (2, 20) else 1.0) for i in range(30) for tensor in range(4)]
            _, _, palette, pixels = pixels_of(self.report(rows, "map.png"))
            self.assertIn(colour, {palette[pixel] for pixel in pixels})

    def test_svg_is_xml_with_the_verdict_and_the_same_map(self):
        rows = self.run_rows(5, 40, bad=(3, 17), names='<b>&"\x1b\uffff{}\ufffe')
        svg = self.report(rows, "map.svg").decode()
        root = xml.etree.ElementTree.fromstring(svg)
        space = "{http://www.w3.org/2000/svg}"
        texts = [each.text for each in root.iter(space + "text")]
        self.assertIn("NaN", texts[0])
        self.assertTrue(any('<b>&"\\x1b\\uffff3\\ufffe' in text for text in texts), texts)
        self.assertTrue(any(text.startswith("iteration 17  nan") for text in texts), texts)
        self.assertEqual(list(root.iter(space + "b")), [])
        (image,) = root.iter(space + "image")
        data = image.get("{http://www.w3.org/1999/xlink}href").split(",", 1)[1]
        self.assertEqual(base64.b64decode(data), self.report(rows, "map.png"))


if __name__ == "__main__":
    unittest.main()
