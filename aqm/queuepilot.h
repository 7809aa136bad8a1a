/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * QueuePilot (INFOCOM 2023): a learned policy. Every step of 5 ms it chooses
 * with which probability arrivals of ECN-capable senders are marked, from what
 * the queue did in the last step. Beside that it is tail drop.
 *
 * Observations, reward, actions and clock are those of the authors' program
 * where it differs from the paper. The policy is theirs in form (an LSTM of 32
 * units, two layers of 64, six actions), in integers. Weights are in Q12,
 * activations in Q15, and the bits are the same on every host. Without weights
 * a scripted policy stands in: one probability above a share of the buffer,
 * none below.
 *
 * Steps that are due when nobody calls are made up for, the last
 * QW_QUEUEPILOT_CATCH_UP of them; each sees what was counted in it. A host with
 * a timer makes them when they are due (qw_queuepilot_tick()), and as many: no
 * more than that between two calls for packets. `random` decides about marks and
 * is kept for the policy's own draws.
 */
#ifndef QW_QUEUEPILOT_H
#define QW_QUEUEPILOT_H

#include "dice.h"
#include "service.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QW_QUEUEPILOT_OBSERVATIONS 6u
#define QW_QUEUEPILOT_ACTIONS 6u
#define QW_QUEUEPILOT_INPUTS 13u /* observations, last action, last reward */
#define QW_QUEUEPILOT_UNITS 32u
#define QW_QUEUEPILOT_WIDTH 64u
#define QW_QUEUEPILOT_CATCH_UP 64u

/* What an action is, in place of a marking probability: a threshold, a part of
 * the buffer above which all is marked; or a curve as RED's, which is what ACC
 * (Yan and others, SIGCOMM 2021) chooses, as far as it is known; or a
 * probability for every packet, which drops those that cannot be marked (the
 * paper lets them pass, section II-A). */
#define QW_QUEUEPILOT_MARKING 0u
#define QW_QUEUEPILOT_THRESHOLD 1u
#define QW_QUEUEPILOT_RED 2u
#define QW_QUEUEPILOT_DROPPING 3u

/* ACC's ladder of thresholds, 20 kB * 2^n. QueuePilot's authors say of their ACC
 * only that it sets RED's parameters; what is not known is as in their adaptive
 * RED: max = 3 min, and a probability of 10 % there. Above, all is marked. */
#define QW_QUEUEPILOT_RED_BYTES 20000u
#define QW_QUEUEPILOT_RED_Q32 429496730ULL

/* 1 in Q15, and the largest value below it that fits 16 bits. */
#define QW_QUEUEPILOT_ONE 32768

/* Weights in Q12, rows by output. Gates in the order input, forget, cell,
 * output; the LSTM's two biases are added up. */
struct qw_queuepilot_net {
	qw_s16 input[4 * QW_QUEUEPILOT_UNITS][QW_QUEUEPILOT_INPUTS];
	qw_s16 hidden[4 * QW_QUEUEPILOT_UNITS][QW_QUEUEPILOT_UNITS];
	qw_s16 gate_bias[4 * QW_QUEUEPILOT_UNITS];
	qw_s16 first[QW_QUEUEPILOT_WIDTH][QW_QUEUEPILOT_UNITS];
	qw_s16 first_bias[QW_QUEUEPILOT_WIDTH];
	qw_s16 second[QW_QUEUEPILOT_WIDTH][QW_QUEUEPILOT_WIDTH];
	qw_s16 second_bias[QW_QUEUEPILOT_WIDTH];
	qw_s16 last[QW_QUEUEPILOT_ACTIONS][QW_QUEUEPILOT_WIDTH];
	qw_s16 last_bias[QW_QUEUEPILOT_ACTIONS];
};

struct qw_queuepilot_params {
	qw_u64 step_ns; /* 5 ms */
	qw_u64 rate_bytes; /* of the link, a second; 0: measured */
	qw_u32 wire_overhead_bytes; /* of a frame beyond what is counted, 24 */
	qw_u64 threshold_q32; /* scripted policy: of the buffer, 0.2 */
	qw_u32 action; /* scripted policy: above it, 3 (10 %) */
	qw_u32 off_by_one; /* p + 1 per cent, as the authors' program, on */
	qw_u32 sample; /* draw from the policy instead of its best, on */
	qw_u32 actions; /* QW_QUEUEPILOT_MARKING */
	qw_u32 mtu_bytes; /* a full packet, 1514 */
	qw_u32 learned; /* net is to be used */
	struct qw_queuepilot_net net;
};

