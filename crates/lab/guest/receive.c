// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The far end of the kernel's own TCP, which receives: a tap device whose packets are made of fragments as a network card's, behind
 * it a link, and a sender that loses, repeats, delays and marks segments, and knows it. All that TCP gets and sends is kept,
 * with its state (replay.bpf.c).
 */
#define _GNU_SOURCE
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>

#include "packet.h"
#include "replay.h"

#define HERE_PORT 7000
#define PEER_PORT 7001
#define ETHERNET 14
#define MSS 1448u
#define WINDOW_SCALE 7
#define FIRST_SEQ 1000u
#define MAX_SIZES 16u

static int tap = -1, listener = -1, sock = -1;
static uint64_t zero;

static struct {
	uint64_t rtt_ns, rate_bps, window, on_bytes, idle_ns;
	uint64_t loss, twice, late, mark, odd; /* of a million */
	uint64_t late_ns, read_bytes, read_ns, end_ns;
	bool ecn;
} path;

/* A segment on its way, or one that is to be sent again then; in order of time. */
struct in_flight {
	uint64_t at_ns;
	uint32_t seq, length, stamp, echo;
	uint8_t flags;
	bool ce, again;
};
static struct in_flight *air;
static uint32_t air_first, air_end, air_room;

static struct {
	uint32_t next, una, edge, window; /* bytes of data; cwnd */
	uint32_t seen_seq, echo; /* of the kernel's */
	uint64_t left, free_ns, on_ns; /* NEVER: without end */
	uint64_t cut_ns;
	uint32_t burst;
	bool open, cwr;
} far;
static uint64_t next_read;

bool replay_tap(const char *ns)
{
	return replay_device(&tap, ns, IFF_TAP | IFF_NAPI | IFF_NAPI_FRAGS,
			     TUN_F_CSUM);
}

static void schedule(struct in_flight f)
{
	uint32_t at;

	if (air_end == air_room) {
		memmove(air, air + air_first,
			(air_end - air_first) * sizeof(*air));
		air_end -= air_first;
		air_first = 0;
		if (2 * air_end >= air_room) {
			air_room = 2 * air_room + 4096;
			air = realloc(air, air_room * sizeof(*air));
			if (!air)
				abort();
		}
	}
	for (at = air_end++; at > air_first && air[at - 1].at_ns > f.at_ns;
	     at--)
		air[at] = air[at - 1];
	air[at] = f;
}

/* A packet to the kernel: headers, and the data as a fragment. */
static void arrive(const struct in_flight *f, const uint8_t *options,
		   uint32_t length)
{
	static const uint8_t data[MAX_SIZES * MSS];
	struct virtio_net_hdr v = { .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
				    .csum_start = ETHERNET + 20,
				    .csum_offset = 16 };
	uint8_t p[ETHERNET + 60 + 20] = { 2, 0, 0, 0, 0, 2, 2,
					  0, 0, 0, 0, 1, 8, 0 };
	uint8_t ecn = f->ce				 ? IP_CE :
		      path.ecn && f->length && !f->again ? IP_ECT0 :
							   0;
	struct iovec parts[3] = { { &v, sizeof(v) },
				  { p, ETHERNET + 40 + length },
				  { (void *)data, f->length } };

	write_headers(
		p + ETHERNET, ecn,
		(struct tcp_says){ PEER_PORT, HERE_PORT, FIRST_SEQ + f->seq,
				   far.open ? far.seen_seq : 0, f->flags },
		options, length, f->length);
	if (writev(tap, parts, f->length ? 3 : 2) < 0)
		fail("a segment: %s", strerror(errno));
}

static void arrive_data(const struct in_flight *f)
{
	uint8_t o[12] = { 1, 1, 8, 10 };

	set32(o + 4, f->stamp);
	set32(o + 8, f->echo);
	arrive(f, o, 12);
}

static uint32_t stamp(uint64_t now)
{
	return (uint32_t)(now / 1000000) + 1;
}

