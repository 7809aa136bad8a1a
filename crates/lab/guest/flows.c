// SPDX-License-Identifier: MIT OR Apache-2.0
/* The traffic of a run: senders in the clients' namespaces, receivers in the server's, in one event loop. */
#define _GNU_SOURCE
#include "lab.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/tcp.h>

#define LISTEN_PORT \
	5000 /* and up: one a congestion control, in the order of `listen` */
#define MAX_LISTENERS 32
/* iperf3's, too: what an application writes or reads at a time. */
#define CHUNK (128 * 1024)

struct flow flows[MAX_FLOWS];
uint32_t flow_count;
static struct listener {
	int fd;
	char cca[16];
} listeners[MAX_LISTENERS];
static uint32_t listener_count;
static int loop = -1;
static uint64_t zero;
static struct buffer samples;
static char chunk[CHUNK];

void flows_watch(int fd, uint32_t events, enum what what, uint32_t index)
{
	struct epoll_event e = { .events = events,
				 .data.u64 = (uint64_t)what << 32 | index };

	epoll_ctl(loop, EPOLL_CTL_ADD, fd, &e);
}

struct sockaddr_in flows_address(const char *ip, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(port) };

	inet_pton(AF_INET, ip, &a.sin_addr);
	return a;
}

static void forget(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* With what it has not sent: else it would go on during the next run, and keep
 * its memory. */
static void drop(int *fd)
{
	struct linger gone = { .l_onoff = 1 };

	if (*fd >= 0)
		setsockopt(*fd, SOL_SOCKET, SO_LINGER, &gone, sizeof(gone));
	forget(fd);
}

void flows_close(void)
{
	for (uint32_t i = 0; i < flow_count; i++) {
		drop(&flows[i].fd);
		drop(&flows[i].peer);
	}
	for (uint32_t i = 0; i < listener_count; i++)
		forget(&listeners[i].fd);
	udp_close();
	forget(&loop);
}

void flows_reset(void)
{
	flows_close();
	flow_count = listener_count = 0;
	samples.length = 0;
	loop = epoll_create1(EPOLL_CLOEXEC);
}

bool flows_add(const struct flow *f)
{
	if (flow_count == MAX_FLOWS) {
		fail("more than %d flows", MAX_FLOWS);
		return false;
	}
	flows[flow_count++] = *f;
	return true;
}

/* A socket of the server's namespace, bound to a port. */
int flows_socket(const char *ns, int type, const char *ip, uint16_t port,
		 const char *cca)
{
	struct sockaddr_in a = flows_address(ip, port);
	int one = 1, fd = -1;

	if (enter(ns))
		fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if ((cca && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cca,
				       (socklen_t)strlen(cca)) < 0) ||
		    bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
			int e = errno;

			close(fd);
			fd = -1;
			errno = e;
		}
	}
	enter(NULL);
	return fd;
}

/* Accepted connections have their listener's congestion control: DCTCP's receiver needs it for its feedback. */
bool flows_listen(uint16_t port, const char *cca)
{
	struct listener *l = &listeners[listener_count];
	int fd = listener_count < MAX_LISTENERS ?
			 flows_socket("s", SOCK_STREAM, "0.0.0.0", port, cca) :
			 -1;

	if (fd < 0 || listen(fd, 4096) < 0) {
		fail("listening with %s: %s", cca, strerror(errno));
		return false;
	}
	l->fd = fd;
	snprintf(l->cca, sizeof(l->cca), "%s", cca);
	flows_watch(fd, EPOLLIN, LISTENER, listener_count++);
	return true;
}

static void broke(struct flow *f, int error)
{
	f->error = (uint32_t)error;
	if (f->fd >= 0)
		epoll_ctl(loop, EPOLL_CTL_DEL, f->fd, NULL);
}

