/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What always holds of each discipline's state, whatever was done to it:
 * fuzz.c asks after every operation.
 */
#ifndef QW_TESTS_INVARIANTS_H
#define QW_TESTS_INVARIANTS_H

static void check_droptail(const struct qw_droptail *s)
{
	(void)s;
}

static void check_static(const struct qw_static *s)
{
	(void)s;
}

static void check_codel_state(const struct qw_codel *s)
{
	CHECK(s->dropping <= 1);
	CHECK(s->after_drop <= QW_CODEL_REPEATED);
	CHECK(s->drops <= QW_CODEL_MOST_DROPS);
	CHECK(s->rec_inv_sqrt_q16 <= 0xffff);
}

static void check_codel(const struct qw_codel *s)
{
	check_codel_state(s);
	/* The law must stay near 1 / sqrt(count), or drops come all at once. */
	CHECK(!s->dropping || (s->count >= 1 && s->rec_inv_sqrt_q16 >= 1));
}

static void check_pie(const struct qw_pie *s)
{
	CHECK(s->prob_q56 <= QW_PIE_ONE_Q56);
	CHECK(s->burst <= 10 * QW_NS_PER_SEC / QW_PIE_TICK_NS);
}

static void check_duk(const struct qw_duk *s)
{
	CHECK(s->p_q32 <= QW_DUK_ONE_Q32);
	CHECK(s->u_q30 < 2 * QW_DUK_ONE_Q30);
	/* A packet that takes longer is the least of Algorithm 2. */
	CHECK(s->dt_ns >= 1 && s->dt_ns <= QW_DUK_MAX_NS);
	/* M is not below C. */
	CHECK(s->peak_npb_q20 <= s->npb_q20 || !s->npb_q20);
	CHECK(s->level <= 100 && s->points <= 101);
}

static void check_cp_aqm(const struct qw_cp_aqm *s)
{
	/* And the debt of one packet. */
	CHECK(s->missing_nb <=
	      s->bucket_nb + 65536 * (1 + 16 * 15) * QW_NS_PER_SEC);
	CHECK(s->bucket_nb <= QW_CP_AQM_MAX_BYTES * QW_NS_PER_SEC);
	/* cmax is up to 16, and 16 times Qmax as far as c(x) rises. */
	CHECK(s->congestion_nano <= (1 + 16 * 15) * QW_NS_PER_SEC);
}

static void check_titrate(const struct qw_titrate *s)
{
	CHECK(s->threshold_bytes <= QW_TITRATE_MAX_BYTES);
	CHECK(s->intervals <= 2);
	CHECK(s->sampled <= QW_TITRATE_MAX_SAMPLES && s->kept <= s->sampled);
}

static void check_drr(const struct qw_drr *d, const struct qw_drr_queue *q,
		      qw_u32 queues)
{
	qw_u32 i, active = 0;

	for (i = 0; i < queues; i++) {
		CHECK(!q[i].packets == !q[i].bytes);
		CHECK(q[i].list || !q[i].packets);
		active += q[i].packets != 0;
	}
	CHECK(d->active == active);
	CHECK(!d->fresh.head == !d->fresh.tail && !d->old.head == !d->old.tail);
}

static void check_fq_codel(const struct qw_fq_codel *s)
{
	qw_u32 i;

	check_drr(&s->drr, s->queue, QW_FQ_CODEL_QUEUES);
	for (i = 0; i < QW_FQ_CODEL_QUEUES; i++)
		check_codel_state(&s->codel[i]);
}

static void check_fq(const struct qw_fq *s)
{
	check_drr(&s->drr, s->queue, QW_FQ_FLOWS);
	CHECK(s->internal <= QW_FQ_INTERNAL_MOST);
	CHECK(!s->first.head == !s->first.tail && s->band < 2);
}

static void check_sfq(const struct qw_sfq *s)
{
	qw_u32 i, at, length, packets = 0, longest = 0, known = 0;

	check_drr(&s->drr, s->queue, QW_SFQ_QUEUES);
	CHECK(!s->drr.fresh.head && !s->full);
	CHECK(s->drr.active <= s->flows && s->depth <= QW_SFQ_DEPTH);
	for (i = 0; i < QW_SFQ_QUEUES; i++) {
		packets += s->queue[i].packets;
		if (s->queue[i].packets > longest)
			longest = s->queue[i].packets;
		/* Who has nothing is not in the round. */
		CHECK(!s->queue[i].list == !s->queue[i].packets);
	}
	CHECK(packets <= s->limit && longest == s->longest);
	/* Each is under its length, once. */
	for (length = 1; length <= QW_SFQ_DEPTH; length++)
		for (at = s->of_length[length]; at;
		     at = s->peer[at - 1].after) {
			CHECK(at <= QW_SFQ_QUEUES);
			CHECK(s->queue[at - 1].packets == length);
			CHECK(++known <= s->drr.active);
		}
	CHECK(known == s->drr.active);
}

