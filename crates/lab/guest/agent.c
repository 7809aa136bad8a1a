// SPDX-License-Identifier: MIT OR Apache-2.0
/* Init of the lab's machine: mounts, the output port, and the end. */
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

int main(void)
{
	struct rlimit files = { 65536, 65536 };

	/* devtmpfs is mounted over an empty /dev: the kernel had no console to give. */
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	int console = open("/dev/console", O_RDWR);

	if (console >= 0) {
		dup2(console, 0);
		dup2(console, 1);
		dup2(console, 2);
	}
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sys", "/sys", "sysfs", 0, NULL);
	mount("run", "/run", "tmpfs", 0, NULL);
	mount("tmp", "/tmp", "tmpfs", 0, NULL);
	mount("bpf", "/sys/fs/bpf", "bpf", 0, NULL);
	setrlimit(RLIMIT_NOFILE, &files);
	setenv("PATH", "/usr/sbin", 1);
	port = open("/dev/vport0p1", O_WRONLY | O_CLOEXEC);
	if (port < 0)
		fprintf(stderr, "lab: no port to write to: %s\n",
			strerror(errno));
	else
		job_run("/job", &run);
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
