// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/movement/copy_pieces.h"

#include <algorithm>

#include "backends/cuda/codegen/program_source.h"

namespace wootz {
namespace {

constexpr int64_t kThreads = 256;
constexpr size_t kTo = 0, kFrom = 1;  // operands of the walk

/// The widest group of neighbours, a power of two of at most `most`, that divides the extent and keeps every
/// other stride a whole number of groups.
int64_t vector_width(const Dims& dims, const Dims& strides, size_t along, int64_t most) {
  if (strides[along] != 1) return 1;
  int64_t width = most;
  const auto fits = [&] {
    if (dims[along] % width != 0) return false;
    for (size_t d = 0; d < dims.size(); ++d)
      if (d != along && strides[d] % width != 0) return false;
    return true;
  };
  while (width > 1 && !fits()) width /= 2;
  return width;
}

class Writer {
 public:
  Writer(KernelWriter& writer, DType dtype)
      : writer_(writer), type_(memory_type(dtype)), most_(16 / static_cast<int64_t>(dtype_size(dtype))) {
    writer_ << "constexpr int kSide = " << side() << ";\n__shared__ " << type_ << " tile[kSide][kSide + "
            << std::max<int64_t>(1, most_ / 4) << "];\n";
  }

  void add(const CopyPiece& piece) {
    Walk walk = Walk::make(piece.dims, {piece.to_strides, piece.from_strides}, kTo);
    if (walk.size() == 0) return;
    index_ = walk.fits_32_bits() ? "u32" : "i64";
    writer_ << "if (blockIdx.x >= " << blocks_ << "u && blockIdx.x < ";
    const size_t inner = walk.dims.size() - 1;
    size_t source = walk.dims.size();  // the dim that is fastest in the source
    for (size_t d = 0; d < walk.dims.size(); ++d)
      if (walk.strides[kFrom][d] == 1 && walk.dims[d] >= 8) source = d;
    const bool tiles = source < inner && walk.strides[kTo][inner] == 1 && walk.dims[inner] >= 8 &&
                       walk.strides[kFrom][inner] != 0;
    if (tiles)
      tiled(piece, walk, source);
    else
      grouped(piece, walk);
  }
  int64_t blocks() const { return blocks_; }

 private:
  int64_t side() const { return most_ >= 8 ? 64 : 32; }

  void open(const CopyPiece& piece, int64_t blocks) {
    writer_ << blocks_ + blocks << "u) {\nconst u32 block = blockIdx.x - " << blocks_ << "u;\n";
    writer_ << "const " << type_ << "* from = " << piece.from << " + " << piece.from_offset << "ll;\n";
    writer_ << type_ << "* to = " << piece.to << " + " << piece.to_offset << "ll;\n";
    writer_ << "if (static_cast<const void*>(from) == to) return;\n";
    blocks_ += blocks;
  }