static void check_queuepilot(const struct qw_queuepilot *s)
{
	CHECK(s->action < QW_QUEUEPILOT_ACTIONS);
	CHECK(s->reward_q15 >= -QW_QUEUEPILOT_ONE &&
	      s->reward_q15 <= QW_QUEUEPILOT_ONE);
}

static void check_cobalt(const struct qw_cobalt *s)
{
	CHECK(s->dropping <= 1);
	CHECK(!s->dropping || s->count);
	/* The law must stay near 1 / sqrt(count), or signals come all at once; it is
	 * 0 until count has moved beyond 1. */
	CHECK(s->rec_inv_sqrt_q32 >= 1 || s->count <= 1);
}

static void check_pi(const struct qw_pi *s)
{
	CHECK(s->prob_q52 <= QW_PI_ONE_Q52);
	CHECK(s->qdelay_ns <= QW_PI_MAX_DELAY_NS);
}

static void check_pi2(const struct qw_pi2 *s)
{
	check_pi(&s->pi);
}

static void check_dualpi2(const struct qw_dualpi2 *s)
{
	check_pi(&s->pi);
	/* Neither queue is ever owed more than a few of the largest packets. */
	CHECK(s->credit <= 100 * 65536 && s->credit >= -200 * 65536);
}

static void check_chen_sfq(const struct qw_chen_sfq *s)
{
	qw_u32 i, sum = 0;

	for (i = 0; i < QW_CHEN_SFQ_STEPS; i++)
		sum += s->count[i];
	CHECK(s->active == sum && sum <= QW_CHEN_SFQ_FLOWS);
	CHECK(!s->count[QW_CHEN_SFQ_STEP(s->step)]);
}

static void check_ahab(const struct qw_ahab *s)
{
	CHECK(s->threshold >= QW_AHAB_LEAST_T);
	CHECK(s->threshold <= QW_AHAB_MOST_T);
	CHECK(s->through_q8 <= s->demand_q8 && s->higher_q8 <= s->demand_q8);
}

static void check_cebinae(const struct qw_cebinae *s)
{
	const struct qw_cebinae_group *top = &s->group[QW_CEBINAE_TOP],
				      *bottom = &s->group[QW_CEBINAE_BOTTOM];

	CHECK(s->head < QW_CEBINAE_QUEUES);
	CHECK(s->saturated || !s->top_flows);
	CHECK(top->next_share + bottom->next_share == s->round_bytes);
}

static void check_hhf(const struct qw_hhf *s)
{
	qw_u32 i, at, chained = 0, unused = 0;

	check_drr(&s->drr, s->queue, QW_HHF_QUEUES);
	CHECK(s->queue[QW_HHF_HEAVY].list != QW_DRR_NEW);
	/* An entry is in the chain of its hash, or out of use, once. */
	for (i = 0; i < QW_HHF_COLUMNS; i++)
		for (at = s->chain[i]; at; at = s->flow[at - 1].next) {
			CHECK(at <= s->made && ++chained <= s->flows);
			CHECK((s->flow[at - 1].hash & (QW_HHF_COLUMNS - 1)) ==
			      i);
		}
	for (at = s->free; at; at = s->flow[at - 1].next)
		CHECK(at <= s->made && ++unused <= s->made);
	CHECK(chained == s->flows && chained + unused == s->made);
	CHECK(s->made <= QW_HHF_FLOWS);
}

static void check_fq_pie(const struct qw_fq_pie *s)
{
	qw_u32 i;

	check_drr(&s->drr, s->queue, QW_FQ_PIE_QUEUES);
	for (i = 0; i < QW_FQ_PIE_QUEUES; i++) {
		check_pie(&s->pie[i]);
		/* Who had a packet has a PIE. */
		CHECK(s->pie[i].next_tick_ns || !s->queue[i].list);
	}
}

