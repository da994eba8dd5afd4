"""Pairs of msprobe dumps with all kinds of odd contents, generated from a seed."""
import json
import os
import random

import numpy

NAN, INF = float('nan'), float('inf')
FLOATS = ['torch.float32', 'torch.float16', 'torch.bfloat16']
DTYPES = FLOATS + ['torch.float64', 'torch.int64', 'torch.int32', 'torch.bool', 'torch.uint8']
FUNCTIONS = ['Functional.conv2d', 'Torch.add', 'Tensor.mul', 'Functional.qkv_proj', 'Torch.npu_fusion', 'Torch.empty',
             'Tensor.to', 'Tensor.__setitem__', 'Torch.new_empty', 'Torch.numpy', 'Distributed._all_gather_base',
             'Distributed._reduce_scatter_base', 'Distributed.all_to_all_single', 'Distributed.batch_isend_irecv']
MODULES = ['Module.layers.0.fc.Linear', 'Module.forward_net.Net', 'Module.gate_up.Linear', 'Module.head.Head']


class Pair:
    """Two dump.json, `a` and `b`, as Python dicts. In mode "tensor" also `arrays`, by side and file name."""

    def __init__(self, seed, mode):
        self.random = random.Random(f'{mode} {seed}')
        self.mode = mode
        self.only_ints = self.random.random() < 0.1
        self.only_numbers = self.random.random() < 0.25
        self.has_stack = self.random.random() < 0.5
        self.a, self.b = {}, {}
        self.arrays = {}
        self.written_stack = None
        for number in range(self.random.choice([1, 2, 4, 8])):
            self.add_call(number)
        if self.random.random() < 0.2:
            self.b = dict(self.random.sample(list(self.b.items()), len(self.b)))
        for side in self.a, self.b:
            if not any(side.values()):
                side['Torch.kept.0.forward'] = {'input_args': [self.tensor()], 'input_kwargs': {}, 'output': []}
        if mode == 'tensor':
            self.add_arrays()

    def chance(self, probability):
        return self.random.random() < probability

    # Numbers

    def number(self):
        pick, choose = self.random.random(), self.random.choice
        if self.only_ints:
            return self.random.randint(-5, 5)
        if self.only_numbers:
            return choose([self.random.randint(-9, 9), self.random.uniform(-9, 9), self.random.gauss(0, 1e-6)])
        if pick < 0.5:
            return self.random.gauss(0, 10)
        if pick < 0.6:
            return self.random.randint(-1000, 1000)
        return choose([0, 0.0, -0.0, 1, 1.0, NAN, INF, -INF, None, 1e-12, 5e-324, 1e300, -1e300, 1e16, 123456789012345678,
                       3.3895313892515355e+38, 0.1, 2.5e-310, True, False, -7, 12345.678901234567])

    def near(self, value):
        """The same statistic in the other run."""
        if self.chance(0.4):
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or self.chance(0.15):
            return self.number()
        if isinstance(value, int):
            return value + self.random.choice([0, 0, 1, -1, 10])
        return value * self.random.choice([1, 1 + 1e-9, 1.01, 1.2, 2, 50, -1]) if self.chance(0.9) else int(min(max(value, -1e9), 1e9)) if value == value else value

    # Leaves

    def tensor(self):
        shape = self.random.choice([[], [1], [3], [2, 3], [4, 1, 5], [0, 2]])
        leaf = {'type': 'torch.Tensor', 'dtype': self.random.choice(DTYPES if self.chance(0.5) else FLOATS), 'shape': shape}
        leaf.update({name: self.number() for name in ('Max', 'Min', 'Mean', 'Norm')})
        if self.chance(0.9):
            leaf['requires_grad'] = self.chance(0.5)
        if self.mode == 'md5' and self.chance(0.95):
            leaf['md5'] = f'{self.random.getrandbits(32):08x}'
        return leaf

    def argument(self):
        choose = self.random.choice
        return choose([
            {'type': 'int', 'value': self.random.randint(-3, 3)}, {'type': 'float', 'value': self.random.uniform(-3, 3)},
            {'type': 'float', 'value': choose([NAN, INF, -INF, 0.0, 1.0])}, {'type': 'bool', 'value': self.chance(0.5)},
            {'type': 'str', 'value': choose(['mean', 'sum', '5', '1e3', 'nan', 'inf', 'cuda:0', 'npu:1', 'True', 'None', 'a,b "c"', "it's", ''])},
            {'type': 'torch.dtype', 'value': choose(FLOATS)}, {'type': 'torch.Size', 'value': choose([[2, 3], [2], []])},
            {'type': 'slice', 'value': [0, None, choose([1, 2])]}, {'type': 'ellipsis', 'value': '...'},
            {'type': 'torch.memory_format', 'format': 'contiguous_format'}, {'type': 'torch.device', 'value': choose(['cpu', 'cuda', 'npu'])},
            {'type': 'torch.ProcessGroup', 'group_ranks': choose([[0, 1], [0, 2]]), 'group_id': 'g'},
            {'type': 'NoneType', 'value': None}, None,
            {'class_type': 'torch.distributed.P2POp', 'op': 'isend', 'peer': 1, 'tag': 0, 'group_id': 0, 'tensor': choose([None, self.tensor()])}])

    def leaf(self):
        pick = self.random.random()
        if self.only_ints or self.only_numbers or pick < 0.65:
            return self.tensor()
        if pick < 0.9:
            return self.argument()
        if pick < 0.95:
            return [self.leaf() for _ in range(self.random.randint(0, 2))]
        return {'first': self.leaf(), 'second': self.leaf()} if self.chance(0.7) else {}

    def other(self, leaf):
        """The same leaf in the other run."""
        if isinstance(leaf, list):
            return [self.other(each) for each in leaf] + ([self.leaf()] if self.chance(0.1) else [])
        if not isinstance(leaf, dict) or self.chance(0.03):
            return leaf if self.chance(0.9) else self.leaf()
        if 'dtype' not in leaf:
            if 'type' not in leaf and 'class_type' not in leaf:
                return {name: self.other(value) for name, value in leaf.items() if self.chance(0.95)}
            copy = dict(leaf)
            if 'value' in copy and isinstance(copy['value'], (int, float)) and not isinstance(copy['value'], bool) and self.chance(0.4):
                copy['value'] = self.near(copy['value'])
                if isinstance(copy['value'], (bool, type(None))):
                    copy['value'] = 1
            return copy
        copy = dict(leaf)
        for name in 'Max', 'Min', 'Mean', 'Norm':
            copy[name] = self.near(copy[name])
        if self.chance(0.1):
            copy['dtype'] = self.random.choice(FLOATS if self.chance(0.7) else DTYPES)
        if self.chance(0.08):
            copy['shape'] = self.random.choice([[], [3], [3, 2]])
        if self.chance(0.08):
            copy['requires_grad'] = self.chance(0.5)
        if 'md5' in copy and self.chance(0.3):
            copy['md5'] = f'{self.random.getrandbits(32):08x}'
        return copy

    # Calls

    def add_call(self, number):
        is_module = self.chance(0.3)
        stem = self.random.choice(MODULES if is_module else FUNCTIONS)
        direction = self.random.choice(['forward', 'forward', 'backward'])
        key = f'{stem}.{direction}.{number}' if is_module else f'{stem}.{number}.{direction}'
        if self.chance(0.08):
            key = self.random.choice([f'{stem}.parameters_grad', f'{stem}.parameters_grad.{number}', f'odd_{number}', 'forward.0'])
        if 'parameters_grad' in key:
            call = {name: [self.tensor() if self.chance(0.9) else None] for name in ('weight', 'bias')}
        else:
            names = ('input', 'output') if direction == 'backward' else ('input_args', 'output')
            call = {name: [self.leaf() for _ in range(self.random.randint(0, 3))] for name in names}
            if direction == 'forward':
                call['input_kwargs'] = {name: self.leaf() for name in ('dim', 'src', 'alpha') if self.chance(0.25)}
                call['is_recompute'] = self.chance(0.2)
                if is_module and self.chance(0.6):
                    call['parameters'] = {'weight': self.tensor(), 'bias': self.tensor()}
                if self.chance(0.3):
                    call = {name: call[name] for name in sorted(call)}
        if not self.chance(0.08):
            self.a[key] = call
        if not self.chance(0.08):
            other_key = key
            if direction == 'backward' and self.chance(0.3) and key not in ('forward.0',):
                other_key = key.replace(f'.{number}', f'.{number + 1}')
            self.b[other_key] = {name: self.other_member(value) for name, value in call.items()}

    def other_member(self, value):
        if isinstance(value, list):
            return self.other(value)
        if isinstance(value, dict):
            return {name: self.other(each) for name, each in value.items() if self.chance(0.95)}
        return value

    # Arrays. Few bits, so that their sums are exact in binary64 and do not depend on a BLAS.

    def array(self):
        choose = self.random.choice
        shape = choose([(), (1,), (3,), (2, 3), (4, 1, 5), (0, 2), (64,)])
        dtype = choose(['float32', 'float32', 'float16', 'float64', 'int32', 'int8', 'uint8', 'bool', 'int64'])
        count = int(numpy.prod(shape))
        values = numpy.array([self.random.randint(-64, 64) for _ in range(count)], 'float64') / 8
        if self.chance(0.2):
            values *= choose([0, 2**-10, 4096])
        if dtype.startswith('u'):
            values = abs(values)
        values = values.astype(dtype)
        if dtype.startswith('float') and self.chance(0.3):
            for _ in range(min(count, 3)):
                values[self.random.randrange(count)] = choose([NAN, INF, -INF, 0])
        return values.reshape(shape)

    def other_array(self, array):
        array = array.copy()
        pick, flat = self.random.random(), array.reshape(-1)
        if pick < 0.08:
            return self.array()
        if pick < 0.16:
            return array.astype(self.random.choice(['float32', 'float64', 'int32']), copy=False) if numpy.isfinite(array.astype(float)).all() else array
        if pick < 0.2:
            return array.reshape(array.shape + (1,))
        for _ in range(self.random.choice([0, 1, 1, len(flat)]) if len(flat) else 0):
            index = self.random.randrange(len(flat))
            change = self.random.choice([1, 0.0078125, 2, 1 + 2**-10, -1])
            with numpy.errstate(all='ignore'):
                flat[index] = flat[index] * change if self.chance(0.6) else 1 if self.chance(0.9) else 0
        return flat.reshape(array.shape)

    def add_arrays(self):
        def visit(tree, other, path):
            """Gives each tensor of `tree` a file, and the matching tensors of `other` a similar one."""
            if isinstance(tree, list):
                for i, each in enumerate(tree):
                    partner = other[i] if isinstance(other, list) and i < len(other) else None
                    visit(each, partner, path if 'parameters_grad' in path else f'{path}.{i}')
            elif isinstance(tree, dict) and 'shape' in tree:
                array = self.array()
                for side, leaf, content in ('a', tree, array), ('b', other, self.other_array(array)):
                    if not isinstance(leaf, dict) or 'shape' not in leaf or 'data_name' in leaf or self.chance(0.05):
                        continue
                    leaf['data_name'] = path + '.npy'
                    self.arrays[side, path + '.npy'] = content
            elif isinstance(tree, dict) and 'class_type' not in tree:
                for name, each in tree.items():
                    visit(each, other.get(name) if isinstance(other, dict) else None, f'{path}.{name}')

        # The two sides may share objects: copy them.
        self.a, self.b = json.loads(json.dumps(self.a)), json.loads(json.dumps(self.b))
        words = {'input_args': 'input', 'input_kwargs': 'input'}
        for first, second in (self.a, self.b), (self.b, {}):
            for key, call in first.items():
                for name, member in call.items():
                    if isinstance(member, (dict, list)):
                        path = f'{key}.{name}' if 'parameters_grad' in key else f'{key}.{words.get(name, name)}'
                        visit(member, second.get(key, {}).get(name), path)

    # Files

    def dump(self, side):
        is_tensor = self.mode == 'tensor'
        return {'task': 'tensor' if is_tensor else 'statistics', 'level': 'mix',
                'framework': 'mindspore' if is_tensor else 'pytorch', 'dump_data_dir': None, 'data': side}

    def stack(self):
        lines = ['File /net/model.py, line 3, in forward, \n y = self.conv(x)', "File /it's here.py, line 1, in \"f\", \n f(1, 2)"]
        known = [name for name in self.a if self.chance(0.7)]
        if self.chance(0.5):
            return {name: lines for name in known}
        return {'0': [known[:2], lines], '1': [known[2:], lines[:1]]}

    def write(self, folder):
        for name, side in ('a', self.a), ('b', self.b):
            os.makedirs(f'{folder}/{name}', exist_ok=True)
            with open(f'{folder}/{name}/dump.json', 'w', encoding='utf-8') as file:
                json.dump(self.dump(side), file, indent=1)
        self.written_stack = self.stack() if self.has_stack else None
        if self.has_stack:
            with open(f'{folder}/a/stack.json', 'w', encoding='utf-8') as file:
                json.dump(self.written_stack, file, indent=1)
        for side in 'ab' if self.mode == 'tensor' else '':
            os.makedirs(f'{folder}/{side}/dump_tensor_data', exist_ok=True)
        for (side, name), array in self.arrays.items():
            numpy.save(f'{folder}/{side}/dump_tensor_data/{name}', array)