  /// One thread a group of neighbours, two groups a thread where there are many.
  void grouped(const CopyPiece& piece, const Walk& walk) {
    const size_t inner = walk.dims.size() - 1;
    int64_t width = vector_width(walk.dims, walk.strides[kTo], inner, most_);
    const bool repeats = walk.strides[kFrom][inner] == 0;
    if (!repeats) width = std::min(width, vector_width(walk.dims, walk.strides[kFrom], inner, most_));
    const bool flat = walk.dims.size() == 1 && walk.is_dense(kTo) && walk.is_dense(kFrom);
    if (flat) width = most_;
    const int64_t groups = (walk.size() + width - 1) / width;
    const int64_t unroll = groups >= int64_t{132} * 2048 * 4 ? 4 : groups >= int64_t{132} * 2048 * 2 ? 2 : 1;
    open(piece, (groups + kThreads * unroll - 1) / (kThreads * unroll));
    Dims dims = walk.dims;
    dims.back() = (dims.back() + width - 1) / width;
    Dims to = walk.strides[kTo], from = walk.strides[kFrom];
    to.back() *= width, from.back() *= width;
    writer_ << "constexpr int kVector = " << width << ", kUnroll = " << unroll << ";\n";
    writer_ << "const bool aligned = wz::is_aligned(to)" << (repeats ? "" : " && wz::is_aligned(from)")
            << ";\n";
    writer_ << "wz::Vector<" << type_ << ", kVector> held[kUnroll];\n";
    const auto loop = [&] {
      writer_ << "#pragma unroll\nfor (int u = 0; u < kUnroll; ++u) {\nconst " << index_
              << " group = static_cast<" << index_ << ">(block) * " << kThreads * unroll << " + u * "
              << kThreads << " + threadIdx.x;\n";
      writer_ << "if (group >= " << groups << "u) break;\n" << coordinates_text("group", dims, "c", index_);
    };
    loop();
    const std::string source = "from + (" + offset_text(from, dims, "c") + ")";
    const bool rest = flat && walk.size() % width != 0;
    const std::string last = "group * kVector + kVector > " + std::to_string(walk.size()) + "u",
                      count = "static_cast<int>(" + std::to_string(walk.size()) + "u - group * kVector)";
    if (repeats) {
      writer_ << "const " << type_ << " value = *(" << source
              << ");\n#pragma unroll\nfor (int j = 0; j < kVector; ++j) "
              << "held[u].at[j] = value;\n";
    } else {
      if (rest)
        writer_ << "if (" << last << ") wz::load_first(held[u], " << source << ", " << count << ");\nelse ";
      writer_ << "wz::load_vector(held[u], " << source << ", aligned);\n";
    }
    writer_ << "}\n";
    loop();
    const std::string target = "to + (" + offset_text(to, dims, "c") + ")";
    if (rest)
      writer_ << "if (" << last << ") wz::store_first(" << target << ", held[u], " << count << ");\nelse ";
    writer_ << "wz::store_vector(" << target << ", held[u], aligned);\n}\nreturn;\n}\n";
  }

  /// A tile of kSide x kSide elements: read along the source's fastest dim, written along the destination's.
  void tiled(const CopyPiece& piece, const Walk& walk, size_t source) {
    const size_t inner = walk.dims.size() - 1;
    const int64_t read = vector_width(walk.dims, walk.strides[kFrom], source, std::min<int64_t>(most_, 8)),
                  write = vector_width(walk.dims, walk.strides[kTo], inner, std::min<int64_t>(most_, 8));
    const int64_t rows = walk.dims[inner],
                  columns = walk.dims[source];  // columns are contiguous in the source
    const int64_t row_tiles = (rows + side() - 1) / side(), column_tiles = (columns + side() - 1) / side();
    Dims outer, to, from;
    for (size_t d = 0; d < inner; ++d)
      if (d != source)
        outer.push_back(walk.dims[d]), to.push_back(walk.strides[kTo][d]),
            from.push_back(walk.strides[kFrom][d]);
    if (outer.empty()) outer = {1}, to = {0}, from = {0};
    open(piece, element_count(outer) * row_tiles * column_tiles);
    writer_ << "constexpr int kRead = " << read << ", kWrite = " << write << ";\n";
    writer_ << "const " << index_ << " row0 = block % " << row_tiles << "u * kSide, rest = block / "
            << row_tiles << "u, column0 = rest % " << column_tiles << "u * kSide, plane = rest / "
            << column_tiles << "u;\n";
    writer_ << coordinates_text("plane", outer, "c", index_);
    writer_ << "from += " << offset_text(from, outer, "c") << ";\nto += " << offset_text(to, outer, "c")
            << ";\n";
    writer_ << "const bool read_aligned = wz::is_aligned(from), write_aligned = wz::is_aligned(to);\n";
    writer_
        << "#pragma unroll\nfor (int t = threadIdx.x; t < kSide * (kSide / kRead); t += " << kThreads
        << ") {\n"
        << "const int r = t / (kSide / kRead), c = t % (kSide / kRead) * kRead;\n"
        << "if (row0 + r >= " << rows << "u || column0 + c >= " << columns << "u) continue;\n"
        << "wz::Vector<" << type_ << ", kRead> v;\n"
        << "wz::load_vector(v, from + (row0 + r) * " << index_ << "(" << walk.strides[kFrom][inner]
        << ") + (column0 + c), read_aligned);\n"
        << "#pragma unroll\nfor (int j = 0; j < kRead; ++j) tile[r][c + j] = v.at[j];\n}\n__syncthreads();\n";
    writer_ << "#pragma unroll\nfor (int t = threadIdx.x; t < kSide * (kSide / kWrite); t += " << kThreads
            << ") {\n"
            << "const int c = t / (kSide / kWrite), r = t % (kSide / kWrite) * kWrite;\n"
            << "if (row0 + r >= " << rows << "u || column0 + c >= " << columns << "u) continue;\n"
            << "wz::Vector<" << type_ << ", kWrite> v;\n"
            << "#pragma unroll\nfor (int j = 0; j < kWrite; ++j) v.at[j] = tile[r + j][c];\n"
            << "wz::store_vector(to + (column0 + c) * " << index_ << "(" << walk.strides[kTo][source]
            << ") + (row0 + r), v, write_aligned);\n}\nreturn;\n}\n";
  }

