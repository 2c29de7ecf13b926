// SPDX-License-Identifier: Apache-2.0
#include "cli/npz.h"

#include <unistd.h>
#include <zip.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include "cli/output_path.h"

namespace wootz::cli {
namespace {

constexpr long long kLongestText = 1LL << 30;
constexpr uint64_t kDensest = 1032;  // what deflate can make of a byte

[[noreturn]] void bad(const std::string& where, const std::string& what) {
  throw Error(ErrorKind::kInvalidArgument, where + ": " + what);
}

const std::map<std::string, DType>& dtype_by_descr() {
  static const std::map<std::string, DType> table = {
      {"<f4", DType::kFloat32},   {"<f8", DType::kFloat64},    {"<f2", DType::kFloat16},
      {"|i1", DType::kInt8},      {"|u1", DType::kUint8},      {"<i2", DType::kInt16},
      {"<u2", DType::kUint16},    {"<i4", DType::kInt32},      {"<u4", DType::kUint32},
      {"<i8", DType::kInt64},     {"<u8", DType::kUint64},     {"|b1", DType::kBool},
      {"<c8", DType::kComplex64}, {"<c16", DType::kComplex128}};
  return table;
}

/// The text of one entry of the header's dictionary: `'descr': '<f4'` gives `<f4`.
std::string header_field(const std::string& header, const std::string& key, const std::string& where) {
  const size_t at = header.find("'" + key + "'");
  if (at == std::string::npos) bad(where, "the .npy header lacks '" + key + "'");
  size_t begin = header.find(':', at) + 1;
  while (begin < header.size() && header[begin] == ' ') ++begin;
  if (begin >= header.size()) bad(where, "the .npy header ends early");
  const char closing = header[begin] == '(' ? ')' : header[begin] == '\'' ? '\'' : ',';
  const size_t end = header.find(closing, begin + 1);
  if (end == std::string::npos) bad(where, "the .npy header does not close '" + key + "'");
  const bool quoted = closing != ',';
  return header.substr(begin + quoted, end - begin - quoted);
}

Dims parse_dims(const std::string& text, const std::string& where) {
  Dims dims;
  size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && (text[at] == ' ' || text[at] == ',')) ++at;
    if (at == text.size()) break;
    size_t used = 0;
    try {
      dims.push_back(std::stoll(text.substr(at), &used));
    } catch (const std::exception&) {
      bad(where, "expected a shape, found (" + text + ")");
    }
    if (dims.back() < 0) bad(where, "expected dimensions of at least 0, found (" + text + ")");
    at += used;
  }
  return dims;
}

/// UCS-4 to UTF-8, trailing zeros dropped.
std::string utf8(const char* p, size_t characters) {
  std::string s;
  for (size_t i = 0; i < characters; ++i) {
    uint32_t c = 0;
    std::memcpy(&c, p + 4 * i, 4);
    if (c == 0) break;
    if (c < 0x80)
      s += char(c);
    else if (c < 0x800)
      s += char(0xc0 | c >> 6), s += char(0x80 | (c & 63));
    else if (c < 0x10000)
      s += char(0xe0 | c >> 12), s += char(0x80 | (c >> 6 & 63)), s += char(0x80 | (c & 63));
    else
      s += char(0xf0 | c >> 18), s += char(0x80 | (c >> 12 & 63)), s += char(0x80 | (c >> 6 & 63)),
          s += char(0x80 | (c & 63));
  }
  return s;
}

/// Fills `t` from elements whose first dimension varies fastest.
void copy_from_fortran(Tensor& t, const char* data) {
  const size_t bytes = dtype_size(t.dtype());
  const Dims& dims = t.dims();
  Dims index(dims.size(), 0);
  for (int64_t i = 0; i < t.size(); ++i) {
    int64_t from = 0;
    for (size_t d = dims.size(); d-- > 0;) from = from * dims[d] + index[d];
    std::memcpy(t.as<char>() + static_cast<size_t>(i) * bytes, data + static_cast<size_t>(from) * bytes,
                bytes);
    for (size_t d = dims.size(); d-- > 0 && ++index[d] == dims[d];) index[d] = 0;
  }
}