# An API's name in MindSpore and in PyTorch, and whether msprobe's own table knows that
APIS = [('Functional.abs', 'Torch.abs'), ('Functional.dense', 'Functional.linear'), ('Tensor.equal', 'Tensor.eq'),
        ('Mint.add', 'Torch.add'), ('MintFunctional.relu', 'Functional.relu'), ('Functional.softmax', 'Torch.softmax'),
        ('Primitive.conv2d.Conv2d', 'Functional.conv2d')]
# The members of each type of layer: their names and types on both sides
LAYERS = {'Net': [('fc1', 'Dense', 'linear1', 'Linear'), ('block', 'Block', 'stage.0', 'Stage'), ('trunk', 'ParallelTransformer', 'trunk', 'ParallelTransformer')],
          'Block': [('conv', 'Conv2d', 'conv', 'Conv2d'), ('norm.0', 'LayerNorm', 'ln', 'LayerNorm')],
          'ParallelTransformer': [('layers.4', 'Block', 'layers.0', 'Stage'), ('layers.5', 'Block', 'layers.1', 'Stage')]}


class MappedPair(Pair):
    """A dump of MindSpore and one of PyTorch of the same model, and msprobe's mapping files for them. In mode "tensor" both
    are MindSpore's, with other numbers of calls."""

    def __init__(self, seed, mode, kind):  # pylint: disable=super-init-not-called
        self.random = random.Random(f'{mode} {kind} {seed}')
        self.mode, self.kind = mode, kind
        self.only_ints, self.only_numbers = False, self.chance(0.5)
        self.a, self.b, self.arrays = {}, {}, {}
        self.has_stack = self.with_stack = kind == 'layer' or self.chance(0.5)
        self.written_stack = None
        # With an empty stack.json msprobe makes no layer mapping.
        self.stacks, self.construct = ({'Functional.other.0.forward': []}, {'Functional.other.0.forward': []}), ({}, {})
        self.counts = {}
        self.layer('Cell.network', 'Module.network', 'Net', 'Net', None, None)
        if mode == 'tensor':
            self.b = {(key if self.chance(0.5) else self.renumbered(key)): call for key, call in self.b.items()}
            self.add_arrays()
        self.mapping = self.mapping_file()

    @staticmethod
    def renumbered(key):
        return '.'.join(str(int(part) + 3) if part.isdigit() and len(part) == 1 else part for part in key.split('.'))

    def tensor(self):
        leaf = super().tensor()
        leaf['dtype'] = self.random.choice(FLOATS[:1] * 3 + FLOATS)
        return leaf

    def of_mindspore(self, tree):
        """A tree of the NPU's side: MindSpore's words for dtypes."""
        words = {'torch.float32': 'Float32', 'torch.float16': 'Float16', 'torch.bfloat16': 'BFloat16'}
        if isinstance(tree, list):
            return [self.of_mindspore(each) for each in tree]
        if isinstance(tree, dict):
            return {name: words.get(each, each) if name == 'dtype' else 'mindspore.Tensor' if each == 'torch.Tensor' else self.of_mindspore(each)
                    for name, each in tree.items()}
        return tree

    def call(self, npu, bench, of_npu, of_bench):
        """Adds a call to both sides, unless it is one of the few that a side lacks."""
        call = {'input_args': [self.tensor() for _ in range(self.random.randint(1, 3))], 'input_kwargs': {}, 'output': [self.tensor()]}
        if '.forward.' in npu + '.' and npu.startswith('Cell') and self.chance(0.4):
            call['parameters'] = {'weight': self.tensor()}
        if self.chance(0.2):
            call['input_kwargs'] = {'dim': self.argument()}
        if 'backward' in npu:
            call = {'input': call['input_args'], 'output': call['output']}
        other = {name: self.other_member(value) for name, value in call.items()}
        if self.mode == 'tensor':
            bench, other = npu, self.of_mindspore(other)
        frames = ['File /site-packages/torch/nn/functional.py, line 9, in helper, \n x', 'File /net/model.py, line 3, in forward, \n y = f(x)',
                  'File /net/model.py, line 3, in construct, \n y = f(x)']
        for side, key, value, parent in (0, npu, self.of_mindspore(call), of_npu), (1, bench, other, of_bench):
            if self.chance(0.07):
                continue
            (self.b if side else self.a)[key] = value
            self.construct[side][key] = parent
            if 'backward' not in key and not key.startswith(('Cell', 'Module')):
                self.stacks[side][key] = frames[0 if self.chance(0.2) else 1:]

    def counted(self, side, stem):
        self.counts[side, stem] = self.counts.get((side, stem), -1) + 1
        return self.counts[side, stem]

    def layer(self, npu, bench, npu_type, bench_type, of_npu, of_bench):
        keys = [f'{npu}.{npu_type}.forward.0', f'{bench}.{bench_type}.forward.0']
        for _ in range(self.random.randint(0, 2)):
            ms, pt = self.random.choice(APIS)
            numbers = [self.counted('a', ms), self.counted('b', pt)]
            for direction in ('forward', 'backward')[:self.random.randint(1, 2)]:
                self.call(f'{ms}.{numbers[0]}.{direction}', f'{pt}.{numbers[1]}.{direction}', *keys)
        for name, kind, other, other_kind in LAYERS.get(npu_type, []):
            if self.chance(0.9):
                self.layer(f'{npu}.{name}', f'{bench}.{other}', kind, other_kind, *keys)
        for direction in ('forward', 'backward')[:self.random.randint(1, 2)]:
            self.call(*(key.replace('forward', direction) for key in keys), of_npu, of_bench)
        if self.chance(0.3):
            for side, dump, key in (0, self.a, keys[0]), (1, self.b, keys[1]):
                name = key.replace('forward.0', 'parameters_grad')
                tree = {'weight': [self.tensor()]}
                dump[name] = self.of_mindspore(tree) if side == 0 else tree
                self.construct[side][name] = None

    def mapping_file(self):
        """The text of the yaml file, or None where msprobe works without one."""
        if self.kind == 'fuzzy' or (self.kind != 'data' and self.chance(0.2)):
            return None
        if self.kind == 'cell':
            pairs = {'network.fc1.Dense': 'network.linear1.Linear', 'block.Block': 'stage.0.Stage', 'block': 'stage.0', 'norm.0': 'ln'}
            return ''.join(f'{a}: {b}\n' for a, b in pairs.items() if self.chance(0.8))
        if self.kind == 'layer':
            rules = {'Cell': {'network': 'network'}, 'Net': {'fc1': 'linear1(Linear)', 'block': 'stage.0'}, 'Block': {'norm.0': 'ln', 'norm': 'no'}}
            return '# by type\n' + ''.join(f'{kind}:\n' + ''.join(f'  {a}: "{b}"\n' for a, b in rule.items()) for kind, rule in rules.items()
                                          if self.chance(0.8)) or '{}'
        if self.kind == 'api':
            rule = {'ms_api': 'Functional.softmax', 'pt_api': 'Torch.softmax', 'ms_args': [0, 1], 'pt_args': [1, 0], 'ms_output': [0], 'pt_output': [0],
                    'ms_parameters': [], 'pt_parameters': [], 'ms_parameters_grad': [], 'pt_parameters_grad': []}
            other = dict(rule, ms_api='Functional.abs', pt_api='Torch.abs', ms_args=[0], pt_args=[0])
            return json.dumps([each for each in (rule, other) if self.chance(0.8)])
        names = {}
        for (key, call), other in zip(self.a.items(), self.b):
            for i in range(len(call.get('input_args', call.get('input', [])))):
                if self.chance(0.8):
                    names[f'{key}.input.{i}'] = f'{other}.input.{i}'
        return ''.join(f"'{a}': {b}\n" for a, b in names.items())

    def dump(self, side):
        if self.mode == 'tensor':
            return super().dump(side)
        return {'task': 'statistics', 'level': 'mix', 'framework': 'mindspore' if side is self.a else 'pytorch', 'dump_data_dir': None, 'data': side}

    def write(self, folder):
        self.has_stack = False
        super().write(folder)
        self.write_companions(folder, self.stacks if self.with_stack else None, self.construct if self.kind == 'layer' else None)
        if self.mapping is not None:
            with open(f'{folder}/mapping.yaml', 'w', encoding='utf-8') as file:
                file.write(self.mapping)

    @staticmethod
    def write_companions(folder, stacks, construct):
        for name, both in ('stack', stacks), ('construct', construct):
            for side, tree in zip('ab', both or ()):
                with open(f'{folder}/{side}/{name}.json', 'w', encoding='utf-8') as file:
                    json.dump(tree, file, indent=1)
