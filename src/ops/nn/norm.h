// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "ir/dtype.h"

namespace wootz {

struct BatchNormalizationAttributes {
  float epsilon = 1e-5f, momentum = 0.9f;
  int64_t training_mode = 0;
  /// 0 keeps the meaning of opset 7's spatial = 0: statistics and scale for every element of a sample.
  int64_t spatial = 1;
  template <class V>
  void reflect(V& v) {
    v("epsilon", epsilon);
    v("momentum", momentum);
    v("training_mode", training_mode);
    v("spatial", spatial);
  }
};

struct InstanceNormalizationAttributes {
  float epsilon = 1e-5f;
  template <class V>
  void reflect(V& v) {
    v("epsilon", epsilon);
  }
};

/// scale and bias have C elements, or (as in opset 18) num_groups.
struct GroupNormalizationAttributes {
  float epsilon = 1e-5f;
  int64_t num_groups = 0;
  int64_t stash_type = static_cast<int64_t>(DType::kFloat32);
  template <class V>
  void reflect(V& v) {
    v("epsilon", epsilon);
    v("num_groups", num_groups);
    v("stash_type", stash_type);
  }
};

/// LayerNormalization and RMSNormalization: over the dims from `axis` on.
struct LayerNormalizationAttributes {
  int64_t axis = -1;
  float epsilon = 1e-5f;
  int64_t stash_type = static_cast<int64_t>(DType::kFloat32);
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
    v("epsilon", epsilon);
    v("stash_type", stash_type);
  }
};

}  // namespace wootz
