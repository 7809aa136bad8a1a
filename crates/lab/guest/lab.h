/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The program that the lab's virtual machine runs as init. It reads /job (job.c), lays out namespaces with ip and tc,
 * sends traffic (flows.c), watches the bottleneck (watch.c) and writes what it saw to a virtio serial port. One
 * thread, one event loop: the machine has one processor, in virtual time.
 */
#ifndef QW_LAB_H
#define QW_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <netinet/in.h>

#define NS_PER_SEC 1000000000ull
/* No time: never. */
#define NEVER UINT64_MAX

/* Of what follows: crates/lab/src/stream.rs must have the same. */
#define VERSION 3

/* Kinds of a block, as crates/lab/src/stream.rs reads them. */
enum block {
	BLOCK_BEGIN = 1, /* struct begin */
	BLOCK_PACKETS =
		2, /* struct packet, one each that left the bottleneck */
	BLOCK_QDISC = 3, /* time (u64), length (u32), RTM_NEWQDISC messages */
	BLOCK_FLOWS = 4, /* struct flow_sample */
	BLOCK_DATAGRAMS = 5, /* struct datagram, one each that arrived */
	BLOCK_ENDS = 6, /* struct flow_end, one a flow */
	BLOCK_ERROR = 7, /* text: why the run failed */
	BLOCK_END = 8, /* nothing: the run is complete */
	BLOCK_MAPS =
		9, /* time (u64), which (u32), length (u32), a BPF map's value */
	BLOCK_COST = 10, /* struct cost */
	BLOCK_EVENTS = 12, /* as queue.bpf.c writes them */
	BLOCK_REPLAY = 11, /* struct event, one after the other (replay.h) */
};

struct begin {
	uint64_t
		zero_ns; /* CLOCK_MONOTONIC when the run's time began; all times are on that clock */
	char kernel[64];
};

/* As trace.bpf.c writes it. */
struct packet {
	uint64_t dequeue_ns;
	uint32_t sojourn_ns;
	uint16_t port; /* source port: FIRST_PORT + flow */
	uint16_t bytes; /* with the Ethernet header */
};

struct flow_sample {
	uint64_t at_ns;
	uint64_t received; /* application bytes that the receiver has read */
	uint64_t pacing_rate; /* bytes a second; all ones: none */
	uint32_t flow;
	uint32_t cwnd; /* packets */
	uint32_t srtt_us;
	uint32_t retransmits;
	uint32_t timeouts;
	uint32_t pad;
};

struct datagram {
	uint64_t at_ns;
	uint32_t delay_ns;
	uint32_t flow;
};

struct flow_end {
	uint64_t start_ns; /* 0: it never began */
	uint64_t end_ns; /* 0: it did not end */
	uint64_t received;
	uint32_t flow;
	uint32_t error; /* errno of a connection that broke */
};

struct cost {
	uint64_t packets;
	uint64_t busy_ns; /* of the processor, for all of them */
};

/* What grows. */
struct buffer {
	char *at;
	size_t length, room;
};
/* At its end; NULL: zeros. */
void put(struct buffer *b, const void *bytes, size_t length);

uint64_t now_ns(void);
/* Goes into a network namespace of ip-netns(8); NULL: back to where the program began. */
bool enter(const char *name);
/* Writes a block of this run. */
void write_block(uint32_t kind, const void *bytes, uint64_t length);
/* The run has failed: says why. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* flows.c */
#define FIRST_PORT 10000
#define MAX_FLOWS 2000
struct flow {
	bool udp, poisson;
	char ns[16], cca[16];
	char from[16], to[16]; /* addresses; from: 0.0.0.0, none told */
	int tos; /* of the IP header, without ECN */
	int fd, peer; /* -1: not open */
	uint64_t start_ns, stop_ns; /* from the run's zero; stop: NEVER */
	uint64_t size; /* bytes to send; 0: without end */
	uint64_t gap_ns,
		next_ns; /* UDP: (mean) time between packets, and when the next is due */
	uint64_t random;
	uint32_t payload; /* UDP: bytes */
	uint64_t sent, received, began_ns, ended_ns;
	uint32_t error;
};
extern struct flow flows[MAX_FLOWS];
extern uint32_t flow_count;
void flows_reset(void);
bool flows_add(const struct flow *f);
bool flows_listen(uint16_t port, const char *cca);
/* Connections that are open before the run begins. */
void flows_open(void);
/* Traffic from zero to zero + end, with samples in between. */
void flows_run(uint64_t zero_ns, uint64_t warm_ns, uint64_t end_ns,
	       uint64_t sample_ns);
void flows_close(void);
struct sockaddr_in flows_address(const char *ip, uint16_t port);
/* A socket of a namespace, bound to a port, with a congestion control. */
int flows_socket(const char *ns, int type, const char *ip, uint16_t port,
		 const char *cca);
/* Whose turn it is when the event loop wakes up. */
enum what { SENDER, RECEIVER, LISTENER, DATAGRAMS };
void flows_watch(int fd, uint32_t events, enum what what, uint32_t index);

/* udp.c */
#define SERVER "10.255.0.2"
#define UDP_PORT 4999
/* Sends a datagram from a namespace to the server, so that neighbours know each
 * other. */
bool udp_hello(const char *ns);
/* What is due of a flow. */
void udp_send(uint32_t i, uint64_t now);
void udp_receive(void);
void udp_write(void);
void udp_close(void);

/* cost.c */
bool cost(const char *ns, uint64_t count, uint64_t payload, uint64_t burst,
	  uint64_t gap_ns);

/* play.c */
/* Sends a list of packets through a namespace's device, and waits until the queue has gone. */
bool play(const char *ns, const char *path, uint64_t drain_ns);

/* watch.c */
bool watch_start(void);
bool watch_open(const char *ns);
/* The maps of a device's qdisc, as `queuewright attach` has pinned them. */
bool watch_maps(const char *ns, const char *device);
void watch_begin(void);
/* Takes the packets out of the trace's ring when it is getting full; always with `all`. */
void watch_packets(bool all);
void watch_sample(uint64_t at_ns);
void watch_write(void);
/* Writes what queue.bpf.c has seen. */
void watch_events(void);
void watch_close(void);
/* A pinned map or program; below 0: there is none. */
int watch_pinned(const char *path);
/* A pinned program hears its trace event from now on. */
bool watch_attach(const char *path);

/* replay.c */
bool replay_start(void);
bool replay_tun(const char *ns);
bool replay_plan(uint64_t at_ns, uint64_t value, bool writes);
bool replay_send(const char *ns, const char *cca, const uint64_t *numbers);
/* The device whose far end this program is. */
bool replay_device(int *fd, const char *ns, short kind, unsigned int offloads);
/* The draws on the way, and what the trace programs have seen. */
void replay_begin(uint64_t chance);
void replay_end(void);
uint64_t replay_draw(void);
bool replay_happens(uint64_t of_a_million);
struct event *replay_add(uint32_t kind);
void replay_take(void);

/* script.c */
bool script_tun(const char *ns);
/* Runs the list of what happens in a file, and writes what came of it. */
bool script_run(const char *ns, const char *path);

/* job.c: a program and its arguments, in a namespace. */
bool command(const char *ns, char **words);
/* A line's words, `most` at most and a NULL behind them; are there more? Returns how many. */
int split_line(char *text, char **words, int most, bool *more);

/* receive.c */
bool replay_tap(const char *ns);
bool replay_receive(const char *ns, const char *cca, const uint64_t *numbers);

#endif
