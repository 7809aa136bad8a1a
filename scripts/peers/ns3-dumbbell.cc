// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The bench's dumbbell in ns-3: N CUBIC senders, each on its own link, to one
// CoDel bottleneck and one receiver. Prints one line of JSON: bottleneck data
// packets, wall-clock seconds of the event loop (set-up not counted), and their
// quotient, next to utilisation and mean queueing delay as a check that it is
// the same experiment.
//
// Choices that favour ns-3: nix-vector routing (one cached lookup a packet;
// static routes are searched one by one), no trace sinks, no checksums, no pcap.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/nix-vector-routing-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <chrono>
#include <cstdio>

using namespace ns3;

int
main(int argc, char** argv)
{
    uint32_t flows = 10;
    double seconds = 20;
    double rttMs = 50;
    uint32_t seed = 1;
    std::string rate = "1Gbps";
    CommandLine cmd;
    cmd.AddValue("flows", "CUBIC senders", flows);
    cmd.AddValue("seconds", "simulated seconds", seconds);
    cmd.AddValue("rtt", "base round-trip time, ms", rttMs);
    cmd.AddValue("rate", "bottleneck", rate);
    cmd.AddValue("seed", "draws the start times", seed);
    cmd.Parse(argc, argv);
    RngSeedManager::SetSeed(seed);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    // Three times a fair share of link and queue among 10. More lets slow start
    // overshoot further, and ns-3 walks its list of unacknowledged segments.
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(2 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(2 << 20));

    NodeContainer ends;
    ends.Create(2);
    NodeContainer senders;
    senders.Create(flows);
    const Ptr<Node> router = ends.Get(0);
    const Ptr<Node> receiver = ends.Get(1);

    InternetStackHelper internet;
    Ipv4NixVectorHelper nix;
    internet.SetRoutingHelper(nix);
    internet.SetIpv6StackInstall(false);
    internet.Install(ends);
    internet.Install(senders);

    // 1 ms from the bottleneck to the receiver, the rest on the access links.
    const Time bottleneckDelay = MilliSeconds(1);
    const Time accessDelay = MicroSeconds(static_cast<uint64_t>(rttMs * 500)) - bottleneckDelay;

    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", TimeValue(bottleneckDelay));
    // The queue discipline, not the device, holds the queue.
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    const NetDeviceContainer bottleneck = link.Install(router, receiver);

    const uint64_t bps = DataRate(rate).GetBitRate();
    const auto buffer = static_cast<uint64_t>(2.0 * static_cast<double>(bps) / 8 * rttMs / 1e3);
    TrafficControlHelper codel;
    codel.SetRootQueueDisc("ns3::CoDelQueueDisc",
                           "MaxSize",
                           StringValue(std::to_string(buffer) + "B"),
                           "MinBytes",
                           UintegerValue(1500));
    const QueueDiscContainer queue = codel.Install(bottleneck.Get(0));

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    const Ipv4InterfaceContainer far = addresses.Assign(bottleneck);

    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    access.SetChannelAttribute("Delay", TimeValue(accessDelay));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
    // No queue discipline on the access links: the sender is never the bottleneck.
    TrafficControlHelper none;

    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    for (uint32_t i = 0; i < flows; i++)
    {
        addresses.NewNetwork();
        const NetDeviceContainer devices = access.Install(senders.Get(i), router);
        addresses.Assign(devices);
        none.Uninstall(devices);

        const auto port = static_cast<uint16_t>(10000 + i);
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sink.Install(receiver);
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(far.GetAddress(1), port));
        bulk.SetAttribute("MaxBytes", UintegerValue(0));
        bulk.Install(senders.Get(i)).Start(Seconds(start->GetValue(0, 1)));
    }

    Simulator::Stop(Seconds(seconds));
    const auto from = std::chrono::steady_clock::now();
    Simulator::Run();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - from;

    const QueueDisc::Stats& stats = queue.Get(0)->GetStats();
    const uint64_t packets = stats.nTotalSentPackets;
    const double utilization = static_cast<double>(stats.nTotalSentBytes) * 8 / static_cast<double>(bps) / seconds;
    std::printf("{\"packets\":%llu,\"wall_s\":%.3f,\"packets_per_s\":%.0f,\"utilization\":%.4f,\"drops\":%u}\n",
                static_cast<unsigned long long>(packets),
                wall.count(),
                static_cast<double>(packets) / wall.count(),
                utilization,
                stats.nTotalDroppedPackets);
    Simulator::Destroy();
    return 0;
}
