// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/doubles.h"
#include "ops/infer.h"
#include "ops/window.h"

namespace wootz {

class CanonicalizeContext;

/// The p of opset 1's p-norms is a float.
void canonicalize_norm_order(CanonicalizeContext& c);

/// What all pools share. MaxPool adds storage_order, AveragePool count_include_pad, LpPool p.
struct PoolAttributes : WindowAttributes {
  template <class V>
  void reflect(V& v) {
    WindowAttributes::reflect(v);
    v("ceil_mode", ceil_mode);
  }
};
struct MaxPoolAttributes : PoolAttributes {
  int64_t storage_order = 0;
  template <class V>
  void reflect(V& v) {
    PoolAttributes::reflect(v);
    v("storage_order", storage_order);
  }
};
struct AveragePoolAttributes : PoolAttributes {
  int64_t count_include_pad = 0;
  template <class V>
  void reflect(V& v) {
    PoolAttributes::reflect(v);
    v("count_include_pad", count_include_pad);
  }
};

/// The window of a pool over data dims [N, C, spatial...].
inline Window pool_window(const WindowAttributes& a, std::span<const int64_t> x) {
  if (x.size() < 3 || a.kernel_shape.size() != x.size() - 2)
    throw Error(
        ErrorKind::kInvalidModel,
        "expected data [N,C,spatial...] and a kernel_shape with one value for each spatial axis, found " +
            dims_text(x) + " and " + dims_text(a.kernel_shape));
  return resolve_window(a, a.kernel_shape, x.subspan(2));
}

inline Dims pool_dims(const Window& window, std::span<const int64_t> x) {
  Dims dims{x[0], x[1]};
  dims.insert(dims.end(), window.output.begin(), window.output.end());
  return dims;
}

/// Sets output 0 (and 1, int64, where the node has one) of a pool.
inline void infer_pool(InferContext& c, const WindowAttributes& a) {
  std::optional<Shape> out;
  if (c.has_rank(0)) {
    const Shape& x = c.shape(0);
    c.check(x.size() >= 3 && a.kernel_shape.size() == x.size() - 2,
            "expected data [N,C,spatial...] and a kernel_shape with one value for each spatial axis, found "
            "rank " +
                std::to_string(x.size()) + " and " + dims_text(a.kernel_shape));
    const std::vector<Dim> kernel(a.kernel_shape.begin(), a.kernel_shape.end()),
        spatial(x.begin() + 2, x.end());
    out = Shape{x[0], x[1]};
    for (const Dim& d : window_output(c.symbols(), a, kernel, spatial)) out->push_back(d);
  }
  for (size_t i = 0; i < 2; ++i) {
    Type t = Type::tensor(i == 0 ? c.dtype(0) : DType::kInt64);
    t.shape = out;
    c.set_output(i, std::move(t));
  }
}

/// One operation per tap and output element.
inline double pool_flops(const Node& node, std::span<const Dims>, std::span<const Dims> outputs) {
  return static_cast<double>(element_count(outputs[0])) *
         static_cast<double>(element_count(node.attributes.get<Ints>("kernel_shape", {})));
}

}  // namespace wootz
