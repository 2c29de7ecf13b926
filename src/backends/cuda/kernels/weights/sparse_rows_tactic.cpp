// SPDX-License-Identifier: Apache-2.0
// Few rows times weights of which two of every four along k are 0 (`wootz prune --2of4`): what is left and
// its places are read, 9 words of 16-bit weights for 16, 5 of float32 ones for 8.
#include <algorithm>

#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/gemm/gather_problem.h"
#include "backends/cuda/kernels/weights/weight_rows_kernel.h"
#include "base/error.h"

namespace wootz::cuda_sparse_rows_tactic {
namespace {

constexpr int64_t kLeastWeights = 1 << 12, kTileColumns = 16, kTilesAtOnce = 4;

/// Weights [n, k] of elements of `size` bytes, by their bits.
class Weights {
 public:
  Weights(const Problem& problem, const Contraction& c)
      : tensor_(*problem.inputs[static_cast<size_t>(c.b_input)].constant),
        c_(c),
        size_(dtype_size(c.element)) {}

  uint32_t at(int64_t column, int64_t k) const {
    const auto i = static_cast<size_t>(column * c_.product.b_n + k * c_.product.b_k);
    return size_ == 2 ? tensor_.as<uint16_t>()[i] : tensor_.as<uint32_t>()[i];
  }
  bool is_zero(int64_t column, int64_t k) const {
    return k >= c_.k || (at(column, k) & (size_ == 2 ? 0x7fffu : 0x7fffffffu)) == 0;
  }
  /// The places of two elements of a group of four that hold all that is not 0; nothing where more are left.
  std::optional<std::pair<int, int>> places(int64_t column, int64_t group) const {
    int found[2] = {0, 1}, count = 0;
    for (int i = 0; i < 4; ++i) {
      if (is_zero(column, group * 4 + i)) continue;
      if (count == 2) return std::nullopt;
      found[count++] = i;
    }
    if (count == 1) found[1] = found[0] == 0 ? 1 : 0;
    return std::pair{found[0], found[1]};
  }
  bool are_two_of_four() const {
    for (int64_t column = 0; column < c_.n; ++column)
      for (int64_t g = 0; g * 4 < c_.k; ++g)
        if (!places(column, g)) return false;
    return true;
  }

 private:
  const Tensor& tensor_;
  const Contraction& c_;
  size_t size_;
};

WeightRowsForm form_of(const Contraction& c) {
  const bool half = dtype_size(c.element) == 2;
  return {half ? 4 : 5, 0, half ? 32 : 16, false, 0, true};
}

class SparseRows final : public Tactic {
 public:
  explicit SparseRows(const CudaTarget& target) : target_(target) {}
  std::string_view id() const override { return "cuda.gemm.sparse_rows"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    Contraction c;
    return read(problem, c);
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    Contraction c;
    read(problem, c);
    return weight_rows_configs(target_, c, form_of(c));
  }

  /// What is left [tiles, chunks, lanes, 16 bytes] and its places, uint16 [tiles, chunks, lanes].
  Packed pack(const Problem& problem, const TacticConfig&) const override {
    Contraction c;
    read(problem, c);
    const Weights weights(problem, c);
    const int64_t size = static_cast<int64_t>(dtype_size(c.element)), steps = size == 2 ? 2 : 1,
                  chunks = (c.k + 16 * steps - 1) / (16 * steps);
    constexpr int64_t kMany = kTileColumns * kTilesAtOnce;
    const int64_t tiles = (c.n + kMany - 1) / kMany * kTilesAtOnce;
    Tensor left = Tensor::zeros(DType::kUint8, {tiles, chunks, 32, 16}),
           places = Tensor::zeros(DType::kUint16, {tiles, chunks, 32});
    for (int64_t column = 0; column < c.n; ++column)
      for (int64_t g = 0; g * 4 < c.k; ++g) {
        const auto two = *weights.places(column, g);
        const int64_t second = column % kTileColumns / 8, step = g / 4 % steps,
                      lane = (column / kTileColumns * chunks + g / (4 * steps)) * 32 + column % 8 * 4 + g % 4;
        auto& word = places.as<uint16_t>()[lane];
        word = static_cast<uint16_t>(word | (two.first | two.second << 2) << 4 * (2 * step + second));
        for (int i = 0; i < 2; ++i) {
          const int64_t k = g * 4 + (i ? two.second : two.first);
          if (k >= c.k) continue;
          const int64_t element = lane * 16 / size + (2 * step + second) * 2 + i;
          if (size == 2)
            left.as<uint16_t>()[element] = static_cast<uint16_t>(weights.at(column, k));
          else
            left.as<uint32_t>()[element] = weights.at(column, k);
        }
      }
    return {left, places};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    Contraction c;
    if (auto why = read(problem, c)) throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    return make_weight_rows(target_, problem, c, form_of(c), config, packed);
  }

 private:
  static std::optional<std::string> read(const Problem& problem, Contraction& c) {
    if (auto why = Contraction::read(problem, c)) return why;
    if (auto why = weight_rows_refusal(c)) return why;
    if (c.few_bits || !Gather::packs_b(problem, c)) return "weights that are not constant numbers";
    if (c.n * c.k < kLeastWeights) return "few weights";
    if (!Weights(problem, c).are_two_of_four()) return "weights that have more than two of four left";
    return std::nullopt;
  }

  CudaTarget target_;
};

}  // namespace

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<SparseRows>(tactics.target()), CudaTactics::kSpecial);
}

}  // namespace wootz::cuda_sparse_rows_tactic
