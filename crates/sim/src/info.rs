//! What a sender tells of its state, by the names of Linux.

use queuewright_cca::CaState;

/// A sender's state, named as `struct tcp_info` names it. Windows are in segments, times in us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are tcp_info's")]
pub struct Info {
    pub ca_state: CaState,
    pub snd_cwnd: u32,
    pub snd_ssthresh: u32,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    /// Segments sent again so far.
    pub total_retrans: u64,
    /// Timeouts since the window last advanced.
    pub retransmits: u32,
    /// Timeouts since the last sample of the round trip.
    pub backoff: u32,
    pub rto: u32,
    pub rtt: u32,
    pub rttvar: u32,
    /// None before the first sample.
    pub min_rtt: Option<u32>,
    pub reordering: u32,
    pub reord_seen: u32,
    /// Bytes a second; none before it is known.
    pub pacing_rate: Option<u64>,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub app_limited: bool,
    pub dsack_dups: u64,
    /// First unacknowledged segment, and the next to be sent for the first time.
    pub snd_una: u32,
    pub snd_nxt: u32,
    /// Segments written and not yet sent.
    pub notsent: u32,
    /// When the last SYN was sent (ns), and how many before it.
    pub syn_sent_ns: u64,
    pub syn_retransmits: u32,
}

/// What of a sender's state `struct tcp_sock` has and [`Info`] has not, by the names there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are tcp_sock's")]
pub struct Inner {
    pub written: u32,
    pub high_seq: u32,
    pub cwnd_cnt: u32,
    pub prior_cwnd: u32,
    pub prior_ssthresh: u32,
    pub prr_delivered: u32,
    pub prr_out: u32,
    pub srtt: u32,
    pub mdev: u32,
    pub mdev_max: u32,
    pub rttvar: u32,
    pub lost: u32,
    pub app_limited: u32,
    pub rack_rtt: u32,
    pub rack_end: u32,
    pub rack_steps: u32,
    pub rack_persist: u32,
    pub undo_marker: Option<u32>,
    pub undo_retrans: i32,
    pub retrans_stamp: u32,
    /// None: no probe is out.
    pub tlp_high_seq: Option<u32>,
    pub tlp_retrans: bool,
    pub frto: bool,
    pub is_cwnd_limited: bool,
    pub max_packets_out: u32,
    pub cwnd_usage_seq: u32,
    pub cwnd_used: u32,
    pub sndbuf: u32,
    pub queued: u32,
    /// One past the last segment of the buffer that is sent next.
    pub head_end: u32,
    /// When the timer fires (ns), and what it does (`icsk_pending`): 0 nothing, 1 the timeout, 5 a probe, 6 RACK's.
    pub timer_at: u64,
    pub pending: u32,
    pub wstamp_ns: u64,
}
