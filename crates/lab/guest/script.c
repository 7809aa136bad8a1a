// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A script of packetdrill's on the kernel's own TCP: a tun device whose far end this program is, an application that makes
 * system calls, and a list of what happens when (crates/packetdrill/src/plan.rs writes it, played.rs reads what came of it).
 *
 * A line is an event: NUMBER WHEN FROM TO EXACT WHAT ..., times in us. An event of several lines happens once. `at` counts from
 * the script's begin, `after` from when the event before was over: what comes out when, and when a call ends, is known here alone.
 * Whatever is waited for has an end in the machine's time, which says what it waited for. Should that time stand still, the host knows
 * what is done from a port of the machine's that costs an instruction a byte (DOING).
 */
#define _GNU_SOURCE
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/tcp.h>
#include <linux/virtio_net.h>

#include "packet.h"

#define PORT 8080
#define PEER_PORT 40000 /* of the first connection; the next has the next */
/* QEMU's isa-debugcon. */
#define DOING 0xe9
#define MAX_WORDS 32
#define MAX_FDS 64
#define MAX_STAMPS 512
#define MAX_OPTIONS 40
#define HEADERS 120 /* of IP and TCP, with options */
#define NS_PER_US 1000ull
#define TICK_NS 4000000ull /* 250 Hz */
#define LOOK_NS 100000ull
#define WHEEL 512
/* How long a call is waited for. */
#define CALL_NS (60 * NS_PER_SEC)

enum entry_kind {
	ENTRY_ZERO = 1, /* the script begins */
	ENTRY_PACKET = 2, /* one went out: IP and TCP headers */
	ENTRY_CALL = 3, /* a call returned: what it told */
	ENTRY_INFO = 4, /* TCP_INFO */
	ENTRY_DONE = 5, /* an event is over */
	ENTRY_STOP = 6, /* text: why the rest did not happen */
	ENTRY_REFUSED =
		7, /* the same, because the kernel has not what was asked */
	ENTRY_COUNTERS = 8, /* /proc/net/netstat */
	ENTRY_MEMORY = 9, /* SO_MEMINFO */
	ENTRY_AGAIN = 10, /* another connection begins */
};

struct entry {
	uint64_t at_ns, begin_ns;
	uint32_t kind, number;
	int32_t error;
	uint32_t length;
	int64_t result;
};

_Static_assert(sizeof(struct entry) == 40, "HEAD in played.rs");

/* A TCP packet that went out. */
struct out {
	uint64_t at_ns;
	uint32_t seq, length, stamp;
	uint8_t flags;
};

static int tun = -1;
static struct buffer entries;
static struct out *outs;
static uint32_t out_count, out_taken, out_room;
static uint64_t zero;
static bool stopped;

static struct {
	bool strict, scaled;
	bool client; /* it connects */
	uint16_t port,
		peer_port; /* the kernel's, of a client; the peer's, of a server */
	uint16_t old[MAX_FDS]; /* ports of clients before */
	uint32_t old_count;
	uint32_t isn,
		script_isn; /* that the kernel begins with, and of it the script's */
	uint32_t peer_isn;
	int fds[MAX_FDS], subject; /* by the script's numbers; the connection */
	bool has_info;
	struct {
		uint32_t script, live;
	} stamps[MAX_STAMPS]; /* that belong to each other */
	uint32_t stamp_count;
	char control[16];
	uint64_t ticks; /* of the clock at which the script begins */
	/* How long a packet is waited for behind its time, and one that may come at any. */
	uint64_t patience_ns, longest_ns;
} state;

/* The thread that makes the calls, and what it is asked. */
static struct {
	int ask, told; /* event counters */
	char *words[MAX_WORDS + 1], text[256];
	uint32_t number, length;
	bool busy;
	uint64_t begin_ns, at_ns;
	int64_t result;
	int error;
	uint32_t bytes[3 * 64];
} call;

static int64_t number_of(const char *word)
{
	return word ? strtoll(word, NULL, 10) : 0;
}