static void send_one(struct in_flight f, uint64_t now)
{
	uint64_t begin = far.free_ns > now ? far.free_ns : now;

	f.stamp = stamp(now + path.rtt_ns / 2);
	f.echo = far.echo;
	far.free_ns =
		begin + (f.length + 66ull) * 8 * NS_PER_SEC / path.rate_bps;
	f.at_ns = far.free_ns + path.rtt_ns;
	f.ce = path.ecn && !f.again && replay_happens(path.mark);
	if (replay_happens(path.loss)) {
		/* It is missed a round trip later. */
		f.at_ns += replay_draw() % (path.rtt_ns / 4 + 1);
		f.at_ns |= 1;
		f.again = f.ce = false;
		f.flags = FLAG_ACK | (f.flags & FLAG_PSH);
		f.stamp = 0;
		schedule(f);
		return;
	}
	if (replay_happens(path.late))
		f.at_ns += path.late_ns;
	schedule(f);
	if (replay_happens(path.twice)) {
		/* Sent again for nothing. */
		f.at_ns += replay_draw() % path.rtt_ns + 1;
		f.stamp = 0;
		f.flags = FLAG_ACK | (f.flags & FLAG_PSH);
		f.ce = false;
		schedule(f);
	}
}

static void send_more(uint64_t now)
{
	while (far.open && far.left > 0) {
		uint32_t length = MSS, room = far.edge - far.next;
		uint8_t flags = FLAG_ACK;

		if (far.next - far.una >= far.window)
			break;
		if (replay_happens(path.odd))
			length = 1 + (uint32_t)(replay_draw() >> 20) % MSS;
		if (length > far.left)
			length = (uint32_t)far.left;
		if (length > room)
			break;
		if (far.left != NEVER)
			far.left -= length;
		if (far.burst-- == 0 || far.left == 0) {
			flags |= FLAG_PSH;
			far.burst = (uint32_t)(replay_draw() >> 20) % 16;
		}
		if (far.cwr)
			flags |= FLAG_CWR;
		far.cwr = false;
		send_one((struct in_flight){ .seq = 1 + far.next,
					     .length = length,
					     .flags = flags },
			 now);
		far.next += length;
	}
	if (far.open && far.left == 0 && far.on_ns == NEVER)
		far.on_ns = now + replay_draw() % (path.idle_ns + 1);
}

static void hear(const uint8_t *tcp, uint64_t now)
{
	uint32_t acked = get32(tcp + 8) - FIRST_SEQ - 1;
	uint32_t stamp = stamp_of(tcp);

	if (stamp)
		far.echo = stamp;
	if (tcp[13] & FLAG_SYN) {
		far.seen_seq = get32(tcp + 4) + 1;
		schedule((struct in_flight){ .at_ns = now + path.rtt_ns,
					     .seq = 1,
					     .flags = FLAG_ACK });
		return;
	}
	if (path.ecn && (tcp[13] & FLAG_ECE) &&
	    now >= far.cut_ns + path.rtt_ns) {
		far.cwr = true;
		far.cut_ns = now;
	}
	if ((int32_t)(acked - far.una) > 0) {
		far.window += acked - far.una;
		if (far.window > path.window)
			far.window = (uint32_t)path.window;
		far.una = acked;
	}
	acked += ((uint32_t)tcp[14] << 8 | tcp[15]) << WINDOW_SCALE;
	if ((int32_t)(acked - far.edge) > 0)
		far.edge = acked;
}

static void read_all(void)
{
	static uint8_t p[4096];
	ssize_t n;

	while ((n = read(tap, p, sizeof(p))) > 0) {
		uint8_t *e = p + sizeof(struct virtio_net_hdr);
		uint8_t *ip = e + ETHERNET;

		if (n >= (ssize_t)sizeof(struct virtio_net_hdr) + ETHERNET +
				    40 &&
		    e[12] == 8 && e[13] == 0 && ip[0] == 0x45 && ip[9] == 6)
			hear(ip + 20, now_ns());
	}
}

/* The application takes all that there is, or so much. */
static void take_some(uint64_t most)
{
	static char bytes[1 << 20];
	struct event *e;
	int left = 0;
	ssize_t n;

	if (sock < 0 || ioctl(sock, FIONREAD, &left) < 0 || left == 0)
		return;
	e = replay_add(EVENT_READ);
	n = recv(sock, bytes, most < sizeof(bytes) ? most : sizeof(bytes),
		 MSG_DONTWAIT);
	e->length = n > 0 ? (uint32_t)n : 0;
	if (ioctl(sock, FIONREAD, &left) < 0)
		left = 0;
	e->stamp_ns = (uint64_t)left;
}

