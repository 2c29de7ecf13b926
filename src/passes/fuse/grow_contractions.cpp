// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "ops/registry.h"
#include "passes/fuse/cost.h"
#include "passes/fuse/grow.h"
#include "passes/fuse/missed.h"
#include "passes/pattern/match.h"
#include "passes/precision/quantized_value.h"

namespace wootz {
namespace {

constexpr size_t kMaxTail = 24;  // nodes; longer scalar programs run out of registers

bool are_all(const Node& node, const char* attribute, int64_t expected) {
  const Ints values = node.attributes.get<Ints>(attribute, {});
  return std::all_of(values.begin(), values.end(), [&](int64_t x) { return x == expected; });
}

/// Whether the node is a plain 1x1 convolution over many channels, channels last.
bool is_channel_mix(const Node& node) {
  if (!node.is("Conv") || node.inputs().size() < 2 || !node.input(1)->is_constant()) return false;
  const Value* x = node.input(0);
  const Dims& w = node.input(1)->constant->dims();
  return w.size() == 4 && w[1] >= 8 && w[2] == 1 && w[3] == 1 && x->layout == Layout::kChannelsLast &&
         node.output(0)->layout == Layout::kChannelsLast && node.attributes.get<int64_t>("group", 1) == 1 &&
         are_all(node, "strides", 1) && are_all(node, "pads", 0);
}

bool is_one_of(DType type, const std::vector<DType>& types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

/// Whether moving so many bytes takes longer than starting a kernel. Below, small convolutions are faster by
/// kernels that split their sums, which take neither gates nor means.
bool outweighs_launch(double bytes, const TargetTraits& target) {
  return bytes > target.launch_seconds * target.bytes_per_second;
}

/// Whether `x` may come to lie among other channels, at any of them.
bool is_concatenated(const Value& x) {
  return std::any_of(x.uses().begin(), x.uses().end(), [](const Use& u) { return u.node->is("Concat"); });
}

/// The product of a convolution's input with one factor an image and channel: a squeeze-and-excite gate.
struct Gate {
  Node* product;
  const Value* x;  // what the gate is on
};

std::optional<Gate> find_gate(const Node& main) {
  Node* product = is_channel_mix(main) ? produced_by(main.input(0), "Mul") : nullptr;
  if (!product || product->graph() != main.graph()) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const Value* gate = product->input(i);
    const Value* x = product->input(1 - i);
    if (gate->is_constant() || x->is_constant() || !has_rank(gate, 4) || x->layout != Layout::kChannelsLast ||
        !same_shape(x, product->output(0)))
      continue;
    const Shape &g = *gate->type.shape, &full = *x->type.shape;
    const SymbolTable& symbols = main.graph()->symbols();
    if ((symbols.equal(g[0], full[0]) || symbols.equal(g[0], 1)) && symbols.equal(g[1], full[1]) &&
        symbols.equal(g[2], 1) && symbols.equal(g[3], 1))
      return Gate{product, x};
  }
  return std::nullopt;
}

/// Why the target's kernels cannot multiply by the gate while they read the input, and what would let them.
struct GateRefusal {
  std::string reason, edit;
};

std::optional<GateRefusal> refusal_of(const Gate& gate, const Node& main, const Groups& groups,
                                      const SizeModel& sizes, const TargetTraits& target) {
  const Dims& w = main.input(1)->constant->dims();
  const int64_t multiple = target.gated_channel_multiple;
  if (!is_one_of(gate.x->type.dtype, target.gated_types))
    return GateRefusal{"the device's kernels take no gate on " + std::string(dtype_name(gate.x->type.dtype)),
                       ""};
  if (w[0] % multiple != 0 || w[1] % multiple != 0)
    return GateRefusal{"kernels with a gate take channels in multiples of " + std::to_string(multiple) +
                           ", found " + std::to_string(w[1]) + " to " + std::to_string(w[0]),
                       "pad the channels with zeros to a multiple of " + std::to_string(multiple)};
  if (!is_read_once(gate.product->output(0)) || groups[groups.group_of(gate.product)].nodes.size() > 1)
    return GateRefusal{"its result is read elsewhere too", "let other nodes read it behind " + label(main) +
                                                               ", or compute it for them once more"};
  if (is_concatenated(*gate.x))
    return GateRefusal{"what it multiplies is part of a concatenation", "concatenate a copy of it"};
  if (!outweighs_launch(2 * sizes.bytes_of(*gate.x), target))
    return GateRefusal{"moving it takes less time than starting a kernel", ""};
  return std::nullopt;
}

/// The gate's product where the target's kernels multiply while they read the input; else null, and what
/// failed is told where the target has such kernels.
Node* gate_before(const Node& main, const Groups& groups, const SizeModel& sizes, PassContext& context) {
  const std::optional<Gate> gate = find_gate(main);
  if (!gate) return nullptr;
  const auto refusal = refusal_of(*gate, main, groups, sizes, context.target);
  if (!refusal) return gate->product;
  if (!context.target.gated_types.empty())
    context.remark(
        gate->product->origins, "not fused into " + label(main) + " as a gate: " + refusal->reason,
        refusal->edit.empty() ? 0 : 2 * sizes.bytes_of(*gate->x) / context.target.bytes_per_second * 1e6,
        refusal->edit);
  return nullptr;
}

/// Whether every depthwise kernel of the targets that give means takes the convolution: 3x3 or 5x5, channels
/// that blocks share evenly, its input no part of another value.
bool is_plain_depthwise(const Node& node, const SizeModel& sizes) {
  if (!node.is("Conv") || node.inputs().size() < 2 || !node.input(1)->is_constant()) return false;
  const Value *x = node.input(0), *y = node.output(0);
  const Dims& w = node.input(1)->constant->dims();
  const Node* from = x->producer();
  if (w.size() != 4 || w[1] != 1 || w[2] != w[3] || (w[2] != 3 && w[2] != 5) ||
      node.attributes.get<int64_t>("group", 1) != w[0] || x->layout != Layout::kChannelsLast ||
      y->layout != Layout::kChannelsLast || !from || !(is_contraction(*from) || is_pointwise(*from)))
    return false;
  bool shared_evenly = false;
  for (int64_t block = 16; block <= 64; block += 8) shared_evenly |= w[0] % block == 0;
  const Ints strides = node.attributes.get<Ints>("strides", {1, 1});
  const std::optional<Dims> dims = sizes.dims_of(*x);
  return shared_evenly && strides[0] == strides[1] && strides[0] <= 2 && are_all(node, "dilations", 1) &&
         dims && (*dims)[3] <= 240 && !is_concatenated(*x);
}

/// Whether all that joins the convolution `main` in `nodes` is one constant, or one a channel.
bool has_channel_constants(const Node& main, const std::vector<Node*>& nodes) {
  const int64_t channels = main.input(1)->constant->dims()[0];
  for (const Node* n : nodes)
    for (const Value* v : n->inputs()) {
      if (n == &main || !v || std::find(nodes.begin(), nodes.end(), v->producer()) != nodes.end()) continue;
      if (!v->is_constant()) return false;
      const Dims& dims = v->constant->dims();
      const bool by_channel = dims.size() >= 3 && dims[dims.size() - 3] == channels;
      if (v->constant->size() != 1 && !(by_channel && v->constant->size() == channels)) return false;
    }
  return true;
}

/// Whether the target's first layers read any float type and layout: on the GPUs that take gates.
bool reads_first_layers(const TargetTraits& target, DType type) {
  return target.name == "cuda" && is_one_of(type, target.gated_types);
}

/// Whether every kernel of the targets that read first layers' input as it is takes the convolution: windows
/// of at most 7x7 in steps of 1 or 2.
bool is_first_layer(const Node& main, const SizeModel& sizes) {
  if (!main.is("Conv") || main.inputs().size() < 2 || !main.input(1)->is_constant()) return false;
  const Dims& w = main.input(1)->constant->dims();
  if (w.size() != 4 || w[1] > 4 || w[0] % 8 != 0 || main.attributes.get<int64_t>("group", 1) != 1 ||
      !are_all(main, "dilations", 1))
    return false;
  const Ints strides = main.attributes.get<Ints>("strides", {1, 1});
  const std::optional<Dims> result = sizes.dims_of(*main.output(0));
  return strides[0] == strides[1] && strides[1] <= 2 && w[2] <= 7 && w[3] <= 7 && w[0] <= 64 && result &&
         (*result)[3] >= 8;
}

/// The casts and layout conversions in front of a first layer whose kernels read any float type and layout.
std::vector<Node*> conversions_before(const Node& main, const std::vector<Node*>& nodes, const Groups& groups,
                                      const SizeModel& sizes, const TargetTraits& target) {
  const Value* y = nodes.back()->output(0);
  if (!is_first_layer(main, sizes) || !reads_first_layers(target, main.input(1)->type.dtype) ||
      y->layout != Layout::kChannelsLast || y->type.dtype != main.input(1)->type.dtype ||
      is_concatenated(*y) || !has_channel_constants(main, nodes))
    return {};
  std::vector<Node*> chain;
  const Value* x = main.input(0);
  while (Node* n = x->producer()) {
    if (!(n->is("Cast") || n->is("wootz", "Relayout")) || !is_read_once(x) || n->graph() != main.graph() ||
        groups[groups.group_of(n)].nodes.size() > 1 || n->input(0)->is_constant())
      break;
    chain.push_back(n);
    x = n->input(0);
  }
  const bool readable = x->type.dtype == DType::kFloat32 || x->type.dtype == y->type.dtype;
  return readable ? chain : std::vector<Node*>{};
}

/// The mean over height and width of each image and channel of a depthwise convolution's result `y`, where
/// the target's kernels add it up on the way; else null.
Node* mean_behind(const Node& main, const std::vector<Node*>& nodes, const SizeModel& sizes,
                  const TargetTraits& target) {
  Value* y = nodes.back()->output(0);
  if (!is_one_of(y->type.dtype, target.mean_types) || !outweighs_launch(sizes.bytes_of(*y), target) ||
      !is_plain_depthwise(main, sizes) || is_concatenated(*y) || y->graph()->is_output(y))
    return nullptr;
  if (!has_channel_constants(main, nodes)) return nullptr;
  for (const Use& u : y->uses()) {
    Node* n = u.node;
    if (n->is("GlobalAveragePool")) return n;
    if (!n->is("ReduceMean") || n->attributes.get<int64_t>("keepdims", 1) != 1 || n->inputs().size() < 2 ||
        !n->input(1) || !n->input(1)->is_constant())
      continue;
    std::vector<int64_t> axes = n->input(1)->constant->to_int64s();
    for (int64_t& a : axes) a += a < 0 ? 4 : 0;
    std::sort(axes.begin(), axes.end());
    if (axes == std::vector<int64_t>{2, 3}) return n;
  }
  return nullptr;
}

/// Products of a result up to which a pool's traffic is worth more than the turns that two tiles cannot take.
constexpr int64_t kMostProductsBeforePool = 1536;

/// Whether the target's Hopper kernels take the convolution and write only the largest of each 2x2 pixels:
/// plain windows in steps of 1 over channels that fill whole copies.
bool takes_pools(const Node& main, const TargetTraits& target) {
  if (!main.is("Conv") || main.inputs().size() < 2 || !main.input(1)->is_constant() ||
      !reads_first_layers(target, main.input(1)->type.dtype))
    return false;
  const Dims& w = main.input(1)->constant->dims();
  const Value* x = main.input(0);
  return w.size() == 4 && w[0] % 8 == 0 && w[1] % 8 == 0 && w[2] <= 7 && w[3] <= 7 &&
         w[1] * w[2] * w[3] <= kMostProductsBeforePool && main.attributes.get<int64_t>("group", 1) == 1 &&
         are_all(main, "strides", 1) && are_all(main, "dilations", 1) && x->layout == Layout::kChannelsLast &&
         x->producer() && !is_concatenated(*x);
}

/// Whether the host's Winograd kernels write only the largest of each 2x2 pixels of the convolution: they are
/// the fastest where both channels are many, and have nothing but a bias and a clamp in registers. A result
/// that stays in the cache is pooled as fast from there.
bool winograd_takes_pools(const Node& main, const std::vector<Node*>& nodes, const SizeModel& sizes) {
  constexpr int64_t kLeastChannels = 32;
  constexpr double kLeastBytes = 1 << 20;
  if (!main.is("Conv") || main.inputs().size() < 2 || !main.input(1)->is_constant()) return false;
  const Dims& w = main.input(1)->constant->dims();
  const Node* tail = nodes.back();
  const bool clamps = nodes.size() == 1 || (nodes.size() == 2 && (tail->is("Relu") || tail->is("Clip")));
  return clamps && w.size() == 4 && w[0] >= kLeastChannels && w[1] >= kLeastChannels && w[2] == 3 &&
         w[3] == 3 && main.attributes.get<int64_t>("group", 1) == 1 && are_all(main, "strides", 1) &&
         are_all(main, "dilations", 1) && main.input(1)->type.dtype == DType::kFloat32 &&
         main.input(0)->layout == Layout::kChannelsLast && sizes.bytes_of(*tail->output(0)) >= kLeastBytes;
}

/// The pool of 2x2 windows that alone reads the convolution's result, on a device where enough tiles are left
/// of a quarter of its pixels to fill it; else null.
Node* pool_behind(const Node& main, const std::vector<Node*>& nodes, const SizeModel& sizes,
                  const TargetTraits& target) {
  const Value* y = nodes.back()->output(0);
  const bool pools = target.name == "cpu"
                         ? winograd_takes_pools(main, nodes, sizes)
                         : takes_pools(main, target) && outweighs_launch(sizes.bytes_of(*y) / 4, target);
  if (!pools || !is_read_once(y) || y->layout != Layout::kChannelsLast ||
      y->type.dtype != main.input(1)->type.dtype || !has_channel_constants(main, nodes))
    return nullptr;
  Node* pool = y->uses()[0].node;
  const bool quarters = pool->is("MaxPool") && pool->outputs().size() == 1 && pool->graph() == main.graph() &&
                        pool->attributes.get<Ints>("kernel_shape", {}) == Ints{2, 2} &&
                        pool->attributes.get<Ints>("strides", {1, 1}) == Ints{2, 2} &&
                        are_all(*pool, "pads", 0) && are_all(*pool, "dilations", 1) &&
                        pool->attributes.get<std::string>("auto_pad", "NOTSET") == "NOTSET";
  if (!quarters || is_concatenated(*pool->output(0)) || pool->output(0)->layout != Layout::kChannelsLast)
    return nullptr;
  return pool;
}

/// The pool of 3x3 windows in steps of 2 that alone reads a first layer's result, where the target's kernels
/// keep the layer's rows to themselves: rows that one tile holds, of a size that does not change; else null.
Node* pool_behind_first_layer(const Node& main, const std::vector<Node*>& nodes, const SizeModel& sizes,
                              const TargetTraits& target) {
  constexpr int64_t kWidest = 240;
  const Value* y = nodes.back()->output(0);
  if (!is_first_layer(main, sizes) || !reads_first_layers(target, main.input(1)->type.dtype) ||
      !is_read_once(y) || y->layout != Layout::kChannelsLast || y->type.dtype != main.input(1)->type.dtype ||
      !outweighs_launch(sizes.bytes_of(*y), target) || !has_channel_constants(main, nodes))
    return nullptr;
  const SymbolTable& symbols = main.graph()->symbols();
  const Dim width = symbols.resolve((*y->type.shape)[3]);
  Node* pool = y->uses()[0].node;
  const bool joins = width.is_constant() && width.value() <= kWidest && pool->is("MaxPool") &&
                     pool->outputs().size() == 1 && pool->graph() == main.graph() &&
                     pool->attributes.get<Ints>("kernel_shape", {}) == Ints{3, 3} &&
                     pool->attributes.get<Ints>("strides", {1, 1}) == Ints{2, 2} &&
                     pool->attributes.get<Ints>("pads", {}) == Ints{1, 1, 1, 1} &&
                     are_all(*pool, "dilations", 1) && pool->attributes.get<int64_t>("ceil_mode", 0) == 0 &&
                     pool->attributes.get<std::string>("auto_pad", "NOTSET") == "NOTSET";
  if (!joins || is_concatenated(*pool->output(0)) || pool->output(0)->layout != Layout::kChannelsLast)
    return nullptr;
  return pool;
}

class Tail {
 public:
  Tail(Node& main, Groups& groups, const SizeModel& sizes, PassContext& context,
       std::vector<MissedFusion>& missed)
      : main_(main), groups_(groups), sizes_(sizes), context_(context), missed_(missed), nodes_{&main} {
    if (Node* gate = gate_before(main, groups, sizes, context)) nodes_.push_back(gate);
  }

