// SPDX-License-Identifier: MIT OR Apache-2.0
/* Datagrams: each carries when it was sent. Sender and receiver share a clock. */
#define _GNU_SOURCE
#include "lab.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static int udp_server = -1;
static struct buffer datagrams;
static char packet[65536];

/* What a datagram begins with. */
struct stamp {
	uint64_t sent_ns;
	uint32_t flow, magic;
};
#define MAGIC 0x51574c44u

bool udp_hello(const char *ns)
{
	struct sockaddr_in a = flows_address(SERVER, UDP_PORT);
	int fd = flows_socket(ns, SOCK_DGRAM, "0.0.0.0", 0, NULL);
	bool sent = fd >= 0 && sendto(fd, "hello", 5, 0, (struct sockaddr *)&a,
				      sizeof(a)) == 5;

	if (!sent)
		fail("a datagram from %s: %s", ns, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (udp_server < 0) {
		udp_server = flows_socket("s", SOCK_DGRAM, "0.0.0.0", UDP_PORT,
					  NULL);
		if (udp_server < 0) {
			fail("the server's socket of datagrams: %s",
			     strerror(errno));
			return false;
		}
		flows_watch(udp_server, EPOLLIN, DATAGRAMS, 0);
	}
	return sent;
}

void udp_receive(void)
{
	struct stamp s;
	ssize_t n;

	while ((n = recv(udp_server, &s, sizeof(s), MSG_TRUNC)) >= 0) {
		if (n < (ssize_t)sizeof(s) || s.magic != MAGIC ||
		    s.flow >= flow_count)
			continue;
		struct datagram d = { now_ns(), 0, s.flow };

		d.delay_ns = (uint32_t)(d.at_ns - s.sent_ns);
		flows[s.flow].received += (uint64_t)n;
		put(&datagrams, &d, sizeof(d));
	}
}

/* Exponential with mean 1, from xorshift64 (Marsaglia 2003). */
static double exponential(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return -log((double)((*x >> 11) + 1) / 9007199254740992.0); /* 2^53 */
}

void udp_send(uint32_t i, uint64_t now)
{
	struct flow *f = &flows[i];

	for (; f->next_ns <= now && f->next_ns < f->stop_ns; f->sent++) {
		struct stamp s = { now_ns(), i, MAGIC };

		memcpy(packet, &s, sizeof(s));
		/* A full socket buffer is a lost datagram, as anywhere. */
		(void)!send(f->fd, packet, f->payload, MSG_NOSIGNAL);
		f->next_ns += f->poisson ? (uint64_t)(exponential(&f->random) *
						      (double)f->gap_ns) :
					   f->gap_ns;
	}
	if (f->next_ns >= f->stop_ns)
		f->next_ns = NEVER;
}

void udp_write(void)
{
	write_block(BLOCK_DATAGRAMS, datagrams.at, datagrams.length);
}

void udp_close(void)
{
	if (udp_server >= 0)
		close(udp_server);
	udp_server = -1;
	datagrams.length = 0;
}
