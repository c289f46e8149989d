"""Rewrites files in every way a Python program may: `rewrite.py WAY FILE…`."""

import mmap
import os
import sys


def in_place(path, new):
    with open(path, "r+b") as f:
        f.write(new)
        f.truncate()


def by_rename(path, new):
    with open(path + ".tmp", "wb") as f:
        f.write(new)
    os.replace(path + ".tmp", path)


def through_mmap(path, new):
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as m:
        m[: len(new)] = new


def in_place_mtime_put_back(path, new):
    stat = os.stat(path)
    with open(path, "r+b") as f:
        f.write(new)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def through_mmap_mtime_put_back(path, new):
    stat = os.stat(path)
    through_mmap(path, new)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def by_rename_mtime_put_back(path, new):
    stat = os.stat(path)
    by_rename(path, new)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


way = globals()[sys.argv[1]]
for name in sys.argv[2:]:
    with open(name, "rb") as f:
        old = f.read()
    # As many bytes as before, each another one.
    way(name, bytes(byte ^ 1 for byte in old))
