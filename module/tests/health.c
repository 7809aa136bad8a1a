// SPDX-License-Identifier: MIT OR Apache-2.0
/* What the kernel says of itself: its log, its memory, its leaks. */
#define _GNU_SOURCE
#include "soak.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int log_fd = -1;

/* What a record has if something is wrong. "Call Trace" alone is no sign: a
 * kernel that is refused memory shows one, too. */
static const char *const complaints[] = {
	"BUG",
	"KASAN",
	"UBSAN",
	"WARNING",
	"Oops",
	"general protection",
	"possible recursive locking",
	"possible circular locking",
	"inconsistent lock state",
	"suspicious RCU",
	"sleeping function",
	"scheduling while atomic",
	"refcount",
	"stall",
	"lockup",
	"hung",
	"unregister_netdevice",
	"ODEBUG",
	"Object already free",
	"list_add corruption",
	"list_del corruption",
	"page allocation failure: order",
	"turning off the locking",
	"kmemleak:",
	"INFO:",
};

void health_begin(void)
{
	log_fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (log_fd < 0 || lseek(log_fd, 0, SEEK_END) < 0)
		fail("the kernel's log: %s", strerror(errno));
}

/* Complaints that are none: what injected failures have the kernel say, and
 * kmemleak's answer to our own asking, which leaks_look() reads. */
static bool harmless(const char *line)
{
	return strstr(line, "page allocation failure: order") ||
	       strstr(line, "kmemleak: Cannot allocate") ||
	       strstr(line, "new suspected memory leaks") ||
	       strstr(line, "kmemleak: All objects");
}

static bool is_complaint(const char *line)
{
	size_t i;

	for (i = 0; i < sizeof(complaints) / sizeof(complaints[0]); i++)
		if (strstr(line, complaints[i]))
			return !harmless(line);
	return false;
}

void health_look(void)
{
	char record[8192];
	bool bad = false;
	unsigned long tainted;
	int after = 0;
	ssize_t n;

	while ((n = read(log_fd, record, sizeof(record) - 1)) > 0 ||
	       errno == EPIPE) {
		if (n <= 0) {
			left_out("what the log had before it was overwritten");
			continue;
		}
		record[n] = 0;
		if (is_complaint(record))
			bad = true;
		/* With what follows: where it was. */
		if (bad && after < 100) {
			char *text = strchr(record, ';');

			after++;
			say("kernel: %.*s",
			    text ? (int)strcspn(text + 1, "\n") : 0,
			    text ? text + 1 : "");
		}
	}
	/* A module from elsewhere (12), without a signature (13), and a test of
	 * the kernel's (18) are no faults. */
	tainted =
		strtoul(get_file("/proc/sys/kernel/tainted") ?: "0", NULL, 10);
	tainted &= ~((1ul << 12) | (1ul << 13) | (1ul << 18));
	if (bad)
		fail("the kernel has complained");
	if (tainted)
		fail("the kernel is tainted: %#lx", tainted);
}

/* ------------------------------------------------------------------ memory --- */

static uint64_t meminfo(const char *name)
{
	const char *text = get_file("/proc/meminfo"), *at;

	at = text ? strstr(text, name) : NULL;
	if (!at)
		fail("/proc/meminfo says nothing of %s", name);
	return strtoull(at + strlen(name), NULL, 10) * 1024;
}

/* What lies in the general caches, where all of ours is: kmalloc-64 and its like.
 * A cache that shrinks forgets the free objects that it would count as used. */
static void slab(struct memory *m)
{
	const char *at;
	char path[128];
	size_t i;

	for (i = 0; i < m->caches; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink",
			 m->cache[i].name);
		put_file(path, "1");
	}
	at = get_file("/proc/slabinfo");
	m->slab = 0;
	m->caches = 0;
	for (; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		struct cache *c = &m->cache[m->caches];
		unsigned long active, all, size;

		if (sscanf(at, "%39s %lu %lu %lu", c->name, &active, &all,
			   &size) != 4 ||
		    strncmp(c->name, "kmalloc", 7))
			continue;
		c->bytes = (uint64_t)active * size;
		m->slab += c->bytes;
		if (m->caches < CACHES - 1)
			m->caches++;
	}
}

/* Pages of vmalloc, but for those of per-CPU chunks: the kernel makes them large
 * and keeps them. */
static uint64_t vmalloc_now(void)
{
	const char *at = get_file("/proc/vmallocinfo");
	uint64_t bytes = 0;

	if (!at || !*at)
		fail("no /proc/vmallocinfo");
	for (; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		size_t length = strcspn(at, "\n");
		const char *pages = memmem(at, length, " pages=", 7);

		if (pages && !memmem(at, length, "pcpu_", 5))
			bytes += strtoull(pages + 7, NULL, 10) * 4096;
	}
	return bytes;
}

