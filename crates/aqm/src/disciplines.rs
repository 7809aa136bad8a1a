//! One file a discipline: its entry in the registry. What it does is in the C
//! header of the same name; how to choose it is in its page of the book, which
//! is also what `queuewright explain` prints.

mod abm;
mod afq;
mod ahab;
mod ared;
mod cake;
mod cebinae;
mod chen_sfq;
mod choke;
mod cobalt;
mod codel;
mod cp_aqm;
mod droptail;
mod dt;
mod dualpi2;
mod duk;
mod fq;
mod fq_codel;
mod fq_pie;
mod gsp;
mod hhf;
mod pi2;
mod pie;
mod queuepilot;
mod red;
mod santa;
mod sfb;
mod sfq;
mod static_threshold;
mod titrate;

/// Every discipline, the simplest first: the order of lists and tables.
pub(crate) static ALL: &[crate::Info] = &[
    droptail::INFO,
    static_threshold::INFO,
    codel::INFO,
    pie::INFO,
    duk::INFO,
    cp_aqm::INFO,
    titrate::INFO,
    queuepilot::INFO,
    santa::INFO,
    red::INFO,
    ared::INFO,
    cobalt::INFO,
    pi2::INFO,
    dualpi2::INFO,
    fq::INFO,
    fq_codel::INFO,
    sfq::INFO,
    chen_sfq::INFO,
    ahab::INFO,
    cebinae::INFO,
    cake::INFO,
    dt::INFO,
    abm::INFO,
    sfb::INFO,
    choke::INFO,
    gsp::INFO,
    hhf::INFO,
    fq_pie::INFO,
    afq::INFO,
];
