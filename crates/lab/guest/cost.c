// SPDX-License-Identifier: MIT OR Apache-2.0
/* What datagrams through a device cost: the time in which the processor was not idle. */
#define _GNU_SOURCE
#include "lab.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The first of them find caches, neighbours and tables empty. */
#define WARM 500u

/* A process that has the processor when nobody else wants it: what it counts is time in which the processor was idle. */
static pid_t count_idle(volatile uint64_t *counter)
{
	struct sched_param none = { 0 };
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	sched_setscheduler(0, SCHED_IDLE, &none);
	for (;;)
		++*counter;
}

static void sleep_until(uint64_t at_ns)
{
	struct timespec t = { (time_t)(at_ns / NS_PER_SEC),
			      (long)(at_ns % NS_PER_SEC) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* So many datagrams, `burst` at once, then a pause until `gap_ns` after the last burst began. */
static void send_all(int fd, uint64_t count, size_t payload, uint64_t burst,
		     uint64_t gap_ns)
{
	static const char bytes[2000];
	uint64_t next = now_ns();

	for (uint64_t i = 0; i < count; i++) {
		(void)!send(fd, bytes, payload, MSG_NOSIGNAL);
		if (gap_ns == 0 || (i + 1) % burst)
			continue;
		next += gap_ns;
		sleep_until(next);
	}
}

bool cost(const char *ns, uint64_t count, uint64_t payload, uint64_t burst,
	  uint64_t gap_ns)
{
	struct sockaddr_in to = flows_address(SERVER, UDP_PORT);
	int fd = flows_socket(ns, SOCK_DGRAM, "0.0.0.0", 0, NULL);
	struct cost result = { .packets = count };
	volatile uint64_t *counter = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t began, counted, each_ns = 0;
	pid_t counting;

	if (fd < 0 || counter == MAP_FAILED || payload > 2000 || burst == 0 ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
		fail("datagrams from %s: %s", ns, strerror(errno));
		return false;
	}
	counting = count_idle(counter);
	send_all(fd, WARM, payload, burst, gap_ns ? gap_ns : 1000);
	/* How long one count takes, in units of 2^-16 ns. */
	began = now_ns();
	sleep_until(began + NS_PER_SEC / 20);
	counted = *counter;
	began = now_ns();
	sleep_until(began + NS_PER_SEC / 5);
	if (*counter > counted)
		each_ns = ((now_ns() - began) << 16) / (*counter - counted);

	began = now_ns();
	counted = *counter;
	send_all(fd, count, payload, burst, gap_ns);
	result.busy_ns =
		now_ns() - began - (((*counter - counted) * each_ns) >> 16);
	kill(counting, SIGKILL);
	waitpid(counting, NULL, 0);
	munmap((void *)counter, 4096);
	close(fd);
	write_block(BLOCK_COST, &result, sizeof(result));
	write_block(BLOCK_END, "", 0);
	return true;
}