static void check_afq(const struct qw_afq *s)
{
	qw_u32 row, column;

	CHECK(s->head < QW_AFQ_QUEUES);
	/* A packet is in a row as often as in another: so is the furthest. */
	for (row = 1; row < QW_AFQ_ROWS; row++) {
		qw_u64 furthest[2] = { 0, 0 };

		for (column = 0; column < QW_AFQ_COLUMNS; column++) {
			if (s->reach[0][column] > furthest[0])
				furthest[0] = s->reach[0][column];
			if (s->reach[row][column] > furthest[1])
				furthest[1] = s->reach[row][column];
		}
		CHECK(furthest[0] == furthest[1]);
	}
}

static void check_cake_list(const struct qw_cake_flow *f,
			    const struct qw_cake_list *l, qw_u32 *seen)
{
	qw_u32 at = l->head, before;

	if (!at)
		return;
	before = f[at - 1].before;
	do {
		CHECK(at <= QW_CAKE_FLOWS && f[at - 1].before == before);
		CHECK(f[at - 1].state != QW_CAKE_NONE);
		CHECK(++*seen <= QW_CAKE_FLOWS);
		before = at;
		at = f[at - 1].after;
	} while (at != l->head);
}

static void check_cake(const struct qw_cake *s)
{
	qw_u32 tin, i, bulk = 0, wild = 0;

	CHECK(s->tins >= 1 && s->tins <= QW_CAKE_TINS && s->tin < s->tins);
	for (tin = 0; tin < QW_CAKE_TINS; tin++) {
		const struct qw_cake_tin *t = &s->of[tin];
		const struct qw_cake_flow *f = &s->flow[tin * QW_CAKE_FLOWS];
		qw_u32 states[QW_CAKE_DECAYING + 1] = { 0 }, seen = 0;
		qw_u32 from[QW_CAKE_FLOWS] = { 0 }, to[QW_CAKE_FLOWS] = { 0 };
		int by_source = 0, by_destination = 0;
		qw_u64 bytes = 0;

		check_cake_list(f, &t->fresh, &seen);
		check_cake_list(f, &t->old, &seen);
		check_cake_list(f, &t->decaying, &seen);
		for (i = 0; i < QW_CAKE_FLOWS; i++) {
			CHECK(f[i].state <= QW_CAKE_DECAYING);
			CHECK(!f[i].packets == !f[i].bytes);
			/* Who has packets has turns. */
			CHECK(!f[i].packets || f[i].state == QW_CAKE_SPARSE ||
			      f[i].state == QW_CAKE_BULK);
			states[f[i].state]++;
			bytes += f[i].bytes;
			wild += f[i].cobalt.p_drop_q32 != 0;
			check_cobalt(&f[i].cobalt);
			if (f[i].state != QW_CAKE_BULK)
				continue;
			from[f[i].source]++;
			to[f[i].destination]++;
		}
		CHECK(t->bytes == bytes && t->bulk == states[QW_CAKE_BULK]);
		CHECK(t->sparse ==
		      states[QW_CAKE_SPARSE] + states[QW_CAKE_WAITING]);
		CHECK(seen == QW_CAKE_FLOWS - states[QW_CAKE_NONE]);
		CHECK(tin < s->tins || !seen);
		/* Each host has its bulk queues counted, or none has. */
		for (i = 0; i < QW_CAKE_FLOWS; i++) {
			by_source |= t->host[i].from != 0;
			by_destination |= t->host[i].to != 0;
		}
		for (i = 0; i < QW_CAKE_FLOWS; i++) {
			CHECK(!by_source || t->host[i].from == from[i]);
			CHECK(!by_destination || t->host[i].to == to[i]);
			CHECK(t->host[i].from_less ==
			      qw_cake_less(t->host[i].from));
			CHECK(t->host[i].to_less ==
			      qw_cake_less(t->host[i].to));
		}
		bulk += t->bulk;
	}
	CHECK(s->bulk == bulk && s->unresponsive == wild);
	/* What is longer is nearer to the top, each queue in its place. */
	for (i = 0; s->heap_left && i < QW_CAKE_QUEUES; i++) {
		CHECK(s->flow[s->heap[i]].place == i);
		CHECK(qw_cake_long(s, i) <=
		      qw_cake_long(s, i ? (i - 1) / 2 : 0));
	}
}

static void check_dt(const struct qw_dt *s)
{
	(void)s;
}