struct qw_queuepilot {
	qw_u64 next_ns; /* end of the step under way */
	struct qw_dice dice;
	qw_u64 average; /* queue in packets, times 512 */
	struct qw_service link; /* its rate, where that is not told */
	/* Packets in this step; early drops count as marks. */
	qw_u32 arrived, sent, dropped, marked;
	qw_u32 buffer_packets; /* B, as last seen; 0: no limit */
	qw_u32 ticked; /* steps made by the timer since the last packet */
	qw_u32 action; /* in force */
	qw_s32 reward_q15; /* of the last step */
	qw_s32 input[QW_QUEUEPILOT_INPUTS]; /* Q15 */
	qw_s32 hidden[QW_QUEUEPILOT_UNITS]; /* Q15 */
	qw_s32 cell[QW_QUEUEPILOT_UNITS]; /* Q15 */
	qw_s32 work[4 * QW_QUEUEPILOT_UNITS]; /* Q16 */
	qw_s32 layer[2][QW_QUEUEPILOT_WIDTH]; /* Q15 */
	qw_s32 logit[QW_QUEUEPILOT_ACTIONS]; /* Q16 */
};

/* Marking probability of an action, per cent (section II-B). */
static inline qw_u32 qw_queuepilot_percent(qw_u32 action)
{
	static const qw_u8 percent[8] = { 0, 1, 5, 10, 50, 100, 100, 100 };

	return percent[action & 7];
}

/* ------------------------------------------------ the policy, in integers */

/* tanh(x), x in Q16, the result in Q15: a table of 1/32 and straight lines. */
static inline qw_s32 qw_queuepilot_tanh(qw_s32 x_q16)
{
	static const qw_u16 table[258] = {
		0,     1024,  2045,  3063,  4075,  5079,  6073,	 7056,	8025,
		8980,  9919,  10840, 11743, 12625, 13486, 14326, 15143, 15936,
		16706, 17452, 18173, 18870, 19542, 20189, 20813, 21411, 21986,
		22538, 23066, 23571, 24054, 24516, 24956, 25376, 25776, 26157,
		26519, 26864, 27191, 27502, 27797, 28076, 28341, 28592, 28830,
		29055, 29268, 29470, 29660, 29840, 30010, 30170, 30322, 30465,
		30600, 30727, 30847, 30960, 31067, 31167, 31262, 31351, 31435,
		31515, 31589, 31659, 31726, 31788, 31846, 31901, 31953, 32002,
		32048, 32091, 32132, 32170, 32206, 32240, 32271, 32301, 32329,
		32356, 32381, 32404, 32426, 32447, 32466, 32484, 32501, 32517,
		32532, 32547, 32560, 32573, 32584, 32596, 32606, 32616, 32625,
		32634, 32642, 32649, 32657, 32663, 32670, 32676, 32681, 32686,
		32691, 32696, 32700, 32704, 32708, 32712, 32715, 32718, 32721,
		32724, 32727, 32729, 32732, 32734, 32736, 32738, 32740, 32741,
		32743, 32745, 32746, 32747, 32749, 32750, 32751, 32752, 32753,
		32754, 32755, 32755, 32756, 32757, 32758, 32758, 32759, 32759,
		32760, 32760, 32761, 32761, 32762, 32762, 32762, 32763, 32763,
		32763, 32764, 32764, 32764, 32764, 32765, 32765, 32765, 32765,
		32765, 32766, 32766, 32766, 32766, 32766, 32766, 32766, 32766,
		32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
		32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
		32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
		32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
		32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
		32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
		32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
		32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
		32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
		32767, 32767, 32767, 32767, 32767, 32767,
	};
	qw_u32 size = x_q16 < 0 ? 0u - (qw_u32)x_q16 : (qw_u32)x_q16;
	qw_u32 at = size >> 11, rest = size & 2047;
	qw_s32 y;

	if (at > 255)
		y = 32767;
	else
		y = (qw_s32)(table[at & 255] +
			     (((qw_u32)(table[(at & 255) + 1] -
					table[at & 255]) *
			       rest) >>
			      11));
	return x_q16 < 0 ? -y : y;
}

