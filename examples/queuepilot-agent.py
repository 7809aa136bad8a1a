"""An agent of one's own for QueuePilot: mark more while the queue grows above a fifth of the buffer.

sudo queuewright attach eth0 queuepilot --rate 95mbit --limit 45p
sudo queuewright agent eth0 -- python3 examples/queuepilot-agent.py
"""

import json
import sys

action = 0
for line in sys.stdin:
    step = json.loads(line)
    sent, of_buffer, in_steps, arrived, dropped, marked = step["observation"]
    if dropped or of_buffer > 0.2:
        action = min(action + 1, 4)  # 0, 1, 5, 10, 50 or 100 % of arrivals
    elif of_buffer < 0.1:
        action = max(action - 1, 0)
    print(action, flush=True)