static void happen(uint64_t now)
{
	struct in_flight f;

	if (air_first < air_end && air[air_first].at_ns <= now) {
		f = air[air_first++];
		if (f.stamp == 0 && f.length) {
			/* Sent again, at half the way. */
			f.again = true;
			f.stamp = stamp(now - path.rtt_ns / 2);
			f.echo = far.echo;
		}
		if (f.length)
			arrive_data(&f);
		else {
			uint8_t o[12] = { 1, 1, 8, 10 };

			set32(o + 4, stamp(now));
			set32(o + 8, far.echo);
			far.open = true;
			arrive(&f, o, 12);
			sock = accept4(listener, NULL, NULL,
				       SOCK_NONBLOCK | SOCK_CLOEXEC);
			if (sock < 0)
				fail("accepting: %s", strerror(errno));
		}
		read_all();
		replay_take();
		if (!path.read_bytes)
			take_some(NEVER);
	}
	if (path.read_bytes && next_read <= now) {
		take_some(path.read_bytes);
		next_read = now + path.read_ns;
	}
	if (far.on_ns <= now) {
		far.on_ns = NEVER;
		far.left = 1 + replay_draw() % (2 * path.on_bytes);
	}
}

static uint64_t earliest(void)
{
	uint64_t next = zero + path.end_ns;

	if (air_first < air_end && air[air_first].at_ns < next)
		next = air[air_first].at_ns;
	if (path.read_bytes && next_read < next)
		next = next_read;
	return far.on_ns < next ? far.on_ns : next;
}

static bool begin(const char *ns, const char *cca)
{
	uint8_t o[20] = { 2, 4, 1460 >> 8, 1460 & 255, 4, 2, 8, 10 };

	listener = flows_socket(ns, SOCK_STREAM, HERE, HERE_PORT, cca);
	if (listener < 0 || listen(listener, 1) < 0) {
		fail("listening with %s: %s", cca, strerror(errno));
		return false;
	}
	set32(o + 8, stamp(zero));
	o[16] = 1;
	o[17] = 3;
	o[18] = 3;
	o[19] = WINDOW_SCALE;
	arrive(&(struct in_flight){ .flags = FLAG_SYN |
					     (path.ecn ? FLAG_ECE | FLAG_CWR :
							 0) },
	       o, 20);
	return true;
}

bool replay_receive(const char *ns, const char *cca, const uint64_t *n)
{
	struct linger gone = { 1, 0 };

	path.rtt_ns = n[0];
	path.rate_bps = n[1];
	path.window = n[2];
	path.on_bytes = n[3];
	path.idle_ns = n[4];
	path.loss = n[5];
	path.twice = n[6];
	path.late = n[7];
	path.late_ns = n[8];
	path.mark = n[9];
	path.odd = n[10];
	path.read_bytes = n[11];
	path.read_ns = n[12];
	path.ecn = n[13];
	path.end_ns = n[15];
	memset(&far, 0, sizeof(far));
	far.window = 10 * MSS;
	far.edge = 65535;
	far.left = path.on_bytes ? 1 + n[14] % path.on_bytes : NEVER;
	far.on_ns = NEVER;
	air_first = air_end = 0;
	zero = now_ns();
	next_read = zero;
	replay_begin(n[14]);
	if (!begin(ns, cca))
		return false;
	for (;;) {
		uint64_t now = now_ns(), next;

		read_all();
		replay_take();
		if (now >= zero + path.end_ns)
			break;
		send_more(now);
		next = earliest();
		if (next <= now) {
			happen(now);
			continue;
		}
		struct timespec t = { (time_t)((next - now) / NS_PER_SEC),
				      (long)((next - now) % NS_PER_SEC) };
		struct pollfd p = { .fd = tap, .events = POLLIN };

		ppoll(&p, 1, &t, NULL);
	}
	if (sock >= 0) {
		setsockopt(sock, SOL_SOCKET, SO_LINGER, &gone, sizeof(gone));
		close(sock);
	}
	close(listener);
	close(tap);
	sock = listener = tap = -1;
	replay_end();
	return true;
}