/* 1 / (1 + exp(-x)) = (1 + tanh(x / 2)) / 2 */
static inline qw_s32 qw_queuepilot_sigmoid(qw_s32 x_q16)
{
	return (QW_QUEUEPILOT_ONE + qw_queuepilot_tanh(x_q16 >> 1)) >> 1;
}

/* From Q27 to Q16, within +-most: for a tanh 8 is as good as more, for a gate 16. */
#define QW_QUEUEPILOT_MOST 16
#define QW_QUEUEPILOT_MOST_LOGIT 256
static inline qw_s32 qw_queuepilot_narrow(qw_s64 sum_q27, qw_s64 most)
{
	most <<= 27;
	if (sum_q27 > most)
		sum_q27 = most;
	if (sum_q27 < -most)
		sum_q27 = -most;
	return (qw_s32)(sum_q27 >> 11);
}

/* (A plain loop: it is short, and its turns are all that a step does.) */
static inline qw_s64 qw_queuepilot_dot(const qw_s16 *w_q12, const qw_s32 *x_q15,
				       qw_u32 n)
{
	qw_s64 sum = 0;
	qw_u32 i;

	for (i = 0; i < n; i++)
		sum += (qw_s64)w_q12[i] * x_q15[i];
	return sum;
}

/* The LSTM, one step. */
QW_PART int qw_queuepilot_recur(struct qw_queuepilot *s QW_GIVEN,
				const struct qw_queuepilot_net *net QW_GIVEN)
{
	qw_u32 i;

	QW_FOR (i, 4 * QW_QUEUEPILOT_UNITS) {
		qw_s64 sum = (qw_s64)net->gate_bias[i] * QW_QUEUEPILOT_ONE;

		sum += qw_queuepilot_dot(net->input[i], s->input,
					 QW_QUEUEPILOT_INPUTS);
		sum += qw_queuepilot_dot(net->hidden[i], s->hidden,
					 QW_QUEUEPILOT_UNITS);
		s->work[i] = qw_queuepilot_narrow(sum, QW_QUEUEPILOT_MOST);
	}
	QW_FOR (i, QW_QUEUEPILOT_UNITS) {
		qw_s64 in = qw_queuepilot_sigmoid(s->work[i]);
		qw_s64 keep =
			qw_queuepilot_sigmoid(s->work[QW_QUEUEPILOT_UNITS + i]);
		qw_s64 news = qw_queuepilot_tanh(
			s->work[2 * QW_QUEUEPILOT_UNITS + i]);
		qw_s64 out = qw_queuepilot_sigmoid(
			s->work[3 * QW_QUEUEPILOT_UNITS + i]);
		qw_s64 cell = (keep * s->cell[i] + in * news) >> 15;

		/* Beyond 64 its tanh has long been 1. */
		if (cell > 64 * QW_QUEUEPILOT_ONE)
			cell = 64 * QW_QUEUEPILOT_ONE;
		if (cell < -64 * QW_QUEUEPILOT_ONE)
			cell = -64 * QW_QUEUEPILOT_ONE;
		s->cell[i] = (qw_s32)cell;
		s->hidden[i] =
			(qw_s32)((out * qw_queuepilot_tanh(s->cell[i] * 2)) >>
				 15);
	}
	return 0;
}

/* The actor: two layers of tanh, then a number for each action. */
QW_PART int qw_queuepilot_weigh(struct qw_queuepilot *s QW_GIVEN,
				const struct qw_queuepilot_net *net QW_GIVEN)
{
	qw_u32 i;

	QW_FOR (i, QW_QUEUEPILOT_WIDTH) {
		qw_s64 sum = (qw_s64)net->first_bias[i] * QW_QUEUEPILOT_ONE;

		sum += qw_queuepilot_dot(net->first[i], s->hidden,
					 QW_QUEUEPILOT_UNITS);
		s->layer[0][i] = qw_queuepilot_tanh(
			qw_queuepilot_narrow(sum, QW_QUEUEPILOT_MOST));
	}
	QW_FOR (i, QW_QUEUEPILOT_WIDTH) {
		qw_s64 sum = (qw_s64)net->second_bias[i] * QW_QUEUEPILOT_ONE;

		sum += qw_queuepilot_dot(net->second[i], s->layer[0],
					 QW_QUEUEPILOT_WIDTH);
		s->layer[1][i] = qw_queuepilot_tanh(
			qw_queuepilot_narrow(sum, QW_QUEUEPILOT_MOST));
	}
	QW_FOR (i, QW_QUEUEPILOT_ACTIONS) {
		qw_s64 sum = (qw_s64)net->last_bias[i] * QW_QUEUEPILOT_ONE;

		sum += qw_queuepilot_dot(net->last[i], s->layer[1],
					 QW_QUEUEPILOT_WIDTH);
		s->logit[i] =
			qw_queuepilot_narrow(sum, QW_QUEUEPILOT_MOST_LOGIT);
	}
	return 0;
}