  void grow() {
    add_readers(main_);
    size_t best = nodes_.size();
    while (!open_.empty() && nodes_.size() <= kMaxTail) {
      Node* next = groups_.nodes()[*open_.begin()];
      open_.erase(open_.begin());
      if (const Missed why = refusal(*next); why != Missed::kNothing) {
        refused_.emplace_back(next, why);
        continue;
      }
      absorb_dequantization(*next);
      nodes_.push_back(next);
      add_readers(*next);
      if (leaving_values() == 1 && pays()) best = nodes_.size();
    }
    const std::vector<Node*> left(nodes_.begin() + static_cast<ptrdiff_t>(best), nodes_.end());
    nodes_.resize(best);
    for (const auto& [node, why] : refused_)
      if (is_pointwise(*node)) missed_.push_back({node, &main_, nodes_, why});
    for (Node* node : left) missed_.push_back({node, &main_, nodes_, Missed::kReadElsewhere});
    // A second result, of which the convolution's other readers wait for nothing.
    Node* const mean = mean_behind(main_, nodes_, sizes_, context_.target);
    Node* pool = pool_behind(main_, nodes_, sizes_, context_.target);
    if (!pool) pool = pool_behind_first_layer(main_, nodes_, sizes_, context_.target);
    for (Node* n : conversions_before(main_, nodes_, groups_, sizes_, context_.target)) nodes_.push_back(n);
    if (mean) nodes_.push_back(mean);
    if (pool) nodes_.push_back(pool);
    groups_.join(nodes_, "contraction");
  }

