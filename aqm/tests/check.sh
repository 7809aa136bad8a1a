#!/usr/bin/env bash
# Checks the C headers of aqm/.
#
#   aqm/tests/check.sh lint            formatting, warnings as errors, kernel, BPF
#   aqm/tests/check.sh test            random operations under sanitizers, 10 s of fuzzing
#   aqm/tests/check.sh fuzz [SECONDS]  libFuzzer, a minute unless said; its corpus is kept
#   aqm/tests/check.sh bench           what single decisions cost
#   aqm/tests/check.sh                 lint and test
#
# Needs (Debian 12 and 13, Ubuntu 24.04):
#   lint: gcc g++ clang-19 clang-format-19 llvm-19
#   test, fuzz: gcc clang-19 libclang-rt-19-dev
# CLANG_VERSION chooses another clang; formatting is only stable with 19.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=aqm/tests/tools.sh
. aqm/tests/tools.sh
out=build/aqm
mkdir -p "$out"

strict+=(-Iaqm)

warnings() {
    local cc
    for cc in gcc "$clang"; do
        # fuzz.c and bpf.c between them call all there is.
        "$cc" -std=c11 -pedantic -O2 "${strict[@]}" -c aqm/tests/fuzz.c -o "$out/warn.o"
        "$cc" -std=c11 -pedantic -O2 "${strict[@]}" -DQW_STANDALONE -c aqm/tests/fuzz.c -o "$out/warn.o"
        "$cc" -x c++ -std=c++17 -pedantic -O2 "${strict[@]}" -c aqm/tests/fuzz.c -o "$out/warn.o"
        "$cc" -std=c11 -pedantic -O2 "${strict[@]}" -ffreestanding -m32 -c aqm/tests/bpf.c -o "$out/warn.o"
    done
    # Freestanding: no other machine's libc is needed to ask its compiler.
    local target
    for target in aarch64-linux-gnu armv7-linux-gnueabi riscv64-linux-gnu powerpc64-linux-gnu; do
        "$clang" --target="$target" -std=c11 -pedantic "${strict[@]}" -ffreestanding -fsyntax-only aqm/tests/bpf.c
    done
    "$clang" -std=c11 -Wall -Wextra -Werror -Iaqm -fsyntax-only crates/aqm/src/shim.c
    gcc -std=c11 -Wall -Wextra -Werror -Iaqm -fsyntax-only crates/aqm/src/shim.c
}

# The headers as part of a kernel module, which brings its own types and has no
# operator for 64-bit division on 32 bit.
kernel() {
    local stub=$out/kernel/linux cc undefined
    mkdir -p "$stub"
    cat >"$stub/types.h" <<'END'
#define current one_of_the_kernels_macros()
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef signed short s16;
typedef signed int s32;
typedef unsigned long long u64;
typedef signed long long s64;
END
    cat >"$stub/math64.h" <<'END'
#include <linux/types.h>
u64 div64_u64(u64 dividend, u64 divisor);
END
    for cc in gcc "$clang"; do
        # As kernels are built, of which these flags matter here.
        "$cc" -std=gnu11 -O2 "${strict[@]}" -D__KERNEL__ -I"$out/kernel" -ffreestanding -m32 -fno-pic -fno-stack-protector \
            -c aqm/tests/bpf.c -o "$out/kernel.o"
        undefined=$("llvm-nm-$version" -u "$out/kernel.o" | awk '$2 != "div64_u64" { print $2 }')
        [[ -z $undefined ]] || fail "kernel: calls what does not exist there ($cc, 32 bit): $undefined"
    done
}

lint() {
    need gcc g++ "$clang" "clang-format-$version" "llvm-nm-$version" "llvm-objdump-$version" "llvm-readelf-$version"
    "clang-format-$version" --dry-run --Werror aqm/*.h aqm/tests/*.[ch] crates/aqm/src/*.c crates/lab/guest/*.[ch] crates/linux/bpf/*.[ch] module/*.[ch] module/tests/*.[ch]
    warnings
    kernel
    prefixed QW_ aqm aqm/tests/bpf.c -Iaqm
    bpf_object "$out/bpf.o" -Iaqm -c aqm/tests/bpf.c
}

sanitized() {
    need gcc
    gcc -std=c11 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -DQW_STANDALONE -Iaqm \
        aqm/tests/fuzz.c -o "$out/sequences"
    "$out/sequences" 20000
}

fuzz() {
    need "$clang"
    "$clang" -std=c11 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Iaqm \
        aqm/tests/fuzz.c -o "$out/fuzz"
    mkdir -p "$out/corpus"
    if ! "$out/fuzz" "$out/corpus" -max_total_time="$1" ${FUZZ_SEED:+-seed="$FUZZ_SEED"} -max_len=2048 -len_control=20 \
        -artifact_prefix="$out/" >"$out/fuzz.log" 2>&1; then
        tail -40 "$out/fuzz.log" >&2
        fail "the fuzzer found a mistake; replay it with $out/fuzz and the file named above"
    fi
    echo "fuzz: $(grep -E '^Done ' "$out/fuzz.log"), none failed"
}

bench() {
    need gcc
    gcc -std=c11 -O2 "${strict[@]}" aqm/tests/bench.c -o "$out/bench"
    "$out/bench"
}

case ${1:-all} in
lint) lint ;;
test)
    sanitized
    fuzz 10
    ;;
fuzz) fuzz "${2:-60}" ;;
bench) bench ;;
all)
    lint
    sanitized
    fuzz 10
    ;;
*)
    echo "usage: aqm/tests/check.sh [lint|test|fuzz [SECONDS]|bench]" >&2
    exit 2
    ;;
esac
