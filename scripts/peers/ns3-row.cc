// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A row of `queuewright validate` in ns-3: TCP flows of any congestion control and
// round-trip time through one queue disc. Prints one line of JSON with what the
// row is compared by, counted from the end of the warm-up.
//
// ns-3's own defaults are those of its examples. Here it is set to what Linux does
// wherever it has a choice: segments of 1448 bytes, ten of them to begin with, an
// ACK for two, at least 200 ms to a timeout, PRR, SACK, timestamps, PIE without
// luck that accumulates.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdio>
#include <deque>
#include <map>
#include <sstream>
#include <vector>

using namespace ns3;

namespace
{

struct Flow
{
    std::string cca;
    int64_t rttNs;
    int64_t startNs;
    uint32_t group;
};

// "CCA,RTT_NS,START_NS,GROUP" and so on, with a semicolon between flows
std::vector<Flow>
FlowsOf(const std::string& text)
{
    std::vector<Flow> flows;
    std::istringstream all(text);
    std::string one;
    while (std::getline(all, one, ';'))
    {
        std::istringstream words(one);
        std::string word;
        std::vector<std::string> parts;
        while (std::getline(words, word, ','))
        {
            parts.push_back(word);
        }
        NS_ABORT_MSG_IF(parts.size() != 4, "a flow is CCA,RTT_NS,START_NS,GROUP, not " << one);
        flows.push_back({parts[0], std::stoll(parts[1]), std::stoll(parts[2]), uint32_t(std::stoul(parts[3]))});
    }
    return flows;
}

TypeId
CongestionControl(const std::string& name)
{
    // ns-3's TcpNewReno does without RFC 3465's byte counting, which Linux has.
    static const std::map<std::string, std::string> names = {
        {"newreno", "ns3::TcpLinuxReno"},
        {"cubic", "ns3::TcpCubic"},
        {"bbr", "ns3::TcpBbr"},
        {"vegas", "ns3::TcpVegas"},
        {"veno", "ns3::TcpVeno"},
        {"htcp", "ns3::TcpHtcp"},
        {"dctcp", "ns3::TcpDctcp"},
        {"illinois", "ns3::TcpIllinois"},
        {"yeah", "ns3::TcpYeah"},
        {"bic", "ns3::TcpBic"},
        {"scalable", "ns3::TcpScalable"},
    };
    const auto found = names.find(name);
    NS_ABORT_MSG_IF(found == names.end(), "ns-3 has no " << name);
    return TypeId::LookupByName(found->second);
}

// What waits, and what the link sent since the warm-up. A packet waits until its first
// bit is sent: the device holds one behind the one that it sends, which the queue disc has let
// go. The device keeps the order, so that times of arrival are a queue as well.
struct Watch
{
    Time warm;
    std::deque<Time> arrivals;
    uint64_t bytes = 0;
    uint64_t packets = 0;
    double sojournMs = 0;

    void Dequeued(Ptr<const QueueDiscItem> item)
    {
        arrivals.push_back(item->GetTimeStamp());
    }

    // CoDel's are dequeued first.
    void Dropped(Ptr<const QueueDiscItem>, const char*)
    {
        arrivals.pop_back();
    }

    void Sent(Ptr<const Packet> packet)
    {
        const Time now = Simulator::Now();
        const Time arrival = arrivals.front();
        arrivals.pop_front();
        if (now < warm)
        {
            return;
        }
        bytes += packet->GetSize();
        packets++;
        sojournMs += (now - arrival).GetSeconds() * 1e3;
    }
};

} // namespace