 private:
  void add_readers(const Node& node) {
    for (const Use& u : node.output(0)->uses())
      if (u.node->graph() == node.graph() && std::find(nodes_.begin(), nodes_.end(), u.node) == nodes_.end())
        open_.insert(groups_.index_of(u.node));
  }

  /// An operand that only `node` reads and that comes from 8-bit data is read as that: a quarter of the
  /// bytes.
  void absorb_dequantization(const Node& node) {
    for (const Value* v : node.inputs()) {
      std::vector<Node*> chain;
      while (Node* p = dequantizes(v)) {
        chain.push_back(p);
        v = p->input(0);
      }
      const bool from_bytes =
          !chain.empty() && (v->type.dtype == DType::kUint8 || v->type.dtype == DType::kInt8);
      std::vector<Node*> joined = nodes_;
      joined.insert(joined.end(), chain.begin(), chain.end());
      if (from_bytes && !groups_.would_cycle(joined)) nodes_ = std::move(joined);
    }
  }

  /// The producer of `v` where it is a step of a dequantization that nothing else has or reads.
  Node* dequantizes(const Value* v) const {
    Node* p = v && is_read_once(v) ? v->producer() : nullptr;
    const bool step = p && (p->is("Mul") || p->is("Sub") || p->is("Add") || p->is("Cast"));
    if (!step || !same_shape(v, main_.output(0)) || v->layout != main_.output(0)->layout ||
        v->type.dtype != DType::kFloat32 || std::find(nodes_.begin(), nodes_.end(), p) != nodes_.end() ||
        groups_[groups_.group_of(p)].nodes.size() > 1)
      return nullptr;
    if (!p->is("Cast") && !(p->input(1) && p->input(1)->is_constant())) return nullptr;
    return p;
  }

