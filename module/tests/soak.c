// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The first process of a virtual machine that does random things to the module's
 * qdiscs while packets pass, right and wrong ones:
 *	init soak [operations [seed [checked]]]
 * What it draws comes from the seed alone. At its end memory is what it was, the
 * module can be unloaded, packets pass through each qdisc, and the kernel's log
 * has no complaint. Then it prints "machine: passed". A checked kernel has to have
 * all that can be looked at.
 */
#define _GNU_SOURCE
#include "soak.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MODULE "/sch_queuewright.ko"
#define MODULE_NAME "sch_queuewright"
#define ROOT 0xffffffffu
#define AT(major, minor) (((uint32_t)(major) << 16) | (minor))

/* ------------------------------------------------------------ small things --- */

static void history_print(void);

void say(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	printf("machine: ");
	vprintf(format, list);
	printf("\n");
	fflush(stdout);
	va_end(list);
}

/* Is memory refused to this child, which may fail then? */
static bool is_refused;

void fail(const char *format, ...)
{
	static bool failing;
	va_list list;

	if (is_refused)
		_exit(1);
	va_start(list, format);
	printf("machine: FAILED: ");
	vprintf(format, list);
	printf("\n");
	va_end(list);
	if (!failing) {
		failing = true;
		history_print();
	}
	fflush(stdout);
	pause_us(500000); /* the console's last line is to be out */
	_exit(1);
}

bool checked;

void left_out(const char *what)
{
	if (checked)
		fail("this kernel is to have %s", what);
	say("LEFT OUT: %s", what);
}

static uint64_t state;

void seed_with(uint64_t seed)
{
	state = seed;
}

/* splitmix64 */
uint64_t draw(void)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

uint64_t below(uint64_t n)
{
	return n ? draw() % n : 0;
}

bool chance(unsigned int percent)
{
	return below(100) < percent;
}

bool put_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (ssize_t)strlen(text);
}

const char *get_file(const char *path)
{
	static char text[1 << 18];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t n;

	if (fd < 0)
		return NULL;
	while (length < sizeof(text) - 1 &&
	       (n = read(fd, text + length, sizeof(text) - 1 - length)) > 0)
		length += (size_t)n;
	close(fd);
	text[length] = 0;
	return text;
}

void pause_us(unsigned int us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000l };

	nanosleep(&t, NULL);
}

static uint64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------ module --- */

static int insert(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	long rc;

	if (fd < 0)
		return -errno;
	rc = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return (int)rc;
}

static int remove_module(void)
{
	return syscall(SYS_delete_module, MODULE_NAME, O_NONBLOCK) ? -errno : 0;
}

/* ---------------------------------------------------------------- injection --- */

/* Where the kernel can refuse memory to one task: chosen calls of the next
 * operation, or any with a probability. */
static bool can_inject;
static unsigned long injected;

#define FAILSLAB "/sys/kernel/debug/failslab/"
#define FAILPAGE "/sys/kernel/debug/fail_page_alloc/"

static void inject_begin(void)
{
	static const char *const settings[][2] = {
		{ FAILSLAB "ignore-gfp-wait", "N" },
		{ FAILSLAB "task-filter", "Y" },
		{ FAILSLAB "times", "-1" },
		{ FAILSLAB "verbose", "0" },
		{ FAILPAGE "ignore-gfp-wait", "N" },
		{ FAILPAGE "ignore-gfp-highmem", "N" },
		{ FAILPAGE "min-order", "0" },
		{ FAILPAGE "task-filter", "Y" },
		{ FAILPAGE "times", "-1" },
		{ FAILPAGE "verbose", "0" },
	};
	size_t i;

	can_inject = !access("/proc/self/fail-nth", W_OK) &&
		     !access(FAILSLAB "probability", W_OK);
	if (!can_inject)
		left_out("memory that can be refused (debugfs, fail-nth)");
	for (i = 0; can_inject && i < sizeof(settings) / sizeof(settings[0]);
	     i++)
		if (!put_file(settings[i][0], settings[i][1]))
			fail("%s: %s", settings[i][0], strerror(errno));
}

static enum { NONE, ONE, MANY } injecting;
static int nth_fd = -1;

bool is_injecting(void)
{
	return injecting != NONE;
}