  KernelWriter& writer_;
  std::string type_;
  int64_t most_;
  std::string index_ = "u32";
  int64_t blocks_ = 0;
};

}  // namespace

PlannedLaunch write_copies(KernelWriter writer, const std::vector<CopyPiece>& pieces, DType dtype) {
  Writer copies(writer, dtype);
  for (const CopyPiece& piece : pieces) copies.add(piece);
  return std::move(writer).finish("copies", static_cast<uint64_t>(copies.blocks()), kThreads);
}

namespace {

/// Rows of all pieces side by side: read into shared memory, written whole.
class RowsWriter {
 public:
  RowsWriter(KernelWriter writer, const std::vector<CopyPiece>& pieces, size_t axis, DType dtype)
      : writer_(std::move(writer)), pieces_(pieces), axis_(axis), type_(memory_type(dtype)) {
    std::vector<Dims> strides = {without_axis(pieces[0].to_strides)};
    for (const CopyPiece& piece : pieces)
      strides.push_back(without_axis(piece.from_strides)), width_ += piece.dims[axis];
    walk_ = Walk::make(without_axis(pieces[0].dims), std::move(strides), 0);
    while (rows_ * width_ * static_cast<int64_t>(dtype_size(dtype)) > (24 << 10)) rows_ /= 2;
    index_ = walk_.fits_32_bits() && walk_.size() * width_ < int64_t{1} << 31 ? "u32" : "i64";
  }

  PlannedLaunch write() && {
    const std::string size = std::to_string(walk_.size()) + "u";
    writer_ << "constexpr int kRows = " << rows_ << ", kWidth = " << width_ << ";\n__shared__ " << type_
            << " tile[kRows][kWidth | 1];\n"
            << type_ << "* to = " << pieces_[0].to << " + " << pieces_[0].to_offset << "ll;\n"
            << "const " << index_ << " first = static_cast<" << index_ << ">(blockIdx.x) * kRows;\n"
            << "const int live = " << size << " - first < kRows ? static_cast<int>(" << size
            << " - first) : kRows;\nconst int warp = threadIdx.x / 32, lane = threadIdx.x % 32;\n";
    std::string which, all;  // whether a column, and whether every one, has another source than its own place
    for (size_t k = 0; k < pieces_.size(); ++k) {
      const std::string moves = name("moves", k);
      read(k);
      at_ += pieces_[k].dims[axis_];
      which += k + 1 < pieces_.size() ? "column < " + std::to_string(at_) + " ? " + moves + " : " : moves;
      all += (k ? " && " : "") + moves;
    }
    writer_ << "__syncthreads();\n";
    if (is_dense()) store_dense(all);
    writer_ << "#pragma unroll 4\nfor (int t = threadIdx.x; t < live * kWidth; t += " << kThreads
            << ") {\nconst int r = t / kWidth, column = t % kWidth;\nif (!(" << which
            << ")) continue;\nconst " << index_ << " row = first + r;\n"
            << coordinates_text("row", walk_.dims, "c", index_) << "to[("
            << offset_text(walk_.strides[0], walk_.dims, "c") << ") + column] = tile[r][column];\n}\n";
    return std::move(writer_).finish("copies", static_cast<uint64_t>((walk_.size() + rows_ - 1) / rows_),
                                     kThreads);
  }

 private:
  static constexpr int64_t kWide = 24;  // columns that are worth a warp
  static constexpr int64_t kHeld = 12;  // elements of a lane on their way

  static std::string name(const char* what, size_t k) { return what + std::to_string(k); }
  Dims without_axis(Dims dims) const {
    dims.erase(dims.begin() + static_cast<int64_t>(axis_));
    return dims;
  }
  /// Whether the result's rows follow each other without a gap, and the tile's as well.
  bool is_dense() const {
    Dims dense = contiguous_strides(walk_.dims);
    for (int64_t& stride : dense) stride *= width_;
    return width_ % 2 == 1 && walk_.strides[0] == dense;
  }