/* Connects; TCP's handshake goes on by itself. */
static void open_flow(uint32_t i)
{
	struct flow *f = &flows[i];
	uint16_t port = UDP_PORT;

	for (uint32_t l = 0; !f->udp && l < listener_count; l++)
		if (!strcmp(listeners[l].cca, f->cca))
			port = (uint16_t)(LISTEN_PORT + l);
	f->fd = flows_socket(f->ns, f->udp ? SOCK_DGRAM : SOCK_STREAM, f->from,
			     (uint16_t)(FIRST_PORT + i),
			     f->udp ? NULL : f->cca);
	if (f->fd < 0) {
		f->error = (uint32_t)errno;
		return;
	}
	struct sockaddr_in a = flows_address(f->to, port);

	if (f->tos)
		setsockopt(f->fd, IPPROTO_IP, IP_TOS, &f->tos, sizeof(f->tos));
	if (connect(f->fd, (struct sockaddr *)&a, sizeof(a)) < 0 &&
	    errno != EINPROGRESS)
		f->error = (uint32_t)errno;
}

/* A state of the kernel's TCP, include/net/tcp_states.h */
#define SYN_SENT 2

static bool is_opening(const struct flow *f)
{
	struct tcp_info info = { 0 };
	socklen_t length = sizeof(info);

	return f->fd >= 0 && !f->udp && !f->error &&
	       getsockopt(f->fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
	       info.tcpi_state == SYN_SENT;
}

/* A measurement tool's connections are open before data flows, as the simulator's are: what has no end of its own opens here, over
 * an empty path. All at once, their handshakes would wait for one another in this one processor, and BBR would take that
 * for the path. */
void flows_open(void)
{
	const struct timespec apart = { 0, 2000000 }, more = { 0, 14500000 };
	uint64_t most = now_ns() + 10 * NS_PER_SEC;

	for (uint32_t i = 0; i < flow_count; i++) {
		if (flows[i].udp || flows[i].size)
			continue;
		open_flow(i);
		nanosleep(&apart, NULL);
	}
	for (uint32_t i = 0; i < flow_count; i++)
		while (is_opening(&flows[i]) && now_ns() < most)
			nanosleep(&apart, NULL);
	/* What a tool needs before its data. */
	nanosleep(&more, NULL);
}

static void begin(uint32_t i)
{
	struct flow *f = &flows[i];

	f->began_ns = now_ns();
	if (f->fd < 0 && !f->error)
		open_flow(i);
	if (!f->udp && !f->error)
		flows_watch(f->fd, EPOLLOUT, SENDER, i);
	f->next_ns = zero + f->start_ns;
}

static void send_more(struct flow *f)
{
	while (now_ns() < f->stop_ns) {
		size_t length = CHUNK;

		if (f->size && f->size - f->sent < length)
			length = f->size - f->sent;
		if (length == 0)
			break;
		ssize_t n = send(f->fd, chunk, length, MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			broke(f, errno);
			return;
		}
		f->sent += (uint64_t)n;
	}
	/* The socket stays open for what TCP_INFO has to say at the end. */
	shutdown(f->fd, SHUT_WR);
	epoll_ctl(loop, EPOLL_CTL_DEL, f->fd, NULL);
}

static void accept_all(struct listener *l)
{
	for (;;) {
		struct sockaddr_in from;
		socklen_t length = sizeof(from);
		int fd = accept4(l->fd, (struct sockaddr *)&from, &length,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		uint32_t i = (uint32_t)(ntohs(from.sin_port) - FIRST_PORT);

		if (i >= flow_count) {
			close(fd);
			continue;
		}
		flows[i].peer = fd;
		flows_watch(fd, EPOLLIN, RECEIVER, i);
	}
}

/* Reads without a copy: of the data only the count matters. */
static void receive(struct flow *f)
{
	for (;;) {
		ssize_t n = recv(f->peer, NULL, CHUNK, MSG_TRUNC);

		if (n < 0)
			return;
		f->received += (uint64_t)n;
		if (!f->ended_ns &&
		    (n == 0 || (f->size && f->received >= f->size)))
			f->ended_ns = now_ns();
		if (n == 0) {
			epoll_ctl(loop, EPOLL_CTL_DEL, f->peer, NULL);
			forget(&f->peer);
			return;
		}
	}
}

/* TCP_INFO's fields after those of the oldest kernel headers that this compiles with. */
#define TOTAL_RTO (offsetof(struct tcp_info, tcpi_snd_wnd) + 12)

static void sample(uint64_t at)
{
	for (uint32_t i = 0; i < flow_count; i++) {
		struct flow *f = &flows[i];
		struct flow_sample s = { .at_ns = at,
					 .received = f->received,
					 .pacing_rate = UINT64_MAX,
					 .flow = i };
		union {
			struct tcp_info info;
			char raw[512];
		} u = { 0 };
		socklen_t length = sizeof(u);

		if (!f->udp && f->fd >= 0 &&
		    getsockopt(f->fd, IPPROTO_TCP, TCP_INFO, &u, &length) ==
			    0) {
			uint16_t timeouts;

			memcpy(&timeouts, u.raw + TOTAL_RTO, sizeof(timeouts));
			s.cwnd = u.info.tcpi_snd_cwnd;
			s.srtt_us = u.info.tcpi_rtt;
			s.retransmits = u.info.tcpi_total_retrans;
			s.timeouts = timeouts;
			s.pacing_rate = u.info.tcpi_pacing_rate;
		}
		put(&samples, &s, sizeof(s));
	}
	watch_sample(at);
}

/* Begins what is to begin, sends what is due; says when it wants to be called again. */
static uint64_t due(uint64_t now)
{
	uint64_t next = NEVER;

	for (uint32_t i = 0; i < flow_count; i++) {
		struct flow *f = &flows[i];
		uint64_t at = f->began_ns ? NEVER : zero + f->start_ns;

		if (at <= now) {
			begin(i);
			at = NEVER;
		}
		if (f->udp && f->began_ns && !f->error) {
			udp_send(i, now);
			at = f->next_ns;
		}
		if (at < next)
			next = at;
	}
	return next;
}

void flows_run(uint64_t zero_ns, uint64_t warm_ns, uint64_t end_ns,
	       uint64_t sample_ns)
{
	uint64_t wake = 0, tick = zero_ns, told = 0;
	bool warm = false;

	zero = zero_ns;
	for (uint32_t i = 0; i < flow_count; i++)
		if (flows[i].stop_ns != NEVER)
			flows[i].stop_ns += zero;
	for (;;) {
		struct epoll_event events[64];
		uint64_t now = now_ns();

		/* On the grid, and at both ends of what is measured. */
		if (now >= tick || (!warm && now >= zero + warm_ns) ||
		    now >= zero + end_ns) {
			sample(now);
			warm = warm || now >= zero + warm_ns;
			while (tick <= now)
				tick += sample_ns;
			if (now >= zero + end_ns)
				break;
			if (now - zero >= told) {
				fprintf(stderr, "lab: at %llu\n",
					(unsigned long long)((now - zero) /
							     NS_PER_SEC));
				told += NS_PER_SEC;
			}
		}
		if (now >= wake)
			wake = due(now);
		watch_packets(false);
		uint64_t until = wake < tick ? wake : tick;

		if (!warm && zero + warm_ns < until)
			until = zero + warm_ns;
		if (zero + end_ns < until)
			until = zero + end_ns;
		now = now_ns();
		uint64_t left = until > now ? until - now : 0;
		struct timespec t = { (time_t)(left / NS_PER_SEC),
				      (long)(left % NS_PER_SEC) };
		int n = epoll_pwait2(loop, events, 64, &t, NULL);

		for (int i = 0; i < n; i++) {
			uint32_t index = (uint32_t)events[i].data.u64;

			switch ((enum what)(events[i].data.u64 >> 32)) {
			case SENDER: {
				int error = 0;
				socklen_t length = sizeof(error);

				getsockopt(flows[index].fd, SOL_SOCKET,
					   SO_ERROR, &error, &length);
				if (error)
					broke(&flows[index], error);
				else
					send_more(&flows[index]);
				break;
			}
			case RECEIVER:
				receive(&flows[index]);
				break;
			case LISTENER:
				accept_all(&listeners[index]);
				break;
			case DATAGRAMS:
				udp_receive();
				break;
			}
		}
	}
	write_block(BLOCK_FLOWS, samples.at, samples.length);
	udp_write();
	for (uint32_t i = 0; i < flow_count; i++) {
		struct flow *f = &flows[i];
		struct flow_end e = { f->began_ns, f->ended_ns, f->received, i,
				      f->error };

		write_block(BLOCK_ENDS, &e, sizeof(e));
	}
}
