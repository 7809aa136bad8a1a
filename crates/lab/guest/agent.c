// SPDX-License-Identifier: MIT OR Apache-2.0
/* The first process of the lab's machine: mounts, the output port, and the end. */
#define _GNU_SOURCE
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void job_run(const char *path, uint32_t *run);

static int port = -1;
static uint32_t run;

void put(struct buffer *b, const void *bytes, size_t length)
{
	if (b->length + length > b->room) {
		b->room = 2 * (b->length + length) + 65536;
		b->at = realloc(b->at, b->room);
		if (!b->at)
			abort(); /* the kernel panics, and the host reads it on the console */
	}
	if (bytes)
		memcpy(b->at + b->length, bytes, length);
	else
		memset(b->at + b->length, 0, length);
	b->length += length;
}

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
}

bool enter(const char *name)
{
	char path[64];
	static int home = -1;
	int fd, rc;

	if (home < 0)
		home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (!name)
		return setns(home, CLONE_NEWNET) == 0;
	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	rc = setns(fd, CLONE_NEWNET);
	close(fd);
	return rc == 0;
}

static void write_all(const void *bytes, uint64_t length)
{
	const char *at = bytes;

	while (length > 0) {
		ssize_t n = write(port, at, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* nobody listens: the host sees that the end is missing */
		at += n;
		length -= (uint64_t)n;
	}
}

void write_block(uint32_t kind, const void *bytes, uint64_t length)
{
	struct {
		char magic[4];
		uint32_t run, kind, version;
		uint64_t length;
	} head = { { 'Q', 'W', 'L', 'B' }, run, kind, VERSION, length };

	write_all(&head, sizeof(head));
	write_all(bytes, length);
}

void fail(const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "lab: %s\n", text);
	write_block(BLOCK_ERROR, text, strlen(text));
}

static void mounts(void)
{
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sys", "/sys", "sysfs", 0, NULL);
	mount("run", "/run", "tmpfs", 0, NULL);
	mount("tmp", "/tmp", "tmpfs", 0, NULL);
	mount("bpf", "/sys/fs/bpf", "bpf", 0, NULL);
}

/* This folder is the root from now on, and the old one out of sight. tc and ip
 * want a root that is a mount, which after chroot(2) alone it is not. */
static bool move_to(const char *folder)
{
	return mount(folder, folder, NULL, MS_BIND, NULL) == 0 &&
	       chdir(folder) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 &&
	       umount2(".", MNT_DETACH) == 0 && chdir("/") == 0;
}

/*
 * Waits until the kernel has measured its processor's clock, two seconds after
 * it began: until then its timers keep to ticks of 4 ms. In virtual time that
 * costs nothing.
 */
static bool is_settled(void)
{
	char clock[32] = "none";

	for (int tries = 0; tries < 1000; tries++) {
		FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/"
				"current_clocksource",
				"r");

		if (f) {
			if (!fgets(clock, sizeof(clock), f))
				clock[0] = 0;
			fclose(f);
		}
		if (!strcmp(clock, "tsc\n"))
			return true;
		usleep(10000);
	}
	fprintf(stderr,
		"lab: after 10 s the kernel's clock is not tsc but %s\n",
		clock);
	return false;
}

/* As init of the machine; or, as `native FOLDER FILE`, in namespaces of its own
 * with the folder as root, where results go to the file in it. */
int main(int argc, char **argv)
{
	struct rlimit files = { 65536, 65536 };
	bool native = argc == 4 && !strcmp(argv[1], "native");
	const char *to = native ? argv[3] : "/dev/vport0p1";

	if (getpid() != 1) {
		fprintf(stderr,
			"lab: this is the first process of a machine\n");
		return 1;
	}
	if (native && !move_to(argv[2])) {
		fprintf(stderr, "lab: %s cannot be the root: %s\n", argv[2],
			strerror(errno));
		return 1;
	}
	mounts();
	if (!native) {
		/* The kernel had no console to give: /dev was empty. */
		int console = open("/dev/console", O_RDWR);

		if (console >= 0) {
			dup2(console, 0);
			dup2(console, 1);
			dup2(console, 2);
		}
	}
	setrlimit(RLIMIT_NOFILE, &files);
	setenv("PATH", "/usr/sbin", 1);
	port = open(to, O_WRONLY | O_CLOEXEC);
	if (port < 0)
		fprintf(stderr, "lab: no %s to write to: %s\n", to,
			strerror(errno));
	else if (native || is_settled())
		job_run("/job", &run);
	if (native)
		return 0;
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
