// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The far end of the kernel's own TCP: a tun device, behind it a link with a queue, and a peer that acknowledges. All that TCP
 * gets and sends is kept, with its state (replay.bpf.c).
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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/tcp.h>
#include <linux/virtio_net.h>

#include "packet.h"
#include "replay.h"

#define PEER_PORT 7000
/* The window that the peer announces: as good as none. */
#define WINDOW_SCALE 14
/* As many full segments as the kernel puts in a buffer, twice. */
#define WRITE_SEGMENTS 90
#define PAYLOAD 1448u
#define MAX_PLANS 256
#define MAX_BLOCKS 512
#define MAX_ACKS 4096

static struct event *ring;
static volatile uint64_t *ring_count;
static uint64_t ring_taken;
static struct buffer seen;
static int tun = -1, sock = -1;
static uint64_t zero;

/* What is to happen at a time: the link's rate changes, the application writes. */
static struct plan {
	uint64_t at_ns, value;
	bool writes;
} plans[MAX_PLANS];
static uint32_t plan_count, plan_next;

static struct {
	uint64_t rtt_ns, buffer, mark_ns, late_ns, hold_ns, bunch_ns, end_ns;
	uint64_t loss, reorder, ack_loss; /* of a million */
	uint64_t every;
	bool echoes_each;
} path;
static uint64_t rate_bps, free_ns, random_state;

/* A segment on its way: it comes at a time to the peer. */
struct in_flight {
	uint64_t at_ns;
	uint32_t seq, length, stamp;
	bool ce, cwr;
};
static struct in_flight *heap;
static uint32_t heap_count, heap_room;

/* The peer. */
static struct {
	uint32_t next, stamp, last_ack;
	struct {
		uint32_t from, to;
	} blocks[MAX_BLOCKS]; /* the newest first */
	uint32_t block_count, twice_from, twice_to;
	uint32_t
		waiting; /* segments that came since the last acknowledgement */
	uint64_t hold_ns; /* when that goes at the latest; NEVER */
	bool ece, ce;
	uint16_t port;
	uint32_t isn, seq;
	uint64_t syn_ns; /* when the SYN is answered; NEVER */
	uint32_t syn_stamp;
	bool syn_ecn;
} peer;

struct ack {
	uint64_t at_ns;
	uint32_t length;
	uint8_t packet[160];
};
static struct ack acks[MAX_ACKS];
static uint32_t ack_first, ack_count;

uint64_t replay_draw(void)
{
	/* xorshift64*: Vigna 2016 */
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 2685821657736338717ull;
}

bool replay_happens(uint64_t of_a_million)
{
	return of_a_million && (replay_draw() >> 11) % 1000000 < of_a_million;
}

bool replay_start(void)
{
	int map = watch_pinned("/sys/fs/bpf/maps/events");
	int count = watch_pinned("/sys/fs/bpf/maps/event_count");

	ring = mmap(NULL, EVENTS * sizeof(*ring), PROT_READ | PROT_WRITE,
		    MAP_SHARED, map, 0);
	ring_count =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, count, 0);
	if (ring == MAP_FAILED || ring_count == MAP_FAILED ||
	    !watch_attach("/sys/fs/bpf/programs/on_segment") ||
	    !watch_attach("/sys/fs/bpf/programs/on_sent")) {
		fail("the replay's trace programs: %s", strerror(errno));
		return false;
	}
	prctl(PR_SET_TIMERSLACK, 1);
	return true;
}

bool replay_device(int *fd, const char *ns, short kind, unsigned int offloads)
{
	struct ifreq ask = { .ifr_flags =
				     (short)(kind | IFF_NO_PI | IFF_VNET_HDR) };
	int index = TUN_INDEX;
	bool done;

	if (*fd >= 0)
		close(*fd);
	strcpy(ask.ifr_name, "tun0");
	*fd = enter(ns) ?
		      open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC) :
		      -1;
	done = *fd >= 0 && ioctl(*fd, TUNSETIFINDEX, &index) == 0 &&
	       ioctl(*fd, TUNSETIFF, &ask) == 0 &&
	       ioctl(*fd, TUNSETOFFLOAD, offloads) == 0;
	if (!done)
		fail("a device of ours: %s", strerror(errno));
	enter(NULL);
	return done;
}

