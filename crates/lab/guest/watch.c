// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What is seen of the bottleneck: each packet that left it (trace.bpf.c), its qdiscs' counters (rtnetlink), and the maps
 * of a qdisc that is a BPF program of ours.
 */
#define _GNU_SOURCE
#include "lab.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "ring.h"

static const struct packet *ring;
static const volatile uint64_t *count;
static uint64_t taken;
static struct buffer packets, qdiscs, values;
static int netlink = -1;
/* Their place here is their number in the block; fd: -1 not sampled. */
#define MAPS 3u
/* Of a map no more than this is taken: what a state has to show stands at its front, and a discipline with a queue for each
 * flow has megabytes behind, whose copying would keep this one processor from its packets (crates/lab/src/stats.rs). */
#define FRONT (64u * 1024)
static const char *const map_names[MAPS] = { "stats", "params", "state" };
static struct {
	const void *at; /* NULL: not sampled */
	uint32_t bytes;
} maps[MAPS];

int watch_pinned(const char *path)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.pathname = (uint64_t)(uintptr_t)path;
	return (int)syscall(SYS_bpf, BPF_OBJ_GET, &a, sizeof(a));
}

bool watch_attach(const char *path)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.raw_tracepoint.prog_fd = (uint32_t)watch_pinned(path);
	/* Open until the machine ends. */
	return (int)a.raw_tracepoint.prog_fd >= 0 &&
	       syscall(SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, &a, sizeof(a)) >= 0;
}

#define PROGRAMS "/sys/fs/bpf/programs"

/* A pinned map's memory, or NULL and why. */
static const void *pinned_memory(const char *path, size_t bytes)
{
	int fd = watch_pinned(path);
	void *at = fd < 0 ? MAP_FAILED :
			    mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		fail("%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return at == MAP_FAILED ? NULL : at;
}

bool watch_start(void)
{
	char path[300] = PROGRAMS;
	DIR *programs;
	struct dirent *e;
	bool done;

	ring = pinned_memory("/sys/fs/bpf/maps/packets", RING * sizeof(*ring));
	count = pinned_memory("/sys/fs/bpf/maps/count", 4096);
	if (!ring || !count)
		return false;
	programs = opendir(PROGRAMS);
	done = programs != NULL;
	while (done && (e = readdir(programs))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), PROGRAMS "/%s", e->d_name);
		done = watch_attach(path);
	}
	if (!done)
		fail("the trace programs: %s %s", path, strerror(errno));
	if (programs)
		closedir(programs);
	return done;
}

bool watch_open(const char *ns)
{
	if (enter(ns))
		netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				 NETLINK_ROUTE);
	enter(NULL);
	if (netlink < 0)
		fail("netlink: %s", strerror(errno));
	return netlink >= 0;
}

bool watch_maps(const char *ns, const char *device)
{
	char path[256];
	uint64_t cookie = 0;
	socklen_t size = sizeof(cookie);
	unsigned int index = 0;

	/* Where crates/linux/src/record.rs pins them. */
	if (enter(ns)) {
		int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		if (s >= 0 && getsockopt(s, SOL_SOCKET, SO_NETNS_COOKIE,
					 &cookie, &size) == 0)
			index = if_nametoindex(device);
		if (s >= 0)
			close(s);
	}
	enter(NULL);
	if (index == 0) {
		fail("%s in %s: %s", device, ns, strerror(errno));
		return false;
	}
	for (uint32_t i = 0; i < MAPS; i++) {
		struct bpf_map_info info = { 0 };
		union bpf_attr a;

		snprintf(path, sizeof(path),
			 "/sys/fs/bpf/queuewright/%llu:%u/%s",
			 (unsigned long long)cookie, index, map_names[i]);
		int fd = watch_pinned(path);
		memset(&a, 0, sizeof(a));
		a.info.bpf_fd = (uint32_t)fd;
		a.info.info_len = sizeof(info);
		a.info.info = (uint64_t)(uintptr_t)&info;
		void *value = MAP_FAILED;

		if (fd >= 0 && syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &a,
				       sizeof(a)) == 0) {
			maps[i].bytes = info.value_size < FRONT ?
						info.value_size :
						FRONT;
			value = mmap(NULL, maps[i].bytes, PROT_READ, MAP_SHARED,
				     fd, 0);
		}
		if (value == MAP_FAILED) {
			fail("%s: %s", path, strerror(errno));
			return false;
		}
		maps[i].at = value;
		close(fd);
	}
	return true;
}

static void sample_maps(uint64_t at_ns)
{
	for (uint32_t i = 0; i < MAPS; i++) {
		if (!maps[i].at)
			continue;
		put(&values, &at_ns, sizeof(at_ns));
		put(&values, &i, sizeof(i));
		put(&values, &maps[i].bytes, sizeof(maps[i].bytes));
		put(&values, maps[i].at, maps[i].bytes);
	}
}

void watch_begin(void)
{
	packets.length = qdiscs.length = values.length = 0;
	taken = *count;
}

void watch_packets(bool all)
{
	uint64_t now = *count;

	if (!all && now - taken < RING / 2)
		return;
	while (taken < now) {
		uint64_t at = taken % RING, n = now - taken;

		if (n > RING - at)
			n = RING - at;
		put(&packets, &ring[at], n * sizeof(*ring));
		taken += n;
	}
}

/* Everything that RTM_GETQDISC says of the bottleneck's device; the host knows what it means. */
void watch_sample(uint64_t at_ns)
{
	struct {
		struct nlmsghdr head;
		struct tcmsg tc;
	} ask = {
		.head = { .nlmsg_len = sizeof(ask),
			  .nlmsg_type = RTM_GETQDISC,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.tc = { .tcm_family = AF_UNSPEC },
	};
	static char text[32768];
	size_t head = qdiscs.length;
	uint32_t length = 0;
	bool done = send(netlink, &ask, sizeof(ask), 0) < 0;

	put(&qdiscs, &at_ns, sizeof(at_ns));
	put(&qdiscs, &length, sizeof(length));
	while (!done) {
		ssize_t n = recv(netlink, text, sizeof(text), 0);
		struct nlmsghdr *m = (struct nlmsghdr *)text;

		if (n <= 0)
			break;
		for (; NLMSG_OK(m, (uint32_t)n); m = NLMSG_NEXT(m, n)) {
			if (m->nlmsg_type == NLMSG_DONE ||
			    m->nlmsg_type == NLMSG_ERROR) {
				done = true;
				break;
			}
			struct tcmsg *tc = NLMSG_DATA(m);

			if (tc->tcm_ifindex == DEVICE)
				put(&qdiscs, m, NLMSG_ALIGN(m->nlmsg_len));
		}
	}
	length = (uint32_t)(qdiscs.length - head - sizeof(at_ns) -
			    sizeof(length));
	memcpy(qdiscs.at + head + sizeof(at_ns), &length, sizeof(length));
	sample_maps(at_ns);
}

void watch_write(void)
{
	watch_packets(true);
	write_block(BLOCK_PACKETS, packets.at, packets.length);
	write_block(BLOCK_QDISC, qdiscs.at, qdiscs.length);
	write_block(BLOCK_MAPS, values.at, values.length);
}

void watch_events(void)
{
	watch_packets(true);
	write_block(BLOCK_EVENTS, packets.at, packets.length);
}

void watch_close(void)
{
	if (netlink >= 0)
		close(netlink);
	netlink = -1;
	for (uint32_t i = 0; i < MAPS; i++) {
		if (maps[i].at)
			munmap((void *)maps[i].at, maps[i].bytes);
		maps[i].at = NULL;
	}
}
