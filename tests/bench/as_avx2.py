"""Makes the network benchmark see a processor of the AVX2 class where cpuid cannot be made to trap (AMD):
    python3 tests/bench/as_avx2.py FOLDER PYTHON
copies onnxruntime and openvino of PYTHON into FOLDER and bench_network within the build; in the copies cpuid is an illegal instruction, which
as_avx2_copies.so answers. oneDNN, which is no copy, is told by its own switch. Needs objdump and readelf.
    cmake/dev shell FOLDER/network --json FILE . 10 0
then has the arguments of `cmake/dev bench network`. `as_avx2.py FILE` replaces cpuid in that file."""
import pathlib
import re
import shutil
import subprocess
import sys

CPUID, ILLEGAL = b"\x0f\xa2", b"\x0f\x0b"
RUNTIMES = {"onnxruntime": ["capi/*.so*"], "openvino": ["libs/libopenvino.so*", "libs/libopenvino_intel_cpu_plugin.so"]}


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def code_segments(file):
    """(offset in the file, address, size) of what is loaded to be run."""
    for line in output("readelf", "-lW", file).splitlines():
        found = re.match(r"\s+LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ (.*?)0x", line)
        if found and "E" in found[4]:
            yield tuple(int(number, 16) for number in found.groups()[:3])


def replace_cpuid(file):
    segments = list(code_segments(file))
    addresses = re.findall(r"^\s*([0-9a-f]+):\s+cpuid", output("objdump", "-d", "--no-show-raw-insn", file), re.MULTILINE)
    data = bytearray(file.read_bytes())
    for address in (int(text, 16) for text in addresses):
        for offset, first, size in segments:
            at = offset + address - first
            if first <= address < first + size and data[at:at + 2] == CPUID:
                data[at:at + 2] = ILLEGAL
    file.write_bytes(data)
    print(f"{file}: {len(addresses)} times")


def write_program(file, text):
    file.write_text("#!/bin/sh\n" + text)
    file.chmod(0o755)


def main(folder, python):
    folder, tests = pathlib.Path(folder).resolve(), pathlib.Path(__file__).resolve().parents[2] / "build/release/tests"
    site = folder / "site"
    site.mkdir(parents=True, exist_ok=True)
    for name, patterns in RUNTIMES.items():
        source = output(python, "-c", f"import {name}; print({name}.__path__[0])").split()[-1]
        shutil.copytree(source, site / name, dirs_exist_ok=True)
        for pattern in patterns:
            for file in (site / name).glob(pattern):
                if not file.is_symlink():
                    replace_cpuid(file)
    copy = tests / "bench_network_as_avx2"
    shutil.copy2(tests / "bench_network", copy)
    replace_cpuid(copy)
    write_program(folder / "python", f'PYTHONPATH="{site}" exec "{python}" "$@"\n')
    write_program(folder / "network", f'export RELAYOUT_PYTHON="{folder}/python" ONEDNN_MAX_CPU_ISA=AVX2\n'
                                      f'LD_PRELOAD="{tests}/as_avx2_copies.so" exec "{copy}" "$@"\n')


if __name__ == "__main__":
    if len(sys.argv) == 2:
        replace_cpuid(pathlib.Path(sys.argv[1]))
    elif len(sys.argv) == 3:
        main(*sys.argv[1:])
    else:
        sys.exit(__doc__)