/* exp(-x), x >= 0 in Q16, the result in Q16: 2^-(x / ln 2), and of the part
 * after the point 1 - 0.6931 f + 0.2402 f^2 - 0.0558 f^3 + 0.0090 f^4, right to
 * 6e-4. */
static inline qw_u32 qw_queuepilot_exp(qw_u32 x_q16)
{
	qw_u64 y_q16 = ((qw_u64)x_q16 * 94548) >> 16; /* 1 / ln 2 in Q16 */
	qw_u64 f = y_q16 & 0xffff, power = 65536, odd, even;

	if (y_q16 >> 16 > 20)
		return 0;
	even = power;
	odd = (45426 * f) >> 16;
	even += (15744 * f * f) >> 32;
	odd += ((3638 * f * f) >> 32) * f >> 16;
	even += (((590 * f * f) >> 32) * f >> 16) * f >> 16;
	return (qw_u32)((even - odd) >> (y_q16 >> 16));
}

/* The best action, or one drawn with the policy's probabilities. */
QW_PART qw_u32
qw_queuepilot_choose(struct qw_queuepilot *s QW_GIVEN,
		     const struct qw_queuepilot_params *p QW_GIVEN)
{
	qw_u32 i, best = 0, drawn;
	qw_u64 sum = 0;

	for (i = 1; i < QW_QUEUEPILOT_ACTIONS; i++)
		if (s->logit[i] > s->logit[best])
			best = i;
	if (!p->sample)
		return best;
	for (i = 0; i < QW_QUEUEPILOT_ACTIONS; i++)
		sum += qw_queuepilot_exp(
			(qw_u32)(s->logit[best & 7] - s->logit[i]));
	drawn = (qw_u32)((qw_dice_roll(&s->dice) * sum) >> 32);
	for (i = 0; i < QW_QUEUEPILOT_ACTIONS; i++) {
		qw_u32 part = qw_queuepilot_exp(
			(qw_u32)(s->logit[best & 7] - s->logit[i]));

		if (drawn < part)
			return i;
		drawn -= part;
	}
	return best;
}

/* ----------------------------------------------------------- the step */

/* a / b in Q15, at most `most`. */
static inline qw_s32 qw_queuepilot_share(qw_u64 a, qw_u64 b, qw_u32 most)
{
	qw_u64 q15 = b ? qw_div(a << 15, b) : 0;
	qw_u64 top = (qw_u64)most << 15;

	return (qw_s32)(q15 < top ? q15 : top);
}

/* Packets that the link sends in a step, times 512: what counts are normalised
 * by. Whole packets, as the authors' program has it, where that is within 2 %. */
#define QW_QUEUEPILOT_WHOLE 64u
static inline qw_u64
qw_queuepilot_capacity(const struct qw_queuepilot *s,
		       const struct qw_queuepilot_params *p)
{
	/* What is measured is of bytes as they are counted here. A link that was
	 * never busy has a rate that nobody knows, and that is not reached. */
	qw_u64 told = p->rate_bytes, rate = told ? told : s->link.rate;
	qw_u32 each = p->mtu_bytes + (told ? p->wire_overhead_bytes : 0);
	/* Of a second first, as the authors' program rounds: below 2^43, and a
	 * step is below 2^20 us. */
	qw_u64 times_512 = qw_div(rate << 9, each);

	if (!rate)
		return 1ULL << 40;
	if (times_512 >= QW_QUEUEPILOT_WHOLE << 9)
		times_512 &= ~511ULL;
	times_512 =
		qw_div(times_512 * qw_div(p->step_ns, QW_NS_PER_US), 1000000);
	if (times_512 >= QW_QUEUEPILOT_WHOLE << 9)
		times_512 &= ~511ULL;
	return times_512 ? times_512 : 1;
}