bool replay_tun(const char *ns)
{
	return replay_device(&tun, ns, IFF_TUN, TUN_F_CSUM | TUN_F_TSO4);
}

bool replay_plan(uint64_t at_ns, uint64_t value, bool writes)
{
	if (plan_count == MAX_PLANS) {
		fail("more than %d plans", MAX_PLANS);
		return false;
	}
	plans[plan_count++] = (struct plan){ at_ns, value, writes };
	return true;
}

/* Moves what the trace programs have seen to where it is kept. */
void replay_take(void)
{
	uint64_t now = *ring_count;

	if (now - ring_taken > EVENTS)
		fail("more than %u events at once", EVENTS);
	for (; ring_taken < now; ring_taken++)
		put(&seen, &ring[ring_taken % EVENTS], sizeof(*ring));
}

/* A connection begins. */
void replay_begin(uint64_t chance)
{
	random_state = chance | 1;
	seen.length = 0;
	ring_taken = *ring_count;
}

void replay_end(void)
{
	write_block(BLOCK_REPLAY, seen.at, seen.length);
	write_block(BLOCK_END, "", 0);
}

struct event *replay_add(uint32_t kind)
{
	struct event *e = &ring[*ring_count % EVENTS];

	memset(e, 0, sizeof(*e));
	e->kind = kind;
	e->at_ns = now_ns();
	*ring_count += 1;
	return e;
}

static void schedule(struct in_flight f)
{
	uint32_t at = heap_count++;

	if (heap_count > heap_room) {
		heap_room = 2 * heap_room + 4096;
		heap = realloc(heap, heap_room * sizeof(*heap));
		if (!heap)
			abort();
	}
	while (at > 0 && heap[(at - 1) / 2].at_ns > f.at_ns) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = f;
}

static struct in_flight land(void)
{
	struct in_flight first = heap[0], last = heap[--heap_count];
	uint32_t at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= heap_count)
			break;
		if (child + 1 < heap_count &&
		    heap[child + 1].at_ns < heap[child].at_ns)
			child++;
		if (heap[child].at_ns >= last.at_ns)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
	return first;
}

/* A packet of the peer's, with options that begin at byte 20 of TCP. */
static void answer(uint64_t at_ns, uint8_t flags, const uint8_t *options,
		   uint32_t length)
{
	struct ack *a = &acks[(ack_first + ack_count) % MAX_ACKS];
	uint8_t *p = a->packet, *ip = p + sizeof(struct virtio_net_hdr);

	if (ack_count == MAX_ACKS) {
		fail("more than %d acknowledgements at once", MAX_ACKS);
		return;
	}
	memset(p, 0, sizeof(a->packet));
	*(struct virtio_net_hdr *)p =
		(struct virtio_net_hdr){ .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
					 .csum_start = 20,
					 .csum_offset = 16 };
	write_headers(ip, 0,
		      (struct tcp_says){ PEER_PORT, peer.port, peer.seq,
					 peer.next, flags },
		      options, length, 0);
	a->length = (uint32_t)sizeof(struct virtio_net_hdr) + 40 + length;
	if (path.bunch_ns && !(flags & FLAG_SYN))
		at_ns = (at_ns / path.bunch_ns + 1) * path.bunch_ns;
	a->at_ns = at_ns;
	ack_count++;
}