Tensor parse_npy(const std::string& bytes, const std::string& where) {
  if (bytes.size() < 10 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0)
    bad(where, "expected a .npy array, found other data");
  const bool wide = bytes[6] >= 2;
  const size_t start = wide ? 12 : 10;
  uint32_t length = 0;
  if (bytes.size() < start) bad(where, "the .npy header is cut short");
  std::memcpy(&length, bytes.data() + 8, wide ? 4 : 2);
  if (length > bytes.size() - start) bad(where, "the .npy header is cut short");
  const std::string header = bytes.substr(start, length);
  const std::string descr = header_field(header, "descr", where);
  const Dims dims = parse_dims(header_field(header, "shape", where), where);
  const bool is_fortran = header_field(header, "fortran_order", where).starts_with("True") && dims.size() > 1;
  const char* data = bytes.data() + start + length;
  const size_t available = bytes.size() - start - length;
  size_t count = 1;
  for (int64_t d : dims)
    if (__builtin_mul_overflow(count, static_cast<size_t>(d), &count)) bad(where, "the shape is too large");
  const auto need = [&](size_t each) {
    size_t total = 0;
    if (__builtin_mul_overflow(count, each, &total) || total > available)
      bad(where, "expected " + std::to_string(count) + " elements of " + std::to_string(each) +
                     " bytes, found " + std::to_string(available) + " bytes");
    return total;
  };
  if (descr.starts_with("<U") || descr.starts_with("|S")) {
    const bool wide_text = descr[1] == 'U';
    const long long characters = std::atoll(descr.c_str() + 2);
    if (characters < 1 || characters > kLongestText)
      bad(where, "expected texts of 1 to 2^30 characters, found '" + descr + "'");
    if (is_fortran)
      bad(where, "expected texts in C order, found Fortran order; save numpy.ascontiguousarray(x)");
    const size_t each = static_cast<size_t>(characters) * (wide_text ? 4 : 1);
    need(each);
    std::vector<std::string> strings;
    for (size_t i = 0; i < count; ++i)
      strings.push_back(wide_text ? utf8(data + i * each, static_cast<size_t>(characters))
                                  : std::string(data + i * each, strnlen(data + i * each, each)));
    return Tensor::strings(dims, std::move(strings));
  }
  const auto it = dtype_by_descr().find(descr);
  if (it == dtype_by_descr().end())
    bad(where, "element type '" + descr + "' is not one that models take; convert it with astype");
  const size_t total = need(dtype_size(it->second));
  Tensor t = Tensor::zeros(it->second, dims);
  if (is_fortran)
    copy_from_fortran(t, data);
  else
    std::memcpy(t.data(), data, total);
  if (t.dtype() == DType::kBool)  // any other byte than 0 and 1 is no bool to C++
    for (char *p = t.as<char>(), *end = p + total; p < end; ++p) *p = *p != 0;
  return t;
}

std::string npy_bytes(const Tensor& given) {
  Tensor t = given;
  std::string descr;
  for (const auto& [name, dtype] : dtype_by_descr())
    if (dtype == t.dtype()) descr = name;
  if (t.dtype() == DType::kString) {
    size_t longest = 1;
    for (const std::string& s : t.span<std::string>()) longest = std::max(longest, s.size());
    descr = "|S" + std::to_string(longest);
  } else if (descr.empty()) {
    const std::vector<double> values = t.to_doubles();
    const std::vector<float> floats(values.begin(), values.end());
    t = Tensor::from<float>(DType::kFloat32, t.dims(), floats);
    descr = "<f4";
  }
  std::string shape;
  for (int64_t d : t.dims()) shape += std::to_string(d) + ",";
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  const auto length = static_cast<uint16_t>(header.size());
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes.append(reinterpret_cast<const char*>(&length), 2);
  bytes += header;
  if (t.dtype() == DType::kString) {
    const auto each = static_cast<size_t>(std::atoll(descr.c_str() + 2));
    for (const std::string& s : t.span<std::string>()) bytes += s + std::string(each - s.size(), '\0');
  } else {
    bytes.append(t.as<char>(), t.size_bytes());
  }
  return bytes;
}

