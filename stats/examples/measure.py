"""Statistics of arrays, in Python: of whatever has DLPack or the buffer protocol."""
import array

import tensorstat

gradient = array.array("f", [0.5, -1.5, 2.0, float("nan")])
r = tensorstat.measure(gradient, "max,min,nan count")
print(r.max, r.min, r.nan_count)

batch = tensorstat.measure({"w": array.array("d", [3.0, 4.0]), "b": b"\x00\x01"}, "l2norm,zero count")
for name, result in batch.items():
    print(name, result.to_dict())
