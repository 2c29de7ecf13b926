// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_file.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <xxhash.h>
#include <algorithm>
#include <cstring>

#include "base/alignment.h"
#include "base/atomic_file.h"
#include "base/files.h"
#include "engine/graph_json.h"
#include "engine/plan_json.h"

namespace wootz {
namespace {

struct Header {
  char magic[8];
  uint32_t format;
  uint32_t header_bytes;
  uint64_t file_bytes;
  uint64_t plan_offset, plan_bytes;
  uint64_t plan_hash;
  uint64_t reserved[2];
};
static_assert(sizeof(Header) == 64);

constexpr char kMagic[8] = {'W', 'O', 'O', 'T', 'Z', 'E', 'N', 'G'};
constexpr size_t kAlignment = 64;

[[noreturn]] void invalid(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::kInvalidEngine,
              "'" + path + "': " + what + "; build the engine again from its model");
}

/// The table of blobs with their places, from `start` on.
Json blob_table(const std::vector<Tensor>& blobs, size_t start) {
  Json table = Json::array();
  size_t at = start;
  for (const Tensor& t : blobs) {
    Json row{{"dtype", std::string(dtype_name(t.dtype()))}, {"dims", t.dims()}};
    if (t.dtype() == DType::kString) {
      row["strings"] = Json::array();
      for (const std::string& s : t.span<std::string>())
        row["strings"].push_back(std::vector<uint8_t>(s.begin(), s.end()));
    } else {
      row["offset"] = at;
      row["hash"] = XXH3_64bits(t.data(), t.size_bytes());
      at = round_up(at + t.size_bytes(), kAlignment);
    }
    table.push_back(std::move(row));
  }
  return table;
}

void pad(AtomicFile& file) {
  static const char zeros[kAlignment] = {};
  file.write(zeros, round_up(file.size(), kAlignment) - file.size());
}

/// XXH3-64 of a part of the mapping, whose pages are given back as it goes: what is hashed is not kept in
/// memory by that.
uint64_t hash_of(const std::byte* data, size_t bytes) {
  constexpr size_t kChunk = size_t{1} << 20;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), XXH3_freeState);
  if (!state) throw Error(ErrorKind::kOutOfMemory, "no memory to hash a constant");
  XXH3_64bits_reset(state.get());
  for (size_t at = 0; at < bytes; at += kChunk) {
    const size_t part = std::min(kChunk, bytes - at);
    XXH3_64bits_update(state.get(), data + at, part);
    const uintptr_t first = reinterpret_cast<uintptr_t>(data + at) / page * page;
    const uintptr_t last = reinterpret_cast<uintptr_t>(data + at + part) / page * page;
    if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  }
  return XXH3_64bits_digest(state.get());
}

Tensor blob_from_row(const Json& row, const std::shared_ptr<const MappedFile>& file, const std::string& path,
                     bool check) {
  const auto dtype = dtype_from_name(row.at("dtype").get<std::string>());
  const auto dims = row.at("dims").get<Dims>();
  if (!dtype) invalid(path, "a constant has an unknown type");
  size_t bytes = dtype_size(*dtype);
  for (int64_t d : dims)
    if (d < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(d), &bytes))
      invalid(path, "a constant has impossible dims");
  if (*dtype == DType::kString) {
    std::vector<std::string> strings;
    for (const Json& s : row.at("strings")) {
      const auto b = s.get<std::vector<uint8_t>>();
      strings.emplace_back(b.begin(), b.end());
    }
    if (strings.size() * sizeof(std::string) != bytes)
      invalid(path, "a string constant has too few elements");
    return Tensor::strings(dims, std::move(strings));
  }
  const auto offset = row.at("offset").get<uint64_t>();
  if (offset % kAlignment != 0 || offset > file->size() || bytes > file->size() - offset)
    invalid(path, "a constant of " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                      " lies outside the file of " + std::to_string(file->size()) + " bytes");
  void* data = const_cast<std::byte*>(file->data()) + offset;
  if (check && hash_of(file->data() + offset, bytes) != row.at("hash").get<uint64_t>())
    invalid(path, "the hash of a constant at " + std::to_string(offset) + " does not match");
  return Tensor::view(*dtype, dims, data, file);
}