static void acknowledge(uint64_t now)
{
	uint8_t o[40] = { 1, 1, 8, 10 };
	uint32_t length = 12, n = 0;
	bool twice = peer.twice_to != peer.twice_from;

	set32(o + 4, (uint32_t)(now / 1000000) + 1);
	set32(o + 8, peer.stamp);
	peer.waiting = 0;
	peer.hold_ns = NEVER;
	peer.last_ack = peer.next;
	if (twice || peer.block_count) {
		uint8_t *at = o + 16;

		if (twice) {
			set32(at, peer.twice_from);
			set32(at + 4, peer.twice_to);
			at += 8;
			n++;
		}
		for (uint32_t i = 0; i < peer.block_count && n < 3; i++, n++) {
			set32(at, peer.blocks[i].from);
			set32(at + 4, peer.blocks[i].to);
			at += 8;
		}
		o[12] = o[13] = 1;
		o[14] = 5;
		o[15] = (uint8_t)(2 + 8 * n);
		length = 16 + 8 * n;
		peer.twice_from = peer.twice_to = 0;
	}
	if (!replay_happens(path.ack_loss))
		answer(now, FLAG_ACK | (peer.ece ? FLAG_ECE : 0), o, length);
}

static void forget_block(uint32_t i)
{
	peer.block_count--;
	memmove(&peer.blocks[i], &peer.blocks[i + 1],
		(peer.block_count - i) * sizeof(peer.blocks[0]));
}

/* Out of order: a block of its own, or one that grows; it is the newest then. */
static void keep(uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < peer.block_count; i++) {
		uint32_t lo = peer.blocks[i].from, hi = peer.blocks[i].to;

		if ((int32_t)(from - lo) >= 0 && (int32_t)(hi - to) >= 0) {
			peer.twice_from = from;
			peer.twice_to = to;
		}
		if ((int32_t)(to - lo) < 0 || (int32_t)(hi - from) < 0)
			continue;
		if ((int32_t)(lo - from) < 0)
			from = lo;
		if ((int32_t)(hi - to) > 0)
			to = hi;
		forget_block(i--);
	}
	if (peer.block_count == MAX_BLOCKS)
		forget_block(MAX_BLOCKS - 1);
	memmove(&peer.blocks[1], &peer.blocks[0],
		peer.block_count * sizeof(peer.blocks[0]));
	peer.blocks[0].from = from;
	peer.blocks[0].to = to;
	peer.block_count++;
}

static void receive(struct in_flight f, uint64_t now)
{
	uint32_t end = f.seq + f.length;
	bool at_once = peer.block_count > 0;

	if (path.echoes_each) {
		if (f.ce != peer.ce && peer.waiting)
			acknowledge(now);
		at_once |= f.ce != peer.ce;
		peer.ce = peer.ece = f.ce;
	} else {
		if (f.cwr)
			peer.ece = false;
		peer.ece |= f.ce;
	}
	if ((int32_t)(f.seq - peer.last_ack) <= 0)
		peer.stamp = f.stamp;
	if ((int32_t)(end - peer.next) <= 0) {
		peer.twice_from = f.seq;
		peer.twice_to = end;
		at_once = true;
	} else if ((int32_t)(f.seq - peer.next) > 0) {
		keep(f.seq, end);
		at_once = true;
	} else {
		peer.next = end;
		for (uint32_t i = 0; i < peer.block_count; i++)
			if ((int32_t)(peer.blocks[i].from - peer.next) <= 0) {
				if ((int32_t)(peer.blocks[i].to - peer.next) >
				    0)
					peer.next = peer.blocks[i].to;
				forget_block(i);
				i = UINT32_MAX;
			}
	}
	peer.waiting++;
	if (at_once || peer.waiting >= path.every)
		acknowledge(now);
	else if (peer.hold_ns == NEVER)
		peer.hold_ns = now + path.hold_ns;
}

