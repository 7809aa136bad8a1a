// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The job: one command a line, words between spaces.
 *
 *   module NAME                    load /modules/NAME.ko
 *   trace                          load and attach the trace programs
 *   run NUMBER                     what follows, to `end`, is this run
 *   do COMMAND ...                 a program and its arguments, as is
 *   in NS COMMAND ...              the same in a network namespace
 *   note WORDS ...                 a line of the next batch
 *   batch NS PROGRAM               ip or tc with all lines noted, in a namespace
 *   plain NS DEVICE                no segmentation, no merging: a packet is what the wire has
 *   set NS PATH VALUE              a value below /proc/sys in a namespace (-: the machine's)
 *   control FILE                   a congestion control as BPF, registered once
 *   hello NS                       let the namespace's neighbours meet
 *   listen PORT CCA                the server's socket of a congestion control
 *   watch NS                       the namespace of the bottleneck
 *   maps NS DEVICE                 its qdisc is a BPF program of ours: sample its maps
 *   tcp ID NS CCA START STOP SIZE  a flow, times in ns from the run's begin (STOP, SIZE: 0 none)
 *   udp ID NS START STOP GAP PAYLOAD SEED   the same; SEED: 0 for equal gaps, else of exponential ones
 *   go WARM END SAMPLE SETTLE      after SETTLE ns for what `hello` caused, open the connections of flows without SIZE, and
 *                                  send
 *   cost NS COUNT PAYLOAD BURST GAP  instead of go: what datagrams from a namespace to the server cost
 *   play NS FILE DRAIN             instead of go: sends a list of packets (play.c), and waits for DRAIN ns
 *   watch-replay                   load and attach the programs of replays
 *   tun NS                         a device of the namespace, the far end of which is this program
 *   rate AT BPS                    from then on (ns from the replay's begin) the link has this rate
 *   write AT SEGMENTS              the application writes so many; 0: from then on without end
 *   replay NS CCA RTT BUFFER LOSS MARK REORDER LATE EVERY HOLD BUNCH ACKLOSS SEED END
 *                                  a connection over the device (replay.c); times in ns, chances of a million, BUFFER bytes
 *   tap NS                         the same for a connection that receives
 *   receive NS CCA RTT RATE WINDOW ON IDLE LOSS TWICE LATE LATENESS MARK ODD READ EVERY ECN SEED END
 *                                  a connection over that (receive.c); bytes, ns, chances of a million; ON, READ: 0 for without end
 *   device NS                      a device of the namespace for a script, the far end of which is this program
 *   script NS FILE                 a script of packetdrill's, as a list of what happens (script.c)
 *   end
 */
#define _GNU_SOURCE
#include "lab.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/sockios.h>

#define MAX_WORDS 64
#define BATCH "/tmp/batch"
/* What the last program has printed. */
#define OUTPUT "/tmp/output"

static uint64_t number(const char *word)
{
	return strtoull(word, NULL, 10);
}

static bool load_module(const char *name)
{
	char path[128];
	int fd;
	long rc;

	snprintf(path, sizeof(path), "/modules/%s.ko", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		fail("module %s: %s", name, strerror(errno));
		return false;
	}
	rc = syscall(SYS_finit_module, fd, "", 0);
	if (rc < 0 && errno != EEXIST)
		fail("module %s: %s", name, strerror(errno));
	close(fd);
	return rc == 0 || errno == EEXIST;
}

/* The line of the batch at which ip or tc says that it failed; its end is cut off. */
static void refused(const char *printed, char *line, size_t size)
{
	const char *at = strstr(printed, BATCH ":");
	FILE *batch = at ? fopen(BATCH, "r") : NULL;
	uint64_t left = at ? number(at + strlen(BATCH ":")) : 0;
	char *text = NULL;
	size_t room = 0;

	while (batch && left-- && getline(&text, &room, batch) > 0)
		if (!left)
			snprintf(line, size, "%.*s", (int)strcspn(text, "\n"),
				 text);
	free(text);
	if (batch)
		fclose(batch);
}

/* What a program that failed printed, for the error. */
static void failed(char **words, int status)
{
	char asked[512] = "";
	char text[2048], line[1024] = "";
	int fd = open(OUTPUT, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = 0;
	if (fd >= 0)
		close(fd);
	for (; *words; words++) {
		size_t at = strlen(line);

		/* What does not fit is cut off. */
		snprintf(line + at, sizeof(line) - at, "%s ", *words);
	}
	refused(text, asked, sizeof(asked));
	fail("%s(status %d): %s%s%s", line, status, asked, *asked ? ": " : "",
	     text);
}

/* Runs a program, what it prints into OUTPUT; its status. */
static int run(const char *ns, char **words)
{
	/* For the host, which would else hear nothing while a slow machine is
	 * laid out. */
	fprintf(stderr, "lab: %s\n", words[0]);
	int status = -1;
	int fd = open(OUTPUT, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	pid_t pid = fd < 0 ? -1 : fork();

	if (pid < 0)
		fail("%s: %s: %s", words[0], fd < 0 ? OUTPUT : "fork",
		     strerror(errno));
	if (pid == 0) {
		dup2(fd, 1);
		dup2(fd, 2);
		if (!ns || enter(ns))
			execvp(words[0], words);
		dprintf(2, "%s", strerror(errno));
		_exit(127);
	}
	if (fd >= 0)
		close(fd);
	if (pid < 0)
		return -1;
	if (waitpid(pid, &status, 0) != pid)
		return 127;
	return WIFEXITED(status) ? WEXITSTATUS(status) : status;
}

bool command(const char *ns, char **words)
{
	int status = run(ns, words);

	if (status > 0)
		failed(words, status);
	return status == 0;
}

/* What a refused BPF object's log says last: the verifier's log may be long, and
 * its reason is its end. */
static void refused_object(const char *file)
{
	char text[3500];
	FILE *output = fopen(OUTPUT, "r");
	char *line = NULL;
	size_t room = 0, used = 0;

	while (output && getline(&line, &room, output) > 0) {
		size_t length = strlen(line);

		if (strstr(line, "-- END PROG LOAD LOG"))
			break;
		if (length >= sizeof(text))
			continue;
		if (used + length >= sizeof(text)) {
			size_t over = used + length + 1 - sizeof(text);

			memmove(text, text + over, used - over);
			used -= over;
		}
		memcpy(text + used, line, length);
		used += length;
	}
	free(line);
	if (output)
		fclose(output);
	fail("control %s\n%.*s", file, (int)used, text);
}

/* What the last program printed after a word, as a number; 0: nothing. */
static uint64_t printed(const char *word)
{
	char text[512];
	int fd = open(OUTPUT, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	const char *at;

	text[n > 0 ? n : 0] = 0;
	if (fd >= 0)
		close(fd);
	at = strstr(text, word);
	return at ? number(at + strlen(word)) : 0;
}

/* The congestion controls that are registered: runs share them. */
static struct control {
	char file[64];
	uint64_t id; /* the kernel's number of its map */
} controls[32];
static uint32_t control_count;

static bool control(const char *file)
{
	char *words[] = { "bpftool", "struct_ops", "register", (char *)file,
			  NULL };
	const uint32_t most = sizeof(controls) / sizeof(*controls);
	struct control *c = &controls[control_count];

	for (uint32_t i = 0; i < control_count; i++)
		if (!strcmp(controls[i].file, file))
			return true;
	if (control_count == most) {
		fail("more than %u congestion controls", most);
		return false;
	}
	if (run(NULL, words)) {
		refused_object(file);
		return false;
	}
	snprintf(c->file, sizeof(c->file), "%s", file);
	c->id = printed(" id ");
	control_count++;
	return true;
}

/* The kernel may not be this job's alone. */
static void forget_controls(void)
{
	while (control_count) {
		char id[24];
		char *words[] = { "bpftool", "struct_ops", "unregister",
				  "id",	     id,	   NULL };

		snprintf(id, sizeof(id), "%llu",
			 (unsigned long long)controls[--control_count].id);
		run(NULL, words);
	}
}

/* Several values have commas between them. */
static bool set(const char *ns, const char *name, char *value)
{
	char path[256];
	int fd;
	bool done;

	for (char *comma = value; (comma = strchr(comma, ','));)
		*comma = ' ';
	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	fd = enter(strcmp(ns, "-") ? ns : NULL) ?
		     open(path, O_WRONLY | O_CLOEXEC) :
		     -1;
	done = fd >= 0 && write(fd, value, strlen(value)) > 0;
	if (!done)
		fail("%s in %s: %s", name, ns, strerror(errno));
	if (fd >= 0)
		close(fd);
	enter(NULL);
	return done;
}

static bool note(char **words)
{
	FILE *batch = fopen(BATCH, "a");

	if (!batch) {
		fail("%s: %s", BATCH, strerror(errno));
		return false;
	}
	for (; *words; words++)
		fprintf(batch, "%s ", *words);
	fputc('\n', batch);
	return fclose(batch) == 0;
}

/* Starting a program is what costs the guest time: many lines for one. */
static bool batch(const char *ns, char *program)
{
	char *words[] = { program, "-batch", BATCH, NULL };
	bool done = command(ns, words);

	unlink(BATCH);
	return done;
}

static bool plain(const char *ns, const char *device)
{
	static const uint32_t offloads[] = { ETHTOOL_STSO, ETHTOOL_SGSO,
					     ETHTOOL_SGRO };
	int fd = enter(ns) ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
	bool done = fd >= 0;

	for (size_t i = 0; done && i < sizeof(offloads) / sizeof(*offloads);
	     i++) {
		struct ethtool_value off = { .cmd = offloads[i], .data = 0 };
		struct ifreq ask = { .ifr_data = (void *)&off };

		snprintf(ask.ifr_name, sizeof(ask.ifr_name), "%s", device);
		done = ioctl(fd, SIOCETHTOOL, &ask) == 0;
	}
	if (!done)
		fail("offloads of %s in %s: %s", device, ns, strerror(errno));
	if (fd >= 0)
		close(fd);
	enter(NULL);
	return done;
}

/* A run leaves nothing behind: a namespace without a name and without users goes, and its devices with it. */
static void forget_namespaces(void)
{
	DIR *names = opendir("/run/netns");
	struct dirent *e;
	char path[300];

	while (names && (e = readdir(names))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/run/netns/%s", e->d_name);
		umount2(path, MNT_DETACH);
		unlink(path);
	}
	if (names)
		closedir(names);
}

static void wait_ns(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / NS_PER_SEC),
			      (long)(ns % NS_PER_SEC) };

	nanosleep(&t, NULL);
}

static bool go(char **w)
{
	struct begin begin = { 0 };
	struct utsname name;
	uint64_t up, least = number(w[4]);

	wait_ns(number(w[3]));
	up = now_ns();
	if (up < least)
		wait_ns(least - up);
	flows_open();
	if (uname(&name) == 0)
		snprintf(begin.kernel, sizeof(begin.kernel), "%.63s",
			 name.release);
	begin.zero_ns = now_ns();
	watch_begin();
	flows_run(begin.zero_ns, number(w[0]), number(w[1]), number(w[2]));
	write_block(BLOCK_BEGIN, &begin, sizeof(begin));
	watch_write();
	write_block(BLOCK_END, "", 0);
	return true;
}

static bool flow(bool udp, char **w, int n)
{
	struct flow f = { .udp = udp, .fd = -1, .peer = -1, .stop_ns = NEVER };

	if (n < (udp ? 7 : 6))
		return false;
	snprintf(f.ns, sizeof(f.ns), "%s", w[1]);
	if (udp) {
		f.start_ns = number(w[2]);
		f.stop_ns = number(w[3]);
		f.gap_ns = number(w[4]);
		f.payload = (uint32_t)number(w[5]);
		f.random = number(w[6]);
		f.poisson = f.random != 0;
		w += 7;
		n -= 7;
	} else {
		snprintf(f.cca, sizeof(f.cca), "%s", w[2]);
		f.start_ns = number(w[3]);
		f.stop_ns = number(w[4]);
		f.size = number(w[5]);
		w += 6;
		n -= 6;
	}
	/* Hosts and service, if they are told. */
	snprintf(f.from, sizeof(f.from), "%s", n == 3 ? w[0] : "0.0.0.0");
	snprintf(f.to, sizeof(f.to), "%s", n == 3 ? w[1] : SERVER);
	f.tos = n == 3 ? (int)number(w[2]) : 0;
	if (f.stop_ns == 0)
		f.stop_ns = NEVER;
	return flows_add(&f);
}

static bool replay(char **w, int count,
		   bool (*run)(const char *, const char *, const uint64_t *))
{
	uint64_t numbers[16];

	for (int i = 0; i < count; i++)
		numbers[i] = number(w[2 + i]);
	return run(w[0], w[1], numbers);
}

static bool line(char **w, int n)
{
	const char *verb = w[0];

	if (!strcmp(verb, "module") && n == 2)
		return load_module(w[1]);
	if (!strcmp(verb, "trace"))
		return watch_start();
	if (!strcmp(verb, "do") && n > 1)
		return command(NULL, w + 1);
	if (!strcmp(verb, "in") && n > 2)
		return command(w[1], w + 2);
	if (!strcmp(verb, "note") && n > 1)
		return note(w + 1);
	if (!strcmp(verb, "batch") && n == 3)
		return batch(w[1], w[2]);
	if (!strcmp(verb, "plain") && n == 3)
		return plain(w[1], w[2]);
	if (!strcmp(verb, "set") && n == 4)
		return set(w[1], w[2], w[3]);
	if (!strcmp(verb, "control") && n == 2)
		return control(w[1]);
	if (!strcmp(verb, "hello") && n == 2)
		return udp_hello(w[1]);
	if (!strcmp(verb, "listen") && n == 3)
		return flows_listen((uint16_t)number(w[1]), w[2]);
	if (!strcmp(verb, "watch") && n == 2)
		return watch_open(w[1]);
	if (!strcmp(verb, "maps") && n == 3)
		return watch_maps(w[1], w[2]);
	if (!strcmp(verb, "tcp"))
		return flow(false, w + 1, n - 1);
	if (!strcmp(verb, "udp"))
		return flow(true, w + 1, n - 1);
	if (!strcmp(verb, "go") && n == 6)
		return go(w + 1);
	if (!strcmp(verb, "cost") && n == 6)
		return cost(w[1], number(w[2]), number(w[3]), number(w[4]),
			    number(w[5]));
	if (!strcmp(verb, "play") && n == 4)
		return play(w[1], w[2], number(w[3]));
	if (!strcmp(verb, "watch-replay"))
		return replay_start();
	if (!strcmp(verb, "tun") && n == 2)
		return replay_tun(w[1]);
	if ((!strcmp(verb, "rate") || !strcmp(verb, "write")) && n == 3)
		return replay_plan(number(w[1]), number(w[2]), *verb == 'w');
	if (!strcmp(verb, "replay") && n == 15)
		return replay(w + 1, 12, replay_send);
	if (!strcmp(verb, "tap") && n == 2)
		return replay_tap(w[1]);
	if (!strcmp(verb, "receive") && n == 19)
		return replay(w + 1, 16, replay_receive);
	if (!strcmp(verb, "device") && n == 2)
		return script_tun(w[1]);
	if (!strcmp(verb, "script") && n == 3)
		return script_run(w[1], w[2]);
	fail("not a command of a job: %s", verb);
	return false;
}

static bool too_long(char **words)
{
	fail("a line of the job has more than %d words: %s %s %s ...",
	     MAX_WORDS, words[0], words[1], words[2]);
	return false;
}

int split_line(char *text, char **words, int most, bool *more)
{
	char *word = strtok(text, " \n");
	int n = 0;

	for (; word && n < most; word = strtok(NULL, " \n"))
		words[n++] = word;
	words[n] = NULL;
	*more = word;
	return n;
}

void job_run(const char *path, uint32_t *run)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t room = 0;
	bool fine = true, boot = true;

	if (!file) {
		fail("no job: %s", strerror(errno));
		return;
	}
	while (getline(&text, &room, file) > 0) {
		char *words[MAX_WORDS + 1];
		bool more;
		int n = split_line(text, words, MAX_WORDS, &more);

		if (n == 0)
			continue;
		if (!strcmp(words[0], "run") && n == 2) {
			*run = (uint32_t)number(words[1]);
			boot = false;
			flows_reset();
			fprintf(stderr, "lab: run %u\n", *run);
		} else if (!strcmp(words[0], "end")) {
			flows_close();
			watch_close();
			forget_namespaces();
			wait_ns(NS_PER_SEC / 5);
			fine = true;
		} else if (fine && !(more ? too_long(words) : line(words, n))) {
			/* The rest of this run is not tried; without the boot's part, nothing is. */
			fine = false;
			if (boot)
				break;
		}
	}
	forget_controls();
	if (ferror(file))
		fail("the job: %s", strerror(errno));
	free(text);
	fclose(file);
}