Header read_header(const MappedFile& file, const std::string& path) {
  Header h;
  if (file.size() < sizeof h || std::memcmp(file.data(), kMagic, sizeof kMagic) != 0)
    invalid(path, "not a Wootz engine (expected a file that starts with WOOTZENG)");
  std::memcpy(&h, file.data(), sizeof h);
  if (h.format != kEngineFormat)
    invalid(path, "engine format " + std::to_string(h.format) + ", this Wootz reads format " +
                      std::to_string(kEngineFormat));
  if (h.file_bytes != file.size())
    invalid(path, "expected " + std::to_string(h.file_bytes) + " bytes, found " +
                      std::to_string(file.size()) + " (truncated?)");
  if (h.plan_offset > file.size() || h.plan_bytes > file.size() - h.plan_offset)
    invalid(path, "the plan lies outside the file");
  if (XXH3_64bits(file.data() + h.plan_offset, h.plan_bytes) != h.plan_hash)
    invalid(path, "the hash of the plan does not match");
  return h;
}

}  // namespace

void save_engine(const EngineData& engine, const std::string& path) {
  BlobList blobs;
  Json plan{{"graph", json_from_graph(*engine.graph, blobs)}, {"engine", json_from_plan(engine, blobs)}};
  plan["blobs"] = blob_table(blobs.tensors(), round_up(sizeof(Header), kAlignment));
  const std::string text = plan.dump(-1, ' ', false, Json::error_handler_t::replace);

  size_t end = round_up(sizeof(Header), kAlignment);
  for (const Tensor& t : blobs.tensors())
    if (t.dtype() != DType::kString) end = round_up(end + t.size_bytes(), kAlignment);
  Header h{};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  h.format = kEngineFormat;
  h.header_bytes = sizeof h;
  h.plan_offset = end;
  h.plan_bytes = text.size();
  h.plan_hash = XXH3_64bits(text.data(), text.size());
  h.file_bytes = end + text.size();

  AtomicFile file(path);
  file.write(&h, sizeof h);
  pad(file);
  for (const Tensor& t : blobs.tensors()) {
    if (t.dtype() == DType::kString) continue;
    file.write(t.data(), t.size_bytes());
    pad(file);
  }
  WOOTZ_ASSERT(file.size() == end);
  file.write(text);
  file.commit();
}

namespace {

std::shared_ptr<EngineData> read_engine(const std::string& path, bool check_blobs) {
  const auto file = MappedFile::open(path);
  const Header h = read_header(*file, path);
  try {
    const Json plan = Json::parse(file->text().substr(h.plan_offset, h.plan_bytes));
    std::vector<Tensor> tensors;
    for (const Json& row : plan.at("blobs")) tensors.push_back(blob_from_row(row, file, path, check_blobs));
    BlobList blobs;
    blobs.set(std::move(tensors));
    auto engine = std::make_shared<EngineData>();
    engine->graph = graph_from_json(plan.at("graph"), blobs);
    plan_from_json(plan.at("engine"), blobs, *engine);
    engine->storage = file;
    return engine;
  } catch (const Json::exception& e) {
    invalid(path, std::string("the plan does not read: ") + e.what());
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::kInvalidEngine || e.kind() == ErrorKind::kOutOfMemory) throw e.at(path);
    invalid(path, "the plan contradicts itself: " + e.message());
  }
}

}  // namespace

std::shared_ptr<EngineData> load_engine(const std::string& path, bool check_blobs) {
  auto engine = read_engine(path, check_blobs);
#ifdef __GLIBC__
  malloc_trim(0);  // the parsed plan was several times as large as what is kept of it
#endif
  return engine;
}

bool is_engine_file(const std::string& path) {
  try {
    const auto file = MappedFile::open(path);
    return file->size() >= sizeof kMagic && std::memcmp(file->data(), kMagic, sizeof kMagic) == 0;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace wootz
