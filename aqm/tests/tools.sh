# shellcheck shell=bash
# Sourced by aqm/tests/check.sh and cca/tests/check.sh: what the checks of C headers have in common.

version=${CLANG_VERSION:-19}
clang=clang-$version
# shellcheck disable=SC2034 # of who sources this
strict=(-Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Werror)

fail() {
    echo "$0: $*" >&2
    exit 1
}

need() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null || fail "no $tool here; the packages needed are named at the top of this script"
    done
}

# Compiles for BPF, with these words besides, and looks at the object: bpf_object OBJECT WORD... Clang itself refuses signed
# division, 128-bit products, helpers of the C library and frames above 512 bytes.
bpf_object() {
    local object=$1 undefined largest
    shift
    "$clang" -target bpf -mcpu=v3 -O2 -g -std=c11 -Wall -Wextra -Werror -fstack-size-section "$@" -o "$object"
    undefined=$("llvm-nm-$version" -u "$object")
    [[ -z $undefined ]] || fail "BPF: calls what does not exist there: $undefined"
    if "llvm-objdump-$version" -d "$object" | grep -w callx; then
        fail "BPF: a call through a pointer"
    fi
    largest=$("llvm-readelf-$version" --stack-sizes "$object" | awk '$1 ~ /^[0-9]+$/ { if ($1 > m) m = $1; n++ } END { if (n) print m + 0 }')
    [[ -n $largest ]] || fail "BPF: no stack sizes found in the object"
    ((largest < 512)) || fail "BPF: a frame of $largest bytes"
    echo "BPF: compiles, largest frame $largest bytes"
}

# Each name that a C file has of its headers begins with qw_, and each macro as the pattern says: prefixed PATTERN FOLDER FILE WORD...
# The prefix keeps the headers clear of vmlinux.h, which has a `codel_params`.
prefixed() {
    local macros=$1 folder=$2 file=$3 bad
    shift 3
    bad=$("$clang" -std=c11 "$@" -Xclang -ast-dump -fno-color-diagnostics -fsyntax-only "$file" |
        grep -E '^\|-(Function|Record|Typedef|Var|Enum)Decl ' | grep -v 'implicit' |
        grep -vE '\b(qw|bpf)_[a-z0-9_]+\b|struct call definition' || true)
    bad+=$(grep -hE '^#define ' "$folder"/*.h | grep -vE "^#define $macros" || true)
    [[ -z $bad ]] || fail "names without the prefix qw_ or QW_:"$'\n'"$bad"
}