static void enter_log(struct entry e, const void *bytes)
{
	put(&entries, &e, sizeof(e));
	if (e.length)
		put(&entries, bytes, e.length);
}

/* What there is now of an event. */
static void log_now(enum entry_kind kind, uint32_t number, const void *bytes,
		    uint32_t length)
{
	enter_log((struct entry){ .at_ns = now_ns(),
				  .kind = kind,
				  .number = number,
				  .length = length },
		  bytes);
}

static void stop(enum entry_kind kind, uint32_t number, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void stop(enum entry_kind kind, uint32_t number, const char *format, ...)
{
	char text[256];
	va_list args;

	if (stopped)
		return;
	stopped = true;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_now(kind, number, text, (uint32_t)strlen(text));
}

/* For the host: what is done now. */
static void doing(uint32_t number, const char *what)
{
	char text[64];

	snprintf(text, sizeof(text), "%u %s\n", number, what);
	for (const char *at = text; *at; at++)
		outb((unsigned char)*at, DOING);
}

/* Is a packet of the connection that is looked at? */
static bool is_ours(const uint8_t *tcp)
{
	uint16_t from = (uint16_t)(tcp[0] << 8 | tcp[1]);
	uint16_t to = (uint16_t)(tcp[2] << 8 | tcp[3]);
	bool before = false;

	for (uint32_t i = 0; i < state.old_count; i++)
		before |= from == state.old[i];
	return to == state.peer_port || (to == PORT && !before);
}

/* What TCP has sent. */
static void read_all(void)
{
	static uint8_t p[2048];
	ssize_t n;

	while ((n = read(tun, p, sizeof(p))) > 0) {
		struct tcp_packet t;
		struct out *o;

		if (!read_headers(p, n, &t) || !is_ours(t.tcp))
			continue;
		if (out_count == out_room) {
			out_room = 2 * out_room + 256;
			outs = realloc(outs, out_room * sizeof(*outs));
			if (!outs)
				abort();
		}
		o = &outs[out_count++];
		*o = (struct out){ .at_ns = now_ns(),
				   .seq = get32(t.tcp + 4),
				   .length = t.total - 20 - t.head,
				   .stamp = stamp_of(t.tcp),
				   .flags = t.tcp[13] };
		if (state.client && (o->flags & FLAG_SYN))
			state.port = (uint16_t)(t.tcp[0] << 8 | t.tcp[1]);
		enter_log((struct entry){ .at_ns = o->at_ns,
					  .kind = ENTRY_PACKET,
					  .length = 20 + t.head,
					  .result = t.v->gso_size },
			  t.ip);
	}
}

/* The call has returned. */
static void hear_call(void)
{
	uint64_t count;

	if (!call.busy || read(call.told, &count, sizeof(count)) < 0)
		return;
	call.busy = false;
	enter_log((struct entry){ .at_ns = call.at_ns,
				  .begin_ns = call.begin_ns,
				  .kind = ENTRY_CALL,
				  .number = call.number,
				  .error = call.error,
				  .length = call.length,
				  .result = call.result },
		  call.bytes);
}

/* Until shortly before that time, or until something goes out or a call returns. */
static void wait_some(uint64_t until)
{
	struct pollfd p[2] = { { .fd = tun, .events = POLLIN },
			       { .fd = call.told, .events = POLLIN } };
	uint64_t now = now_ns(), left = until > now ? until - now : 0;
	struct timespec t;

	/* ppoll(2) may be late by a thousandth (__estimate_accuracy()): so it ends a little before, and the rest is waited for anew. */
	left -= left / 256;
	t = (struct timespec){ (time_t)(left / NS_PER_SEC),
			       (long)(left % NS_PER_SEC) };
	ppoll(p, 2, &t, NULL);
	read_all();
	hear_call();
}

static void wait_until(uint64_t until)
{
	do
		wait_some(until);
	while (now_ns() < until);
}

/* The calls. */

static int live(const char *word)
{
	int64_t n = number_of(word);

	return n >= 0 && n < MAX_FDS ? state.fds[n] : -1;
}

/* A new descriptor has the number that the script gives it. */
static int64_t known_as(const char *word, int fd)
{
	int64_t n = number_of(word);

	if (fd < 0)
		return fd;
	if (n < 0 || n >= MAX_FDS) {
		close(fd);
		errno = EMFILE;
		return -1;
	}
	state.fds[n] = fd;
	return n;
}

static void *room_of(uint64_t bytes)
{
	static char *room;
	static uint64_t size;

	if (bytes > size) {
		free(room);
		room = calloc(1, bytes);
		size = bytes;
		if (!room)
			abort();
	}
	return room ? room : (void *)&size;
}

static int64_t receive(char **w)
{
	char control[256];
	uint64_t most = (uint64_t)number_of(w[2]);
	struct iovec part = { number_of(w[4]) ? NULL : room_of(most), most };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	if (number_of(w[5])) {
		m.msg_control = control;
		m.msg_controllen = sizeof(control);
	}
	n = recvmsg(live(w[1]), &m, (int)number_of(w[3]));
	for (struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m); c;
	     c = CMSG_NXTHDR(&m, c))
		/* TCP_CM_INQ */
		if (c->cmsg_level == IPPROTO_TCP && c->cmsg_type == TCP_INQ) {
			memcpy(call.bytes, CMSG_DATA(c), 4);
			call.length = 4;
		}
	return n;
}

