// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/gemm/contraction.h"

#include <algorithm>
#include <cstring>

#include "device/contraction_tail.h"
#include "ops/doubles.h"
#include "ops/nn/conv.h"

namespace wootz {
namespace {

std::string label(int input) { return "tail operand (region input " + std::to_string(input) + ")"; }

const TensorDesc& input_of(const Problem& problem, int i) { return problem.inputs[static_cast<size_t>(i)]; }

bool is_byte(DType dtype) { return dtype == DType::kUint8 || dtype == DType::kInt8; }

bool has_whole_range(const QuantizeTail& q, DType result) {
  const bool is_signed = result == DType::kInt8;
  return q.low == (is_signed ? -128.0f : 0.0f) && q.high == (is_signed ? 127.0f : 255.0f);
}

/// The one constant that all zero points are; 0 without any, nothing where they differ or the run gives them.
std::optional<int32_t> zero_point(const Problem& problem, const Value* value) {
  if (!value) return 0;
  const auto& zero = input_of(problem, body_input_index(problem.body(), value)).constant;
  if (!zero || zero->size() == 0) return std::nullopt;
  const std::vector<int64_t> all = zero->to_int64s();
  if (std::any_of(all.begin(), all.end(), [&](int64_t z) { return z != all[0]; })) return std::nullopt;
  return static_cast<int32_t>(all[0]);
}

/// The weights as numbers [n, k] of a type.
Tensor numbers_of(const FewBitWeights& w, DType type) {
  const int64_t n = w.q->dims()[0], k = w.q->dims()[1], blocks = w.scales->dims()[1];
  std::vector<double> values = w.q->to_doubles();
  const std::vector<double> scales = w.scales->to_doubles();
  const std::vector<double> zeros = w.zeros ? w.zeros->to_doubles() : std::vector<double>(scales.size());
  for (int64_t j = 0; j < n; ++j)
    for (int64_t p = 0; p < k; ++p) {
      const auto at = static_cast<size_t>(j * blocks + p / w.block);
      double& v = values[static_cast<size_t>(j * k + p)];
      v = (v - zeros[at]) * scales[at];
    }
  Tensor numbers = Tensor::zeros(type, {n, k});
  store_doubles(values, numbers);
  return numbers;
}

struct Reader {
  const Problem& problem;
  Contraction& c;
  ContractionView view;
  Dims main_dims;
  size_t column_axis = 0;

  std::optional<std::string> read_conv() {
    const Node& node = *view.main;
    const TensorDesc &x = input_of(problem, c.a_input), &w = input_of(problem, c.b_input);
    if (x.dims.size() < 3 || x.dims.size() > 4)
      return "rank " + std::to_string(x.dims.size()) + ", expected 3 or 4";
    const auto attributes = read_attributes<ConvAttributes>(node.attributes);
    const Window window = conv_window(attributes, x.dims, w.dims);
    const size_t last = window.rank() - 1;
    ConvolutionShape& g = c.conv;
    c.is_convolution = true;
    g.batch = x.dims[0], g.channels = x.dims[1], g.groups = attributes.group;
    g.in_w = x.dims.back(), g.kernel_w = window.kernel[last], g.out_w = window.output[last];
    g.stride_w = window.strides[last], g.dilation_w = window.dilations[last];
    g.pad_left = window.pads_begin[last], g.pad_right = window.pads_end[last];
    g.x_n = x.strides[0], g.x_c = x.dims[1] == 1 ? 1 : x.strides[1], g.x_w = x.strides.back();
    main_dims = {g.batch, w.dims[0]};
    if (last > 0) {
      g.in_h = x.dims[2], g.kernel_h = window.kernel[0], g.out_h = window.output[0];
      g.stride_h = window.strides[0], g.dilation_h = window.dilations[0];
      g.pad_top = window.pads_begin[0], g.pad_bottom = window.pads_end[0];
      g.x_h = x.strides[2];
      main_dims.push_back(g.out_h);
    } else {
      g.x_h = g.in_w * g.x_w;
    }
    main_dims.push_back(g.out_w);
    column_axis = 1;
    c.n = w.dims[0];
    c.k = g.group_channels() * g.taps();
    if (const Value* bias = node.is("Conv") ? node.input(2) : nullptr) {
      const int input = body_input_index(problem.body(), bias);
      prepend_scaled_sum(view, 1, input, input_of(problem, input).dtype, 1);
      bias_input_ = input;
    }
    return std::nullopt;
  }

