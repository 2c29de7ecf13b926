# SPDX-License-Identifier: Apache-2.0
"""Small networks that together reach every family of kernels, pass and rule. models() gives (name, ModelProto, runs): runs are the
shapes to run at, in order, as {input: dims}; the first is tuned for."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


class Net:
    """Nodes and weights as they come; every method returns the name of what it computes."""

    def __init__(self, name, seed):
        self.name, self.random = name, np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs, self.outputs, self.count = [], [], [], [], 0

    def input(self, name, dims, dtype=FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, dims))
        return name

    def weight(self, dims, scale=None, data=None):
        if data is None:
            fan = max(1, int(np.prod(dims[1:])))
            data = self.random.normal(0, scale or fan ** -0.5, dims).astype(np.float32)
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(data), name))
        return name

    def ints(self, *values):
        return self.weight(None, data=np.asarray(values, np.int64))

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"t{self.count + i}" for i in range(outputs)]
        self.count += outputs
        self.nodes.append(helper.make_node(kind, [i or "" for i in inputs], names, name=f"{kind}_{self.count}", **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, x, channels, out, kernel=3, bias=True, group=1, **attributes):
        kernel = kernel if isinstance(kernel, (list, tuple)) else [kernel, kernel]
        attributes.setdefault("pads", [k // 2 for k in kernel] * 2)
        inputs = [x, self.weight([out, channels // group, *kernel])] + ([self.weight([out], 0.3)] if bias else [])
        return self.op("Conv", *inputs, group=group, **attributes)

    def norm(self, x, channels):
        positive = np.abs(self.random.normal(1, 0.2, channels)).astype(np.float32) + 0.1
        return self.op("BatchNormalization", x, self.weight(None, data=positive), self.weight([channels], 0.2), self.weight([channels], 0.2),
                       self.weight(None, data=positive[::-1].copy()))

    def linear(self, x, k, n, bias=True):
        y = self.op("MatMul", x, self.weight([k, n], k ** -0.5))
        return self.op("Add", y, self.weight([n], 0.3)) if bias else y

    def gelu(self, x):
        half = self.weight(None, data=np.float32(0.5))
        e = self.op("Erf", self.op("Div", x, self.weight(None, data=np.float32(2 ** 0.5))))
        return self.op("Mul", self.op("Mul", x, self.op("Add", e, self.weight(None, data=np.float32(1)))), half)

    def layer_norm(self, x, n, spelled=False):
        scale, bias = self.weight(None, data=self.random.normal(1, 0.2, n).astype(np.float32)), self.weight([n], 0.2)
        if not spelled:
            return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-3)
        d = self.op("Sub", x, self.op("ReduceMean", x, self.ints(-1)))
        var = self.op("ReduceMean", self.op("Mul", d, d), self.ints(-1))
        root = self.op("Sqrt", self.op("Add", var, self.weight(None, data=np.float32(1e-3))))
        return self.op("Add", self.op("Mul", self.op("Div", d, root), scale), bias)

    def attention(self, x, width, heads, mask=None, fused=True):
        size = width // heads
        q, k, v = (self.linear(x, width, width) for _ in range(3))
        split = lambda t, perm: self.op("Transpose", self.op("Reshape", t, self.ints(0, 0, heads, size)), perm=perm)
        scores = self.op("MatMul", split(q, [0, 2, 1, 3]), split(k, [0, 2, 3, 1]))
        scores = self.op("Mul", scores, self.weight(None, data=np.float32(size ** -0.5)))
        if mask:
            scores = self.op("Add", scores, mask)
        y = self.op("MatMul", self.op("Softmax", scores, axis=-1), split(v, [0, 2, 1, 3]))
        return self.linear(self.op("Reshape", self.op("Transpose", y, perm=[0, 2, 1, 3]), self.ints(0, 0, width)), width, width)

    def end(self, *names):
        self.outputs += names

    def model(self):
        outputs = [helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None) for n in self.outputs]
        for o in outputs:
            o.ClearField("type")
        graph = helper.make_graph(self.nodes, self.name, self.inputs, outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def images(net, channels=3, h="h", w="w"):
    return net.input("x", ["n", channels, h, w])


def conv_relu_pool(n):
    x = images(n)
    y = n.op("Relu", n.norm(n.conv(x, 3, 24, strides=[2, 2]), 24))
    y = n.op("MaxPool", y, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = n.op("Relu", n.conv(y, 24, 37))
    n.end(n.op("AveragePool", y, kernel_shape=[3, 3], pads=[1, 1, 1, 1]), n.op("GlobalAveragePool", y))


def residual(n):
    x = images(n, 32)
    y = n.op("Relu", n.conv(x, 32, 32))
    y = n.op("Relu", n.op("Add", n.conv(y, 32, 32), x))
    z = n.op("Relu", n.op("Add", n.conv(y, 32, 48, 1), n.conv(x, 32, 48, 1, bias=False)))
    n.end(z)


def inverted(n):
    x = images(n, 16)
    y = n.op("HardSwish", n.conv(x, 16, 64, 1))
    y = n.op("HardSwish", n.conv(y, 64, 64, 5, group=64, strides=[2, 2]))
    g = n.op("Relu", n.conv(n.op("GlobalAveragePool", y), 64, 16, 1))
    g = n.op("HardSigmoid", n.conv(g, 16, 64, 1), alpha=1 / 6)
    n.end(n.conv(n.op("Mul", y, g), 64, 24, 1))


def depthwise(n):
    x = images(n, 40)
    y = n.op("Clip", n.conv(x, 40, 40, 3, group=40), n.weight(None, data=np.float32(0)), n.weight(None, data=np.float32(6)))
    y = n.conv(y, 40, 40, 3, group=40, dilations=[2, 2], pads=[2, 2, 2, 2])
    y = n.op("LeakyRelu", n.conv(y, 40, 20, 3, group=4), alpha=0.2)
    n.end(n.op("PRelu", n.conv(y, 20, 20, [1, 5]), n.weight([20, 1, 1], 0.3)))


def detector(n):
    x = images(n, 8)
    a = n.op("Mul", x, n.op("Sigmoid", n.conv(x, 8, 8)))
    up = n.op("Resize", n.conv(a, 8, 8, strides=[2, 2]), None, n.weight(None, data=np.float32([1, 1, 2, 2])), mode="nearest",
              nearest_mode="floor", coordinate_transformation_mode="asymmetric")
    y = n.op("Concat", a, up, axis=1)
    y = n.conv(y, 16, 18, 1)
    y = n.op("Transpose", n.op("Reshape", y, n.ints(0, 3, 6, -1)), perm=[0, 1, 3, 2])
    s = n.op("Slice", n.op("Sigmoid", y), n.ints(2), n.ints(6), n.ints(3))
    n.end(s, n.op("Slice", y, n.ints(0), n.ints(2), n.ints(3)))


def unet(n):
    x = images(n, 4)
    a = n.op("Relu", n.conv(x, 4, 12))
    b = n.op("Relu", n.conv(n.op("MaxPool", a, kernel_shape=[2, 2], strides=[2, 2]), 12, 20))
    up = n.op("ConvTranspose", b, n.weight([20, 12, 2, 2]), n.weight([12], 0.3), strides=[2, 2])
    y = n.op("Relu", n.conv(n.op("Concat", up, a, axis=1), 24, 12))
    up = n.op("Resize", b, None, n.weight(None, data=np.float32([1, 1, 2, 2])), mode="linear", coordinate_transformation_mode="half_pixel")
    n.end(n.op("Softmax", n.conv(y, 12, 5, 1), axis=1), up)


def mlp(n):
    x = n.input("x", ["n", 70])
    y = n.op("Relu", n.op("Gemm", x, n.weight([130, 70]), n.weight([130], 0.3), transB=1))
    y = n.gelu(n.linear(y, 130, 65))
    y = n.op("Gemm", y, n.weight([65, 33]), n.weight([33], 0.3), alpha=0.5, beta=2.0)
    n.end(n.op("LogSoftmax", y, axis=-1), n.op("Tanh", y))


def encoder(n):
    ids, mask = n.input("ids", ["n", "s"], INT64), n.input("mask", ["n", "s"], INT64)
    x = n.op("Add", n.op("Gather", n.weight([50, 48], 1.0), ids), n.weight([1, 1, 48], 0.5))
    m = n.op("Cast", n.op("Unsqueeze", mask, n.ints(1, 2)), to=FLOAT)
    m = n.op("Mul", n.op("Sub", n.weight(None, data=np.float32(1)), m), n.weight(None, data=np.float32(-1e4)))
    x = n.layer_norm(n.op("Add", x, n.attention(x, 48, 4, m)), 48)
    y = n.linear(n.gelu(n.linear(x, 48, 96)), 96, 48)
    n.end(n.layer_norm(n.op("Add", x, y), 48, spelled=True))


def vision(n):
    x = images(n, 3, 32, 32)
    y = n.op("Transpose", n.op("Reshape", n.conv(x, 3, 64, 8, strides=[8, 8], pads=[0, 0, 0, 0]), n.ints(0, 64, -1)), perm=[0, 2, 1])
    y = n.op("Add", y, n.weight([1, 16, 64], 0.5))
    y = n.op("Add", y, n.attention(n.layer_norm(y, 64), 64, 2))
    y = n.op("ReduceMean", n.layer_norm(y, 64), n.ints(1), keepdims=0)
    n.end(n.linear(y, 64, 10))


def batched(n):
    a, b = n.input("a", ["n", 3, "m", 20]), n.input("b", ["n", 3, 20, "k"])
    y = n.op("MatMul", a, b)
    z = n.op("MatMul", n.op("Transpose", a, perm=[0, 1, 3, 2]), n.op("Softmax", a, axis=-2))
    n.end(n.op("Softmax", y, axis=-1), z)


def reductions(n):
    x = n.input("x", ["n", 7, "w", 13])
    n.end(n.op("ReduceSum", x, n.ints(1, 3), keepdims=1), n.op("ReduceMax", x, n.ints(-1), keepdims=0), n.op("ReduceMin", x, n.ints(2)),
          n.op("ReduceL2", x, n.ints(0, 1)), n.op("ArgMax", x, axis=3, keepdims=0), n.op("ReduceMean", x, n.ints(2, 3)),
          n.op("ReduceProd", n.op("Sigmoid", x), n.ints(1)))


def norms(n):
    x = n.input("x", ["n", 12, "h", "w"])
    y = n.op("InstanceNormalization", x, n.weight([12], 0.5), n.weight([12], 0.5), epsilon=1e-2)
    t = n.op("Transpose", n.conv(y, 12, 24), perm=[0, 2, 3, 1])
    square = n.op("ReduceMean", n.op("Mul", t, t), n.ints(-1))
    rms = n.op("Mul", n.op("Div", t, n.op("Sqrt", n.op("Add", square, n.weight(None, data=np.float32(1e-2))))), n.weight([24], 1.0))
    n.end(rms, n.op("LpNormalization", t, axis=-1, p=2), n.layer_norm(t, 24))


def movements(n):
    x = n.input("x", ["n", 6, "h", "w"])
    a, b = n.op("Split", x, n.ints(2, 4), outputs=2, axis=1)
    c = n.op("Concat", n.op("Relu", b), n.op("Neg", a), axis=1)
    d = n.op("Pad", c, n.ints(0, 0, 1, 2, 0, 0, 3, 0), n.weight(None, data=np.float32(0.5)))
    e = n.op("Slice", d, n.ints(-1, 0), n.ints(-100, 1000), n.ints(3, 2), n.ints(-1, 2))
    f = n.op("Transpose", n.op("Tile", e, n.ints(1, 2, 1, 1)), perm=[2, 0, 3, 1])
    g = n.op("Gather", n.op("DepthToSpace", n.op("Pad", x, n.ints(0, 0, 0, 0, 0, 2, 0, 0)), blocksize=2), n.ints(1, 0, 1), axis=1)
    n.end(f, g, n.op("Reshape", n.op("Transpose", x, perm=[0, 2, 3, 1]), n.ints(0, -1)), n.op("Flatten", c, axis=2))


def pointwise(n):
    x, y = n.input("x", ["n", "c", "w"]), n.input("y", ["c", 1])
    s = n.op("Add", n.op("Mul", x, y), n.op("Exp", n.op("Neg", n.op("Abs", x))))
    t = n.op("Where", n.op("Greater", s, n.weight(None, data=np.float32(0.3))), n.op("Sqrt", n.op("Abs", s)), n.op("Sub", y, s))
    u = n.op("Max", t, x, n.weight(None, data=np.float32(-0.25)))
    n.end(n.op("Div", u, n.op("Add", n.op("Pow", x, n.weight(None, data=np.float32(2))), n.weight(None, data=np.float32(1)))),
          n.op("Elu", n.op("Sub", u, s), alpha=0.7), n.op("Softplus", t), n.op("Floor", n.op("Mul", u, n.weight(None, data=np.float32(8)))))


def recurrent(n):
    x = n.input("x", ["s", "n", 10])
    y, _, c = n.op("LSTM", x, n.weight([2, 48, 10]), n.weight([2, 48, 12]), n.weight([2, 96], 0.2), outputs=3, hidden_size=12,
                   direction="bidirectional")
    z = n.op("Reshape", n.op("Transpose", y, perm=[0, 2, 1, 3]), n.ints(0, 0, 24))
    g, h = n.op("GRU", z, n.weight([1, 27, 24]), n.weight([1, 27, 9]), n.weight([1, 54], 0.2), outputs=2, hidden_size=9,
                linear_before_reset=1)
    n.end(g, h, c)


def quantized(n):
    x = images(n, 8)
    scale, zero = (lambda v: n.weight(None, data=np.float32(v))), (lambda v, t: n.weight(None, data=t(v)))
    q = n.op("QuantizeLinear", x, scale(0.02), zero(120, np.uint8))
    d = n.op("DequantizeLinear", q, scale(0.02), zero(120, np.uint8))
    w = n.weight(None, data=n.random.integers(-120, 120, [16, 8, 3, 3]).astype(np.int8))
    wd = n.op("DequantizeLinear", w, n.weight(None, data=(n.random.random(16) * 0.01 + 0.002).astype(np.float32)),
              n.weight(None, data=np.zeros(16, np.int8)), axis=0)
    y = n.op("Relu", n.op("Conv", d, wd, n.weight([16], 0.2), pads=[1, 1, 1, 1]))
    y = n.op("DequantizeLinear", n.op("QuantizeLinear", y, scale(0.03), zero(0, np.uint8)), scale(0.03), zero(0, np.uint8))
    m = n.op("MatMulInteger", n.weight(None, data=n.random.integers(0, 255, [5, 20]).astype(np.uint8)),
             n.op("Cast", n.weight(None, data=n.random.integers(-90, 90, [20, 17]).astype(np.int8)), to=TensorProto.INT8), zero(7, np.uint8))
    n.end(y, n.op("Cast", m, to=FLOAT))


def shapes(n):
    x = n.input("x", ["n", 4, "h", "w"])
    size = n.op("Shape", x)
    hw = n.op("Slice", size, n.ints(2), n.ints(4), n.ints(0))
    doubled = n.op("Concat", n.op("Slice", size, n.ints(0), n.ints(2), n.ints(0)), n.op("Mul", hw, n.ints(2, 2)), axis=0)
    up = n.op("Resize", n.conv(x, 4, 4), None, None, doubled, mode="linear", coordinate_transformation_mode="align_corners")
    rows = n.op("Reshape", x, n.op("Concat", n.op("Gather", size, n.ints(0), axis=0), n.ints(-1), axis=0))
    wide = n.op("Expand", n.op("ReduceMean", x, n.ints(2, 3)), size)
    n.end(up, rows, n.op("Sub", x, wide))


def shared(n):
    """Values with several readers: what may be fused, overwritten or viewed, and what may not."""
    x = images(n, 16)
    a = n.conv(x, 16, 16, 1)
    b = n.op("Relu", a)
    c = n.op("Add", n.op("Sigmoid", a), b)
    d = n.op("Transpose", c, perm=[0, 2, 3, 1])
    e = n.op("Add", d, n.op("Transpose", a, perm=[0, 2, 3, 1]))
    f = n.op("Mul", n.op("Add", b, b), n.op("Sub", c, a))
    n.end(a, e, f, n.op("Concat", b, c, b, axis=1), n.op("Slice", c, n.ints(4), n.ints(12), n.ints(1)))


def branch(n):
    x, flag = n.input("x", ["n", 9]), n.input("flag", [], BOOL)
    y = n.op("Tanh", x)
    def body(kind):
        out = helper.make_tensor_value_info(f"{kind}_out", FLOAT, None)
        return helper.make_graph([helper.make_node(kind, [y], [f"{kind}_out"])], kind, [], [out])
    z = n.op("If", flag, then_branch=body("Neg"), else_branch=body("Exp"))
    n.end(n.op("Add", z, x))


def half(n):
    x = n.input("x", ["n", 3, 16, "w"])
    h = n.op("Cast", x, to=TensorProto.FLOAT16)
    w = n.weight(None, data=n.random.normal(0, 0.2, [20, 3, 3, 3]).astype(np.float16))
    y = n.op("Relu", n.op("Conv", h, w, pads=[1, 1, 1, 1]))
    n.end(n.op("Cast", n.op("Softmax", y, axis=1), to=FLOAT), n.op("Cast", n.op("Add", y, y), to=FLOAT))


def sized(**dims):
    return {name: list(d) for name, d in dims.items()}


LISTED = [
    (conv_relu_pool, [sized(x=(1, 3, 33, 40)), sized(x=(3, 3, 33, 40)), sized(x=(1, 3, 64, 21))]),
    (residual, [sized(x=(1, 32, 20, 20)), sized(x=(2, 32, 20, 20)), sized(x=(1, 32, 9, 14))]),
    (inverted, [sized(x=(2, 16, 21, 18)), sized(x=(1, 16, 21, 18)), sized(x=(3, 16, 8, 30))]),
    (depthwise, [sized(x=(1, 40, 19, 24)), sized(x=(2, 40, 19, 24)), sized(x=(1, 40, 11, 7))]),
    (detector, [sized(x=(1, 8, 16, 24)), sized(x=(2, 8, 16, 24)), sized(x=(1, 8, 32, 8))]),
    (unet, [sized(x=(1, 4, 24, 16)), sized(x=(3, 4, 24, 16)), sized(x=(1, 4, 10, 30))]),
    (mlp, [sized(x=(1, 70)), sized(x=(13, 70)), sized(x=(5, 70))]),
    (encoder, [sized(ids=(1, 17), mask=(1, 17)), sized(ids=(3, 17), mask=(3, 17)), sized(ids=(2, 30), mask=(2, 30))]),
    (vision, [sized(x=(2, 3, 32, 32)), sized(x=(1, 3, 32, 32)), sized(x=(5, 3, 32, 32))]),
    (batched, [sized(a=(2, 3, 19, 20), b=(2, 3, 20, 11)), sized(a=(1, 3, 1, 20), b=(1, 3, 20, 33))]),
    (reductions, [sized(x=(2, 7, 10, 13)), sized(x=(1, 7, 33, 13)), sized(x=(5, 7, 3, 13))]),
    (norms, [sized(x=(1, 12, 9, 10)), sized(x=(3, 12, 9, 10)), sized(x=(2, 12, 17, 3))]),
    (movements, [sized(x=(1, 6, 7, 10)), sized(x=(3, 6, 7, 10)), sized(x=(2, 6, 12, 5))]),
    (pointwise, [sized(x=(2, 5, 37), y=(5, 1)), sized(x=(1, 5, 37), y=(5, 1)), sized(x=(4, 3, 9), y=(3, 1))]),
    (recurrent, [sized(x=(7, 1, 10)), sized(x=(7, 3, 10)), sized(x=(15, 2, 10))]),
    (quantized, [sized(x=(1, 8, 12, 15)), sized(x=(2, 8, 12, 15)), sized(x=(1, 8, 20, 7))]),
    (shapes, [sized(x=(1, 4, 8, 10)), sized(x=(3, 4, 8, 10)), sized(x=(2, 4, 5, 13))]),
    (shared, [sized(x=(1, 16, 9, 11)), sized(x=(3, 16, 9, 11)), sized(x=(2, 16, 20, 6))]),
    (branch, [sized(x=(1, 9), flag=()), sized(x=(4, 9), flag=())]),
    (half, [sized(x=(1, 3, 16, 20)), sized(x=(2, 3, 16, 20)), sized(x=(1, 3, 16, 11))]),
]


def models():
    for seed, (make, runs) in enumerate(LISTED):
        net = Net(make.__name__, seed)
        make(net)
        yield net.name, net.model(), runs


def inputs(model, dims, seed):
    """Random inputs; integers from 0 to 1, at least one 1 a row, so that no mask is empty."""
    random = np.random.default_rng(seed)
    arrays = {}
    for i in model.graph.input:
        shape, dtype = dims[i.name], i.type.tensor_type.elem_type
        if dtype == FLOAT:
            arrays[i.name] = random.normal(0.2, 1, shape).astype(np.float32)
        elif dtype == BOOL:
            arrays[i.name] = np.asarray(random.integers(0, 2, shape), bool)
        else:
            arrays[i.name] = random.integers(0, 2, shape).astype(np.int64)
            arrays[i.name].reshape(shape[0], -1)[:, 0] = 1
    return arrays