static int64_t send_bytes(char **w)
{
	uint64_t bytes = (uint64_t)number_of(w[2]);
	struct iovec part = { number_of(w[4]) ? NULL : room_of(bytes), bytes };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	return sendmsg(live(w[1]), &m, (int)number_of(w[3]) | MSG_NOSIGNAL);
}

static int64_t poll_one(char **w)
{
	struct pollfd p = { .fd = live(w[1]),
			    .events = (short)number_of(w[2]) };
	int n = poll(&p, 1, (int)number_of(w[3]));

	call.bytes[0] = (uint16_t)p.revents;
	call.length = 4;
	return n;
}

static int64_t epoll_some(char **w)
{
	struct epoll_event e[64];
	int most = (int)number_of(w[2]);
	int n = epoll_wait(live(w[1]), e, most > 64 ? 64 : most,
			   (int)number_of(w[3]));

	for (int i = 0; i < n; i++) {
		call.bytes[3 * i] = e[i].events;
		call.bytes[3 * i + 1] = (uint32_t)e[i].data.u64;
		call.bytes[3 * i + 2] = (uint32_t)(e[i].data.u64 >> 32);
	}
	call.length = n > 0 ? 12 * (uint32_t)n : 0;
	return n;
}

static int64_t option(char **w, bool set)
{
	int value = (int)number_of(w[4]);
	socklen_t length = sizeof(value);
	int fd = live(w[1]), level = (int)number_of(w[2]),
	    name = (int)number_of(w[3]), rc;

	if (set)
		return setsockopt(fd, level, name, &value, length);
	value = 0;
	rc = getsockopt(fd, level, name, &value, &length);
	memcpy(call.bytes, &value, 4);
	call.length = 4;
	return rc;
}

static int64_t accept_one(char **w)
{
	int64_t n = known_as(w[2], accept(live(w[1]), NULL, NULL));

	if (n >= 0)
		state.subject = (int)n;
	return n;
}

static int64_t close_one(char **w)
{
	int64_t n = number_of(w[1]);
	int fd = live(w[1]);

	if (fd >= 0)
		state.fds[n] = -1;
	if (n == state.subject)
		state.subject = -1;
	return close(fd);
}