  std::optional<std::string> read_matmul() {
    const TensorDesc &a = input_of(problem, c.a_input), &b = input_of(problem, c.b_input);
    const size_t ra = a.dims.size(), rb = b.dims.size();
    if (ra < 2 || rb < 2)
      return "an operand of rank " + std::to_string(std::min(ra, rb)) + ", expected at least 2";
    ProductShape& g = c.product;
    g.m = a.dims[ra - 2], c.k = a.dims[ra - 1], c.n = b.dims[rb - 1];
    g.a_row = a.strides[ra - 2], g.a_k = a.strides[ra - 1];
    g.b_k = b.strides[rb - 2], g.b_n = b.strides[rb - 1];
    const size_t rank = std::max(ra, rb);
    for (size_t d = 0; d + 2 < rank; ++d) {
      const auto side = [&](const TensorDesc& t, Dims& strides) -> int64_t {
        const size_t lead = rank - t.dims.size();
        const int64_t dim = d < lead ? 1 : t.dims[d - lead];
        strides.push_back(dim == 1 ? 0 : t.strides[d - lead]);
        return dim;
      };
      const int64_t da = side(a, g.a_batch), db = side(b, g.b_batch);
      g.batch.push_back(da == 1 ? db : da);
    }
    main_dims = g.batch;
    main_dims.push_back(g.m);
    main_dims.push_back(c.n);
    flatten();
    return std::nullopt;
  }

  /// wootz.MatMulDequantized: B lies as rows of k.
  std::optional<std::string> read_few_bits() {
    const Node& node = *view.main;
    const TensorDesc &a = input_of(problem, c.a_input), &q = input_of(problem, c.b_input);
    const auto constant = [&](size_t i) {
      const Value* v = node.input(i);
      return v ? input_of(problem, body_input_index(problem.body(), v)).constant : nullptr;
    };
    c.few_bits = {constant(1), constant(2), constant(3), node.attributes.get<int64_t>("block", 0)};
    if (!c.few_bits->q || !c.few_bits->scales || (node.input(3) && !c.few_bits->zeros))
      return "weights of few bits that are not constant";
    const size_t rank = a.dims.size();
    ProductShape& g = c.product;
    g.m = a.dims[rank - 2], c.k = a.dims[rank - 1], c.n = q.dims[0];
    g.a_row = a.strides[rank - 2], g.a_k = a.strides[rank - 1];
    g.b_k = 1, g.b_n = c.k;
    for (size_t d = 0; d + 2 < rank; ++d) {
      g.batch.push_back(a.dims[d]), g.b_batch.push_back(0);
      g.a_batch.push_back(a.dims[d] == 1 ? 0 : a.strides[d]);
    }
    main_dims = a.dims;
    main_dims.back() = c.n;
    c.b_element = c.element;
    flatten();
    return std::nullopt;
  }

