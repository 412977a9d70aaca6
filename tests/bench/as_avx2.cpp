// A preloaded library that makes a process see a processor of the AVX2 class: cpuid traps, and its result omits AVX-512, AMX and the newer
// instructions for AVX registers. A program and its libraries choose code by this result, including the functions chosen while the program
// is loaded. The library depends on no other, so that every program can load it, whatever its C library.
// Where the processor or hypervisor cannot trap cpuid, the process ends with exit code 77. With RELAYOUT_COPIES, the library instead
// handles the illegal instructions that as_avx2.py put in the place of cpuid in copies of programs and libraries.
//   LD_PRELOAD=build/release/tests/as_avx2.so PROGRAM
#include <asm/prctl.h>
#include <asm/unistd.h>
#include <ucontext.h>

#include <csignal>
#include <cstdint>

namespace {

#ifdef RELAYOUT_COPIES
constexpr bool kIsTrapped = false;
constexpr int kSignal = SIGILL;
constexpr unsigned char kInstruction[] = {0x0f, 0x0b};  // ud2
#else
constexpr bool kIsTrapped = true;
constexpr int kSignal = SIGSEGV;
constexpr unsigned char kInstruction[] = {0x0f, 0xa2};  // cpuid
#endif
constexpr long kNotSupported = 77;
constexpr int kSetCpuid = 0x1012;  // ARCH_SET_CPUID of Linux 4.12

long system_call(long number, long a, long b = 0, long c = 0, long d = 0) {
  long out = number;
  register long fourth asm("r10") = d;
  asm volatile("syscall" : "+a"(out) : "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
  return out;
}

long trap_cpuid(bool traps) {
  return system_call(__NR_arch_prctl, kSetCpuid, traps ? 0 : 1);
}

struct Answer {
  uint32_t a, b, c, d;
};

Answer ask(uint32_t leaf, uint32_t subleaf) {
  Answer out{};
  asm volatile("cpuid" : "=a"(out.a), "=b"(out.b), "=c"(out.c), "=d"(out.d) : "a"(leaf), "c"(subleaf));
  return out;
}

constexpr uint32_t bits(auto... positions) {
  return ((1U << positions) | ...);
}

/// The extended features are cpuid's leaf 7.
void hide(uint32_t leaf, uint32_t subleaf, Answer& answer) {
  if (leaf != 7) return;
  if (subleaf == 0) {
    answer.b &= ~bits(16, 17, 21, 26, 27, 28, 30, 31);  // AVX512: F, DQ, IFMA, PF, ER, CD, BW, VL
    answer.c &= ~bits(1, 6, 11, 12, 14);                // AVX512: VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ
    answer.d &= ~bits(2, 3, 8, 22, 23, 24, 25);         // AVX512: 4VNNIW, 4FMAPS, VP2INTERSECT, FP16; AMX: BF16, TILE, INT8
  } else if (subleaf == 1) {
    answer.a &= ~bits(4, 5, 21, 23);     // AVX-VNNI, AVX512-BF16, AMX-FP16, AVX-IFMA
    answer.d &= ~bits(4, 5, 8, 10, 19);  // AVX-VNNI-INT8, AVX-NE-CONVERT, AMX-COMPLEX, AVX-VNNI-INT16, AVX10
  }
}

void answer_cpuid(int /*signal*/, siginfo_t* /*info*/, void* context) {
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* const at = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  if (at[0] != kInstruction[0] || at[1] != kInstruction[1]) system_call(__NR_exit_group, 128 + kSignal);  // a fault of the program's own
  const auto leaf = static_cast<uint32_t>(registers[REG_RAX]), subleaf = static_cast<uint32_t>(registers[REG_RCX]);
  if (kIsTrapped) trap_cpuid(false);
  Answer answer = ask(leaf, subleaf);
  if (kIsTrapped) trap_cpuid(true);
  hide(leaf, subleaf, answer);
  registers[REG_RAX] = answer.a;
  registers[REG_RBX] = answer.b;
  registers[REG_RCX] = answer.c;
  registers[REG_RDX] = answer.d;
  registers[REG_RIP] += 2;
}

/// The kernel's version of sigaction, which names the function that ends a handler.
struct KernelAction {
  void (*handler)(int, siginfo_t*, void*);
  unsigned long flags;
  void (*restorer)();
  unsigned long mask;
};

extern "C" [[gnu::naked]] void as_avx2_return() {
  asm("mov $15, %eax\n\tsyscall");  // rt_sigreturn
}

void start() {
  constexpr unsigned long kRestorer = 0x04000000;
  const KernelAction action{answer_cpuid, SA_SIGINFO | SA_NODEFER | kRestorer, as_avx2_return, 0};
  system_call(__NR_rt_sigaction, kSignal, reinterpret_cast<long>(&action), 0, sizeof action.mask);
  if (!kIsTrapped || trap_cpuid(true) == 0) return;
  static constexpr char kWords[] = "as_avx2: this processor, or its hypervisor, cannot hide instructions\n";
  system_call(__NR_write, 2, reinterpret_cast<long>(kWords), sizeof kWords - 1);
  system_call(__NR_exit_group, kNotSupported);
}

void nothing() {}

/// Runs while this library is relocated, before the program's functions are chosen by cpuid.
extern "C" void (*as_avx2_resolve())() {
  start();
  return nothing;
}

}  // namespace

extern "C" void as_avx2() __attribute__((ifunc("as_avx2_resolve")));
/// A reference to the function, which makes the loader resolve it.
extern "C" void (*const kAsAvx2Address)() = as_avx2;