static int64_t make_call(char **w)
{
	struct sockaddr_in here = flows_address(HERE, PORT);
	struct sockaddr_in peer = flows_address(PEER, PORT);
	struct epoll_event e = { 0 };
	const char *verb = w[0];
	int fd, left = 0;
	int64_t n;

	if (!strcmp(verb, "socket")) {
		fd = socket(AF_INET, (int)number_of(w[2]) | SOCK_CLOEXEC, 0);
		if (fd >= 0 && state.control[0])
			setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION,
				   state.control,
				   (socklen_t)strlen(state.control));
		return known_as(w[1], fd);
	}
	if (!strcmp(verb, "bind"))
		return bind(live(w[1]), (struct sockaddr *)&here, sizeof(here));
	if (!strcmp(verb, "listen"))
		return listen(live(w[1]), (int)number_of(w[2]));
	if (!strcmp(verb, "accept"))
		return accept_one(w);
	if (!strcmp(verb, "connect")) {
		state.client = true;
		state.subject = (int)number_of(w[1]);
		return connect(live(w[1]), (struct sockaddr *)&peer,
			       sizeof(peer));
	}
	if (!strcmp(verb, "send"))
		return send_bytes(w);
	if (!strcmp(verb, "recv"))
		return receive(w);
	if (!strcmp(verb, "fcntl"))
		return fcntl(live(w[1]), (int)number_of(w[2]),
			     (int)number_of(w[3]));
	if (!strcmp(verb, "ioctl")) {
		n = ioctl(live(w[1]), (unsigned long)number_of(w[2]), &left);
		memcpy(call.bytes, &left, 4);
		call.length = 4;
		return n;
	}
	if (!strcmp(verb, "set") || !strcmp(verb, "get"))
		return option(w, *verb == 's');
	if (!strcmp(verb, "control"))
		return setsockopt(live(w[1]), IPPROTO_TCP, TCP_CONGESTION, w[2],
				  (socklen_t)strlen(w[2]));
	if (!strcmp(verb, "close"))
		return close_one(w);
	if (!strcmp(verb, "shutdown"))
		return shutdown(live(w[1]), (int)number_of(w[2]));
	if (!strcmp(verb, "poll"))
		return poll_one(w);
	if (!strcmp(verb, "epoll_create"))
		return known_as(w[1], epoll_create((int)number_of(w[2])));
	if (!strcmp(verb, "epoll_ctl")) {
		e.events = (uint32_t)number_of(w[4]);
		e.data.u64 = (uint64_t)number_of(w[5]);
		return epoll_ctl(live(w[1]), (int)number_of(w[2]), live(w[3]),
				 &e);
	}
	if (!strcmp(verb, "epoll_wait"))
		return epoll_some(w);
	if (!strcmp(verb, "nothing"))
		return 0;
	errno = ENOSYS;
	return -1;
}

static void *caller(void *none)
{
	uint64_t one = 1, count;

	(void)none;
	prctl(PR_SET_TIMERSLACK, 1);
	while (read(call.ask, &count, sizeof(count)) > 0) {
		call.length = 0;
		call.begin_ns = now_ns();
		call.result = make_call(call.words);
		call.error = call.result < 0 ? errno : 0;
		call.at_ns = now_ns();
		if (write(call.told, &one, sizeof(one)) < 0)
			break;
	}
	return NULL;
}

/* Until no call waits, or so long. */
static bool idle_by(uint64_t until)
{
	while (call.busy && now_ns() < until)
		wait_some(until);
	return !call.busy;
}

static void ask_call(uint32_t number, bool waits, char **w, int n)
{
	uint64_t one = 1;
	char *at = call.text;

	/* As packetdrill: one call after the other. */
	if (!idle_by(now_ns() + CALL_NS)) {
		stop(ENTRY_STOP, number,
		     "the call of event %u still waits after %llu s",
		     call.number, CALL_NS / NS_PER_SEC);
		return;
	}
	for (int i = 0; i < n; i++) {
		size_t length = strlen(w[i]) + 1;

		if (at + length > call.text + sizeof(call.text)) {
			stop(ENTRY_REFUSED, number, "a call of many words");
			return;
		}
		call.words[i] = memcpy(at, w[i], length);
		at += length;
	}
	call.words[n] = NULL;
	call.number = number;
	call.busy = true;
	if (write(call.ask, &one, sizeof(one)) < 0)
		stop(ENTRY_STOP, number, "a call: %s", strerror(errno));
	/* One that may wait begins at once. */
	if (waits)
		idle_by(now_ns() + NS_PER_US);
	else if (!idle_by(now_ns() + CALL_NS))
		stop(ENTRY_STOP, number, "it waits for more than %llu s",
		     CALL_NS / NS_PER_SEC);
}