/* A full segment takes its time on the link, if there is room for it. */
static void carry(struct in_flight f, bool ect, uint64_t now)
{
	uint64_t bits = (f.length + 66ull) * 8;
	uint64_t begin = free_ns > now ? free_ns : now;
	uint64_t waits = begin - now;

	if (waits * (rate_bps / 1000) / 1000000 / 8 > path.buffer)
		return;
	f.ce = ect && path.mark_ns && waits > path.mark_ns;
	free_ns = begin + bits * NS_PER_SEC / rate_bps;
	if (replay_happens(path.loss))
		return;
	f.at_ns = free_ns + path.rtt_ns;
	if (replay_happens(path.reorder))
		f.at_ns += path.late_ns;
	schedule(f);
}

/* What TCP has sent. */
static void read_all(void)
{
	static uint8_t p[2048];
	ssize_t n;

	while ((n = read(tun, p, sizeof(p))) > 0) {
		struct tcp_packet t;
		uint64_t now = now_ns();

		if (!read_headers(p, n, &t))
			continue;

		const uint8_t *tcp = t.tcp;
		uint32_t total = t.total ? t.total : 65536;
		uint32_t head = t.head, seq = get32(tcp + 4);

		if (tcp[13] & FLAG_SYN) {
			peer.port = (uint16_t)(tcp[0] << 8 | tcp[1]);
			peer.isn = seq;
			peer.syn_stamp = stamp_of(tcp);
			peer.syn_ecn = (tcp[13] & FLAG_ECE) &&
				       (tcp[13] & FLAG_CWR);
			if (peer.syn_ns == NEVER)
				peer.syn_ns = now + path.rtt_ns;
			continue;
		}
		uint32_t left = total - 20 - head;
		uint32_t each = t.v->gso_type ? t.v->gso_size : left;
		bool ect = (t.ip[1] & 3) == IP_ECT0;

		for (bool cwr = tcp[13] & FLAG_CWR; left > 0; cwr = false) {
			uint32_t length = left < each ? left : each;

			carry((struct in_flight){ .seq = seq,
						  .length = length,
						  .stamp = stamp_of(tcp),
						  .cwr = cwr },
			      ect, now);
			seq += length;
			left -= length;
		}
	}
}

static void answer_syn(uint64_t now)
{
	uint8_t o[20] = { 2, 4, 1460 >> 8, 1460 & 255, 4, 2, 8, 10 };

	set32(o + 8, (uint32_t)(now / 1000000) + 1);
	set32(o + 12, peer.syn_stamp);
	o[16] = 1;
	o[17] = 3;
	o[18] = 3;
	o[19] = WINDOW_SCALE;
	peer.syn_ns = NEVER - 1;
	peer.seq = 1000;
	peer.next = peer.last_ack = peer.isn + 1;
	peer.stamp = peer.syn_stamp;
	answer(now, FLAG_SYN | FLAG_ACK | (peer.syn_ecn ? FLAG_ECE : 0), o, 20);
	peer.seq++;
}

/* The application: what it has still to write, and whether it waits for room. */
static struct {
	uint64_t left; /* bytes; NEVER: without end */
	bool full;
} writer;

static void write_more(void)
{
	static const char bytes[WRITE_SEGMENTS * PAYLOAD];

	if (writer.full) {
		struct pollfd p = { .fd = sock, .events = POLLOUT };

		if (poll(&p, 1, 0) <= 0 || !(p.revents & POLLOUT))
			return;
		writer.full = false;
	}
	while (writer.left > 0) {
		size_t length = writer.left < sizeof(bytes) ? writer.left :
							      sizeof(bytes);
		struct event *e = replay_add(EVENT_WRITE);
		ssize_t n =
			send(sock, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);

		e->length = n > 0 ? (uint32_t)n : 0;
		read_all();
		replay_take();
		if (n <= 0) {
			writer.full = true;
			return;
		}
		if (writer.left != NEVER)
			writer.left -= (uint64_t)n;
	}
}

