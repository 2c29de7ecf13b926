// SPDX-License-Identifier: Apache-2.0
// The plan of an engine file as a JSON tree, to be changed at random behind a header that stays right.
#pragma once
#include <xxhash.h>

#include <climits>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace wootz::fuzz {

using Json = nlohmann::json;

inline constexpr size_t kHeaderBytes = 64, kFileBytesAt = 16, kPlanOffsetAt = 24, kPlanBytesAt = 32,
                        kPlanHashAt = 40;

inline void put(std::string& bytes, size_t at, uint64_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// Size and hash in the header as they must be for the plan.
inline void repair_header(std::string& bytes) {
  if (bytes.size() < kHeaderBytes) return;
  uint64_t offset = 0;
  std::memcpy(&offset, bytes.data() + kPlanOffsetAt, sizeof offset);
  if (offset > bytes.size()) return;
  put(bytes, kFileBytesAt, bytes.size());
  put(bytes, kPlanBytesAt, bytes.size() - offset);
  put(bytes, kPlanHashAt, XXH3_64bits(bytes.data() + offset, bytes.size() - offset));
}

/// Where the plan starts; past the end where the header does not tell.
inline size_t plan_offset(const uint8_t* data, size_t size) {
  uint64_t offset = size;
  if (size >= kHeaderBytes) std::memcpy(&offset, data + kPlanOffsetAt, sizeof offset);
  return offset < size ? offset : size;
}

/// Changes places of a plan; strings by `change_bytes(bytes)`.
class PlanMutator {
 public:
  PlanMutator(unsigned seed, std::function<void(std::string&)> change_bytes)
      : random_(seed), change_bytes_(std::move(change_bytes)) {}
  size_t pick(size_t count) { return count ? random_() % count : 0; }

  void change(Json& root) {
    std::vector<Json*> places;
    collect(root, places);
    Json& place = *places[pick(places.size())];
    switch (pick(6)) {
      case 0: drop_one(place); break;
      case 1: {
        const Json copy = *places[pick(places.size())];
        if (&place != &root) place = copy;
        break;
      }
      case 2: {
        const Json copy = *places[pick(places.size())];
        if (place.is_array() && copy.dump(-1, ' ', false, Json::error_handler_t::replace).size() < 512)
          place.push_back(copy);
        break;
      }
      default: change_leaf(place);
    }
  }

 private:
  static void collect(Json& json, std::vector<Json*>& places) {
    places.push_back(&json);
    if (json.is_structured())
      for (Json& inner : json) collect(inner, places);
  }

  void drop_one(Json& place) {
    if (place.empty() || !place.is_structured()) return;
    place.erase(std::next(place.begin(), static_cast<ptrdiff_t>(pick(place.size()))));
  }

  void change_leaf(Json& place) {
    static constexpr int64_t kNumbers[] = {0,  1,  2,       3,       4,         7,         8,         16,
                                           -1, -2, INT_MAX, INT_MIN, INT64_MAX, INT64_MIN, 1ll << 40, 65};
    if (place.is_number()) {
      place = pick(2)
                  ? kNumbers[pick(std::size(kNumbers))]
                  : static_cast<int64_t>(
                        place.get<double>() < 1e9 && place.get<double>() > -1e9 ? place.get<double>() : 0) +
                        static_cast<int64_t>(pick(9)) - 4;
    } else if (place.is_string()) {
      std::string text = place.get<std::string>();
      change_bytes_(text);
      place = text;
    } else if (place.is_null() || place.is_boolean()) {
      place = kNumbers[pick(std::size(kNumbers))];
    }
  }

  std::minstd_rand random_;
  std::function<void(std::string&)> change_bytes_;
};

}  // namespace wootz::fuzz