/* Packets. */

static uint32_t live_stamp(uint32_t script)
{
	for (uint32_t i = state.stamp_count; i-- > 0;)
		if (state.stamps[i].script == script)
			return state.stamps[i].live;
	if (state.scaled && state.stamp_count)
		return script - state.stamps[0].script + state.stamps[0].live;
	return script;
}

/* What the script's numbers of a header are for the kernel. A SYN has those that the ends begin with, all others count from there. */
static void make_live(uint8_t *tcp, uint32_t head)
{
	bool ack = tcp[13] & FLAG_ACK, syn = tcp[13] & FLAG_SYN;
	uint32_t delta = syn ? state.isn - state.script_isn : state.isn;

	set16(tcp, state.client ? PORT : state.peer_port);
	set16(tcp + 2, state.client ? state.port : PORT);
	if (!syn)
		set32(tcp + 4, get32(tcp + 4) + state.peer_isn);
	if (ack)
		set32(tcp + 8, get32(tcp + 8) + delta);
	for (uint32_t at = 20; at + 1 < head;) {
		uint8_t kind = tcp[at], length = tcp[at + 1];

		if (kind == 1) {
			at++;
			continue;
		}
		if (kind == 0 || length < 2 || at + length > head)
			break;
		for (uint32_t i = at + 2; kind == 5 && i < at + length; i += 4)
			set32(tcp + i, get32(tcp + i) + delta);
		if (kind == 8 && ack)
			set32(tcp + at + 6, live_stamp(get32(tcp + at + 6)));
		at += length;
	}
}

/* TCP's, over data that are all 0. */
static uint16_t checksum(const uint8_t *ip, uint32_t head, uint32_t length)
{
	uint32_t sum = 6 + head + length;

	for (uint32_t i = 12; i < 20 + head; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void inject(uint32_t number, char **w)
{
	static const uint8_t data[65536];
	uint8_t p[HEADERS] = { 0 }, *tcp = p + 20;
	uint32_t length = (uint32_t)number_of(w[1]),
		 of = (uint32_t)number_of(w[2]);
	uint32_t head = (uint32_t)strlen(w[3]) / 2;
	struct virtio_net_hdr v = { 0 };
	struct iovec parts[3] = { { &v, sizeof(v) },
				  { p, 20 + head },
				  { (void *)data, length } };
	struct tcp_says none = { 0 };

	if (head < 20 || head > 60 || length >= sizeof(data))
		return;
	write_headers(p, (uint8_t)number_of(w[0]), none, p, 0,
		      head - 20 + length);
	for (uint32_t i = 0; i < head; i++) {
		char two[3] = { w[3][2 * i], w[3][2 * i + 1], 0 };

		tcp[i] = (uint8_t)strtoul(two, NULL, 16);
	}
	make_live(tcp, head);
	/* As packetdrill, with a checksum and without the headers' length: how much memory the device puts the packet in depends on these
	 * (tun_vnet_hdr_get(), tun_alloc_skb()). */
	set16(tcp + 16, checksum(p, head, length));
	if (of) {
		v.gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
		v.gso_size = (uint16_t)of;
	}
	if (writev(tun, parts, length ? 3 : 2) < 0)
		stop(ENTRY_STOP, number, "a packet: %s", strerror(errno));
}

/* The next packet that goes out by then. */
static const struct out *sniff(uint64_t by)
{
	while (out_taken == out_count && now_ns() < by)
		wait_some(by);
	return out_taken < out_count ? &outs[out_taken++] : NULL;
}

/* Packets as run.rs takes them (`outbound`). */
static void expect(uint32_t number, char **w, uint64_t by)
{
	uint32_t length = (uint32_t)number_of(w[0]), got, size, last;
	int64_t stamp = number_of(w[3]);
	const struct out *o = sniff(by);

	if (!o) {
		stop(ENTRY_STOP, number, "no packet went out");
		return;
	}
	if (number_of(w[1]) && (o->flags & FLAG_SYN)) {
		state.script_isn = (uint32_t)number_of(w[2]);
		state.isn = o->seq;
	}
	if (stamp >= 0 && o->stamp && state.stamp_count < MAX_STAMPS) {
		state.stamps[state.stamp_count].script = (uint32_t)stamp;
		state.stamps[state.stamp_count++].live = o->stamp;
	}
	got = size = last = o->length;
	while (got < length && !state.strict && last == size && size > 0) {
		o = sniff(by);
		if (!o)
			break;
		last = o->length;
		got += last;
	}
}

static void tell_info(uint32_t number)
{
	uint8_t info[512];
	socklen_t length = sizeof(info), room = sizeof(info);
	int fd = state.subject < 0 ? -1 : state.fds[state.subject];

	if (fd >= 0 &&
	    getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &length) == 0)
		log_now(ENTRY_INFO, number, info, length);
	if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &room) == 0)
		log_now(ENTRY_MEMORY, number, info, room);
}