/* Floor of the square root. */
QW_PART qw_u32 qw_queuepilot_root(qw_u64 x)
{
	qw_u64 root = 0;
	qw_u32 i;

	QW_FOR (i, 32) {
		qw_u64 bit = 1ULL << (62 - 2 * i);

		if (x >= root + bit) {
			x -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	return (qw_u32)root;
}

/* What the step showed (section II-B, in the order and scale of the authors'
 * program), and what it was worth: -1 if anything was dropped, else
 * U^2 / sqrt(1 + D), D the sojourn time in steps. */
static inline void qw_queuepilot_observe(struct qw_queuepilot *s,
					 const struct qw_queuepilot_params *p)
{
	qw_u64 capacity;
	qw_u32 i;

	capacity = qw_queuepilot_capacity(s, p);
	s->input[0] = qw_queuepilot_share((qw_u64)s->sent << 9, capacity, 1);
	s->input[1] = qw_queuepilot_share(s->average,
					  (qw_u64)s->buffer_packets << 9, 1);
	s->input[2] = qw_queuepilot_share(s->average, capacity, 30);
	s->input[3] = qw_queuepilot_share((qw_u64)s->arrived << 9, capacity, 3);
	s->input[4] = qw_queuepilot_share((qw_u64)s->dropped << 9, capacity, 1);
	s->input[5] = s->arrived ?
			      qw_queuepilot_share(s->marked, s->arrived, 1) :
		      s->marked ? QW_QUEUEPILOT_ONE :
				  0;
	QW_FOR (i, QW_QUEUEPILOT_ACTIONS)
		s->input[QW_QUEUEPILOT_OBSERVATIONS + i] =
			i == s->action ? QW_QUEUEPILOT_ONE : 0;
	if (s->dropped) {
		s->reward_q15 = -QW_QUEUEPILOT_ONE;
	} else {
		qw_u64 u = (qw_u64)s->input[0];
		/* sqrt of Q30 is Q15. */
		qw_u32 root = qw_queuepilot_root(
			((qw_u64)QW_QUEUEPILOT_ONE + (qw_u64)s->input[2])
			<< 15);

		s->reward_q15 = (qw_s32)qw_div(u * u, root);
	}
	s->input[QW_QUEUEPILOT_INPUTS - 1] = s->reward_q15;
	s->arrived = 0;
	s->sent = 0;
	s->dropped = 0;
	s->marked = 0;
}

/* The scripted policy: one action above a share of the buffer, on average; both
 * times 512. Not below a packet, as the average never goes back to 0 (511/512),
 * and not in a buffer without end. A share of 0 is always. Below, what marks
 * least: nothing, or RED's highest curve. */
static inline void qw_queuepilot_script(struct qw_queuepilot *s,
					const struct qw_queuepilot_params *p)
{
	qw_u64 share = ((qw_u64)s->buffer_packets * p->threshold_q32) >> 23;

	s->action = p->action;
	if (p->threshold_q32 &&
	    (!s->buffer_packets || s->average < share || s->average < 1u << 9))
		s->action = p->actions == QW_QUEUEPILOT_THRESHOLD ||
					    p->actions == QW_QUEUEPILOT_RED ?
				    QW_QUEUEPILOT_ACTIONS - 1 :
				    0;
}

static inline void qw_queuepilot_act(struct qw_queuepilot *s,
				     const struct qw_queuepilot_params *p)
{
	if (p->learned) {
		qw_queuepilot_recur(s, &p->net);
		qw_queuepilot_weigh(s, &p->net);
		s->action = qw_queuepilot_choose(s, p);
	} else {
		qw_queuepilot_script(s, p);
	}
}

/* Somebody else chooses, an agent in user space: its action holds at once. */
static inline void qw_queuepilot_retune(struct qw_queuepilot *s,
					const struct qw_queuepilot_params *p)
{
	if (!p->learned)
		qw_queuepilot_script(s, p);
}

/* Steps due by `now`; how many of them were made. What is further back than the
 * last few has no part in what is done now; what was counted, whenever that was,
 * the first of them sees. */
QW_PART qw_u32 qw_queuepilot_catch_up(
	struct qw_queuepilot *s QW_GIVEN,
	const struct qw_queuepilot_params *p QW_GIVEN, qw_u64 now)
{
	qw_u64 due;
	qw_u32 i, made = 0;

	if (now < s->next_ns)
		return 0;
	due = 1 + qw_div(now - s->next_ns, p->step_ns);
	s->next_ns += due * p->step_ns;
	QW_FOR (i, QW_QUEUEPILOT_CATCH_UP) {
		if (made >= due || s->ticked + made >= QW_QUEUEPILOT_CATCH_UP)
			break;
		qw_queuepilot_observe(s, p);
		qw_queuepilot_act(s, p);
		made++;
	}
	return made;
}

/* The host's timer, which has nothing to say but the time. */
static inline void qw_queuepilot_tick(struct qw_queuepilot *s,
				      const struct qw_queuepilot_params *p,
				      qw_u64 now)
{
	s->ticked += qw_queuepilot_catch_up(s, p, now);
}

/* When it is to come next; without packets it has an end. */
static inline qw_u64 qw_queuepilot_alarm(const struct qw_queuepilot *s,
					 const struct qw_queuepilot_params *p)
{
	(void)p;
	return s->ticked < QW_QUEUEPILOT_CATCH_UP ? s->next_ns : QW_NEVER;
}

/* A call for a packet, or for want of one. */
static inline void qw_queuepilot_called(struct qw_queuepilot *s,
					const struct qw_queuepilot_params *p,
					qw_u64 now)
{
	qw_queuepilot_catch_up(s, p, now);
	s->ticked = 0;
}

static inline void qw_queuepilot_init(struct qw_queuepilot *s,
				      const struct qw_queuepilot_params *p,
				      qw_u64 now)
{
	qw_u32 i;

	s->next_ns = now + p->step_ns;
	s->dice.state = 0;
	s->average = 0;
	qw_service_init(&s->link);
	s->arrived = 0;
	s->sent = 0;
	s->dropped = 0;
	s->marked = 0;
	s->buffer_packets = 0;
	s->ticked = 0;
	s->action = 0;
	s->reward_q15 = 0;
	QW_FOR (i, QW_QUEUEPILOT_INPUTS)
		s->input[i] = 0;
	QW_FOR (i, QW_QUEUEPILOT_UNITS) {
		s->hidden[i] = 0;
		s->cell[i] = 0;
	}
	QW_FOR (i, QW_QUEUEPILOT_ACTIONS)
		s->logit[i] = 0;
	/* The first observation of an episode is all zeros, but for the action
	 * before it, which is the first. */
	s->input[QW_QUEUEPILOT_OBSERVATIONS] = QW_QUEUEPILOT_ONE;
	qw_queuepilot_act(s, p);
}

/* The average moves by 1/512 with every arrival, dropped ones too, and every
 * departure, towards the queue after it. */
static inline void qw_queuepilot_average(struct qw_queuepilot *s,
					 qw_u32 packets)
{
	s->average = s->average + packets - (s->average >> 9);
}

/* The probability, in Q32, with which an arrival is marked that finds the queue
 * like this. */
static inline qw_u64 qw_queuepilot_chance(const struct qw_queuepilot *s,
					  const struct qw_queuepilot_params *p,
					  const struct qw_queue *q)
{
	qw_u32 percent = qw_queuepilot_percent(s->action);
	qw_u64 min;

	if (p->actions == QW_QUEUEPILOT_THRESHOLD) {
		/* 1/32 of the buffer, 1/16, ..., 1/2; all of it: never. */
		if (s->action == QW_QUEUEPILOT_ACTIONS - 1)
			return 0;
		min = (qw_u64)s->buffer_packets << (s->action & 7);
		return ((qw_u64)q->packets << 5) >= min && min ? 1ULL << 32 : 0;
	}
	if (p->actions == QW_QUEUEPILOT_RED) {
		min = (qw_u64)QW_QUEUEPILOT_RED_BYTES << (s->action & 7);
		if (q->bytes < min)
			return 0;
		if (q->bytes >= 3 * min)
			return 1ULL << 32;
		return qw_div(QW_QUEUEPILOT_RED_Q32 * (q->bytes - min),
			      2 * min);
	}
	/* The authors' program draws 0..99 and marks at the limit too. */
	percent = percent ? percent + p->off_by_one : 0;
	return percent < 100 ? qw_div(((qw_u64)percent << 32) + 99, 100) :
			       1ULL << 32;
}

/* Mark before the queue is asked whether it has room, ECN-capable packets of
 * TCP alone, those already marked again. Where it may drop, all packets; but if
 * that is every packet, not one that finds nothing waiting: nobody would tell
 * the average that the queue is gone. */
static inline int qw_queuepilot_marks(const struct qw_queuepilot *s,
				      const struct qw_queuepilot_params *p,
				      const struct qw_queue *q,
				      const struct qw_packet *k, qw_u32 random)
{
	qw_u64 chance = qw_queuepilot_chance(s, p, q);

	if (p->actions != QW_QUEUEPILOT_DROPPING &&
	    (k->ecn == QW_NOT_ECT || (k->protocol && k->protocol != QW_TCP)))
		return 0;
	if (chance >> 32 && k->ecn == QW_NOT_ECT && !q->packets)
		return 0;
	return random < chance;
}

static inline struct qw_verdict
qw_queuepilot_enqueue(struct qw_queuepilot *s,
		      const struct qw_queuepilot_params *p, qw_u64 now,
		      const struct qw_queue *q, const struct qw_packet *k,
		      qw_u32 random)
{
	struct qw_verdict v = qw_pass();
	qw_u64 bytes = qw_tighter(q->limit_bytes, qw_pool_part(q));
	qw_u64 packets = bytes ? qw_div(bytes, p->mtu_bytes) : 0;

	if (bytes && !packets)
		packets = 1;
	packets = qw_tighter(packets, q->limit_packets);
	/* The steps before it saw the buffer that there was. */
	qw_queuepilot_called(s, p, now);
	s->buffer_packets = packets < 0xffffffffu ? (qw_u32)packets :
						    0xffffffffu;
	qw_dice_feed(&s->dice, random);
	s->arrived++;
	if (qw_queuepilot_marks(s, p, q, k, random)) {
		s->marked++;
		v = qw_mark_or_drop(k, 1, QW_REASON_EARLY);
	}
	if (qw_over_limit(q, k)) {
		s->dropped++;
		v = qw_drop(QW_REASON_LIMIT);
	}
	qw_queuepilot_average(s, q->packets + (v.action != QW_DROP));
	return v;
}

static inline struct qw_verdict
qw_queuepilot_dequeue(struct qw_queuepilot *s,
		      const struct qw_queuepilot_params *p, qw_u64 now,
		      const struct qw_queue *q, const struct qw_packet *k)
{
	qw_queuepilot_called(s, p, now);
	if (!p->rate_bytes)
		qw_service_departure(&s->link, now, k->bytes, q->packets);
	s->sent++;
	qw_queuepilot_average(s, q->packets);
	return qw_pass();
}

static inline void qw_queuepilot_idle(struct qw_queuepilot *s,
				      const struct qw_queuepilot_params *p,
				      qw_u64 now)
{
	qw_queuepilot_called(s, p, now);
}

/* Parameters and variables as qw.h says. */
#define QW_QUEUEPILOT_PARAMS(P)                                  \
	P("step", step_ns, 0, 100 * QW_NS_PER_US, QW_NS_PER_SEC) \
	P("rate", rate_bytes, 0, 0, 1ULL << 40)                  \
	P("threshold", threshold_q32, 0, 0, 1ULL << 32)          \
	P("action", action, 0, 0, QW_QUEUEPILOT_ACTIONS - 1)     \
	P("off_by_one", off_by_one, 0, 0, 1)                     \
	P("sample", sample, 0, 0, 1)                             \
	P("actions", actions, 0, 0, QW_QUEUEPILOT_DROPPING)      \
	P("wire_overhead", wire_overhead_bytes, 0, 0, 1000)      \
	P("mtu", mtu_bytes, 0, 64, 65536)
#define QW_QUEUEPILOT_PROBES(V)                  \
	V(qw_queuepilot_percent(s->action), 100) \
	V(s->average, 512)                       \
	V(((qw_s64)s->reward_q15 + QW_QUEUEPILOT_ONE), QW_QUEUEPILOT_ONE)

#ifdef __cplusplus
}
#endif

#endif /* QW_QUEUEPILOT_H */