  std::optional<std::string> read_gemm() {
    const Node& node = *view.main;
    const bool trans_a = node.attributes.get<int64_t>("transA", 0) != 0,
               trans_b = node.attributes.get<int64_t>("transB", 0) != 0;
    const TensorDesc &a = input_of(problem, c.a_input), &b = input_of(problem, c.b_input);
    ProductShape& g = c.product;
    g.m = a.dims[trans_a ? 1 : 0], c.k = a.dims[trans_a ? 0 : 1], c.n = b.dims[trans_b ? 0 : 1];
    g.a_row = a.strides[trans_a ? 1 : 0], g.a_k = a.strides[trans_a ? 0 : 1];
    g.b_k = b.strides[trans_b ? 1 : 0], g.b_n = b.strides[trans_b ? 0 : 1];
    const float alpha = node.attributes.get<float>("alpha", 1.0f),
                beta = node.attributes.get<float>("beta", 1.0f);
    main_dims = {g.m, c.n};
    int c_input = -1;
    if (const Value* value = node.input(2); value && beta != 0)
      c_input = body_input_index(problem.body(), value);
    const DType c_dtype = c_input >= 0 ? input_of(problem, c_input).dtype : DType::kUndefined;
    prepend_scaled_sum(view, alpha, c_input, c_dtype, beta);
    return std::nullopt;
  }

  /// A batch whose B is not batched becomes rows of A where those stay evenly spaced.
  void flatten() {
    ProductShape& g = c.product;
    if (std::any_of(g.b_batch.begin(), g.b_batch.end(), [](int64_t s) { return s != 0; })) return;
    Dims dims = g.batch, strides = g.a_batch;
    dims.push_back(g.m);
    strides.push_back(g.a_row);
    for (size_t d = 0; d + 1 < dims.size(); ++d)
      if (dims[d] != 1 && strides[d] == 0) return;  // A is broadcast
    const auto pitch = even_pitch(dims, strides);
    if (!pitch) return;
    g.a_row = *pitch;
    g.m = element_count(dims);
    g.batch.clear(), g.a_batch.clear(), g.b_batch.clear();
  }

  std::optional<std::string> add_operand(size_t i) {
    TailOperand operand;
    operand.input = view.tail_inputs[i];
    operand.dtype = view.tail.program.operands[i];
    operand.row_strides.assign(c.row_dims.size(), 0);
    if (operand.input >= 0) {
      const TensorDesc& desc = input_of(problem, operand.input);
      operand.dtype = desc.dtype;
      operand.constant = desc.constant;
      // The bias of a convolution is a vector over columns, whatever their axis.
      const bool is_bias = operand.input == bias_input_ && desc.dims.size() == 1;
      const Dims dims = is_bias ? Dims{desc.dims[0]} : desc.dims;
      const size_t lead = is_bias ? column_axis : main_dims.size() - std::min(main_dims.size(), dims.size());
      if (!is_bias && dims.size() > main_dims.size())
        return label(operand.input) + " has a higher rank than the result";
      for (size_t d = 0, row = 0; d < main_dims.size(); ++d) {
        const bool has = d >= lead && d - lead < dims.size() && dims[d - lead] != 1;
        if (has && dims[d - lead] != main_dims[d]) return label(operand.input) + " enlarges the result";
        const int64_t stride = has ? desc.strides[d - lead] : 0;
        if (d == column_axis)
          operand.column_stride = stride;
        else
          operand.row_strides[row++] = stride;
      }
    }
    c.operands.push_back(std::move(operand));
    return std::nullopt;
  }

  void read_result_matrices() {
    ProductShape& g = c.product;
    if (c.is_convolution || g.batch.empty()) return;
    g.y_batch.assign(c.y_rows.begin(), c.y_rows.end() - 1);
    g.y_row = c.y_rows.back();
  }

  /// Adjacent row dimensions become one where the result and every operand step through them evenly.
  void merge_rows() {
    std::vector<Dims*> all = {&c.y_rows};
    for (TailOperand& o : c.operands) all.push_back(&o.row_strides);
    for (size_t d = c.row_dims.size(); d-- > 1;) {
      const bool even = std::all_of(all.begin(), all.end(),
                                    [&](const Dims* s) { return (*s)[d - 1] == (*s)[d] * c.row_dims[d]; });
      if (!even && c.row_dims[d] != 1 && c.row_dims[d - 1] != 1) continue;
      for (Dims* s : all) {
        if (c.row_dims[d] == 1) (*s)[d] = (*s)[d - 1];
        s->erase(s->begin() + static_cast<ptrdiff_t>(d - 1));
      }
      c.row_dims[d] *= c.row_dims[d - 1];
      c.row_dims.erase(c.row_dims.begin() + static_cast<ptrdiff_t>(d - 1));
    }
  }

