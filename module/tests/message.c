// SPDX-License-Identifier: MIT OR Apache-2.0
/* Netlink messages, right ones and wrong ones, written by hand. */
#include "soak.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "all.h"
#include "options.h"

#define P(name, field, shift, least, most) \
	{ name, shift, (uint64_t)(least), (uint64_t)(most) },
#define QUEUES_OF(X) (QW_##X##_QUEUES * 2 * sizeof(void *))
#define DISCIPLINE(x, X) \
	{ "qw_" #x, { QW_##X##_PARAMS(P) }, sizeof(struct qw_##x) },
#define SCHEDULER(x, X)           \
	{ "qw_" #x,               \
	  { QW_##X##_PARAMS(P) }, \
	  sizeof(struct qw_##x) + QUEUES_OF(X) },

const struct kind kinds[] = { QW_DISCIPLINES(DISCIPLINE)
				      QW_SCHEDULERS(SCHEDULER) };
const size_t KINDS = sizeof(kinds) / sizeof(kinds[0]);

struct message message;
static uint32_t sequence;

void raw(const void *data, size_t length)
{
	if (message.length + length + 8 > sizeof(message.bytes))
		fail("a message too long for us");
	if (data)
		memcpy(message.bytes + message.length, data, length);
	else
		memset(message.bytes + message.length, 0, length);
	message.length += (uint32_t)length;
	while (message.length % NLA_ALIGNTO)
		message.bytes[message.length++] = 0;
}

/* Asked for once: asking takes memory, of which failures are to meet the kernel
 * where it works for us. */
static int known;

int device(void)
{
	if (!known)
		known = (int)if_nametoindex(DEVICE);
	return known;
}

void device_changed(void)
{
	known = 0;
}

void message_begin(uint16_t type, uint16_t flags)
{
	struct nlmsghdr head = { .nlmsg_type = type,
				 .nlmsg_flags = NLM_F_REQUEST | flags,
				 .nlmsg_seq = ++sequence };

	message.length = 0;
	raw(&head, sizeof(head));
}

uint32_t nest(uint16_t type)
{
	uint32_t at = message.length;
	struct nlattr head = { 0, type };

	raw(&head, sizeof(head));
	return at;
}

void nest_end(uint32_t at)
{
	uint16_t length = (uint16_t)(message.length - at);

	memcpy(message.bytes + at, &length, sizeof(length));
}

void attr(uint16_t type, const void *data, size_t length)
{
	struct nlattr head = { (uint16_t)(NLA_HDRLEN + length), type };

	raw(&head, sizeof(head));
	raw(data, length);
}

void attr_u32(uint16_t type, uint32_t value)
{
	attr(type, &value, sizeof(value));
}

void attr_text(uint16_t type, const char *text)
{
	attr(type, text, strlen(text) + 1);
}

void message_tc(uint16_t type, uint16_t flags, uint32_t parent, uint32_t handle,
		const char *kind)
{
	struct tcmsg about = {
		.tcm_family = AF_UNSPEC,
		.tcm_ifindex = device(),
		.tcm_parent = parent,
		.tcm_handle = handle,
	};

	message_begin(type, flags);
	raw(&about, sizeof(about));
	if (kind)
		attr_text(TCA_KIND, kind);
}

static void param(const char *name, size_t named, uint64_t value)
{
	uint8_t both[8 + 64];

	memcpy(both, &value, sizeof(value));
	memcpy(both + sizeof(value), name, named);
	attr(QW_OPTION_PARAM, both, sizeof(value) + named);
}

static size_t params_of(const struct kind *kind)
{
	size_t n = 0;

	while (kind->params[n].name)
		n++;
	return n;
}

/* In its range; its ends more often than what is between them. */
static uint64_t value_of(const struct param *p)
{
	uint64_t value;

	switch (below(4)) {
	case 0:
		value = p->least;
		break;
	case 1:
		value = p->most;
		break;
	default:
		value = p->least + below(p->most - p->least + 1 ?: ~0ULL);
		/* Small values are as likely as large ones. */
		value = p->least + ((value - p->least) >> below(40));
	}
	return value << p->shift;
}

static void limits(void)
{
	if (chance(60))
		attr_u32(QW_OPTION_LIMIT,
			 1 + (uint32_t)below(1ULL << below(20)));
	if (chance(30)) {
		uint64_t bytes = below(1ULL << below(64));

		attr(QW_OPTION_LIMIT_BYTES, &bytes, sizeof(bytes));
	}
}

void options(const struct kind *kind)
{
	static const int16_t weights[1 << 14];
	uint32_t at = nest(TCA_OPTIONS | (chance(50) ? NLA_F_NESTED : 0));
	size_t n = params_of(kind), i;

	limits();
	for (i = below(4); n && i; i--) {
		const struct param *p = &kind->params[below(n)];

		param(p->name, strlen(p->name) + 1, value_of(p));
	}
	if (!strcmp(kind->name, "qw_queuepilot") && chance(20))
		attr(QW_OPTION_WEIGHTS, weights,
		     sizeof(((struct qw_queuepilot_params *)0)->net));
	nest_end(at);
}

static uint64_t extreme(void)
{
	static const uint64_t some[] = { 0,	     1,		 0x7f,
					 0xff,	     0x7fff,	 0xffff,
					 0x7fffffff, 0x80000000, 0xffffffff,
					 1ULL << 32, 1ULL << 62, ~0ULL >> 1,
					 1ULL << 63, ~0ULL };

	return some[below(sizeof(some) / sizeof(some[0]))] + below(3) - 1;
}

static void wrong_option(const struct kind *kind, unsigned int depth)
{
	size_t n = params_of(kind);
	uint64_t value = extreme();
	uint8_t noise[300];
	size_t i, length;

	for (i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)draw();
	switch (below(10)) {
	case 0: /* a parameter, out of its range or in it */
		if (n) {
			const char *name = kind->params[below(n)].name;

			param(name, strlen(name) + 1, value);
		}
		break;
	case 1: /* its name without an end */
		param("threshold", below(10), value);
		break;
	case 2: /* of another */
		param(kinds[below(KINDS)].params[0].name ?: "x", 1 + below(8),
		      value);
		break;
	case 3: /* a name of noise */
		param((const char *)noise, below(64), value);
		break;
	case 4: /* a limit, extreme or of another length */
		attr(QW_OPTION_LIMIT, &value, chance(60) ? 4 : below(9));
		break;
	case 5:
		attr(QW_OPTION_LIMIT_BYTES, &value, chance(60) ? 8 : below(9));
		break;
	case 6: /* weights that are too few, too many, or noise of the right length */
		length = sizeof(((struct qw_queuepilot_params *)0)->net);
		attr(QW_OPTION_WEIGHTS, NULL,
		     chance(50) ? length : length - 8 + below(16));
		for (i = 0; i < length - 64; i += 61)
			message.bytes[message.length - 1 - i] = (uint8_t)draw();
		break;
	case 7: /* an unknown one, or one with flags */
		attr((uint16_t)(chance(50) ? draw() :
					     below(9) | (draw() & 0xc000)),
		     noise, below(40));
		break;
	case 8: /* a length that is not so */
		length = message.length;
		attr((uint16_t)below(7), noise, below(40));
		message.bytes[length] = (uint8_t)draw();
		message.bytes[length + 1] = chance(80) ? 0 : (uint8_t)draw();
		break;
	case 9: /* nested where nothing is to be */
		if (depth < 3) {
			uint32_t at = nest((uint16_t)below(7));

			for (i = below(4); i; i--)
				wrong_option(kind, depth + 1);
			nest_end(at);
		}
		break;
	}
}

void wrong_options(const struct kind *kind)
{
	uint32_t at = nest(TCA_OPTIONS);
	size_t i;

	if (chance(50))
		limits();
	for (i = below(6); i; i--)
		wrong_option(kind, 0);
	nest_end(at);
	/* Twice, or what else a qdisc can have. */
	if (chance(10)) {
		at = nest(TCA_OPTIONS);
		wrong_option(kind, 0);
		nest_end(at);
	}
	if (chance(10))
		attr((uint16_t)below(20), message.bytes, below(64));
}

void spoil(void)
{
	unsigned int times = 1 + (unsigned int)below(4);
	struct tcmsg about, now;
	struct nlmsghdr head;

	memcpy(&about, message.bytes + sizeof(head), sizeof(about));
	while (times--) {
		switch (below(4)) {
		case 0: /* cut */
			message.length = sizeof(head) +
					 (uint32_t)below(message.length -
							 sizeof(head) + 1);
			break;
		case 1: /* a few other bits */
			message.bytes[sizeof(head) + below(message.length -
							   sizeof(head) + 1)] ^=
				(uint8_t)(1u << below(8));
			break;
		case 2: /* another byte */
			message.bytes[sizeof(head) + below(message.length -
							   sizeof(head) + 1)] =
				(uint8_t)extreme();
			break;
		case 3: /* other flags */
			memcpy(&head, message.bytes, sizeof(head));
			head.nlmsg_flags ^=
				(uint16_t)(NLM_F_REPLACE << below(4));
			memcpy(message.bytes, &head, sizeof(head));
			break;
		}
	} /* The device stays ours: another one would keep what it is given. */
	memcpy(&now, message.bytes + sizeof(head), sizeof(now));
	now.tcm_ifindex = about.tcm_ifindex;
	memcpy(message.bytes + sizeof(head), &now, sizeof(now));
}

static int route = -1;
static uint8_t answer[1 << 16];

static int send_it(void)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct nlmsghdr head;

	if (route < 0) {
		struct timeval patience = { .tv_usec = 200000 };
		int one = 1;

		route = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
			       NETLINK_ROUTE);
		if (route < 0)
			fail("no netlink: %s", strerror(errno));
		setsockopt(route, SOL_SOCKET, SO_RCVTIMEO, &patience,
			   sizeof(patience));
		/* An error without the whole message that it is about. */
		setsockopt(route, SOL_NETLINK, NETLINK_CAP_ACK, &one,
			   sizeof(one));
	}
	/* What an earlier one has left. */
	while (recv(route, answer, sizeof(answer), MSG_DONTWAIT) > 0)
		;
	memcpy(&head, message.bytes, sizeof(head));
	head.nlmsg_len = message.length;
	memcpy(message.bytes, &head, sizeof(head));
	if (sendto(route, message.bytes, message.length, 0,
		   (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -errno;
	return 0;
}

static char found[16];
static uint32_t found_handle;

static void find_in(struct nlmsghdr *at)
{
	struct tcmsg *about = NLMSG_DATA(at);
	struct rtattr *a = (struct rtattr *)(about + 1);
	int rest = (int)NLMSG_PAYLOAD(at, sizeof(*about));

	for (; RTA_OK(a, rest); a = RTA_NEXT(a, rest)) {
		if (a->rta_type != TCA_KIND)
			continue;
		memset(found, 0, sizeof(found));
		memcpy(found, RTA_DATA(a),
		       RTA_PAYLOAD(a) < sizeof(found) ? RTA_PAYLOAD(a) :
							sizeof(found) - 1);
		found_handle = about->tcm_handle;
	}
}

/* Reads until an error (0 is one, too) or the end of a dump. */
static int read_all(void)
{
	int parts = 0;

	for (;;) {
		ssize_t n = recv(route, answer, sizeof(answer), 0);
		struct nlmsghdr *at = (struct nlmsghdr *)answer;

		/* It answers before sending returns; or never, for want of memory. */
		if (n < 0 && errno == EAGAIN && !is_injecting())
			fail("netlink did not answer");
		/* ENOBUFS: an answer was lost for want of memory. */
		if (n < 0)
			return -errno;
		for (; NLMSG_OK(at, n); at = NLMSG_NEXT(at, n)) {
			/* Of an earlier one, which was given up. */
			if (at->nlmsg_seq != sequence)
				continue;
			if (at->nlmsg_type == NLMSG_DONE)
				return parts;
			if (at->nlmsg_type == NLMSG_ERROR)
				return ((struct nlmsgerr *)NLMSG_DATA(at))
					->error;
			if (at->nlmsg_type == RTM_NEWQDISC)
				find_in(at);
			parts++;
		}
	}
}

int ask(void)
{
	struct nlmsghdr head;
	int rc;

	memcpy(&head, message.bytes, sizeof(head));
	head.nlmsg_flags |= NLM_F_ACK;
	memcpy(message.bytes, &head, sizeof(head));
	rc = send_it();
	return rc < 0 ? rc : read_all();
}

int dump(void)
{
	int rc = send_it();

	return rc < 0 ? rc : read_all();
}

const char *found_at(uint32_t parent, uint32_t *handle)
{
	memset(found, 0, sizeof(found));
	message_tc(RTM_GETQDISC, 0, parent, 0, NULL);
	if (ask() || !found[0])
		return NULL;
	*handle = found_handle;
	return found;
}