  Missed refusal(Node& node) const {
    if (!is_pointwise(node)) return Missed::kNotPointwise;
    if (groups_[groups_.group_of(&node)].nodes.size() > 1) return Missed::kInOtherRegion;
    const Value* out = node.output(0);
    if (!same_shape(out, main_.output(0))) return Missed::kShape;
    if (out->layout != main_.output(0)->layout) return Missed::kLayout;
    if (!has_kernel_type(node)) return Missed::kType;
    // Kernels of floats write no bytes: better a pass over 16 bits than float32 in between.
    if (context_.target.name == "cuda" && is_float(main_.output(0)->type.dtype) && !is_float8_product() &&
        begins_quantization(node))
      return Missed::kQuantizes;
    std::vector<Node*> joined = nodes_;
    joined.push_back(&node);
    return groups_.would_cycle(joined) ? Missed::kCycle : Missed::kNothing;
  }

  /// Kernels compute tails in float32 registers, whatever 16-bit type casts name; integer products are cast
  /// to float32 first.
  bool has_kernel_type(const Node& node) const {
    const DType main = main_.output(0)->type.dtype, type = node.output(0)->type.dtype;
    if (is_float8_product() && type == DType::kFloat8E4M3FN) return node.is("Cast");
    if (main_.is("wootz", "MatMulDequantized") && context_.target.name == "cpu")
      return type == DType::kFloat32;
    if (is_float(main)) return type == main || (is_register_type(main) && is_register_type(type));
    const bool reads_main = std::any_of(node.inputs().begin(), node.inputs().end(),
                                        [&](const Value* v) { return v == main_.output(0); });
    if (reads_main) return type == DType::kFloat32 && node.is("Cast");
    if (type == DType::kUint8 || type == DType::kInt8)
      return node.is("Cast") && node.input(0)->type.dtype == DType::kFloat32;
    return type == DType::kFloat32 || (context_.target.name == "cuda" && is_register_type(type));
  }

