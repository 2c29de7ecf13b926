# SPDX-License-Identifier: Apache-2.0
"""Operators of a custom domain, written in Python."""
import inspect

from . import TensorInfo, _wootz


def _parameters(function):
    """Numbers of inputs (least, most; -1: any) and the attributes' names, from the signature."""
    least = most = 0
    attributes = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            most = -1
        elif parameter.kind is parameter.KEYWORD_ONLY:
            attributes.append(parameter.name)
        elif parameter.kind is not parameter.VAR_KEYWORD:
            least += parameter.default is parameter.empty
            most += most >= 0
    return least, most, attributes


def _as_list(result):
    return list(result) if isinstance(result, (list, tuple)) and not isinstance(result, TensorInfo) else [result]


def op(domain, name, *, infer, kernel=None, outputs=1):
    """Makes the decorated function the meaning of operator `name` of `domain`.

    The function takes the inputs as arrays (one with a default of None may be left out, `*inputs` takes any number) and the
    attributes as keyword-only arguments, and returns an array or a tuple of them. `infer` takes TensorInfos instead of
    arrays and returns a TensorInfo (or a tuple): dimensions are numbers, expressions as text over the inputs' ones, or None
    where only the run can tell. `kernel`, optional, is a faster way: it takes `out=` (an array, or a list when there are
    several outputs) to fill, is held against the function before it may run, and raced.

    Add operators before any model that uses them is read.
    """

    def decorate(function):
        least, most, attributes = _parameters(function)

        def run_kernel(inputs, out, attrs):
            kernel(*inputs, out=out[0] if outputs == 1 else out, **attrs)

        _wootz.add_op(domain, name, inspect.getdoc(function) or f"{domain}.{name}", least, most, outputs, attributes,
                      lambda infos, attrs: _as_list(infer(*infos, **attrs)),
                      lambda inputs, attrs: _as_list(function(*inputs, **attrs)),
                      None if kernel is None else run_kernel)
        return function

    return decorate