int
main(int argc, char** argv)
{
    uint64_t rate = 20000000;
    std::string queueName = "droptail";
    std::string limit = "1000p";
    std::string ceThreshold;
    bool queueEcn = false;
    bool tcpEcn = false;
    std::string flowsText;
    double seconds = 20;
    double warmup = 5;
    uint32_t seed = 1;
    CommandLine cmd;
    cmd.AddValue("rate", "bottleneck, bit/s", rate);
    cmd.AddValue("queue", "droptail, codel, pie, fq-codel", queueName);
    cmd.AddValue("limit", "of the queue: 67p or 100000B", limit);
    cmd.AddValue("queueEcn", "the queue marks", queueEcn);
    cmd.AddValue("ceThreshold", "CoDel's, such as 1ms", ceThreshold);
    cmd.AddValue("tcpEcn", "flows ask for ECN", tcpEcn);
    cmd.AddValue("flows", "CCA,RTT_NS,START_NS,GROUP;...", flowsText);
    cmd.AddValue("seconds", "simulated seconds", seconds);
    cmd.AddValue("warmup", "of these, not counted", warmup);
    cmd.AddValue("seed", "of random numbers", seed);
    cmd.Parse(argc, argv);
    const std::vector<Flow> flows = FlowsOf(flowsText);
    RngSeedManager::SetSeed(seed);

    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(6 << 20));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpPrrRecovery::GetTypeId()));
    if (tcpEcn)
    {
        Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
    }

    // Senders, each with a receiver of its own, so that both ends have the same congestion control
    // (DCTCP's receiver answers marks its own way).
    NodeContainer routers;
    routers.Create(2);
    NodeContainer senders;
    senders.Create(flows.size());
    NodeContainer receivers;
    receivers.Create(flows.size());
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.Install(routers);
    internet.Install(senders);
    internet.Install(receivers);

    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
    link.SetChannelAttribute("Delay", TimeValue(Time(0)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    const NetDeviceContainer bottleneck = link.Install(routers);

    TrafficControlHelper control;
    if (queueName == "codel")
    {
        control.SetRootQueueDisc("ns3::CoDelQueueDisc", "MinBytes", UintegerValue(1500));
    }
    else if (queueName == "pie")
    {
        control.SetRootQueueDisc("ns3::PieQueueDisc",
                                 "MeanPktSize",
                                 UintegerValue(1500),
                                 "UseDerandomization",
                                 BooleanValue(true));
    }
    else if (queueName == "fq-codel")
    {
        control.SetRootQueueDisc("ns3::FqCoDelQueueDisc");
    }
    else
    {
        NS_ABORT_MSG_IF(queueName != "droptail", "no queue disc for " << queueName);
        control.SetRootQueueDisc("ns3::FifoQueueDisc");
    }
    const Ptr<QueueDisc> queue = control.Install(bottleneck.Get(0)).Get(0);
    queue->SetMaxSize(QueueSize(limit));
    if (queueName == "fq-codel")
    {
        DynamicCast<FqCoDelQueueDisc>(queue)->SetQuantum(1514);
    }
    if (queueName != "droptail")
    {
        queue->SetAttribute("UseEcn", BooleanValue(queueEcn));
    }
    if (!ceThreshold.empty())
    {
        queue->SetAttribute("CeThreshold", StringValue(ceThreshold));
    }

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    addresses.Assign(bottleneck);
    TrafficControlHelper none;
    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i < flows.size(); i++)
    {
        PointToPointHelper access;
        access.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
        access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
        // All of the round trip is on the sender's side.
        access.SetChannelAttribute("Delay", TimeValue(NanoSeconds(flows[i].rttNs / 2)));
        const NetDeviceContainer near = access.Install(senders.Get(i), routers.Get(0));
        access.SetChannelAttribute("Delay", TimeValue(Time(0)));
        const NetDeviceContainer far = access.Install(routers.Get(1), receivers.Get(i));
        addresses.NewNetwork();
        addresses.Assign(near);
        addresses.NewNetwork();
        const Ipv4Address to = addresses.Assign(far).GetAddress(1);
        // Only the bottleneck has a queue disc.
        none.Uninstall(near);
        none.Uninstall(far);

        const TypeIdValue cca(CongestionControl(flows[i].cca));
        senders.Get(i)->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", cca);
        receivers.Get(i)->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", cca);
        const uint16_t port = 5000;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.push_back(DynamicCast<PacketSink>(sink.Install(receivers.Get(i)).Get(0)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(to, port));
        bulk.SetAttribute("MaxBytes", UintegerValue(0));
        bulk.SetAttribute("SendSize", UintegerValue(131072));
        bulk.Install(senders.Get(i)).Start(NanoSeconds(flows[i].startNs));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Watch watch;
    watch.warm = Seconds(warmup);
    queue->TraceConnectWithoutContext("Dequeue", MakeCallback(&Watch::Dequeued, &watch));
    queue->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&Watch::Dropped, &watch));
    bottleneck.Get(0)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Watch::Sent, &watch));

    uint64_t dropsBefore = 0;
    uint64_t marksBefore = 0;
    std::vector<uint64_t> receivedBefore(flows.size());
    Simulator::Schedule(Seconds(warmup), [&] {
        dropsBefore = queue->GetStats().nTotalDroppedPackets;
        marksBefore = queue->GetStats().nTotalMarkedPackets;
        for (uint32_t i = 0; i < flows.size(); i++)
        {
            receivedBefore[i] = sinks[i]->GetTotalRx();
        }
    });
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();

    uint32_t groups = 0;
    for (const Flow& flow : flows)
    {
        groups = std::max(groups, flow.group + 1);
    }
    std::vector<double> received(groups);
    double all = 0;
    for (uint32_t i = 0; i < flows.size(); i++)
    {
        const double bytes = double(sinks[i]->GetTotalRx() - receivedBefore[i]);
        received[flows[i].group] += bytes;
        all += bytes;
    }
    std::printf("{\"utilization\":%.4f,\"sojourn_ms\":%.4f,\"shares\":[",
                100.0 * double(watch.bytes) * 8 / double(rate) / (seconds - warmup),
                watch.sojournMs / double(std::max<uint64_t>(watch.packets, 1)));
    for (uint32_t g = 0; g < groups; g++)
    {
        std::printf("%s%.3f", g ? "," : "", all > 0 ? 100.0 * received[g] / all : 0.0);
    }
    std::printf("],\"drops\":%llu,\"marks\":%llu}\n",
                static_cast<unsigned long long>(queue->GetStats().nTotalDroppedPackets - dropsBefore),
                static_cast<unsigned long long>(queue->GetStats().nTotalMarkedPackets - marksBefore));
    Simulator::Destroy();
    return 0;
}
