/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the parts of the soak share: soak.c has the operations, message.c what is
 * said over netlink, health.c what the kernel says. */
#ifndef SOAK_H
#define SOAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The device that has the qdiscs; what it sends comes in at the other end. */
#define DEVICE "v0"
#define OTHER "v1"

/* Ends the machine: the kernel does not go on without its first process. */
void fail(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Is this the kernel that is there to look for faults? */
extern bool checked;
/* Says what cannot be looked at; where it has to be, that is a failure. */
void left_out(const char *what);

/* A generator of our own: one seed, one soak, whatever the C library. */
uint64_t draw(void);
uint64_t below(uint64_t n);
bool chance(unsigned int percent);
void seed_with(uint64_t seed);

bool put_file(const char *path, const char *text);
/* The file as text; it lives until the next call. NULL: it cannot be read. */
const char *get_file(const char *path);
void pause_us(unsigned int us);
/* Is memory refused to this task right now? */
bool is_injecting(void);

/* ------------------------------------------------------------ message.c --- */

struct param {
	const char *name;
	unsigned int shift;
	uint64_t least, most;
};

struct kind {
	const char *name; /* "qw_codel" */
	struct param params[24];
	size_t table; /* bytes of its state and queues */
};

extern const struct kind kinds[];
extern const size_t KINDS;

struct message {
	uint32_t length;
	uint8_t bytes[1 << 17];
};

extern struct message message;

/* The device's index; 0: there is none. To be asked again after a change. */
int device(void);
void device_changed(void);

void message_begin(uint16_t type, uint16_t flags);
/* Where it begins; attributes inside it follow. */
uint32_t nest(uint16_t type);
void nest_end(uint32_t at);
void attr(uint16_t type, const void *data, size_t length);
void attr_u32(uint16_t type, uint32_t value);
void attr_text(uint16_t type, const char *text);
void raw(const void *data, size_t length);

/* About the qdisc (or class) of this handle below this parent, of DEVICE. */
void message_tc(uint16_t type, uint16_t flags, uint32_t parent, uint32_t handle,
		const char *kind);
/* Options as they should be: some of its parameters, in their ranges. */
void options(const struct kind *kind);
/* Anything but that. */
void wrong_options(const struct kind *kind);
/* The message as it stands, not as it should be: cut, longer than it is, with
 * other bits, lengths and types. */
void spoil(void);

/* Sends it; 0 or a negative errno. */
int ask(void);
/* Sends it, and reads all answers of a dump: how many; or a negative errno. */
int dump(void);
/* The kind of the qdisc below this parent, and its handle; NULL: there is none. */
const char *found_at(uint32_t parent, uint32_t *handle);

/* ------------------------------------------------------------- health.c --- */

/* From here on the log counts. */
void health_begin(void);
/* Ends the machine if the kernel has complained. */
void health_look(void);

/* Memory when nothing of ours is there. */
#define CACHES 128

struct memory {
	uint64_t slab; /* bytes of objects in the caches that we use */
	size_t caches;
	struct cache {
		char name[40];
		uint64_t bytes;
	} cache[CACHES];
	uint64_t vmalloc; /* bytes */
	uint64_t available;
};

struct memory memory_now(void);
void memory_compare(const struct memory *before, const struct memory *after,
		    unsigned long operations);

/* kmemleak, where the kernel has it: forget what there is; look for more. */
void leaks_begin(void);
void leaks_look(const char *when);

#endif