static void check_abm(const struct qw_abm *s)
{
	CHECK(s->congested < 2); /* the fuzzer's port shares with nobody */
}

static void check_red(const struct qw_red *s)
{
	CHECK(s->max_p_q32 <= QW_RED_ONE_Q32);
	CHECK(s->wlog >= 1 && s->wlog <= QW_RED_MAX_WLOG);
	CHECK(s->min_bytes <= s->max_bytes && s->max_bytes <= QW_RED_MAX_BYTES);
	CHECK(s->delta_bytes >= 1);
	CHECK(s->avg >> s->wlog <= QW_RED_MAX_BYTES);
	CHECK(s->cell_log <= 31 && s->cell_q48 <= 255ULL << 48);
	/* ACC's ladder: 20 kB to 10.24 MB, or to the buffer. */
	CHECK(qw_red_rung(0) == 20000 && qw_red_rung(9) == 10240000);
	CHECK(qw_red_rung_of(512000, 0) == 1000);
	CHECK(qw_red_rung_of(512000, 9) == 512000);
}

static void check_ared(const struct qw_ared *s)
{
	check_red(&s->red);
	CHECK(s->rate <= QW_RED_MAX_RATE);
}

static void check_gsp(const struct qw_gsp *s)
{
	CHECK(s->time_ns <= QW_GSP_MAX_TIME_NS);
	CHECK(s->interval_ns <= QW_GSP_MAX_NS);
	CHECK(s->above <= 1);
}

static void check_sfb(const struct qw_sfb *s)
{
	qw_u32 waiting = s->tail - s->head, slot, level, bin, i;

	CHECK(waiting <= QW_SFB_PACKETS && s->slot <= 1);
	/* In each level of a filter are all that it knows of. */
	for (slot = 0; slot < 2; slot++) {
		qw_u32 known = 0;

		for (i = 0; i < waiting; i++)
			known += s->hash[(s->head + i) & QW_SFB_MASK][slot] !=
				 0;
		for (level = 0; level < QW_SFB_LEVELS; level++) {
			qw_u32 sum = 0;

			for (bin = 0; bin < QW_SFB_BINS; bin++)
				sum += s->bin[slot][level][bin].packets;
			CHECK(sum == known || known > 65535);
		}
	}
}

static void check_choke(const struct qw_choke *s)
{
	qw_u32 held = s->tail - s->first, head = s->head - s->first, i,
	       marked = 0;

	check_red(&s->red);
	CHECK(s->red.min_bytes >= 1 || !s->red.made);
	CHECK(held <= QW_CHOKE_MOST && head <= held && !s->told);
	/* The head is one that counts, and none is before it. */
	for (i = 0; i < held; i++) {
		int is = !s->flow[(s->first + i) & QW_CHOKE_MASK];

		CHECK(i < head ? is : i > head || !is);
		marked += (qw_u32)is;
	}
	CHECK(marked == s->marked);
}

static void check_santa(const struct qw_santa *s)
{
	qw_u32 i, at, indexed = 0, flows[QW_SANTA_QUEUES] = { 0 };

	CHECK(s->flows <= QW_SANTA_FLOWS && s->hand <= s->flows);
	for (i = 0; i < s->flows; i++) {
		const struct qw_santa_flow *f = &s->flow[i];

		CHECK(f->queue >= 1 && f->queue <= QW_SANTA_MOST + 1);
		CHECK(f->round <= s->round);
		flows[f->queue]++;
	}
	/* Every flow is under its value of the index, once. */
	for (i = 0; i < QW_SANTA_FLOWS; i++) {
		for (at = s->index[i]; at; at = s->flow[at - 1].next) {
			CHECK(at <= s->flows);
			CHECK((s->flow[at - 1].hash & (QW_SANTA_FLOWS - 1)) ==
			      i);
			indexed++;
		}
	}
	CHECK(indexed == s->flows);
	for (i = 0; i < QW_SANTA_QUEUES; i++) {
		const struct qw_santa_queue *f = &s->queue[i];

		CHECK(f->flows == flows[i]);
		CHECK(!f->packets == !f->bytes);
		CHECK(f->packets || f->deficit_q20 <= 0);
		if (i >= 1 && i <= QW_SANTA_MOST + 1) {
			check_codel(&f->codel);
			check_titrate(&f->titrate);
		}
	}
}

#endif /* QW_TESTS_INVARIANTS_H */
