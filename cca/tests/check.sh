#!/usr/bin/env bash
# Checks the C headers of cca/.
#
#   cca/tests/check.sh lint     formatting, warnings as errors, BPF
#   cca/tests/check.sh test     the tests, compiled by gcc, and by clang with sanitizers; random events
#   cca/tests/check.sh mutants  puts mistakes into the headers; the tests must fail on each
#   cca/tests/check.sh          all three
#
# Needs (Debian 12 and 13, Ubuntu 24.04):
#   lint: gcc clang-19 clang-format-19 llvm-19
#   test, mutants: gcc clang-19 libclang-rt-19-dev
# CLANG_VERSION chooses another clang; formatting is only stable with 19.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=aqm/tests/tools.sh
. aqm/tests/tools.sh
out=build/cca
mkdir -p "$out"

# A congestion control's name is that of its header and of its test. A macro chooses between draft and published code.
controls=(bbr3 copa ledbat_pp prague westwood)
include=(-Iaqm -Icca -Icca/tests)

# The macro that chooses published code instead of the draft, if a header has one.
choices() {
    local macro=QW_${1^^}_CODE
    echo "-D$macro=0"
    if grep -q "ifndef $macro" "cca/$1.h"; then
        echo "-D$macro=1"
    fi
}

both_choices() {
    local control code
    for code in 0 1; do
        printf '%s\n' "$(for control in "${controls[@]}"; do printf -- '-DQW_%s_CODE=%s ' "${control^^}" "$code"; done)"
    done
}

