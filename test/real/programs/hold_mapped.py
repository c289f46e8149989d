"""Holds a file mapped and dirty from before a turn: `hold_mapped.py FILE GO DONE keep|close`.

Says `ready` when the mapping is dirty, waits for a line in the fifo GO, changes a byte through the
mapping (which moves no stamp of the file), and answers in the fifo DONE.
"""

import mmap
import sys

path, go, done, after = sys.argv[1:]
with open(path, "r+b") as f:
    mapping = mmap.mmap(f.fileno(), 0)
mapping[0:1] = b"1"
print("ready", flush=True)
with open(go) as waiting:
    waiting.readline()
mapping[0:1] = b"2"
if after == "close":
    mapping.close()
with open(done, "w") as answer:
    answer.write("done\n")
sys.stdin.read()