static void inject(void)
{
	char text[16];

	injecting = NONE;
	if (!can_inject || !chance(30))
		return;
	if (nth_fd < 0)
		nth_fd = open("/proc/self/fail-nth", O_RDWR | O_CLOEXEC);
	if (chance(70)) {
		injecting = ONE;
		snprintf(text, sizeof(text), "%u", 1 + (unsigned int)below(40));
		if (pwrite(nth_fd, text, strlen(text), 0) < 0)
			fail("fail-nth: %s", strerror(errno));
	} else {
		injecting = MANY;
		snprintf(text, sizeof(text), "%u", 1 + (unsigned int)below(60));
		put_file(FAILSLAB "probability", text);
		put_file(FAILPAGE "probability", text);
		put_file("/proc/self/make-it-fail", "1");
	}
}

static void inject_end(void)
{
	char text[16] = "";

	if (injecting == ONE) {
		/* 0: it came to that. */
		if (pread(nth_fd, text, sizeof(text) - 1, 0) > 0 &&
		    atoi(text) == 0)
			injected++;
		while (pwrite(nth_fd, "0", 1, 0) < 0)
			;
	} else if (injecting == MANY) {
		/* Opening the file takes memory that may be refused. */
		while (!put_file("/proc/self/make-it-fail", "0"))
			;
		put_file(FAILSLAB "probability", "0");
		put_file(FAILPAGE "probability", "0");
		injected++;
	}
	injecting = NONE;
}

/* ------------------------------------------------------------------ devices --- */

static uint32_t info_kind(const char *kind)
{
	uint32_t at = nest(IFLA_LINKINFO);

	attr_text(IFLA_INFO_KIND, kind);
	return at;
}

static void link_begin(uint16_t type, uint16_t flags, int index,
		       unsigned int up)
{
	struct ifinfomsg about = { .ifi_index = index,
				   .ifi_flags = up ? IFF_UP : 0,
				   .ifi_change = IFF_UP };

	message_begin(type, flags);
	raw(&about, sizeof(about));
}

static int link_set(const char *name, bool up)
{
	link_begin(RTM_NEWLINK, 0, (int)if_nametoindex(name), up);
	return ask();
}

/* Two queues each, which mq can have. */
static int link_make(void)
{
	struct ifinfomsg peer = { 0 };
	uint32_t info, data, other;

	device_changed();
	link_begin(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, 0, 0);
	attr_text(IFLA_IFNAME, DEVICE);
	attr_u32(IFLA_NUM_TX_QUEUES, 2);
	attr_u32(IFLA_NUM_RX_QUEUES, 2);
	info = info_kind("veth");
	data = nest(IFLA_INFO_DATA);
	other = nest(VETH_INFO_PEER);
	raw(&peer, sizeof(peer));
	attr_text(IFLA_IFNAME, OTHER);
	nest_end(other);
	nest_end(data);
	nest_end(info);
	return ask();
}

static unsigned long received(void)
{
	return strtoul(
		get_file("/sys/class/net/" OTHER "/statistics/rx_packets") ?:
									     "0",
		NULL, 10);
}

/* What came in at devices that have gone since. */
static unsigned long received_before;

static int link_delete(void)
{
	unsigned long now = received();
	int rc;

	message_begin(RTM_DELLINK, 0);
	struct ifinfomsg about = { .ifi_index = device() };

	raw(&about, sizeof(about));
	device_changed();
	rc = ask();
	if (!rc)
		received_before += now;
	return rc;
}

static void link_there(void)
{
	int rc;

	if (!device()) {
		rc = link_make();
		if (rc)
			fail("no " DEVICE ": %s", strerror(-rc));
	}
	if ((rc = link_set(OTHER, true)) || (rc = link_set(DEVICE, true)))
		fail(DEVICE " does not come up: %s", strerror(-rc));
}

static void link_gone(void)
{
	int rc = device() ? link_delete() : 0;

	if (rc)
		fail(DEVICE " does not go: %s", strerror(-rc));
}

/* ------------------------------------------------------------------ traffic --- */

struct frame {
	struct virtio_net_hdr large;
	uint8_t bytes[4000];
	size_t length;
};

