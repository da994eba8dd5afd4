"""What people have, as tensors of the library: nothing is copied."""
import ctypes
import math

from ._library import DTYPE_NUMBERS, DTYPES, Error, TensorStruct, lib

HOST, CL_BUFFER = 0, 1
_SIZES = [lib.dtype_bytes(number) for number in range(len(DTYPES))]


class View:
    """A tensor's struct, and what has to live as long as it is read."""

    __slots__ = ("struct", "owner", "queue", "shape", "dtype")

    def __init__(self, struct, owner, shape, queue=None):
        self.struct, self.owner, self.shape, self.queue = struct, owner, tuple(shape), queue
        self.dtype = DTYPES[struct.dtype]


def _struct(dtype, count, address, shape=None, stride_bytes=None):
    struct = TensorStruct(dtype=dtype, where=HOST, element_count=count, address=address)
    if stride_bytes is None:
        return struct, None
    dimensions = len(shape)
    shapes, strides = (ctypes.c_uint64 * dimensions)(*shape), (ctypes.c_int64 * dimensions)(*stride_bytes)
    struct.dimension_count = dimensions
    struct.shape, struct.stride_bytes = ctypes.addressof(shapes), ctypes.addressof(strides)
    return struct, (shapes, strides)


def _number(name, what):
    number = DTYPE_NUMBERS.get(name)
    if number is None:
        raise Error(f"{what} of {name} cannot be measured; cast it first. Known are {', '.join(DTYPES)}", "unsupported")
    return number


def _c_order(shape, strides, itemsize):
    expected = itemsize
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True


def _of_torch(x):
    import torch
    x = x.detach()
    if x.device.type != "cpu":
        raise Error(f"a torch.Tensor on {x.device} cannot be read; use .cpu() first", "unsupported")
    if x.layout is not torch.strided:
        raise Error(f"a torch.Tensor of layout {x.layout} cannot be read; use .to_dense() first", "unsupported")
    x = x.resolve_conj().resolve_neg()
    name = str(x.dtype).removeprefix("torch.")
    dtype = _number(name, "a torch.Tensor")
    count, shape = x.numel(), tuple(x.shape)
    if x.is_contiguous() or count == 0:
        struct, arrays = _struct(dtype, count, x.data_ptr())
    else:
        struct, arrays = _struct(dtype, count, x.data_ptr(), shape, [step * _SIZES[dtype] for step in x.stride()])
    return View(struct, (x, arrays), shape)


_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}


def _of_array_interface(x, facts):
    """NumPy's arrays, and whatever describes itself as they do."""
    typestr, shape = facts["typestr"], facts["shape"]
    if not typestr[2:].isdigit():
        raise Error(f"an array of {typestr} cannot be measured; its elements are Python's objects", "unsupported")
    itemsize = int(typestr[2:])
    if typestr[0] == ">" and itemsize > 1:
        raise Error(f"an array of big-endian {typestr} cannot be read; use .astype of the native order first", "unsupported")
    name = str(getattr(x, "dtype", "")) if typestr[1] == "V" else ""
    if name not in DTYPE_NUMBERS:  # ml_dtypes' types have a name and no kind
        kind = _KINDS.get(typestr[1], typestr)
        name = kind if kind == "bool" else f"{kind}{8 * itemsize}"
    dtype = _number(name, "an array")
    count = math.prod(shape)
    strides = facts.get("strides")
    address = facts["data"][0]
    if strides is None or count == 0 or _c_order(shape, strides, itemsize):
        struct, arrays = _struct(dtype, count, address)
    else:
        struct, arrays = _struct(dtype, count, address, shape, strides)
    return View(struct, (x, arrays), shape)


# The version of DLManagedTensor before the struct that we want, by the capsule's name.
_DL_TENSOR_AT = {b"dltensor": 0, b"dltensor_versioned": 32}
_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _of_dlpack(x):
    """The capsule stays ours and is never renamed: its own destructor gives the tensor back when it goes."""
    capsule = x.__dlpack__()
    name = _capsule_name(capsule)
    if name not in _DL_TENSOR_AT:
        raise Error(f"a DLPack capsule named {name!r} cannot be read", "unsupported")
    dl_tensor = _capsule_pointer(capsule, name) + _DL_TENSOR_AT[name]
    dimensions = ctypes.c_int32.from_address(dl_tensor + 16).value
    struct, strides = TensorStruct(), (ctypes.c_int64 * max(dimensions, 1))()
    lib.tensor_from_dlpack(dl_tensor, ctypes.addressof(strides), len(strides), struct)
    shape_at = ctypes.c_void_p.from_address(dl_tensor + 24).value
    shape = (ctypes.c_int64 * dimensions).from_address(shape_at) if dimensions else ()
    return View(struct, (capsule, strides), shape)


class _PyBuffer(ctypes.Structure):
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


class _Held:
    """A buffer that is held until this goes."""

    def __init__(self, view):
        self.view, self.buffer = view, _PyBuffer()
        ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(view), ctypes.byref(self.buffer), 0x11C)  # full, read only

    def __del__(self):
        if self.buffer.obj:
            ctypes.pythonapi.PyBuffer_Release(ctypes.byref(self.buffer))


_FORMATS = {"?": "bool", "e": "float16", "f": "float32", "d": "float64"}
_FORMATS.update({letter: "int" for letter in "bhilqn"} | {letter: "uint" for letter in "BHILQN"})


def _of_buffer(x):
    """bytes, bytearray, array.array, memoryview, mmap: whatever has the buffer protocol."""
    view = memoryview(x)
    name = _FORMATS.get(view.format.lstrip("@=<"), view.format)
    dtype = _number(f"{name}{8 * view.itemsize}" if name in ("int", "uint") else name, f"a {type(x).__name__}")
    held = _Held(view)
    count = view.nbytes // view.itemsize
    if view.c_contiguous or count == 0:
        struct, arrays = _struct(dtype, count, held.buffer.buf)
    else:
        struct, arrays = _struct(dtype, count, held.buffer.buf, view.shape, view.strides)
    return View(struct, (held, arrays), view.shape)


def _of_pyopencl(x):
    """An array of PyOpenCL: in its own memory, on its own queue."""
    if not x.flags.c_contiguous:
        raise Error("a strided array in OpenCL memory cannot be measured; copy it to C order first", "unsupported")
    struct = TensorStruct(dtype=_number(x.dtype.name, "a PyOpenCL array"), where=CL_BUFFER, element_count=x.size,
                          address=x.base_data.int_ptr if x.size else None, offset_bytes=x.offset)
    return View(struct, x, x.shape, x.queue)


def view_of(x):
    """The tensor that `x` holds, in place."""
    if hasattr(x, "data_ptr") and hasattr(x, "is_contiguous"):
        return _of_torch(x)
    if hasattr(x, "base_data") and hasattr(x, "queue"):
        return _of_pyopencl(x)
    facts = getattr(x, "__array_interface__", None)
    if facts is not None:
        return _of_array_interface(x, facts)
    if hasattr(x, "__dlpack__"):
        return _of_dlpack(x)
    try:
        return _of_buffer(x)
    except TypeError:
        raise Error(f"a {type(x).__name__} is no tensor: it has neither __dlpack__ nor the buffer protocol. "
                    "Lists of numbers are made one by numpy.asarray(x)", "unsupported") from None
