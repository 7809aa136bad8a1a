# What all scripts here begin with.
sysctl -q net.ipv4.tcp_timestamps=0
sysctl -q net.ipv4.tcp_wmem="4096 262144 4194304" net.ipv4.tcp_rmem="4096 131072 $((6*1024*1024))"
sysctl -q net.ipv4.tcp_congestion_control=reno
sysctl -q net.ipv4.tcp_slow_start_after_idle=1