/* IPv4, IPv6, with tags, with any ECN field, cut short, noise, or larger than
 * the link takes at once. */
static void frame_draw(struct frame *f)
{
	static const uint16_t types[] = { ETH_P_IP,    ETH_P_IP,     ETH_P_IPV6,
					  ETH_P_8021Q, ETH_P_8021AD, 0x1234 };
	uint8_t *at = f->bytes;
	uint16_t type;
	unsigned int tags = 0;
	size_t i;

	memset(f, 0, sizeof(*f));
	memset(at, 0xff, 6);
	at[6] = 2;
	at += 12;
	for (;;) {
		type = types[below(6)];
		*at++ = (uint8_t)(type >> 8);
		*at++ = (uint8_t)type;
		if ((type != ETH_P_8021Q && type != ETH_P_8021AD) || tags++ > 3)
			break;
		*at++ = 0;
		*at++ = (uint8_t)draw();
	}
	f->length = 60 + below(chance(20) ? 1440 : 200);
	if (type == ETH_P_IP && chance(90)) {
		at[0] = 0x45;
		at[1] = (uint8_t)draw();
		at[8] = 64;
		at[9] = chance(50) ? 6 : 17;
		for (i = 12; i < 24; i++)
			at[i] = (uint8_t)draw();
		at[32] = 0x50; /* as many words as TCP's header has */
		if (tags == 0 && at[9] == 6 && chance(20)) {
			f->length = 3000;
			at[2] = (uint8_t)((f->length - 14) >> 8);
			at[3] = (uint8_t)(f->length - 14);
			f->large.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
			f->large.gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
			f->large.gso_size = 1000;
			f->large.hdr_len = 54;
			f->large.csum_start = 34;
			f->large.csum_offset = 16;
		}
	} else if (type == ETH_P_IPV6 && chance(90)) {
		at[0] = 0x60 | (uint8_t)below(16);
		at[1] = (uint8_t)draw();
		at[6] = chance(50) ? 6 : 17;
		for (i = 8; i < 44; i++)
			at[i] = (uint8_t)draw();
	} else {
		for (i = 0; i < 40; i++)
			at[i] = (uint8_t)draw();
	}
	if (chance(5))
		f->length = 14 + below(30);
}

static int frames_open(void)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), one = 1;
	int room = 4 << 20;

	if (fd < 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)))
		fail("AF_PACKET: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	return fd;
}

/* Not all are taken: a full qdisc says so, a device that is down, too. */
static void frame_send(int fd, const struct sockaddr_ll *to,
		       const struct frame *f)
{
	uint8_t all[sizeof(f->large) + sizeof(f->bytes)];

	memcpy(all, &f->large, sizeof(f->large));
	memcpy(all + sizeof(f->large), f->bytes, f->length);
	sendto(fd, all, sizeof(f->large) + f->length, MSG_DONTWAIT,
	       (const struct sockaddr *)to, sizeof(*to));
}

/* The device as it is now: it goes and comes. */
static struct sockaddr_ll device_now(void)
{
	return (struct sockaddr_ll){
		.sll_family = AF_PACKET,
		.sll_ifindex = device(),
		.sll_protocol = htons(ETH_P_ALL),
	};
}

#define SENDERS 2

static pid_t senders[SENDERS];
static unsigned long received_first;

static void traffic_begin(uint64_t seed)
{
	int i;

	received_first = received_before + received();
	for (i = 0; i < SENDERS; i++) {
		senders[i] = fork();
		if (senders[i] < 0)
			fail("fork: %s", strerror(errno));
		if (senders[i])
			continue;
		seed_with(seed ^ (0x5eedULL << (8 * i)));
		int fd = frames_open();
		struct frame f;

		for (;;) {
			uint64_t n = 1 + below(1ULL << below(8));
			device_changed();
			struct sockaddr_ll to = device_now();
			int priority = (int)below(4);

			setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority,
				   sizeof(priority));
			for (frame_draw(&f); n; n--) {
				if (chance(30))
					frame_draw(&f);
				frame_send(fd, &to, &f);
			}
			/* A kernel that checks is slow. */
			pause_us((can_inject ? 200000 : 100) +
				 (unsigned int)below(30000));
		}
	}
}