static void tell_counters(uint32_t number)
{
	static char text[16384];
	int fd = open("/proc/net/netstat", O_RDONLY | O_CLOEXEC);
	uint32_t length = 0;
	ssize_t n = 0;

	while (fd >= 0 && length < sizeof(text) &&
	       (n = read(fd, text + length, sizeof(text) - length)) > 0)
		length += (uint32_t)n;
	if (fd < 0 || n < 0)
		stop(ENTRY_REFUSED, number, "counters: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	log_now(ENTRY_COUNTERS, number, text, length);
}

/* Another connection, of other ports and numbers: what the one before still sends is not looked at. */
static void again(uint32_t peer_isn)
{
	read_all();
	out_taken = out_count;
	if (state.client && state.old_count < MAX_FDS)
		state.old[state.old_count++] = state.port;
	state.client = false;
	state.port = 0;
	state.peer_port++;
	state.peer_isn = peer_isn;
	state.isn = state.script_isn = 0;
	state.subject = -1;
	state.stamp_count = 0;
	log_now(ENTRY_AGAIN, 0, NULL, 0);
}

/* Commands. */

static void set_sysctl(uint32_t number, char **w, int n)
{
	char path[256], value[256] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/%s", w[0]);
	for (int i = 1; i < n; i++) {
		size_t at = strlen(value);

		snprintf(value + at, sizeof(value) - at, "%s%s",
			 i > 1 ? " " : "", w[i]);
	}
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		stop(ENTRY_REFUSED, number, "%s=%s: %s", w[0], value,
		     strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void set_qdisc(uint32_t number, char *kind)
{
	char *words[] = { "tc",	  "qdisc", "replace", "dev",
			  "tun0", "root",  kind,      NULL };

	if (!command(NULL, words))
		stop(ENTRY_REFUSED, number, "the qdisc %s", kind);
}

static void event(uint32_t number, const char *when, uint64_t by, char **w,
		  int n)
{
	if (!strcmp(w[0], "in") && n == 5)
		inject(number, w + 1);
	else if (!strcmp(w[0], "out") && n == 5)
		expect(number, w + 1,
		       !strcmp(when, "any") ? now_ns() + state.longest_ns :
					      by + state.patience_ns);
	else if (!strcmp(w[0], "call") && n > 2)
		ask_call(number, number_of(w[1]), w + 2, n - 2);
	else if (!strcmp(w[0], "info"))
		tell_info(number);
	else if (!strcmp(w[0], "counters"))
		tell_counters(number);
	else if (!strcmp(w[0], "again") && n == 2)
		again((uint32_t)number_of(w[1]));
	else if (!strcmp(w[0], "sysctl") && n > 2)
		set_sysctl(number, w + 1, n - 1);
	else if (!strcmp(w[0], "qdisc") && n == 2)
		set_qdisc(number, w[1]);
	else if (!strcmp(w[0], "gso") && n == 2)
		ioctl(tun, TUNSETOFFLOAD,
		      TUN_F_CSUM | (number_of(w[1]) ? TUN_F_TSO4 : 0));
	else if (!strcmp(w[0], "sleep") && n == 2)
		wait_until(now_ns() + (uint64_t)number_of(w[1]) * NS_PER_US);
	else if (strcmp(w[0], "nothing"))
		stop(ENTRY_REFUSED, number, "the guest's program does no %s",
		     w[0]);
}

/* In the middle of a tick, so that timers are as late as they are on the mean, and where the wheel of timers, whose buckets have up to
 * 512 ticks for what is due in 16 s, stands as it does for the simulated stack: how late one is depends on that. When ticks begin is
 * another time in each boot. */
static void begin(void)
{
	uint64_t end = now_ns() + 1000 * TICK_NS, looked, now;
	uint64_t hundredths, before;

	/* times(2) counts in hundredths of a second: every fifth tick begins an even one. Looks may come late. So the first one that finds
	 * an even one begun says only when the next one may begin, and there it is asked without a pause. */
	do {
		now = now_ns();
		hundredths = (uint64_t)times(NULL);
		do {
			looked = now;
			before = hundredths;
			wait_until(now + LOOK_NS);
			hundredths = (uint64_t)times(NULL);
			now = now_ns();
		} while (hundredths == before || hundredths % 2);
		wait_until(looked + 5 * TICK_NS - LOOK_NS);
		before = hundredths + 1;
		do {
			looked = now;
			hundredths = (uint64_t)times(NULL);
			now = now_ns();
		} while (hundredths == before);
		if (now > end) {
			stop(ENTRY_STOP, 0,
			     "no tick was seen to begin within %llu ms",
			     1000 * TICK_NS / 1000000);
			return;
		}
	} while (hundredths != before + 1 || now - looked > LOOK_NS);
	wait_until(now + TICK_NS / 2 +
		   (WHEEL + state.ticks % WHEEL - hundredths / 2 * 5 % WHEEL) %
			   WHEEL * TICK_NS);
	zero = now_ns();
	enter_log((struct entry){ .at_ns = zero, .kind = ENTRY_ZERO }, NULL);
}

static bool sets_up(char **w)
{
	return !strcmp(w[0], "sysctl") || !strcmp(w[0], "qdisc") ||
	       !strcmp(w[0], "gso") || !strcmp(w[0], "sleep") ||
	       !strcmp(w[0], "nothing") || !strcmp(w[0], "counters");
}

static void over(uint32_t number)
{
	read_all();
	hear_call();
	if (!stopped)
		log_now(ENTRY_DONE, number, NULL, 0);
}

/* Of the whole script: also what all connections begin with (`control`), whatever it sets. */
static bool header(char **w, int n)
{
	if (!strcmp(w[0], "strict"))
		state.strict = true;
	else if (!strcmp(w[0], "scaled"))
		state.scaled = true;
	else if (!strcmp(w[0], "peer") && n == 2)
		state.peer_isn = (uint32_t)number_of(w[1]);
	else if (!strcmp(w[0], "ticks") && n == 2)
		state.ticks = (uint64_t)number_of(w[1]);
	else if (!strcmp(w[0], "patience") && n == 3) {
		state.patience_ns = (uint64_t)number_of(w[1]) * NS_PER_US;
		state.longest_ns = (uint64_t)number_of(w[2]) * NS_PER_US;
	} else if (!strcmp(w[0], "control") && n == 2)
		snprintf(state.control, sizeof(state.control), "%s", w[1]);
	else
		return false;
	return true;
}

static void follow(FILE *file)
{
	char *text = NULL;
	size_t room = 0;
	uint32_t number = UINT32_MAX;
	uint64_t last = 0;
	bool last_inbound = false, exact = true;
	uint64_t from = 0, to = 0;

	while (!stopped && getline(&text, &room, file) > 0) {
		char *w[MAX_WORDS + 1];
		bool more;
		int n = split_line(text, w, MAX_WORDS, &more);

		if (n == 0 || header(w, n))
			continue;
		if (n < 6 || more) {
			stop(ENTRY_REFUSED, 0, "a line of %d words", n);
			break;
		}
		if ((uint32_t)number_of(w[0]) != number) {
			bool inbound = !strcmp(w[5], "in");
			uint64_t offset;

			if (number != UINT32_MAX) {
				over(number);
				last = zero && exact ? from : now_ns();
			}
			number = (uint32_t)number_of(w[0]);
			/* What is set before anything happens takes no time of the script's. */
			if (!zero && !sets_up(w + 5)) {
				begin();
				last = zero;
			}
			offset = last_inbound && inbound ? last : now_ns();
			last_inbound = inbound;
			exact = number_of(w[4]);
			if (!strcmp(w[1], "at"))
				offset = zero;
			from = offset + (uint64_t)number_of(w[2]) * NS_PER_US;
			to = offset + (uint64_t)number_of(w[3]) * NS_PER_US;
			if (zero && strcmp(w[5], "out")) {
				doing(number, "time");
				wait_until(from);
			}
		}
		doing(number, w[5]);
		event(number, w[1], to, w + 5, n - 5);
	}
	if (number != UINT32_MAX)
		over(number);
	/* What still waits may end in its time. */
	doing(call.number, "call");
	idle_by(now_ns() + CALL_NS);
	doing(number, "end");
	free(text);
}

/* Other namespaces than the first may set those congestion controls only that all may have. */
static void allow_controls(void)
{
	char names[512];
	int from = open("/proc/sys/net/ipv4/tcp_available_congestion_control",
			O_RDONLY | O_CLOEXEC);
	int to = open("/proc/sys/net/ipv4/tcp_allowed_congestion_control",
		      O_WRONLY | O_CLOEXEC);
	ssize_t n = from < 0 ? -1 : read(from, names, sizeof(names));

	if (n <= 0 || to < 0 || write(to, names, (size_t)n) < 0)
		fail("congestion controls: %s", strerror(errno));
	close(from);
	close(to);
}

/* A connection is begun and given up: the kernel's first takes it 18 ms to make keys and such (net_get_random_once()). */
static void warm_up(void)
{
	struct sockaddr_in peer = flows_address(PEER, PORT);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	char away[256];

	connect(fd, (struct sockaddr *)&peer, sizeof(peer));
	close(fd);
	while (read(tun, away, sizeof(away)) > 0)
		;
}

static void run(const char *ns, const char *path)
{
	pthread_t thread;
	FILE *file = fopen(path, "r");

	for (int i = 0; i < MAX_FDS; i++)
		state.fds[i] = -1;
	state.subject = -1;
	state.peer_port = PEER_PORT;
	call.ask = eventfd(0, EFD_CLOEXEC);
	call.told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	prctl(PR_SET_TIMERSLACK, 1);
	allow_controls();
	if (!file || call.ask < 0 || call.told < 0 || !enter(ns) ||
	    ioperm(DOING, 1, 1) ||
	    pthread_create(&thread, NULL, caller, NULL)) {
		fail("the script %s: %s", path, strerror(errno));
		return;
	}
	warm_up();
	follow(file);
	write_block(BLOCK_REPLAY, entries.at, entries.length);
	write_block(BLOCK_END, "", 0);
}

bool script_tun(const char *ns)
{
	return replay_device(&tun, ns, IFF_TUN, TUN_F_CSUM | TUN_F_TSO4);
}

/* A process of its own: whatever still waits, and all descriptors, end with it. */
bool script_run(const char *ns, const char *path)
{
	int status;
	pid_t child = fork();

	if (child < 0) {
		fail("the script %s: %s", path, strerror(errno));
		return false;
	}
	if (child == 0) {
		run(ns, path);
		_exit(0);
	}
	close(tun);
	tun = -1;
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
		fail("the script %s: its program ended (%d)", path, status);
		return false;
	}
	return true;
}