# Compiles each event of a header by itself, as users' files are compiled.
events() {
    local header name cc
    for header in cca/*.h; do
        name=$(basename "$header" .h)
        [[ $name != qw_cca ]] || continue
        {
            echo "#include \"$name.h\""
            echo "#define USE(event) __typeof__(&qw_${name}_##event) use_##event(void); __typeof__(&qw_${name}_##event) use_##event(void) { return qw_${name}_##event; }"
            echo "QW_${name^^}_CCA(USE)"
        } >"$out/events.c"
        for cc in gcc "$clang"; do
            "$cc" -std=c11 -O2 "${strict[@]}" "${include[@]}" -ffreestanding -c "$out/events.c" -o "$out/events.o"
        done
        "$clang" -target bpf -mcpu=v3 -O2 -g -std=c11 "${strict[@]}" "${include[@]}" -DQW_JIFFIES=0 -c "$out/events.c" -o "$out/events.o"
    done
    for cc in gcc "$clang"; do
        "$cc" -std=c11 -Wall -Wextra -Werror "${include[@]}" -Icrates/cca/src/own -fsyntax-only crates/cca/src/layout.c
    done
}

lint() {
    need gcc "$clang" "clang-format-$version" "llvm-nm-$version" "llvm-objdump-$version" "llvm-readelf-$version"
    "clang-format-$version" --dry-run --Werror cca/*.h cca/tests/*.[ch] crates/cca/src/*.c
    events
    local cc macros
    while read -r -a macros; do
        for cc in gcc "$clang"; do
            "$cc" -std=c11 -pedantic -O2 "${strict[@]}" -ffreestanding "${macros[@]}" "${include[@]}" -c cca/tests/bpf.c -o "$out/warn.o"
        done
        bpf_object "$out/bpf.o" -DQW_JIFFIES=0 "${macros[@]}" "${include[@]}" -c cca/tests/bpf.c
    done < <(both_choices)
    prefixed '(QW|qw)_' cca cca/tests/bpf.c "${include[@]}"
}

tests() {
    need gcc "$clang"
    local control macro
    for control in "${controls[@]}"; do
        for macro in $(choices "$control"); do
            gcc -std=c11 -O2 -Wall -Wextra -Werror "$macro" "${include[@]}" "cca/tests/$control.c" -lm -o "$out/$control"
            "$out/$control" >/dev/null || { "$out/$control"; fail "$control ($macro, gcc)"; }
            "$clang" -std=c11 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all "$macro" "${include[@]}" \
                "cca/tests/$control.c" -lm -o "$out/$control"
            "$out/$control" || fail "$control ($macro, clang)"
            "$clang" -std=c11 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -Wno-unused-function "$macro" \
                "-DHEADER=\"$control.h\"" "-DCONTROL=$control" "-DCONTROL_EVENTS=QW_${control^^}_CCA" "${include[@]}" \
                cca/tests/fuzz.c -o "$out/fuzz"
            "$out/fuzz" || fail "$control ($macro): random events"
        done
    done
}

# A mistake, one a line: header@what is replaced@by what. The header's test must fail.
mutants() {
    need gcc
    local found=0 all=0 control from to
    mkdir -p "$out/mutant"
    while IFS=@ read -r control from to; do
        [[ -n $control && $control != \#* ]] || continue
        all=$((all + 1))
        cp cca/*.h "$out/mutant/"
        # Fixed strings with \n in them, at the first place.
        FROM=$(printf %b "$from") TO=$(printf %b "$to") perl -0pi -e 's/\Q$ENV{FROM}\E/$ENV{TO}/' "$out/mutant/$control.h"
        ! cmp -s "cca/$control.h" "$out/mutant/$control.h" || fail "mutants: $control.h has no \"$from\""
        gcc -std=c11 -O2 -w -Iaqm "-I$out/mutant" -Icca/tests "cca/tests/$control.c" -lm -o "$out/mutant/test"
        if timeout 120 "$out/mutant/test" >"$out/mutant/log" 2>&1; then
            echo "not found: $control: $from -> $to"
        else
            found=$((found + 1))
        fi
    done <<'END'
# BBRv3: gains, thresholds
bbr3@GAIN_UP 1280u@GAIN_UP 1024u
bbr3@GAIN_DOWN 922u@GAIN_DOWN 1024u
bbr3@GAIN_DRAIN 512u@GAIN_DRAIN 1024u
bbr3@GAIN_STARTUP 2839u@GAIN_STARTUP 1536u
bbr3@CWND_GAIN 2048u@CWND_GAIN 3072u
bbr3@CWND_GAIN_PROBE_RTT 512u@CWND_GAIN_PROBE_RTT 1024u
bbr3@QW_BBR3_LOSS 2u@QW_BBR3_LOSS 20u
bbr3@BETA 70u@BETA 90u
bbr3@HEADROOM 15u@HEADROOM 0u
bbr3@MARGIN_PPM 990000u@MARGIN_PPM 1000000u
bbr3@FULL_BW_ROUNDS 3u@FULL_BW_ROUNDS 2u
bbr3@FULL_LOSSES 6u@FULL_LOSSES 200u
bbr3@RENO_ROUNDS 63u@RENO_ROUNDS 10u
bbr3@WAIT_NS (2u@WAIT_NS (4u
bbr3@PROBE_RTT_NS (5u@PROBE_RTT_NS (10u
bbr3@PROBE_RTT_LEN_NS (200u@PROBE_RTT_LEN_NS (20u
bbr3@MIN_CWND 4u@MIN_CWND 2u
# BBRv3: rules
bbr3@s->rate * 4 >=@s->rate * 2 >=
bbr3@(s->full_bw_now || app_limited@(s->full_bw_now
bbr3@(!rs->is_app_limited || s->rate >=@(1 || s->rate >=
bbr3@	s->bw_best[1] = 0;@	;
bbr3@	if (!s->bw_best[1])@	if (0)
bbr3@	s->too_high = 1;@	;
bbr3@		s->precautionary = 1;@		;
bbr3@	if (s->episode)@	if (0)
bbr3@	if (!s->episode) {@	if (!s->loss_in_round) {
bbr3@		s->episode = 0;\n		c->cwnd@		c->cwnd
bbr3@c->lost != s->seen_lost@rs->losses
bbr3@ || (!s->full_bw_reached && i > 1))@)
bbr3@(1u << 31) /* none@(1u << 20) /* none
bbr3@		s->rate = 1;@		;
bbr3@qw_bbr3_max(s->bw_short, 1)@s->bw_short
bbr3@(qw_u32)bytes * times / mss@(qw_u32)bytes / mss * times
bbr3@(QW_BBR3_CODE ? 0 : QW_BBR3_OF - 1)@0
bbr3@	s->in_long = qw_bbr3_max(s->in_long, s->undo_in_long);@	;
bbr3@	s->in_short = qw_bbr3_max(s->in_short, s->undo_in_short);@	;
bbr3@	s->extra_acked = 0;\n	if (qw@	if (qw
bbr3@	s->idle_restart = 1;@	;
bbr3@	    !s->idle_restart) {@	    1) {
bbr3@		qw_bbr3_set_pacing(s, c, QW_BBR3_UNIT);@		;
bbr3@		c->cwnd = qw_bbr3_max(c->cwnd, s->prior_cwnd);\n	}@	}
bbr3@(s->full_bw_reached || rate > c->pacing_rate)@(1)
bbr3@	qw_bbr3_reset_short(s);\n	s->up_rounds@	s->up_rounds
bbr3@	s->rounds_since_probe = s->random & 1;@	;
bbr3@qw_bbr3_max(s->bw_latest, qw_bbr3_beta@qw_bbr3_max(0, qw_bbr3_beta
bbr3@c->cwnd >> s->up_rounds@c->cwnd
bbr3@	return qw_bbr3_budget(s, c, in + qw_bbr3_extra(s));@	return qw_bbr3_budget(s, c, in);
bbr3@s->rounds - s->drain_round > @0 && s->rounds > 
# Prague
prague@GAIN_SHIFT 4@GAIN_SHIFT 1
prague@TARGET_US 25000u@TARGET_US 1u
prague@ROUNDS (QW_PRAGUE_CODE ? 4u : 500u)@ROUNDS (0u)
prague@(QW_PRAGUE_SHIFT + 1));@(QW_PRAGUE_SHIFT));
prague@qw_prague_cut(s, s->window >> 1);@qw_prague_cut(s, s->window >> 3);
prague@part * part@(part << 24)
prague@)c->srtt_us << 24) / (QW_PRAGUE_TARGET_US << 3)@)(c->srtt_us >> 3) << 24) / QW_PRAGUE_TARGET_US / 100 * 100
prague@ && !qw_in_slow_start(c);@;
prague@	if (event == QW_EVENT_LOSS)@	if (0)
prague@int mark = c->delivered_ce != s->last_ce;@int mark = 1;
prague@qw_u32 ce = c->delivered_ce - s->last_ce;@qw_u32 ce = 0;
prague@s->rest -= steps * by;@s->rest = 0;
prague@|| s->in_loss@|| 0
prague@ && c->ca_state != QW_CA_RECOVERY@ || state == QW_CA_LOSS
prague@	if (s->window < s->window_before_loss)@	if (0)
prague@MIN_CWND 2u@MIN_CWND 8u
prague@rate *= 2;@rate *= 1;
prague@		c->ssthresh = qw_prague_packets(s);@		;
prague@(QW_CCA_NEEDS_ECN | QW_CCA_ECT1@(QW_CCA_NEEDS_ECN
# LEDBAT++
ledbat_pp@TARGET_US 60000u@TARGET_US 100000u
ledbat_pp@MAX_GAIN 16u@MAX_GAIN 1u
ledbat_pp@PAUSE 9u@PAUSE 3u
ledbat_pp@if (now >= s->next_ns)\n\t\t\tqw_ledbat_pp_slow@if (0)\n\t\t\tqw_ledbat_pp_slow
ledbat_pp@(QW_LEDBAT_PP_SHIFT - 1));\n\t}@(QW_LEDBAT_PP_SHIFT - 3));\n\t}
ledbat_pp@	s->base_us = qw_ledbat_pp_min@	if (0) s->base_us = qw_ledbat_pp_min
ledbat_pp@MIN_CWND 2u@MIN_CWND 10u
ledbat_pp@	s->rest -= more * by;@	s->rest = 0;
ledbat_pp@		s->left_first = 1;\n		s->state@		s->state
# Westwood+
westwood@s->bw * s->least@s->bw * s->rtt
westwood@WESTWOOD_SHIFT 3@WESTWOOD_SHIFT 0
westwood@SAMPLES 20u@SAMPLES 2000u
westwood@tick_us - 1@tick_us - c->clock.tick_us
westwood@took <= least@took < least
westwood@		s->una = c->snd_una;\n	}\n	qw@	}\n	qw
westwood@	n -= s->counted;@	;
westwood@		s->renew = 1;@		;
westwood@		c->cwnd = c->ssthresh;@		;
# Copa
copa@COPA_PACKETS 2u@COPA_PACKETS 20u
copa@		s->packets++;@		;
copa@			s->packets /= 2;@			;
copa@		s->same = 0;\n\t\ts->velocity = 1;@		;
copa@			l->slot[at] = QW_COPA_NONE;@			;
copa@		s->window = s->window_undo;@		;
copa@	if (state >= QW_CA_RECOVERY && c@	if (state == QW_CA_RECOVERY && c
copa@s->same >= QW_COPA_SAME@1
copa@	s->slow_start = 0;@	;
copa@	if (step > cwnd)@	if (0)
copa@MIN_RTT_NS (10u@MIN_RTT_NS (1u
END
    echo "mutants: $found of $all found"
    ((found == all)) || fail "tests miss mistakes"
}

case ${1:-all} in
lint) lint ;;
test) tests ;;
mutants) mutants ;;
all)
    lint
    tests
    mutants
    ;;
*)
    echo "usage: cca/tests/check.sh [lint|test|mutants]" >&2
    exit 2
    ;;
esac