/* Without packets the operations would have been on qdiscs that do nothing. */
static void traffic_end(unsigned long operations)
{
	unsigned long came;
	int i;

	for (i = 0; i < SENDERS; i++) {
		if (waitpid(senders[i], NULL, WNOHANG))
			fail("sender %d has ended before it was told to", i);
		kill(senders[i], SIGKILL);
		waitpid(senders[i], NULL, 0);
	}
	came = received_before + received() - received_first;
	say("%lu packets came through meanwhile", came);
	/* IPv6's own are one in thirty operations. */
	if (came < operations / 10)
		fail("that is less than one in ten operations");
}

/* --------------------------------------------------------------- operations --- */

static const struct kind *any_kind(void)
{
	return &kinds[below(KINDS)];
}

/* What was put at the root last, as far as we know. */
static enum { NO_CLASSES, HTB, OTHER_CLASSES } top;

/* Mostly where something can be; below classes if there are some. */
static uint32_t any_parent(void)
{
	if (chance(top == NO_CLASSES ? 85 : 7))
		return ROOT;
	if (chance(97))
		return AT(1, 1 + below(3));
	return chance(50) ? (uint32_t)draw() :
			    0xfffffff0u + (uint32_t)below(16);
}

static uint32_t handle_below(uint32_t parent)
{
	if (parent == ROOT || chance(20))
		return chance(50) ? AT(1 + below(20), 0) : 0;
	return chance(80) ? AT(10 + (parent & 15), 0) : 0;
}

static int attach(void)
{
	static const uint16_t ways[] = { NLM_F_CREATE | NLM_F_REPLACE,
					 NLM_F_CREATE | NLM_F_REPLACE,
					 NLM_F_CREATE | NLM_F_EXCL,
					 NLM_F_CREATE, NLM_F_REPLACE };
	const struct kind *kind = any_kind();
	uint32_t parent = any_parent();
	int rc;

	message_tc(RTM_NEWQDISC, ways[below(5)], parent, handle_below(parent),
		   kind->name);
	if (chance(80))
		options(kind);
	rc = ask();
	if (!rc && parent == ROOT)
		top = NO_CLASSES;
	return rc;
}