  bool is_float8_product() const { return main_.is("wootz", "MatMulFloat8"); }

  static bool is_register_type(DType type) {
    return type == DType::kFloat32 || type == DType::kFloat16 || type == DType::kBFloat16;
  }

  int leaving_values() const {
    int count = 0;
    for (const Node* n : nodes_) {
      const Value* v = n->output(0);
      const bool leaves =
          v->graph()->is_output(v) || std::any_of(v->uses().begin(), v->uses().end(), [&](const Use& u) {
            return std::find(nodes_.begin(), nodes_.end(), u.node) == nodes_.end();
          });
      count += leaves;
    }
    return count;
  }

  bool pays() const {
    double apart = 0;
    for (Node* n : nodes_) apart += region_seconds(std::span<Node* const>(&n, 1), sizes_, context_.target);
    return region_seconds(nodes_, sizes_, context_.target) <= apart;
  }

  Node& main_;
  Groups& groups_;
  const SizeModel& sizes_;
  const PassContext& context_;
  std::vector<MissedFusion>& missed_;
  std::vector<Node*> nodes_;
  std::set<size_t> open_;  // indices of nodes that read the group, in graph order
  std::vector<std::pair<Node*, Missed>> refused_;
};

}  // namespace

bool is_pointwise(const Node& node) {
  const OpDef* def = OpRegistry::global().find(node);
  return def && def->fusion == FusionKind::kPointwise && def->scalar && node.outputs().size() == 1 &&
         node.output(0) && node.output(0)->type.has_rank() && def->scalar(node).has_value();
}

bool is_contraction(const Node& node) {
  for (std::string_view op : {"Conv", "ConvTranspose", "MatMul", "Gemm", "MatMulInteger", "ConvInteger"})
    if (node.is(op)) return node.output(0) && node.output(0)->type.has_rank();
  return (node.is("wootz", "MatMulFloat8") || node.is("wootz", "MatMulDequantized")) && node.output(0) &&
         node.output(0)->type.has_rank();
}

void grow_contractions(Groups& groups, const SizeModel& sizes, PassContext& context) {
  std::vector<MissedFusion> missed;
  for (Node* node : groups.nodes())
    if (is_contraction(*node) && groups[groups.group_of(node)].nodes.size() == 1)
      Tail(*node, groups, sizes, context, missed).grow();
  for (const MissedFusion& m : missed) {  // when it is known where everything went
    const std::vector<Node*>& region = groups[groups.group_of(m.node)].nodes;
    const auto taker =
        std::find_if(region.begin(), region.end(), [](const Node* n) { return is_contraction(*n); });
    tell_missed(context, sizes, m, taker == region.end() ? nullptr : *taker);
  }
}

}  // namespace wootz
