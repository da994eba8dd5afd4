"""A tensor that an Ascend device keeps in NC1HWC0, FRACTAL_Z or FRACTAL_NZ is read as the host has it.

Each format is written here element by element, by the index of its definition; padding is NaN, so that it would be seen.
The files are Ascend's dump files (tests/files/dump_data.proto), made without the command's code."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import zlib

import numpy

FORMATS = {'NCHW': 0, 'NHWC': 1, 'ND': 2, 'NC1HWC0': 3, 'FRACTAL_Z': 4, 'HWCN': 16, 'NDHWC': 27, 'FRACTAL_NZ': 29, 'NCDHW': 30, 'NDC1HWC0': 32}
FLOAT16, FLOAT32 = 2, 1


def number(value):
    """A varint."""
    text = b''
    while value > 0x7f:
        text += bytes([value & 0x7f | 0x80])
        value >>= 7
    return text + bytes([value])


def field(key, value):
    if isinstance(value, int):
        return number(key << 3) + number(value)
    return number(key << 3 | 2) + number(len(value)) + value


def dimensions(shape):
    return field(1, b''.join(number(each) for each in shape))


def dump_file(tensors):
    """Of (is_output, format, array as stored, original shape, original format, groups)."""
    message, data = {True: b'', False: b''}, {True: b'', False: b''}
    for is_output, form, stored, original, original_format, groups in tensors:
        dtype = FLOAT16 if stored.dtype == numpy.float16 else FLOAT32
        text = field(1, dtype) + field(2, FORMATS[form]) + field(3, dimensions(stored.shape))
        if is_output and original_format:
            text += field(4, field(4, FORMATS[original_format]))
        text += field(6 if is_output else 5, stored.nbytes)
        if original is not None:
            text += field(7 if is_output else 6, dimensions(original))
        if groups:
            text += field(8 if is_output else 7, groups)
        message[is_output] += field(3 if is_output else 4, text)
        data[is_output] += stored.tobytes()
    whole = field(1, b'2.0') + message[True] + message[False]
    return len(whole).to_bytes(8, 'little') + whole + data[False] + data[True]


def blank(shape, dtype):
    return numpy.full(shape, numpy.nan, dtype)


def ceil(a, b):
    return -(-a // b)


def nc1hwc0(x, c0=16):
    n, c, h, w = x.shape
    stored = blank((n, ceil(c, c0), h, w, c0), x.dtype)
    for i in numpy.ndindex(x.shape):
        stored[i[0], i[1] // c0, i[2], i[3], i[1] % c0] = x[i]
    return stored


def ndc1hwc0(x, c0=16):
    n, c, d, h, w = x.shape
    stored = blank((n, d, ceil(c, c0), h, w, c0), x.dtype)
    for i in numpy.ndindex(x.shape):
        stored[i[0], i[2], i[1] // c0, i[3], i[4], i[1] % c0] = x[i]
    return stored


def fractal_z(x, n0=16, c0=16):
    n, c, h, w = x.shape
    stored = blank((ceil(c, c0) * h * w, ceil(n, n0), n0, c0), x.dtype)
    for i in numpy.ndindex(x.shape):
        stored[(i[1] // c0 * h + i[2]) * w + i[3], i[0] // n0, i[0] % n0, i[1] % c0] = x[i]
    return stored


def fractal_nz(x, m0=16, n0=16):
    m, n = x.shape[-2:]
    stored = blank((*x.shape[:-2], ceil(n, n0), ceil(m, m0), m0, n0), x.dtype)
    for i in numpy.ndindex(x.shape):
        stored[(*i[:-2], i[-1] // n0, i[-2] // m0, i[-2] % m0, i[-1] % n0)] = x[i]
    return stored


class DeviceFormats(unittest.TestCase):
    def setUp(self):
        self.random = numpy.random.default_rng(35)
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / 'run/20240131235959/0/model/2/3').mkdir(parents=True)
        self.file = self.folder / 'run/20240131235959/0/model/2/3/Conv2D.net_conv.5.7.1706716799000000'

    def array(self, *shape, dtype=numpy.float16):
        return self.random.standard_normal(shape).astype(dtype)

    def command(self, *arguments):
        ran = subprocess.run([os.environ['COMMAND'], *map(str, arguments)], capture_output=True, text=True, check=False)
        return ran

    def tensors(self):
        ran = self.command(self.file, '--format', 'json', '--stats', 'count,nan-count,crc32,l2norm')
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return {each['tensor']: each for each in json.loads(ran.stdout)['tensors']}

    def check(self, tensor, x):
        self.assertEqual(tuple(tensor['shape']), x.shape)
        self.assertEqual(tensor['stats']['count'], x.size)
        self.assertEqual(tensor['stats']['nan count'], 0)
        self.assertEqual(tensor['stats']['crc32'], f'{zlib.crc32(numpy.ascontiguousarray(x).tobytes()):08x}')

    def test_elements_are_those_of_the_host(self):
        image, weights, matrix = self.array(2, 19, 3, 5), self.array(20, 35, 3, 2), self.array(3, 17, 33)
        vector, single = self.array(40), self.array(5, 7, dtype=numpy.float32)
        cases = [(nc1hwc0(image), image, 'NC1HWC0'), (fractal_z(weights), weights, 'FRACTAL_Z'),
                 (fractal_nz(matrix), matrix, 'FRACTAL_NZ'), (fractal_nz(vector[None]), vector, 'FRACTAL_NZ'),
                 (fractal_nz(single, 16, 8), single, 'FRACTAL_NZ'), (nc1hwc0(image, 32), image, 'NC1HWC0')]
        self.file.write_bytes(dump_file([(is_output, form, stored, x.shape, '', 0)
                                         for is_output in (False, True) for stored, x, form in cases]))
        tensors = self.tensors()
        self.assertEqual(len(tensors), 2 * len(cases))
        for io in 'input', 'output':
            for slot, (_, x, _) in enumerate(cases):
                self.check(tensors[f'{io}.{slot}'], x)

    def test_the_order_of_the_original_axes(self):
        image = self.array(2, 19, 3, 3)
        last = numpy.ascontiguousarray(image.transpose(0, 2, 3, 1))  # NHWC
        square = self.array(1, 4, 4, 4)
        as_nhwc = numpy.ascontiguousarray(square.transpose(0, 2, 3, 1))
        self.file.write_bytes(dump_file([
            (True, 'NC1HWC0', nc1hwc0(image), last.shape, '', 0),  # only NHWC fits
            (True, 'NC1HWC0', nc1hwc0(square), as_nhwc.shape, 'NHWC', 0),  # both fit, and the message says it
            (True, 'NC1HWC0', nc1hwc0(square), square.shape, '', 0)]))
        tensors = self.tensors()
        for slot, x in enumerate((last, as_nhwc, square)):
            self.check(tensors[f'output.{slot}'], x)

    def test_images_with_depth_and_weights_as_hwcn(self):
        image, weights = self.array(2, 19, 3, 4, 5), self.array(20, 35, 3, 2)
        last = numpy.ascontiguousarray(image.transpose(0, 2, 3, 4, 1))  # NDHWC
        hwcn = numpy.ascontiguousarray(weights.transpose(2, 3, 1, 0))
        square = self.array(1, 4, 4, 4, 4)
        as_ndhwc = numpy.ascontiguousarray(square.transpose(0, 2, 3, 4, 1))
        self.file.write_bytes(dump_file([
            (True, 'NDC1HWC0', ndc1hwc0(image), image.shape, '', 0), (True, 'NDC1HWC0', ndc1hwc0(image), last.shape, '', 0),
            (True, 'NDC1HWC0', ndc1hwc0(square), square.shape, 'NCDHW', 0),
            (True, 'NDC1HWC0', ndc1hwc0(square), as_ndhwc.shape, 'NDHWC', 0),
            (True, 'FRACTAL_Z', fractal_z(weights), hwcn.shape, 'HWCN', 0)]))
        tensors = self.tensors()
        for slot, x in enumerate((image, last, square, as_ndhwc, hwcn)):
            self.check(tensors[f'output.{slot}'], x)

    def test_a_replay_into_dump_files_keeps_the_shape_of_the_host(self):
        """The bits and the format stay. What the device's tensor is on the host stays, too, so the copy can still be
        converted."""
        image, square, weights = self.array(2, 19, 3, 5), self.array(1, 4, 4, 4), self.array(20, 35, 3, 2)
        as_nhwc = numpy.ascontiguousarray(square.transpose(0, 2, 3, 1))
        grouped = self.array(16, 16, 3, 3)
        self.file.write_bytes(dump_file([
            (False, 'FRACTAL_Z', fractal_z(weights), weights.shape, '', 0), (True, 'NC1HWC0', nc1hwc0(image), image.shape, '', 0),
            (True, 'NC1HWC0', nc1hwc0(square), as_nhwc.shape, 'NHWC', 0),
            (True, 'FRACTAL_Z', fractal_z(grouped), grouped.shape, '', 4)]))
        before = self.tensors()
        config = self.folder / 'config.json'
        config.write_text(json.dumps({
            'common_dump_settings': {'dump_mode': 0, 'path': str(self.folder / 'out'), 'net_name': 'Net', 'iteration': 'all', 'saved_data': 'tensor',
                                     'input_output': 0, 'kernels': [], 'support_device': [0], 'op_debug_mode': 0, 'file_format': 'bin'}}))
        ran = self.command('dump', '--config', config, self.folder / 'run')
        self.assertEqual(ran.returncode, 0, ran.stderr)
        copies = [path for path in (self.folder / 'out').rglob('Conv2D.*') if path.is_file()]
        self.assertEqual(len(copies), 1, ran.stderr)
        self.file = copies[0]
        after = self.tensors()
        self.assertEqual({name: (each['shape'], each['stats']) for name, each in after.items()},
                         {name: (each['shape'], each['stats']) for name, each in before.items()})
        self.check(after['output.1'], as_nhwc)
        self.assertEqual(after['output.2']['shape'], list(fractal_z(grouped).shape))  # groups: not converted, before and after

    def test_what_cannot_be_converted_stays_as_it_is_stored(self):
        image, weights = self.array(2, 19, 3, 5), self.array(16, 16, 3, 3)
        cases = [(nc1hwc0(image), None, 'NC1HWC0', 0), (nc1hwc0(image), (2, 40, 3, 5), 'NC1HWC0', 0),
                 (nc1hwc0(image), (19, 15), 'NC1HWC0', 0), (fractal_z(weights), weights.shape, 'FRACTAL_Z', 4),
                 (fractal_z(weights), (16, 16, 2**33, 2**33), 'FRACTAL_Z', 0)]
        self.file.write_bytes(dump_file([(True, form, stored, original, '', groups)
                                         for stored, original, form, groups in cases]))
        tensors = self.tensors()
        for slot, (stored, _, _, _) in enumerate(cases):
            self.assertEqual(tuple(tensors[f'output.{slot}']['shape']), stored.shape)
            self.assertEqual(tensors[f'output.{slot}']['stats']['crc32'], f'{zlib.crc32(stored.tobytes()):08x}')

    def replay(self, trans_flag):
        config = {'common_dump_settings': {'dump_mode': 0, 'path': '/elsewhere', 'net_name': 'Net', 'iteration': 'all',
                                           'input_output': 0, 'kernels': [], 'support_device': [0], 'op_debug_mode': 0,
                                           'saved_data': 'tensor'},
                  'e2e_dump_settings': {'enable': True, 'trans_flag': trans_flag}}
        path = self.folder / f'{trans_flag}.json'
        path.write_text(json.dumps(config))
        out = self.folder / f'out_{trans_flag}'
        ran = self.command('dump', '--config', path, self.folder / 'run', '-o', out)
        return ran, sorted(out.rglob('*.npy'))

    def test_a_replay_converts_and_names_the_format(self):
        image = self.array(2, 19, 3, 5)
        self.file.write_bytes(dump_file([(True, 'NC1HWC0', nc1hwc0(image), image.shape, '', 0)]))
        ran, (converted,) = self.replay(True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn('.output.0.DefaultFormat.float16.npy', converted.name)
        numpy.testing.assert_array_equal(numpy.load(converted), image)
        ran, (kept,) = self.replay(False)
        self.assertIn('.output.0.NC1HWC0.float16.npy', kept.name)
        numpy.testing.assert_array_equal(numpy.load(kept), nc1hwc0(image))

    def test_without_the_original_shape_a_replay_says_the_true_format(self):
        image = self.array(2, 19, 3, 5)
        self.file.write_bytes(dump_file([(True, 'NC1HWC0', nc1hwc0(image), None, '', 0)]))
        ran, (kept,) = self.replay(True)
        self.assertIn('.output.0.NC1HWC0.float16.npy', kept.name)
        self.assertIn('device\'s format', ran.stderr)


if __name__ == '__main__':
    unittest.main()