struct memory memory_now(void)
{
	static struct memory m;
	uint64_t slab_before, vmalloc_before;
	int steady = 0, i;

	slab(&m);
	/* What goes a little later (after a grace period, by a worker) is to be
	 * gone: until nothing gets less any more. */
	for (i = 0; i < 200 && steady < 5; i++) {
		slab_before = m.slab;
		vmalloc_before = m.vmalloc;
		put_file("/proc/sys/vm/drop_caches",
			 "7"); /* and not a word of it */
		pause_us(50000);
		slab(&m);
		m.vmalloc = vmalloc_now();
		m.available = meminfo("MemAvailable:");
		steady = m.slab < slab_before || m.vmalloc < vmalloc_before ?
				 0 :
				 steady + 1;
	}
	return m;
}

/* Ours alone asks for memory on a cgroup's account here, or nearly so. */
static uint64_t charged(const struct memory *m)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < m->caches; i++)
		if (!strncmp(m->cache[i].name, "kmalloc-cg", 10))
			bytes += m->cache[i].bytes;
	return bytes;
}

static void caches_print(const struct memory *before,
			 const struct memory *after)
{
	size_t i, j;

	for (i = 0; i < after->caches; i++)
		for (j = 0; j < before->caches; j++)
			if (!strcmp(after->cache[i].name,
				    before->cache[j].name) &&
			    after->cache[i].bytes != before->cache[j].bytes)
				say("%s: %+lld bytes", after->cache[i].name,
				    (long long)(after->cache[i].bytes -
						before->cache[j].bytes));
}

/* The large ones, and who has asked for them. */
static void vmalloc_print(void)
{
	const char *at = get_file("/proc/vmallocinfo");
	unsigned long bytes;

	for (; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
		if (sscanf(at, "%*s %lu", &bytes) == 1 && bytes >= 65536)
			say("vmalloc: %.*s", (int)strcspn(at, "\n"), at);
}

void memory_compare(const struct memory *before, const struct memory *after,
		    unsigned long operations)
{
	int64_t slab = (int64_t)(after->slab - before->slab);
	int64_t vmalloc = (int64_t)(after->vmalloc - before->vmalloc);
	int64_t own = (int64_t)(charged(after) - charged(before));
	int64_t gone = (int64_t)(before->available - after->available);

	say("memory after %lu operations: %+lld kB in caches, %+lld kB of "
	    "vmalloc, %+lld kB available",
	    operations, (long long)slab / 1024, (long long)vmalloc / 1024,
	    (long long)-gone / 1024);
	caches_print(before, after);
	/* A discipline's parts are a few at least when they are lost. */
	if (own > 640)
		fail("memory was lost: %lld bytes on the cgroup's account",
		     (long long)own);
	if (slab > 65536 + (int64_t)operations / 100 * 64)
		fail("memory was lost: %lld bytes in the kernel's caches",
		     (long long)slab);
	if (vmalloc > 262144) {
		vmalloc_print();
		fail("memory was lost: %lld bytes of vmalloc",
		     (long long)vmalloc);
	}
	if (gone > 16 << 20)
		fail("memory was lost: %lld bytes are not available any more",
		     (long long)gone);
}

/* ------------------------------------------------------------------- leaks --- */

#define KMEMLEAK "/sys/kernel/debug/kmemleak"

void leaks_begin(void)
{
	/* What it has found so far is not ours. */
	if (!put_file(KMEMLEAK, "scan") || !put_file(KMEMLEAK, "clear"))
		left_out("kmemleak");
}

void leaks_look(const char *when)
{
	const char *found;
	int i;

	if (!checked && access(KMEMLEAK, F_OK))
		return;
	/* It takes nothing for lost that is younger than five seconds; and an
	 * object may lie beside an old pointer when it looks for the first time. */
	for (i = 0; i < 2; i++) {
		pause_us(6000000);
		if (!put_file(KMEMLEAK, "scan"))
			fail("kmemleak: %s", strerror(errno));
	}
	found = get_file(KMEMLEAK);
	if (!found)
		fail("kmemleak does not say what it has found");
	if (*found) {
		char *text = strdup(found), *line;
		int lines = 0;

		for (line = strtok(text, "\n"); line && lines < 60;
		     line = strtok(NULL, "\n"), lines++)
			say("kmemleak: %s", line);
		fail("memory was lost: kmemleak says so (%s)", when);
	}
	say("kmemleak found nothing (%s)", when);
}
