// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "import/onnx/import.h"
#include "ir/element.h"
#include "tests/import/onnx_writer.h"

namespace wootz {
namespace {

using namespace onnx_writer;

Tensor read(const Bytes& bytes) { return read_tensor_proto(std::as_bytes(std::span(bytes))); }

std::string error_of(const Bytes& bytes) {
  try {
    read(bytes);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

Bytes with_integers(int dtype, const std::vector<int64_t>& dims, uint32_t field,
                    const std::vector<int64_t>& values) {
  Bytes out = tensor_header("", dtype, dims);
  protozero::pbf_writer(out).add_packed_int64(field, values.begin(), values.end());
  return out;
}

TEST(TensorData, RawDataOfEachWidth) {
  for (int number = 1; number < kDTypeCount; ++number) {
    const auto dtype = static_cast<DType>(number);
    const int bits = dtype_file_bits(dtype);
    if (bits < 8) continue;
    std::string raw(static_cast<size_t>(3 * bits / 8), '\1');
    const Tensor t = read(raw_tensor("t", number, {3}, raw));
    EXPECT_EQ(t.dtype(), dtype);
    EXPECT_EQ(std::string(static_cast<const char*>(t.data()), t.size_bytes()), raw) << dtype_name(dtype);
  }
}

TEST(TensorData, SmallElementsArePackedFromTheLowBits) {
  EXPECT_EQ(read(raw_tensor("t", 21, {3}, "\x21\x0f")).to_int64s(), (Ints{1, 2, 15}));           // uint4
  EXPECT_EQ(read(raw_tensor("t", 22, {3}, "\x8f\x07")).to_int64s(), (Ints{-1, -8, 7}));          // int4
  EXPECT_EQ(read(raw_tensor("t", 25, {5}, "\xe4\x02")).to_int64s(), (Ints{0, 1, 2, 3, 2}));      // uint2
  EXPECT_EQ(read(raw_tensor("t", 26, {4}, "\xe4")).to_int64s(), (Ints{0, 1, -2, -1}));           // int2
  EXPECT_EQ(read(raw_tensor("t", 23, {2}, "\xf2")).to_doubles(), (std::vector<double>{1, -6}));  // float4e2m1
  // Four float6 elements share three bytes: codes 0x20 (-0), 0x1f, 0x08 and 0x21, then 0x3f alone.
  EXPECT_EQ(read(raw_tensor("t", 27, {5}, "\xe0\x87\x84\x3f")).to_doubles(),
            (std::vector<double>{-0.0, 7.5, 1, -0.125, -7.5}));  // float6e2m3
  EXPECT_EQ(read(raw_tensor("t", 28, {5}, "\xe0\x87\x84\x3f")).to_doubles(),
            (std::vector<double>{-0.0, 28, 0.5, -0.0625, -28}));  // float6e3m2
  EXPECT_EQ(read(with_integers(27, {2}, 5, {0x1f, 0x21})).to_doubles(), (std::vector<double>{7.5, -0.125}));
  EXPECT_EQ(read(with_integers(22, {3}, 5, {0x8f, 7})).to_int64s(), (Ints{-1, -8, 7}));
  EXPECT_EQ(read(with_integers(25, {5}, 5, {0xe4, 2})).to_int64s(), (Ints{0, 1, 2, 3, 2}));
}

TEST(TensorData, TypedFields) {
  EXPECT_EQ(read(with_integers(6, {2}, 5, {-7, 1 << 30})).to_int64s(), (Ints{-7, 1 << 30}));
  EXPECT_EQ(read(with_integers(2, {2}, 5, {0, 255})).to_int64s(), (Ints{0, 255}));
  EXPECT_EQ(read(with_integers(3, {1}, 5, {-128})).to_int64s(), (Ints{-128}));
  EXPECT_EQ(read(with_integers(4, {1}, 5, {65535})).to_int64s(), (Ints{65535}));
  EXPECT_EQ(read(with_integers(5, {1}, 5, {-32768})).to_int64s(), (Ints{-32768}));
  EXPECT_EQ(read(with_integers(9, {3}, 5, {0, 1, 2})).to_int64s(), (Ints{0, 1, 1}));
  EXPECT_EQ(read(with_integers(7, {1}, 7, {INT64_MIN})).to_int64s(), (Ints{INT64_MIN}));
  EXPECT_EQ(read(with_integers(12, {1}, 11, {4000000000})).to_int64s(), (Ints{4000000000}));
  EXPECT_EQ(read(with_integers(13, {1}, 11, {-1})).as<uint64_t>()[0], UINT64_MAX);
  EXPECT_EQ(read(with_integers(10, {2}, 5, {0x3c00, 0xfc00})).to_doubles(),
            (std::vector<double>{1, -INFINITY}));
  EXPECT_EQ(read(with_integers(10, {1}, 5, {-1024})).to_doubles(),
            (std::vector<double>{-INFINITY}));  // sign-extended bits
  EXPECT_EQ(read(with_integers(16, {1}, 5, {0xbf80})).to_doubles(), (std::vector<double>{-1}));
  EXPECT_EQ(read(with_integers(17, {1}, 5, {0x38})).to_doubles(), (std::vector<double>{1}));
}

TEST(TensorData, FloatingPointFieldsPackedAndNot) {
  const std::vector<float> values = {1.5f, -2};
  Bytes packed = tensor_header("", 1, {2});
  protozero::pbf_writer(packed).add_packed_float(4, values.begin(), values.end());
  EXPECT_EQ(read(packed).to_doubles(), (std::vector<double>{1.5, -2}));
  Bytes loose = tensor_header("", 1, {2});
  protozero::pbf_writer w(loose);
  w.add_float(4, 1.5f);
  w.add_float(4, -2);
  EXPECT_EQ(read(loose).to_doubles(), (std::vector<double>{1.5, -2}));
  Bytes complex = tensor_header("", 14, {1});
  protozero::pbf_writer(complex).add_packed_float(4, values.begin(), values.end());
  EXPECT_EQ(read(complex).as<float>()[1], -2);
  Bytes doubles = tensor_header("", 11, {1});
  protozero::pbf_writer(doubles).add_double(10, 0.1);
  EXPECT_EQ(read(doubles).as<double>()[0], 0.1);
}

TEST(TensorData, StringsScalarsAndEmptyTensors) {
  Bytes strings = tensor_header("", 8, {2});
  protozero::pbf_writer w(strings);
  w.add_bytes(6, std::string("a\0b", 3));
  w.add_bytes(6, "");
  EXPECT_EQ(read(strings).as<std::string>()[0], std::string("a\0b", 3));
  EXPECT_EQ(read(float_tensor("", {}, {3})).dims(), Dims{});
  EXPECT_EQ(read(float_tensor("", {2, 0}, {})).dims(), (Dims{2, 0}));
  EXPECT_EQ(read(tensor_header("", 7, {0})).size(), 0);
}

TEST(TensorData, BooleansBecomeZeroOrOne) {
  const Tensor t = read(raw_tensor("", 9, {3}, std::string("\0\1\2", 3)));
  EXPECT_EQ(std::string(t.as<char>(), 3), std::string("\0\1\1", 3));
}

TEST(TensorData, ErrorsSayWhatWasExpectedAndFound) {
  EXPECT_EQ(error_of(raw_tensor("", 1, {2, 2}, "123")),
            "expected 16 bytes of data for float32[2,2], found 3");
  EXPECT_EQ(error_of(tensor_header("", 1, {2})), "expected 2 numbers in float_data for its dims, found 0");
  EXPECT_EQ(error_of(with_integers(3, {1}, 5, {200})), "expected elements that fit int8, found 200");
  EXPECT_EQ(error_of(with_integers(6, {3}, 5, {1})),
            "expected 3 numbers in int32_data for its dims, found 1");
  EXPECT_EQ(error_of(raw_tensor("", 8, {1}, "x")), "expected string_data for strings, found raw_data");
  EXPECT_EQ(error_of(tensor_header("", 0, {1})), "expected an element type from 1 to 28, found 0");
  EXPECT_EQ(error_of(tensor_header("", 99, {1})), "expected an element type from 1 to 28, found 99");
  EXPECT_EQ(error_of(with_integers(27, {2}, 5, {0x3f, 0x40})),
            "expected elements that fit float6e2m3, found 64");
  EXPECT_EQ(error_of(tensor_header("", 1, {-2})), "expected a dimension >= 0, found -2");
  EXPECT_EQ(error_of(tensor_header("", 1, {int64_t{1} << 40, int64_t{1} << 40})),
            "number of elements: 1099511627776 * 1099511627776 overflows 64 bits");
}

TEST(TensorData, ErrorsOfTheWireFormatNameTheByte) {
  EXPECT_EQ(error_of("\x12\x7f"),
            "expected an integer in field 2, found another wire type in a TensorProto at byte 1; the file is "
            "damaged, cut short, "
            "or not an ONNX model");
  EXPECT_EQ(error_of("\x4a\x7f"),
            "expected 127 bytes for field 9, found 0 in a TensorProto at byte 2; the file is damaged, cut "
            "short, or not an ONNX "
            "model");
  EXPECT_EQ(
      error_of("\x0b"),
      "expected wire type 0, 1, 2 or 5, found 3 in a TensorProto at byte 1; the file is damaged, cut short, "
      "or not an ONNX model");
}

}  // namespace
}  // namespace wootz
