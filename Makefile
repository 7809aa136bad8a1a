# Queuewright. The first two are where to start.

CARGO ?= cargo
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
# Where `make install` puts the program, its man pages and its completions.
PREFIX ?= $(HOME)/.local
BOOK = $(DESTDIR)$(PREFIX)/share/doc/queuewright/html
EXPLORER = $(DESTDIR)$(PREFIX)/share/doc/queuewright/explorer
# What is printed, to a file of its own.
PUT = $(SUDO) install -Dm644 /dev/stdin
DEMO := examples/home.toml
QW := $(or $(CARGO_TARGET_DIR),target)/release/queuewright

# Modules that a macro names, which `cargo fmt` does not see.
IN_A_LIST := --edition 2024 crates/scenario/src/datagrams/*.rs

.PHONY: demo test wheel lint fuzz bench bench-peers attach-matrix module-matrix book web dist man install install-tc install-module uninstall fmt help

demo: ## Compare disciplines on the example link (TRACE=FILE: and on that cellular trace)
	@scripts/setup build
	$(CARGO) build --release --locked -p queuewright
	$(QW) run $(DEMO)
ifdef TRACE
	$(QW) run examples/cellular.toml --trace '$(TRACE)'
endif

test: ## Run every test
	@CARGO='$(CARGO)' scripts/test

wheel: ## Python's package and command as one wheel, in build/wheel
	@scripts/setup python
	@scripts/wheel

lint: ## Formatting, warnings as errors, C under gcc, clang and BPF, licences and known faults of what we use
	@scripts/setup lint
	$(CARGO) fmt --all --check
	rustfmt --check $(IN_A_LIST)
	aqm/tests/check.sh lint
	cca/tests/check.sh lint
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	# As users install it: with no crate's features but its own.
	$(CARGO) check --locked --quiet -p queuewright-python
	RUSTDOCFLAGS='-D warnings -A rustdoc::private-intra-doc-links' $(CARGO) doc --workspace --no-deps --locked --quiet
	build/tools/bin/cargo-deny --log-level error check licenses bans sources
	build/venv/bin/python scripts/advisories
	build/venv/bin/ruff format --check --quiet python docs/notebooks scripts/advisories scripts/book scripts/python-api scripts/tune-papers
	build/venv/bin/ruff check --quiet python docs/notebooks scripts/advisories scripts/book scripts/python-api scripts/tune-papers
	git ls-files -z | xargs -0 build/venv/bin/codespell
	shellcheck scripts/setup scripts/setup-lab scripts/setup-module scripts/setup-kernels scripts/attach-matrix scripts/module-matrix scripts/sid scripts/test scripts/web scripts/wheel scripts/bench-peers scripts/validate-ns3 scripts/experiment-pages scripts/suite-pages scripts/dist .ci/run aqm/tests/check.sh aqm/tests/tools.sh cca/tests/check.sh fuzz/run

fuzz: ## Fuzz the C headers, and what reads scenarios, units and traces: EACH seconds each (60)
	@scripts/setup test
	aqm/tests/check.sh fuzz $(or $(EACH),60)
	fuzz/run $(or $(EACH),60) all

bench: ## Packets a second, instructions a packet, memory (one core)
	@scripts/setup build
	@aqm/tests/check.sh bench
	$(CARGO) run --release --locked -q -p queuewright-sim --example bench

bench-peers: ## The same link in ns-3, side by side (needs Debian's libns3-dev)
	@scripts/setup peers
	scripts/bench-peers

attach-matrix: ## What attach can do on seven kernels: the table in docs/linux.md (KERNELS=)
	@CARGO='$(CARGO)' scripts/attach-matrix

module-matrix: ## The kernel module on five kernels, 10,000 random operations each (KERNELS=, OPERATIONS=, SEED=)
	@CARGO='$(CARGO)' scripts/module-matrix

book: ## The book of all pages, to read and search without a network, in build/book/html
	@scripts/setup book
	@scripts/book

web: ## The explorer, a page that simulates in the browser, in build/web: open build/web/index.html
	@scripts/setup web
	@CARGO='$(CARGO)' scripts/web

dist: ## The files of a release in build/dist: wheel, Debian package, book, sources, checksums
	@scripts/setup python
	@scripts/setup dist
	@scripts/dist

man: ## Write the man pages to build/man
	@scripts/setup build
	$(CARGO) run --release --locked -q -p queuewright -- man build/man

install: man ## Install program, man pages, completions and, if made, the book and the explorer under PREFIX (SUDO=sudo: as root, but build as you)
	$(SUDO) install -Dsm755 $(QW) $(DESTDIR)$(PREFIX)/bin/queuewright
	$(SUDO) install -Dm644 -t $(DESTDIR)$(PREFIX)/share/man/man1 build/man/*.1
ifneq ($(filter /usr /usr/local,$(PREFIX)),)
	sed 's#/usr/local#$(PREFIX)#' dist/queuewright@.service | \
		$(PUT) $(DESTDIR)$(PREFIX)/lib/systemd/system/queuewright@.service
else
	@echo 'without queuewright@.service: systemd looks below /usr/local and /usr alone (PREFIX=/usr/local SUDO=sudo)'
endif
	@[[ -d build/book/html ]] || echo 'without the book: make book makes it'
	[[ ! -d build/book/html ]] || { $(SUDO) rm -rf "$(BOOK)" && $(SUDO) mkdir -p "$(BOOK)" && \
		tar -C build/book/html -c . | $(SUDO) tar -x --no-same-owner -C "$(BOOK)"; }
	@[[ -d build/web ]] || echo 'without the explorer: make web makes it'
	[[ ! -d build/web ]] || { $(SUDO) rm -rf "$(EXPLORER)" && $(SUDO) mkdir -p "$(EXPLORER)" && \
		tar -C build/web -c . | $(SUDO) tar -x --no-same-owner -C "$(EXPLORER)"; }
	$(QW) completions bash | $(PUT) $(DESTDIR)$(PREFIX)/share/bash-completion/completions/queuewright
	$(QW) completions zsh | $(PUT) $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_queuewright
	$(QW) completions fish | $(PUT) $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/queuewright.fish

# The folder in which this system's tc looks for plugins, and where DKMS does for sources.
TC_LIB ?= $(firstword $(wildcard /usr/lib/$(shell uname -m)-linux-gnu/tc /usr/lib64/tc) /usr/lib/tc)
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
MODULE := $(DESTDIR)/usr/src/queuewright-$(VERSION)
QDISCS := $(shell sed -n 's/^\#define QW_\(.*\)_DEFAULTS.*/\L\1/p' module/defaults.h)

