/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Packets of the far end of a connection of the kernel's, as replay.c, receive.c and script.c make and read them. */
#ifndef QW_LAB_PACKET_H
#define QW_LAB_PACKET_H

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include <linux/virtio_net.h>

#define HERE "10.255.0.2"
#define PEER "10.255.0.1"
#define FLAG_FIN 1
#define FLAG_SYN 2
#define FLAG_RST 4
#define FLAG_PSH 8
#define FLAG_ACK 16
#define FLAG_ECE 64
#define FLAG_CWR 128
#define IP_ECT0 2
#define IP_CE 3

/* Ports, numbers and flags of a TCP header. */
struct tcp_says {
	uint16_t from, to;
	uint32_t seq, ack;
	uint8_t flags;
};

static inline uint32_t get32(const uint8_t *at)
{
	uint32_t x;

	memcpy(&x, at, 4);
	return ntohl(x);
}

static inline void set32(uint8_t *at, uint32_t x)
{
	x = htonl(x);
	memcpy(at, &x, 4);
}

static inline void set16(uint8_t *at, uint16_t x)
{
	x = htons(x);
	memcpy(at, &x, 2);
}

/* The timestamp among TCP's options; 0: there is none. */
static inline uint32_t stamp_of(const uint8_t *tcp)
{
	uint32_t end = (tcp[12] >> 4) * 4u;

	for (uint32_t at = 20; at + 1 < end;) {
		if (tcp[at] == 1) {
			at++;
			continue;
		}
		if (tcp[at] == 8 && at + 10 <= end)
			return get32(tcp + at + 2);
		if (tcp[at] < 2 || tcp[at + 1] < 2)
			break;
		at += tcp[at + 1];
	}
	return 0;
}

/* A packet of TCP that a tun device gave: where its headers are, the length that IP's says (0: more than it can say), TCP's header's. */
struct tcp_packet {
	const struct virtio_net_hdr *v;
	const uint8_t *ip, *tcp;
	uint32_t total, head;
};

/* Is it one? */
static inline bool read_headers(const uint8_t *p, ssize_t n,
				struct tcp_packet *t)
{
	const uint8_t *ip = p + sizeof(*t->v), *tcp = ip + 20;

	if (n < (ssize_t)sizeof(*t->v) + 40 || ip[0] != 0x45 || ip[9] != 6)
		return false;
	*t = (struct tcp_packet){ (const struct virtio_net_hdr *)p, ip, tcp,
				  (uint32_t)ip[2] << 8 | ip[3],
				  (tcp[12] >> 4) * 4u };
	return true;
}

/* Headers from the peer to the kernel in a packet of zeros, with so many bytes of options, before so many of data. Of TCP's checksum
 * the kernel is to be told that it is still to be made: it takes it for right. */
static inline void write_headers(uint8_t *ip, uint8_t ecn, struct tcp_says says,
				 const uint8_t *options, uint32_t length,
				 uint32_t data)
{
	uint8_t *tcp = ip + 20;
	uint32_t sum = 0;

	ip[0] = 0x45;
	ip[1] = ecn;
	set16(ip + 2, (uint16_t)(40 + length + data));
	ip[8] = 64;
	ip[9] = 6;
	inet_pton(AF_INET, PEER, ip + 12);
	inet_pton(AF_INET, HERE, ip + 16);
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	set16(ip + 10, (uint16_t)~sum);
	set16(tcp, says.from);
	set16(tcp + 2, says.to);
	set32(tcp + 4, says.seq);
	set32(tcp + 8, says.ack);
	tcp[12] = (uint8_t)((20 + length) / 4 << 4);
	tcp[13] = says.flags;
	set16(tcp + 14, 65535);
	memcpy(tcp + 20, options, length);
}

#endif