  std::optional<std::string> finish() {
    const TensorDesc& y = problem.outputs[0];
    if (y.dims != main_dims) return "the tail enlarges the result";
    if (element_count(main_dims) == 0 || c.k == 0) return "an empty result";
    for (size_t d = 0; d < main_dims.size(); ++d) {
      if (d == column_axis) continue;
      c.row_dims.push_back(main_dims[d]);
      c.y_rows.push_back(y.strides[d]);
    }
    c.y_column = c.n == 1 ? 1 : y.strides[column_axis];
    for (size_t i = 0; i < view.tail.program.operands.size(); ++i)
      if (auto why = add_operand(i)) return why;
    read_result_matrices();
    if (c.row_dims.empty()) c.row_dims = {1}, c.y_rows = {0};
    for (TailOperand& o : c.operands) o.row_strides.resize(c.row_dims.size(), 0);
    merge_rows();
    c.tail = std::move(view.tail.program);
    c.tail.operands[0] = DType::kFloat32;  // the sum, unrounded
    return std::nullopt;
  }

  int bias_input_ = -1;
};

std::optional<std::string> read_view(const Problem& problem, ContractionView view, Contraction& c) {
  const Node& node = *view.main;
  c.a_input = body_input_index(problem.body(), node.input(0));
  c.b_input = body_input_index(problem.body(), node.input(1));
  c.element = input_of(problem, c.a_input).dtype;
  c.b_element = input_of(problem, c.b_input).dtype;
  c.result = problem.outputs[0].dtype;
  Reader reader{problem, c, std::move(view), {}, 0};
  const bool convolves = node.is("Conv") || node.is("ConvInteger");
  auto why = convolves                               ? reader.read_conv()
             : node.is("Gemm")                       ? reader.read_gemm()
             : node.is("wootz", "MatMulDequantized") ? reader.read_few_bits()
                                                     : reader.read_matmul();
  if (why) return why;
  if (!convolves) reader.column_axis = reader.main_dims.size() - 1;
  return reader.finish();
}

}  // namespace

std::optional<int64_t> even_pitch(const Dims& dims, const Dims& strides) {
  std::optional<int64_t> pitch;
  int64_t rows = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == 1) continue;
    if (!pitch)
      pitch = strides[d];
    else if (strides[d] != *pitch * rows)
      return std::nullopt;
    rows *= dims[d];
  }
  return pitch.value_or(0);
}

bool TailOperand::is_per_column() const {
  return std::all_of(row_strides.begin(), row_strides.end(), [](int64_t s) { return s == 0; });
}

bool ConvolutionShape::is_pointwise() const {
  return groups == 1 && taps() == 1 && stride_h == 1 && stride_w == 1 && pad_top == 0 && pad_left == 0 &&
         in_h == out_h && in_w == out_w;
}

std::optional<std::string> Contraction::read(const Problem& problem, Contraction& c) {
  auto view = view_contraction(problem.body(), {"MatMul", "Gemm", "Conv", "MatMulDequantized"});
  if (!view) return "not a matrix product or convolution with a pointwise tail";
  if (auto why = read_view(problem, std::move(*view), c)) return why;
  if (c.b_element != c.element) return "operands of two element types";
  return std::nullopt;
}

std::optional<std::string> Contraction::read_integers(const Problem& problem, Contraction& c) {
  auto view = view_contraction(problem.body(), {"MatMulInteger", "ConvInteger"});
  if (!view) return "not a product of integers with a pointwise tail";
  const Node& node = *view->main;
  if (auto why = drop_sum_cast(*view)) return why;
  const DType y = problem.outputs[0].dtype;
  if (is_byte(y)) {
    c.quantize.emplace();
    if (!take_quantize_tail(view->tail.program, y, *c.quantize) || !has_whole_range(*c.quantize, y))
      return "an 8-bit result that is not quantized for the tensor";
  }
  const std::optional<int32_t> a_zero = zero_point(problem, node.input(2)),
                               b_zero = zero_point(problem, node.input(3));
  if (!a_zero || !b_zero) return "zero points that are not one constant";
  if (*b_zero != 0) return "weights with a zero point";
  c.a_zero = *a_zero;
  if (auto why = read_view(problem, std::move(*view), c)) return why;
  if (!is_byte(c.element) || !is_byte(c.b_element)) return "operands that are not 8-bit";
  return std::nullopt;
}