/* The kernel is asked, as one in 23 would fit. */
static const struct kind *kind_at(uint32_t parent, uint32_t *handle)
{
	const char *name = found_at(parent, handle);
	size_t i;

	for (i = 0; name && i < KINDS; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

static int change(void)
{
	uint32_t parent = chance(40) ? ROOT : AT(1, 1 + below(3));
	uint32_t handle = 0;
	const struct kind *kind = kind_at(parent, &handle);

	if (!kind)
		kind = any_kind();
	message_tc(RTM_NEWQDISC, chance(80) ? 0 : NLM_F_REPLACE, parent, handle,
		   kind->name);
	options(kind);
	return ask();
}

static int wrong(void)
{
	uint32_t parent = any_parent(), handle = handle_below(parent);
	const struct kind *kind = any_kind(), *found;
	uint16_t way = NLM_F_CREATE | NLM_F_REPLACE;

	if (chance(50)) {
		found = kind_at(parent, &handle);
		if (found) {
			kind = found;
			way = 0;
		}
	}
	message_tc(RTM_NEWQDISC, way, parent, handle, kind->name);
	wrong_options(kind);
	return ask();
}

static int broken(void)
{
	uint32_t parent = any_parent(), handle = handle_below(parent);
	const struct kind *kind = any_kind();

	message_tc(chance(85) ? RTM_NEWQDISC : RTM_DELQDISC,
		   chance(70) ? NLM_F_CREATE | NLM_F_REPLACE : 0, parent,
		   handle, kind->name);
	if (chance(50))
		options(kind);
	else
		wrong_options(kind);
	spoil();
	return ask();
}

static int detach(void)
{
	uint32_t parent = any_parent();
	int rc;

	message_tc(RTM_DELQDISC, 0, parent, 0, NULL);
	rc = ask();
	if (!rc && parent == ROOT)
		top = NO_CLASSES;
	return rc;
}

static int show(void)
{
	message_tc(RTM_GETQDISC, NLM_F_DUMP, 0, 0, NULL);
	return dump();
}

static int show_classes(void)
{
	message_tc(RTM_GETTCLASS, NLM_F_DUMP, 0, 0, NULL);
	return dump();
}

static int htb_class(uint16_t flags, unsigned int minor)
{
	struct tc_htb_opt opt = { 0 };
	uint64_t rate = 10000 + below(1ULL << below(28));
	uint32_t at;
	int rc;

	opt.rate.rate = (uint32_t)rate;
	opt.ceil.rate = (uint32_t)(rate * (1 + below(2)));
	opt.rate.linklayer = opt.ceil.linklayer = 1;
	opt.buffer = opt.cbuffer = 1000 + (uint32_t)below(100000);
	opt.quantum = 1500;
	message_tc(RTM_NEWTCLASS, flags, AT(1, 0), AT(1, minor), "htb");
	at = nest(TCA_OPTIONS);
	attr(TCA_HTB_PARMS, &opt, sizeof(opt));
	nest_end(at);
	rc = ask();
	return rc;
}

/* A parent at the root: htb with three classes, or one of the others. */
static int put_htb(void)
{
	uint32_t at;
	int rc, i;
	struct tc_htb_glob glob = { .version = 3,
				    .rate2quantum = 10,
				    .defcls = 1 + (uint32_t)below(3) };

	message_tc(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, ROOT, AT(1, 0),
		   "htb");
	at = nest(TCA_OPTIONS);
	attr(TCA_HTB_INIT, &glob, sizeof(glob));
	nest_end(at);
	rc = ask();
	for (i = 1; i <= 3; i++)
		htb_class(NLM_F_CREATE | NLM_F_REPLACE, (unsigned int)i);
	return rc;
}

static int put_other(void)
{
	uint32_t at;

	switch (below(3)) {
	case 0: {
		struct tc_prio_qopt opt = { .bands = 3,
					    .priomap = { 0, 1, 2, 0, 1, 2, 0, 1,
							 2, 0, 1, 2, 0, 1, 2,
							 0 } };

		message_tc(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, ROOT,
			   AT(1, 0), "prio");
		attr(TCA_OPTIONS, &opt, sizeof(opt));
		return ask();
	}
	case 1: {
		struct tc_tbf_qopt opt = { 0 };

		opt.rate.rate = 10000 + (uint32_t)below(1ULL << below(28));
		opt.rate.linklayer = 1;
		opt.limit = 1000000;
		opt.buffer = 100000;
		message_tc(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, ROOT,
			   AT(1, 0), "tbf");
		at = nest(TCA_OPTIONS);
		attr(TCA_TBF_PARMS, &opt, sizeof(opt));
		attr_u32(TCA_TBF_BURST, 2000 + (uint32_t)below(4000));
		nest_end(at);
		return ask();
	}
	default: {
		struct tc_netem_qopt opt = { .latency = (uint32_t)below(40000),
					     .limit = 1000 };
		bool netem = chance(50);

		message_tc(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, ROOT,
			   AT(1, 0), netem ? "netem" : "mq");
		if (netem)
			attr(TCA_OPTIONS, &opt, sizeof(opt));
		return ask();
	}
	}
}

static int put_parent(void)
{
	bool htb = chance(40);
	int rc = htb ? put_htb() : put_other();

	if (!rc)
		top = htb ? HTB : OTHER_CLASSES;
	return rc;
}

static int class_change(void)
{
	unsigned int minor = 1 + (unsigned int)below(3);

	if (top != HTB && !put_htb())
		top = HTB;
	if (chance(70))
		return htb_class(chance(50) ? NLM_F_CREATE : 0, minor);
	message_tc(RTM_DELTCLASS, 0, 0, AT(1, minor), NULL);
	return ask();
}

static int down_up(void)
{
	int rc = link_set(chance(70) ? DEVICE : OTHER, false);

	if (chance(50))
		pause_us((unsigned int)below(3000));
	link_set(DEVICE, true);
	link_set(OTHER, true);
	return rc;
}

static int anew(void)
{
	int rc = link_delete();

	top = NO_CLASSES;
	link_make();
	return rc;
}

/* What a device gets by itself when it comes up: mq's children, too. */
static int by_default(void)
{
	int rc;

	if (!put_file("/proc/sys/net/core/default_qdisc", any_kind()->name))
		return -errno;
	rc = anew();
	link_set(OTHER, true);
	link_set(DEVICE, true);
	if (chance(50))
		put_parent();
	return rc;
}

static int queue_length(void)
{
	link_begin(RTM_NEWLINK, 0, device(), 1);
	if (chance(50))
		attr_u32(IFLA_TXQLEN, (uint32_t)below(1000));
	else
		attr_u32(IFLA_MTU, 68 + (uint32_t)below(1500));
	return ask();
}

/* A network namespace that ends with qdiscs and packets in it. */
static int namespace(void)
{
	const struct kind *kind = any_kind();
	pid_t child = fork();
	int status = 0;

	if (child < 0)
		return -errno;
	if (!child) {
		/* Anew, as the netlink socket is of the old namespace. */
		if (!unshare(CLONE_NEWNET))
			execl("/proc/self/exe", "soak", "namespace", kind->name,
			      injecting == MANY ? "refused" : NULL, NULL);
		_exit(1);
	}
	if (waitpid(child, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

static int namespace_inside(const char *name)
{
	struct sockaddr_ll to;
	struct frame f;
	int fd, i, rc;

	for (i = 0; name[i]; i++)
		state = state * 31 + (uint64_t)name[i];
	if (link_make() || link_set(OTHER, true) || link_set(DEVICE, true))
		return 1;
	message_tc(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, ROOT, AT(1, 0),
		   "tbf");
	struct tc_tbf_qopt opt = { .rate = { .linklayer = 1, .rate = 10000 },
				   .limit = 100000,
				   .buffer = 100000 };
	uint32_t at = nest(TCA_OPTIONS);

	attr(TCA_TBF_PARMS, &opt, sizeof(opt));
	attr_u32(TCA_TBF_BURST, 2000);
	nest_end(at);
	ask();
	message_tc(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, AT(1, 1),
		   AT(11, 0), name);
	rc = ask();
	fd = frames_open();
	to = device_now();
	for (i = 0; i < 30; i++) {
		frame_draw(&f);
		frame_send(fd, &to, &f);
	}
	return rc ? 1 : 0;
}

static int load(void)
{
	return insert(MODULE);
}

/* It may be in use; then sometimes all goes first. */
static int unload(void)
{
	int rc = remove_module(), i;

	/* Without it the next one that is asked for has the kernel load it. */
	if (!rc && chance(50))
		insert(MODULE);
	if (!rc || chance(60))
		return rc;
	put_file("/proc/sys/net/core/default_qdisc", "pfifo_fast");
	link_delete();
	top = NO_CLASSES;
	/* A namespace that ends has its qdiscs for some time yet. */
	for (i = 0; i < 1000 && (rc = remove_module()); i++)
		pause_us(1000);
	link_make();
	return rc;
}

static const struct operation {
	const char *name;
	unsigned int weight;
	int (*act)(void);
	bool must; /* some of them are to succeed */
} operations[] = {
	{ "attach", 26, attach, true },
	{ "change", 16, change, true },
	{ "wrong options", 16, wrong, false },
	{ "broken message", 14, broken, false },
	{ "detach", 5, detach, true },
	{ "show", 5, show, true },
	{ "show classes", 2, show_classes, true },
	{ "put a parent", 8, put_parent, true },
	{ "change a class", 4, class_change, true },
	{ "link down and up", 3, down_up, true },
	{ "device anew", 2, anew, true },
	{ "by default", 1, by_default, true },
	{ "queue length", 2, queue_length, true },
	{ "namespace", 1, namespace, true },
	{ "load", 3, load, false }, /* mostly it is */
	{ "unload", 2, unload, true },
};

#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

static unsigned long tried[OPERATIONS], done[OPERATIONS];

/* The last ones, for who has to find out. */
static struct {
	unsigned long number;
	const char *name;
	int rc;
} history[16];

static void history_print(void)
{
	unsigned long i, from = 0;

	for (i = 0; i < 16; i++)
		if (history[i].number < history[from].number)
			from = i;
	for (i = 0; i < 16; i++, from++)
		if (history[from % 16].name)
			say("operation %lu: %s (%d)", history[from % 16].number,
			    history[from % 16].name, history[from % 16].rc);
}

static void operate(unsigned long number)
{
	unsigned int all = 0, which;
	size_t i;

	for (i = 0; i < OPERATIONS; i++)
		all += operations[i].weight;
	which = (unsigned int)below(all);
	for (i = 0; which >= operations[i].weight; i++)
		which -= operations[i].weight;

	history[number % 16].number = number;
	history[number % 16].name = operations[i].name;
	history[number % 16].rc = 1;
	inject();
	int rc = operations[i].act();

	inject_end();
	history[number % 16].rc = rc;
	tried[i]++;
	done[i] += rc >= 0;
	/* A device there is always, and mostly up. */
	device_changed();
	if (chance(50) || !device())
		link_there();
	if (chance(50))
		pause_us((unsigned int)below(can_inject ? 30000 : 10000));
}

/* ---------------------------------------------------------------- the end --- */

/* Nothing of ours is left, and the module is gone. */
static void clear_all(void)
{
	int i, rc = 0;

	put_file("/proc/sys/net/core/default_qdisc", "pfifo_fast");
	link_gone();
	for (i = 0; i < 3000; i++) {
		rc = remove_module();
		if (!rc || rc == -ENOENT)
			return;
		pause_us(10000);
	}
	fail("the module is not unloaded within 30 s: %s", strerror(-rc));
}

/* Packets pass: at the root, and below htb. */
static void passes(const struct kind *kind, bool root)
{
	unsigned long first, now = 0;
	struct sockaddr_ll to;
	struct frame f;
	int fd, i, rc;

	link_gone();
	link_there();
	if (!root) {
		struct tc_htb_glob glob = { .version = 3,
					    .rate2quantum = 10,
					    .defcls = 1 };
		uint32_t at;

		message_tc(RTM_NEWQDISC, NLM_F_CREATE, ROOT, AT(1, 0), "htb");
		at = nest(TCA_OPTIONS);
		attr(TCA_HTB_INIT, &glob, sizeof(glob));
		nest_end(at);
		if ((rc = ask()) || (rc = htb_class(NLM_F_CREATE, 1)))
			fail("no htb: %s", strerror(-rc));
	}
	message_tc(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE,
		   root ? ROOT : AT(1, 1), AT(10, 0), kind->name);
	if ((rc = ask()))
		fail("%s cannot be attached at the end: %s", kind->name,
		     strerror(-rc));
	fd = frames_open();
	memset(&f, 0, sizeof(f));
	memset(f.bytes, 0xff, 6);
	f.bytes[12] = 8;
	f.bytes[14] = 0x45;
	f.length = 100;
	/* IPv6 says something by itself, too. */
	to = device_now();
	first = received();
	for (i = 0; i < 20; i++)
		frame_send(fd, &to, &f);
	close(fd);
	for (i = 0; i < 3000; i++) {
		now = received();
		if (now >= first + 20)
			return;
		pause_us(10000);
	}
	fail("%s lets %lu of 20 packets pass", kind->name, now - first);
}

/* A table is the cgroup's that asked for it. */
static void accounts(void)
{
	const struct kind *kind = kinds;
	uint64_t before, with, after = 0;
	size_t i;
	int rc;

	mkdir("/run/cgroup", 0755);
	if (mount("cgroup2", "/run/cgroup", "cgroup2", 0, NULL) ||
	    !put_file("/run/cgroup/cgroup.subtree_control", "+memory")) {
		left_out("memory cgroups");
		return;
	}
	for (i = 0; i < KINDS; i++)
		if (kinds[i].table > kind->table)
			kind = &kinds[i];
	mkdir("/run/cgroup/soak", 0755);
	if (!put_file("/run/cgroup/soak/cgroup.procs", "0"))
		fail("cgroup: %s", strerror(errno));
	link_gone();
	link_there();
#define CURRENT \
	strtoull(get_file("/run/cgroup/soak/memory.current") ?: "0", NULL, 10)
	before = CURRENT;
	message_tc(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, ROOT, AT(1, 0),
		   kind->name);
	if ((rc = ask()))
		fail("%s: %s", kind->name, strerror(-rc));
	with = CURRENT;
	link_gone();
	for (i = 0; i < 1000; i++) {
		after = CURRENT;
		if (after < before + kind->table / 4)
			break;
		pause_us(10000);
	}
	say("%s, %zu kB: the cgroup had %llu kB, %llu kB with it, and %llu kB "
	    "after it",
	    kind->name, kind->table >> 10, (unsigned long long)before >> 10,
	    (unsigned long long)with >> 10, (unsigned long long)after >> 10);
	if (with < before + kind->table - kind->table / 8)
		fail("the tables of %s are not its cgroup's", kind->name);
	if (after >= before + kind->table / 4)
		fail("the tables of %s stay with its cgroup", kind->name);
	put_file("/run/cgroup/cgroup.procs", "0");
	rmdir("/run/cgroup/soak");
	umount("/run/cgroup");
}

static void begin(void)
{
	static const char *const mounts[][2] = { { "devtmpfs", "/dev" },
						 { "proc", "/proc" },
						 { "sysfs", "/sys" } };
	static const char *const needed[] = { "sch_htb", "sch_prio", "sch_tbf",
					      "sch_netem", "veth" };
	char path[64];
	size_t i;
	int rc;

	for (i = 0; i < 3; i++)
		if (mount(mounts[i][0], mounts[i][1], mounts[i][0], 0, NULL) &&
		    errno != EBUSY)
			fail("mount %s: %s", mounts[i][0], strerror(errno));
	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	/* What a kernel has built in is no file. */
	for (i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "/%s.ko", needed[i]);
		rc = insert(path);
		if (rc && rc != -ENOENT && rc != -EEXIST)
			fail("%s: %s", needed[i], strerror(-rc));
	}
	health_begin();
	inject_begin();
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	unsigned long i, warm;
	struct memory before, after;
	size_t n;
	int rc;

	/* The kernel asks for a qdisc that it has not. */
	if (strstr(argv[0], "modprobe")) {
		if (argc > 1 && strstr(argv[argc - 1], "qw_"))
			return insert(MODULE) ? 1 : 0;
		return 1;
	}
	if (argc > 2 && !strcmp(argv[1], "namespace")) {
		is_refused = argc > 3;
		return namespace_inside(argv[2]);
	}

	checked = argc > 3 && !strcmp(argv[3], "checked");
	begin();
	say("%lu operations, seed %llu%s", count, (unsigned long long)seed,
	    can_inject ? ", memory is refused now and then" : "");
	if ((rc = insert(MODULE)))
		fail(MODULE ": %s", strerror(-rc));

	/* What the kernel keeps from the first of anything is not counted. */
	warm = count / 10;
	seed_with(seed);
	memset(&before, 0, sizeof(before));
	for (i = 0; i < count; i++) {
		if (i == 0 || i == warm) {
			if (i) {
				traffic_end(warm);
				clear_all();
				before = memory_now();
				leaks_begin();
				insert(MODULE);
			}
			link_there();
			traffic_begin(seed + i);
		}
		operate(i);
		health_look();
		if (i % (can_inject ? 50 : 500) == 0)
			say("%lu operations done, %.1f s", i,
			    (double)clock_ms() / 1000);
	}
	traffic_end(count - warm);
	health_look();

	for (n = 0; n < OPERATIONS; n++) {
		say("%s: %lu, of which %lu were done", operations[n].name,
		    tried[n], done[n]);
		if (count >= 1000 && operations[n].must && !done[n])
			fail("no '%s' was done", operations[n].name);
	}
	if (can_inject)
		say("memory was refused in %lu operations", injected);
	if (checked && !injected)
		fail("no operation met it");

	link_gone();
	leaks_look("while the module is loaded");
	clear_all();
	after = memory_now();
	memory_compare(&before, &after, count - warm);
	leaks_look("after the module was unloaded");
	health_look();

	if ((rc = insert(MODULE)))
		fail(MODULE " at the end: %s", strerror(-rc));
	for (n = 0; n < KINDS; n++) {
		passes(&kinds[n], true);
		passes(&kinds[n], false);
	}
	say("packets pass through each of %zu qdiscs, at the root and below "
	    "htb",
	    KINDS);
	accounts();
	clear_all();
	health_look();
	printf("machine: passed\n");
	fflush(stdout);
	pause_us(200000);
	_exit(0);
}