struct ZipDiscard {
  void operator()(zip_t* z) const { zip_discard(z); }
};
using Zip = std::unique_ptr<zip_t, ZipDiscard>;

Zip open_zip(const std::string& path, int flags) {
  int code = 0;
  Zip zip(zip_open(path.c_str(), flags, &code));
  if (zip) return zip;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  throw Error(ErrorKind::kIo, "'" + path + "': expected a .npz file (numpy.savez), found: " + text);
}

}  // namespace

std::vector<std::pair<std::string, Tensor>> read_npz(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored))
    throw Error(ErrorKind::kIo,
                "'" + path + "': expected a .npz file (numpy.savez), found a " +
                    (std::filesystem::is_directory(path, ignored) ? "folder" : "device or pipe"));
  const Zip zip = open_zip(path, ZIP_RDONLY);
  std::vector<std::pair<std::string, Tensor>> arrays;
  for (zip_int64_t i = 0; i < zip_get_num_entries(zip.get(), 0); ++i) {
    zip_stat_t stat;
    if (zip_stat_index(zip.get(), zip_uint64_t(i), 0, &stat) != 0)
      throw Error(ErrorKind::kIo, "'" + path + "': " + zip_strerror(zip.get()));
    std::string name = stat.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    // A forged size would ask for memory that no content fills.
    if (stat.size / kDensest > stat.comp_size + 1)
      throw Error(ErrorKind::kIo, "'" + path + "', array '" + name + "': the zip entry is damaged");
    std::string bytes(stat.size, '\0');
    zip_file_t* file = zip_fopen_index(zip.get(), zip_uint64_t(i), 0);
    const zip_int64_t got = file ? zip_fread(file, bytes.data(), bytes.size()) : -1;
    if (file) zip_fclose(file);
    if (got != static_cast<zip_int64_t>(bytes.size()))
      throw Error(ErrorKind::kIo, "'" + path + "', array '" + name + "': the zip entry is damaged");
    arrays.emplace_back(name, parse_npy(bytes, "'" + path + "', array '" + name + "'"));
  }
  return arrays;
}

Tensor read_npy(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    throw Error(ErrorKind::kIo, "'" + path + "': expected a .npy file (numpy.save), found none");
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw Error(ErrorKind::kIo, "cannot read '" + path + "'");
  return parse_npy(bytes, "'" + path + "'");
}

void write_npz(const std::string& path, const NamedData& data) {
  const std::string target = writable_path(path);
  const std::string beside = target + ".part" + std::to_string(getpid());
  std::vector<std::string> contents;  // must live until the archive is closed
  contents.reserve(data.size());
  Zip zip = open_zip(beside, ZIP_CREATE | ZIP_TRUNCATE);
  for (const auto& [name, datum] : data) {
    if (datum.kind != Datum::Kind::kTensor)
      throw Error(ErrorKind::kUnsupported, "output '" + name + "' is no tensor; .npz holds tensors only");
    contents.push_back(npy_bytes(datum.tensor));
    zip_source_t* source = zip_source_buffer(zip.get(), contents.back().data(), contents.back().size(), 0);
    const zip_int64_t index =
        zip_file_add(zip.get(), (name + ".npy").c_str(), source, ZIP_FL_OVERWRITE | ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      throw Error(ErrorKind::kIo, "'" + path + "': " + zip_strerror(zip.get()));
    }
    zip_set_file_compression(zip.get(), zip_uint64_t(index), ZIP_CM_STORE, 0);
  }
  zip_t* raw = zip.release();
  if (zip_close(raw) != 0) {
    const std::string text = zip_strerror(raw);
    zip_discard(raw);
    ::unlink(beside.c_str());
    throw Error(ErrorKind::kIo, "cannot write '" + path + "': " + text);
  }
  if (std::rename(beside.c_str(), target.c_str()) != 0) {
    const std::string text = std::strerror(errno);
    ::unlink(beside.c_str());
    throw Error(ErrorKind::kIo, "cannot rename into place '" + path + "': " + text);
  }
}

}  // namespace wootz::cli