std::optional<std::string> Contraction::read_float8(const Problem& problem, Contraction& c) {
  auto view = view_contraction(problem.body(), {"MatMulFloat8"});
  if (!view) return "not a product of 8-bit floats with a pointwise tail";
  const DType y = problem.outputs[0].dtype;
  if (dtype_size(y) == 1) {
    c.quantize.emplace();
    if (y != DType::kFloat8E4M3FN || !take_float8_tail(view->tail.program, *c.quantize))
      return "an 8-bit result that is not quantized for the tensor";
  }
  if (auto why = read_view(problem, std::move(*view), c)) return why;
  if (c.element != DType::kFloat8E4M3FN || c.b_element != c.element)
    return "operands that are not float8e4m3fn";
  return std::nullopt;
}

std::optional<int64_t> Contraction::a_pitch() const {
  if (!is_convolution) {
    if (matrices() != 1 || (k != 1 && product.a_k != 1)) return std::nullopt;
    return product.m == 1 ? k : product.a_row;
  }
  if (!conv.is_pointwise() || (conv.channels != 1 && conv.x_c != 1)) return std::nullopt;
  const auto pitch = even_pitch({conv.batch, conv.in_h, conv.in_w}, {conv.x_n, conv.x_h, conv.x_w});
  if (pitch && conv.batch * conv.in_h * conv.in_w == 1) return k;
  return pitch;
}

std::optional<int64_t> Contraction::y_pitch() const {
  if (n != 1 && y_column != 1) return std::nullopt;
  const auto pitch = even_pitch(row_dims, y_rows);
  return pitch && rows() == 1 ? n : pitch;
}

Tensor pack_columns(const Problem& problem, const Contraction& c, int64_t channel_multiple) {
  const auto constant = c.few_bits ? std::make_shared<const Tensor>(numbers_of(*c.few_bits, c.element))
                                   : input_of(problem, c.b_input).constant;
  int64_t channels = c.k, taps = 1, column = c.product.b_n, channel = c.product.b_k;
  if (c.is_convolution) {
    channels = c.conv.group_channels(), taps = c.conv.taps();
    column = channels * taps, channel = taps;
  }
  const int64_t padded = (channels + channel_multiple - 1) / channel_multiple * channel_multiple;
  Tensor packed = Tensor::zeros(c.b_element, {c.n, taps, padded});
  const size_t bytes = dtype_size(c.b_element);
  const auto* from = static_cast<const char*>(constant->data());
  char* to = packed.as<char>();
  for (int64_t n = 0; n < c.n; ++n)
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t i = 0; i < channels; ++i)
        std::memcpy(to + static_cast<size_t>((n * taps + t) * padded + i) * bytes,
                    from + static_cast<size_t>(n * column + i * channel + t) * bytes, bytes);
  return packed;
}

Tensor zero_point_sums(const Problem& problem, const Contraction& c) {
  const Tensor packed = pack_columns(problem, c, 1);
  Tensor sums = Tensor::zeros(DType::kInt32, {c.n});
  const std::vector<int64_t> bytes = packed.to_int64s();
  for (int64_t n = 0; n < c.n; ++n) {
    int64_t sum = 0;
    for (int64_t i = 0; i < c.k; ++i) sum += bytes[static_cast<size_t>(n * c.k + i)];
    sums.as<int32_t>()[n] = static_cast<int32_t>(c.a_zero * sum);
  }
  return sums;
}

}  // namespace wootz