  void read(size_t k) {
    const CopyPiece& piece = pieces_[k];
    const std::string number = std::to_string(k);
    writer_ << "const " << type_ << "* from" << number << " = " << piece.from << " + " << piece.from_offset
            << "ll;\nconst bool moves" << number << " = static_cast<const void*>(from" << number
            << ") != to + " << at_ << ";\nif (moves" << number << ")\n";
    if (piece.from_strides[axis_] == 1 && piece.dims[axis_] >= kWide && piece.dims[axis_] <= 32 * kHeld)
      read_by_warps(k);
    else
      read_by_threads(k);
  }

  /// Neighbouring threads read neighbours: along the row, or of several rows.
  void read_by_threads(size_t k) {
    const CopyPiece& piece = pieces_[k];
    const std::string columns = std::to_string(piece.dims[axis_]);
    const bool along = piece.from_strides[axis_] == 1 || walk_.strides[k + 1].back() != 1;
    writer_ << "#pragma unroll 4\nfor (int t = threadIdx.x; t < kRows * " << columns << "; t += " << kThreads
            << ") {\nconst int r = " << (along ? "t / " + columns : "t % kRows")
            << ", column = " << (along ? "t % " + columns : "t / kRows") << ";\nif (r >= live) "
            << (along ? "break" : "continue") << ";\nconst " << index_ << " row = first + r;\n"
            << coordinates_text("row", walk_.dims, "c", index_) << "tile[r][" << at_ << " + column] = from"
            << k << "[(" << offset_text(walk_.strides[k + 1], walk_.dims, "c") << ") + column * " << index_
            << "(" << piece.from_strides[axis_] << ")];\n}\n";
  }

  /// A warp reads a row, so that its place is computed once; several rows are on their way.
  void read_by_warps(size_t k) {
    const int64_t columns = pieces_[k].dims[axis_], chunks = (columns + 31) / 32,
                  rows = std::max<int64_t>(1, kHeld / chunks);
    const std::string column = "i * 32 + lane",
                      is_there = "if (" + column + " < " + std::to_string(columns) + ") ",
                      over_rows = "#pragma unroll\nfor (int u = 0; u < " + std::to_string(rows) +
                                  "; ++u) {\nconst int r = r0 + u * " + std::to_string(kThreads / 32) +
                                  ";\nif (r >= live) break;\n",
                      over_chunks =
                          "#pragma unroll\nfor (int i = 0; i < " + std::to_string(chunks) + "; ++i)\n";
    writer_ << "for (int r0 = warp; r0 < live; r0 += " << kThreads / 32 * rows << ") {\n"
            << type_ << " held[" << rows << "][" << chunks << "];\n"
            << over_rows << "const " << index_ << " row = first + r;\n"
            << coordinates_text("row", walk_.dims, "c", index_) << "const " << type_ << "* mine = from" << k
            << " + (" << offset_text(walk_.strides[k + 1], walk_.dims, "c") << ");\n"
            << over_chunks << is_there << "held[u][i] = mine[" << column << "];\n}\n"
            << over_rows << over_chunks << is_there << "tile[r][" << at_ << " + " << column
            << "] = held[u][i];\n}\n}\n";
  }

  void store_dense(const std::string& all_move) {
    writer_ << "if (" << all_move << ") {\n"
            << type_ << "* out = to + static_cast<i64>(first) * kWidth;\nconst " << type_
            << "* held = &tile[0][0];\n#pragma unroll 4\nfor (int t = threadIdx.x; t < live * kWidth; t += "
            << kThreads << ") out[t] = held[t];\nreturn;\n}\n";
  }

  KernelWriter writer_;
  const std::vector<CopyPiece>& pieces_;
  size_t axis_;
  std::string type_, index_;
  Walk walk_;
  int64_t width_ = 0, at_ = 0;  // of a row, and of the pieces before the one in hand
  int64_t rows_ = 64;           // of a block, held in shared memory
};

}  // namespace

PlannedLaunch write_rows(KernelWriter writer, const std::vector<CopyPiece>& pieces, size_t axis,
                         DType dtype) {
  return RowsWriter(std::move(writer), pieces, axis, dtype).write();
}

}  // namespace wootz
