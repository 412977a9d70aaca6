// Measures the peak rates of the machine, and computes which part of them a row reaches.
// See Williams, Waterman, Patterson: Roofline, 2009.
#include <time.h>

#include <thread>

#include "base/machine.h"
#include "base/positions.h"
#include "relayout/profile.h"

#if defined(__x86_64__)
#define RELAYOUT_AVX512 __attribute__((target("avx512f")))
#define RELAYOUT_AVX2 __attribute__((target("avx2,fma")))
#else
#define RELAYOUT_AVX512
#define RELAYOUT_AVX2
#endif

namespace relayout {
namespace {

constexpr int kPasses = 5;                               ///< the best pass counts
constexpr int64_t kRounds = 100'000;                     ///< per pass: some milliseconds
constexpr std::size_t kFloats = std::size_t{64} << 18U;  ///< per array (of three), over all threads: 64 MiB, beyond caches
constexpr float kFactor = 0.999F, kTerm = 0.001F;        ///< sums stay near 1

using Narrow = float __attribute__((vector_size(16)));
using Wide = float __attribute__((vector_size(32)));
using Widest = float __attribute__((vector_size(64)));

/// Processor time of this thread, in nanoseconds.
double processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// Runs twelve independent chains of multiply-adds in registers, enough to hide the latency of all units. The compiler does not know their
/// start values, so that it removes none.
template <class Lanes>
[[gnu::always_inline]] inline float multiply_add() {
  volatile float begin = 1;
  Lanes a = Lanes{} + begin, b = Lanes{} + begin, c = Lanes{} + begin, d = Lanes{} + begin, e = Lanes{} + begin, f = Lanes{} + begin;
  Lanes g = Lanes{} + begin, h = Lanes{} + begin, i = Lanes{} + begin, j = Lanes{} + begin, k = Lanes{} + begin, l = Lanes{} + begin;
  for (int64_t round = 0; round < kRounds; ++round) {
    a = a * kFactor + kTerm, b = b * kFactor + kTerm, c = c * kFactor + kTerm, d = d * kFactor + kTerm;
    e = e * kFactor + kTerm, f = f * kFactor + kTerm, g = g * kFactor + kTerm, h = h * kFactor + kTerm;
    i = i * kFactor + kTerm, j = j * kFactor + kTerm, k = k * kFactor + kTerm, l = l * kFactor + kTerm;
  }
  const Lanes sum = a + b + c + d + e + f + g + h + i + j + k + l;
  return sum[0];
}

RELAYOUT_AVX512 float multiply_add_avx512() {
  return multiply_add<Widest>();
}
RELAYOUT_AVX2 float multiply_add_avx2() {
  return multiply_add<Wide>();
}
float multiply_add_sse() {
  return multiply_add<Narrow>();
}

/// Operations per nanosecond of one thread.
double multiply_add_rate() {
  constexpr int kChains = 12;
  const InstructionSet set = instruction_set();
  float (*const work)() = set == InstructionSet::avx512 ? multiply_add_avx512
                          : set == InstructionSet::avx2 ? multiply_add_avx2
                                                        : multiply_add_sse;
  const std::size_t lanes = (set == InstructionSet::avx512 ? sizeof(Widest)
                             : set == InstructionSet::avx2 ? sizeof(Wide)
                                                           : sizeof(Narrow)) /
                            sizeof(float);
  volatile float result = 0;
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    const double begin = processor_time();
    result = result + work();
    best = std::max(best, static_cast<double>(kRounds * kChains * 2) * static_cast<double>(lanes) / (processor_time() - begin));
  }
  return best;
}

/// Bytes per nanosecond of one thread: a = b + factor × c over arrays of its own (McCalpin's triad, writes counted once).
double move_rate(std::size_t count) {
  std::vector<float> a(count, 0), b(count, 1), c(count, 2);
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    const double begin = processor_time();
    for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + kFactor * c[i];
    best = std::max(best, static_cast<double>(3 * sizeof(float) * count) / (processor_time() - begin));
    std::swap(a, b);
  }
  return best;
}

/// The sum of the rates of threads that work at the same time.
double sum_of_threads(int threads, const std::function<double()>& work) {
  std::vector<double> rates(as_size(threads));
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < rates.size(); ++i) others.emplace_back([&rates, &work, i] { rates[i] = work(); });
  rates[0] = work();
  for (std::thread& other : others) other.join();
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

constexpr double kPerMicrosecond = 1e3;  ///< amount in a microsecond at 10⁹ per second

}  // namespace

MachinePeak measure_peak(int threads) {
  MachinePeak out;
  out.gflops = sum_of_threads(threads, multiply_add_rate);
  out.gigabytes = sum_of_threads(threads, [&] { return move_rate(kFloats / as_size(threads)); });
  out.is_measured = true;
  return out;
}

std::optional<double> gflops(int64_t macs, double us) noexcept {
  if (macs <= 0 || us <= 0) return std::nullopt;
  return 2 * static_cast<double>(macs) / us / kPerMicrosecond;
}

std::optional<double> gigabytes(int64_t bytes, double us) noexcept {
  if (bytes <= 0 || us <= 0) return std::nullopt;
  return static_cast<double>(bytes) / us / kPerMicrosecond;
}

double attainable_gflops(const MachinePeak& peak, double flop_per_byte) {
  return std::min(peak.gflops, flop_per_byte * peak.gigabytes);
}

std::optional<double> part_of_peak(const MachinePeak& peak, int64_t macs, int64_t bytes, double us) {
  if (bytes <= 0 || us <= 0) return std::nullopt;
  const double flop = 2 * static_cast<double>(macs);
  const double least_us = std::max(flop / peak.gflops, static_cast<double>(bytes) / peak.gigabytes) / kPerMicrosecond;
  if (least_us > us) return std::nullopt;
  return least_us / us;
}

}  // namespace relayout
