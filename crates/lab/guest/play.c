// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Packets that a simulation has kept, sent through a device's qdisc at the same times: each flow by a socket of its own,
 * each packet with its length, its ECN codepoint and its number in the list.
 */
#define _GNU_SOURCE
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <netinet/ip.h>

#include "ring.h"

/* A packet of the list: crates/lab/src/queues.rs writes it. */
struct arrival {
	uint64_t at_ns; /* from the first one's time */
	uint32_t flow;
	uint32_t class
		; /* skb->priority: names the queue to join, of a qdisc that hashes; 0: none */
	uint16_t bytes; /* with the header of IP */
	uint8_t ecn;
	uint8_t dscp;
	uint32_t source,
		destination; /* addresses as they are sent; 0: of the devices */
	uint8_t pad[4];
};

/* A sleep ends late by less than this; what is left is waited for awake. */
#define EARLY_NS 60000u

static int sockets[MAX_FLOWS];

static bool flow_socket(const char *ns, uint32_t flow, uint32_t class)
{
	struct sockaddr_in to = flows_address(SERVER, 0);
	int room = 1 << 30, priority = (int)class;
	int fd = enter(ns) ?
			 socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW) :
			 -1;
	bool done = fd >= 0 &&
		    connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 &&
		    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room,
			       sizeof(room)) == 0 &&
		    setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority,
			       sizeof(priority)) == 0;

	if (!done)
		fail("a socket for packets: %s", strerror(errno));
	enter(NULL);
	sockets[flow] = fd;
	return done;
}

static void wait_until(uint64_t at_ns)
{
	uint64_t now = now_ns();

	if (at_ns > now + 2 * EARLY_NS) {
		uint64_t to = at_ns - EARLY_NS;
		struct timespec t = { (time_t)(to / NS_PER_SEC),
				      (long)(to % NS_PER_SEC) };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	}
	while (now_ns() < at_ns)
		;
}

static void send_one(int fd, const struct arrival *a, uint32_t number)
{
	static unsigned char packet[65536];
	struct iphdr *ip = (struct iphdr *)packet;
	uint16_t port;

	ip->version = 4;
	ip->ihl = 5;
	ip->tos = (uint8_t)(a->dscp << 2 | a->ecn);
	ip->id = PLAYED; /* of 0 the kernel would draw one */
	ip->ttl = 64;
	ip->protocol = IPPROTO_UDP;
	/* Whatever it says, it goes where its socket is connected to. */
	ip->saddr = a->source;
	ip->daddr = a->destination ? a->destination :
				     flows_address(SERVER, 0).sin_addr.s_addr;
	/* The port that it comes from, by which a hash tells flows apart. */
	port = htons((uint16_t)(a->flow + 1));
	memcpy(packet + sizeof(*ip), &port, sizeof(port));
	memcpy(packet + NUMBER_AT, &number, sizeof(number));
	(void)!send(fd, packet, a->bytes, MSG_NOSIGNAL);
}

bool play(const char *ns, const char *path, uint64_t drain_ns)
{
	struct begin begin = { 0 };
	struct utsname name;
	struct arrival a;
	uint32_t number = 0, said = 0;
	FILE *list = fopen(path, "r");
	bool fine = list != NULL;

	if (!fine)
		fail("%s: %s", path, strerror(errno));
	for (uint32_t i = 0; i < MAX_FLOWS; i++)
		sockets[i] = -1;
	if (uname(&name) == 0)
		snprintf(begin.kernel, sizeof(begin.kernel), "%.63s",
			 name.release);
	begin.zero_ns = now_ns() + NS_PER_SEC / 10;
	watch_begin();
	while (fine && fread(&a, sizeof(a), 1, list) == 1) {
		fine = a.flow < MAX_FLOWS && a.bytes >= NUMBER_AT + 4;
		if (!fine)
			fail("%s: packet %u cannot be sent", path, number);
		else if (sockets[a.flow] < 0)
			fine = flow_socket(ns, a.flow, a.class);
		if (!fine)
			break;
		wait_until(begin.zero_ns + a.at_ns);
		send_one(sockets[a.flow], &a, number++);
		watch_packets(false);
		/* The host is to hear that time goes on. */
		if (a.at_ns / NS_PER_SEC > said) {
			said = (uint32_t)(a.at_ns / NS_PER_SEC);
			fprintf(stderr, "lab: at %u\n", said);
		}
	}
	if (list)
		fclose(list);
	if (fine) {
		wait_until(now_ns() + drain_ns);
		write_block(BLOCK_BEGIN, &begin, sizeof(begin));
		watch_events();
		write_block(BLOCK_END, "", 0);
	}
	for (uint32_t i = 0; i < MAX_FLOWS; i++)
		if (sockets[i] >= 0)
			close(sockets[i]);
	return fine;
}
