// SPDX-License-Identifier: Apache-2.0
// A compiled model, ready to run.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <wootz/error.h>
#include <wootz/export.h>
#include <wootz/tensor.h>

namespace wootz {

struct EngineData;
class ShadowLedger;

/// An input or output of an engine. Dimensions are numbers where they are fixed and expressions where they
/// are not, e.g.
/// {"batch", "3", "2*h + 1"}.
struct TensorInfo {
  std::string name;
  DType dtype = DType::kUndefined;
  bool has_shape = false;
  std::vector<std::string> dims;              // as text
  std::vector<std::optional<int64_t>> fixed;  // the number, or nothing where it varies
};

using NamedData = std::map<std::string, Datum>;

/// Called for each output whose shape is known before the run; returns row-major memory of `bytes` bytes that
/// outlives the run, or null to let Wootz allocate.
using OutputAllocator =
    std::function<void*(const std::string& name, DType dtype, const Dims& dims, size_t bytes)>;

/// What one step of a run took.
struct StepTime {
  std::string region;                // its main operator
  std::vector<std::string> origins;  // ONNX nodes
  std::string tactic;
  double time_us = 0;
  double start_us = 0;     // since the run began
  bool on_device = false;  // on the GPU's clock, from its first copy on
  double kernels_us = 0;   // of its kernels alone, as the GPU noted them (DeviceNotes); 0: unknown
  int kernels = 0;
};

/// What a GPU itself noted of one run (NVIDIA: by CUPTI).
struct DeviceNotes {
  std::string missing;  // why nothing was noted; empty: all below is known
  double upload_us = 0, download_us = 0;
  uint64_t upload_bytes = 0, download_bytes = 0;
};

/// A stretch of work of one thread.
struct ThreadSpan {
  int thread = 0;  // 0: the caller
  double start_us = 0, time_us = 0;
};

/// What a run spent on a GPU, in microseconds of its clock: copying inputs there, computing (steps on the
/// host with their copies included), copying outputs back.
struct DeviceTimes {
  double upload_us = 0, run_us = 0, download_us = 0;
};

/// What shadow checks found (Engine::shadow).
struct ShadowCounts {
  uint64_t runs = 0;         // looked at
  uint64_t regions = 0;      // computed once more
  uint64_t failures = 0;     // of them out of their bound
  std::string last_failure;  // region, tactic, element, expected, found
};

/// How an engine file is taken in.
struct LoadOptions {
  std::string device;          // where it runs among devices of its kind ("cuda:1"); empty: as built
  bool self_test = true;       // run a few regions against what the references gave at the build, and check
                               // the hashes of weights up to 64 MB; milliseconds, on a GPU too
  bool check_weights = false;  // check the hashes of all weights: reads the whole file
};

/// One caller's state: prepared shapes and activation memory. One thread at a time; several contexts of an
/// engine may run side by side and share its weights.
class WOOTZ_API Context {
 public:
  /// Makes kernels and memory ready for these input shapes; otherwise the first run does it. Throws
  /// kInvalidArgument.
  void prepare(const std::map<std::string, Dims>& input_shapes);
  /// Runs on row-major tensors by name; engines on a GPU also take views of its memory, in place. Throws
  /// Error: kInvalidArgument (a name, type or shape that the engine does not take: expected against found),
  /// kOutOfMemory.
  NamedData run(const NamedData& inputs, const OutputAllocator& allocator = {});
  /// The same, with each step's time.
  NamedData run_profiled(const NamedData& inputs, std::vector<StepTime>& times);
  /// And with what each CPU thread did, on the same clock; not beside other runs in the process.
  NamedData run_profiled(const NamedData& inputs, std::vector<StepTime>& times,
                         std::vector<ThreadSpan>& threads);
  /// And with the GPU's own notes, which also give the times of kernels.
  NamedData run_profiled(const NamedData& inputs, std::vector<StepTime>& times, DeviceNotes& notes);
  /// The hot path for callers that hold tensors in the engine's own order: no name is looked up, nothing is
  /// allocated on a prepared shape whose outputs have memory, and failures come back as text (empty:
  /// success).
  std::string run_ordered(std::span<const Datum> inputs, std::span<Datum> outputs) noexcept;
  /// Activation and scratch memory held, in bytes.
  size_t memory_bytes() const;
  /// On a GPU. Work goes to this stream of the caller's (a CUstream or cudaStream_t), and a run whose inputs
  /// and outputs are all views of the GPU's memory returns once it is enqueued. Null: the context's own
  /// stream again. Throws kInvalidArgument for an engine on the host.
  void use_stream(void* stream);
  /// On a GPU: from now on runs note what they spend there, and device_times() has it for the last one.
  void measure(bool on);
  DeviceTimes device_times() const;

  Context(Context&&) noexcept;
  ~Context();

 private:
  friend class Engine;
  struct State;
  explicit Context(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// An immutable compiled model. All member functions may be called from several threads at once.
class WOOTZ_API Engine {
 public:
  /// Maps an engine file. `device` chooses where it runs among devices of the kind that it was built for
  /// ("cuda:1"); empty: as built. Throws kIo, kInvalidEngine, kInvalidArgument.
  static Engine load(const std::string& path, const std::string& device = "");
  static Engine load(const std::string& path, const LoadOptions& options);
  void save(const std::string& path) const;

  std::vector<TensorInfo> inputs() const;
  std::vector<TensorInfo> outputs() const;
  /// Output dims for given input dims; nothing for an output whose size only the run can tell.
  std::map<std::string, std::optional<Dims>> output_shapes(
      const std::map<std::string, Dims>& input_shapes) const;
  /// Activation and scratch memory that a run at these shapes needs, in bytes.
  size_t memory_bytes(const std::map<std::string, Dims>& input_shapes) const;

  /// Runs on a context of the engine's own pool.
  NamedData run(const NamedData& inputs) const;
  /// threads 0: as built.
  Context context(int threads = 0) const;

  /// From now on, of every context's runs this share (0 to 1; 0: none) is looked at: two regions of each, in
  /// turn, are computed once more by the references at a few elements. What differs goes to the logger
  /// (error) and into shadow_counts(); the results stay as they are. Such a run takes longer and allocates.
  void shadow(double share) const;
  ShadowCounts shadow_counts() const;

  std::string model_name() const;
  /// Everything that was decided and measured, as JSON: steps, tactics, rivals, remarks, memory,
  /// verification.
  std::string explain_json() const;
  /// The same as one HTML page that needs nothing else: time, rivals, roofline, graph, memory, types,
  /// remarks.
  std::string explain_html() const;
  /// The same for people, in lines of at most `width` columns.
  std::string explain_text(int width = 100) const;

  /// For the compiler's own use.
  explicit Engine(std::shared_ptr<const EngineData> data);
  const std::shared_ptr<const EngineData>& data() const { return data_; }

 private:
  struct Pool;
  std::shared_ptr<const EngineData> data_;
  std::shared_ptr<Pool> pool_;
};

/// CPU and GPU devices that this build can use here, a line each.
WOOTZ_API std::vector<std::string> describe_devices();

}  // namespace wootz