static uint64_t earliest(void)
{
	uint64_t next = zero + path.end_ns;

	if (plan_next < plan_count && zero + plans[plan_next].at_ns < next)
		next = zero + plans[plan_next].at_ns;
	if (heap_count && heap[0].at_ns < next)
		next = heap[0].at_ns;
	if (ack_count && acks[ack_first].at_ns < next)
		next = acks[ack_first].at_ns;
	if (peer.hold_ns < next)
		next = peer.hold_ns;
	if (peer.syn_ns < next)
		next = peer.syn_ns;
	return next;
}

/* The earliest of what is due. */
static void happen(uint64_t now)
{
	if (ack_count && acks[ack_first].at_ns <= now) {
		struct ack *a = &acks[ack_first];

		ack_first = (ack_first + 1) % MAX_ACKS;
		ack_count--;
		if (write(tun, a->packet, a->length) < 0)
			fail("an acknowledgement: %s", strerror(errno));
		read_all();
		replay_take();
		write_more();
		return;
	}
	if (peer.syn_ns <= now)
		answer_syn(now);
	if (peer.hold_ns <= now)
		acknowledge(now);
	if (heap_count && heap[0].at_ns <= now)
		receive(land(), now);
	if (plan_next < plan_count && zero + plans[plan_next].at_ns <= now) {
		struct plan *p = &plans[plan_next++];

		if (!p->writes) {
			/* What waits takes longer or shorter from now on. */
			if (free_ns > now)
				free_ns = now + (free_ns - now) *
							(rate_bps / 1000) /
							(p->value / 1000);
			rate_bps = p->value;
		} else {
			if (p->value == 0)
				writer.left = NEVER;
			else if (writer.left != NEVER)
				writer.left += p->value * PAYLOAD;
			replay_add(EVENT_PLAN)->length = (uint32_t)p->value;
			write_more();
		}
	}
}

static bool begin(const char *ns, const char *cca)
{
	struct sockaddr_in to = flows_address(PEER, PEER_PORT);

	sock = flows_socket(ns, SOCK_STREAM, HERE, 0, cca);
	if (sock < 0 ||
	    (connect(sock, (struct sockaddr *)&to, sizeof(to)) < 0 &&
	     errno != EINPROGRESS)) {
		fail("a connection with %s: %s", cca, strerror(errno));
		return false;
	}
	return true;
}

bool replay_send(const char *ns, const char *cca, const uint64_t *n)
{
	struct linger gone = { 1, 0 };

	path.rtt_ns = n[0];
	path.buffer = n[1];
	path.loss = n[2];
	path.mark_ns = n[3];
	path.reorder = n[4];
	path.late_ns = n[5];
	path.every = n[6];
	path.hold_ns = n[7];
	path.bunch_ns = n[8];
	path.ack_loss = n[9];
	path.end_ns = n[11];
	path.echoes_each = !strcmp(cca, "dctcp");
	memset(&peer, 0, sizeof(peer));
	peer.hold_ns = peer.syn_ns = NEVER;
	heap_count = ack_count = ack_first = 0;
	writer.left = 0;
	writer.full = false;
	plan_next = 0;
	free_ns = 0;
	rate_bps = 1000000000;
	replay_begin(n[10]);
	zero = now_ns();
	if (!begin(ns, cca))
		return false;
	for (;;) {
		uint64_t now = now_ns(), next;

		read_all();
		replay_take();
		if (now >= zero + path.end_ns)
			break;
		next = earliest();
		if (next <= now) {
			happen(now);
			continue;
		}
		struct timespec t = { (time_t)((next - now) / NS_PER_SEC),
				      (long)((next - now) % NS_PER_SEC) };
		struct pollfd p[2] = { { .fd = tun, .events = POLLIN },
				       { .fd = sock, .events = POLLOUT } };

		if (ppoll(p, writer.full ? 2 : 1, &t, NULL) > 0 && writer.full)
			write_more();
	}
	setsockopt(sock, SOL_SOCKET, SO_LINGER, &gone, sizeof(gone));
	close(sock);
	sock = -1;
	close(tun);
	tun = -1;
	plan_count = 0;
	replay_end();
	return true;
}