install-tc: ## As root, or SUDO=sudo: what tc loads for our qdiscs, bpf_NAME and the module's qw_NAME
	@scripts/setup build
	$(CARGO) build --release --locked -p queuewright-tc
	$(SUDO) install -Dsm644 $(dir $(QW))libqueuewright_tc.so $(DESTDIR)$(TC_LIB)/queuewright.so
	for name in $(QDISCS); do $(SUDO) ln -sf queuewright.so $(DESTDIR)$(TC_LIB)/q_qw_$$name.so; \
		$(SUDO) ln -sf queuewright.so $(DESTDIR)$(TC_LIB)/q_bpf_$$name.so; done

install-module: install-tc ## As root, or SUDO=sudo: the kernel module's source for DKMS, and what tc loads for its qdiscs
	$(SUDO) install -Dm644 -t $(MODULE) module/Kbuild module/Makefile module/*.[ch]
	$(SUDO) install -Dm644 -t $(MODULE)/aqm aqm/*.h
	echo $(VERSION) | $(PUT) $(MODULE)/VERSION
	sed 's/@VERSION@/$(VERSION)/' module/dkms.conf | $(PUT) $(MODULE)/dkms.conf
	@echo 'now: dkms install queuewright/$(VERSION) && modprobe sch_queuewright'

# A man page each; crates/cli/tests/cli.rs holds the list against the program's own.
COMMANDS := advise agent attach check compare completions detach docs doctor evaluate explain explore export export-policy keep list new packetdrill \
	reproduce run set status suite train tune validate watch
INSTALLED := bin/queuewright share/man/man1/queuewright.1 $(COMMANDS:%=share/man/man1/queuewright-%.1) \
	lib/systemd/system/queuewright@.service share/bash-completion/completions/queuewright \
	share/zsh/site-functions/_queuewright share/fish/vendor_completions.d/queuewright.fish
PLUGINS := queuewright.so $(QDISCS:%=q_qw_%.so) $(QDISCS:%=q_bpf_%.so)
SOURCES := Kbuild Makefile VERSION dkms.conf $(notdir $(wildcard module/*.[ch])) $(wildcard aqm/*.h)

uninstall: ## Remove what install, install-tc and install-module put there, with the same PREFIX, TC_LIB and SUDO
	@built=$$(cd $(DESTDIR)/var/lib/dkms/queuewright 2>/dev/null && ls -d [0-9]* 2>/dev/null || true); \
		for version in $$built; do echo "DKMS has the module: dkms remove queuewright/$$version --all, and try again" >&2; done; \
		[[ ! $$built ]]
	@$(SUDO) rm -fv $(INSTALLED:%=$(DESTDIR)$(PREFIX)/%) $(PLUGINS:%=$(DESTDIR)$(TC_LIB)/%)
	@$(SUDO) rm -rf "$(BOOK)" "$(EXPLORER)"
	@# Of any version.
	@for at in $(DESTDIR)/usr/src/queuewright-[0-9]*; do [[ -d $$at && ! -L $$at ]] || continue; \
		$(SUDO) rm -fv $(SOURCES:%=$$at/%); \
		$(SUDO) rmdir -v --ignore-fail-on-non-empty $$at/aqm $$at 2>/dev/null || true; done

fmt: ## Format the sources
	$(CARGO) fmt --all
	rustfmt $(IN_A_LIST)

help: ## List these goals
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
