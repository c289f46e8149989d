"""Runs a program on a terminal of its own and plays a part: expect text, then send keys.

argv[1] is JSON: {"argv", "cwd", "env", "part": [[expect, send]...], "hangup": bool}. Prints JSON:
{"output", "code", "signal", "missing"}; `missing` is the text that did not come within the deadline.
"""
import json
import os
import pty
import select
import sys
import time

DEADLINE_S = 15
job = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    os.chdir(job["cwd"])
    os.execvpe(job["argv"][0], job["argv"], job["env"])

end = time.monotonic() + DEADLINE_S
output = b""


def more():
    """Reads what comes; False at the end of the output or of the time."""
    global output
    left = end - time.monotonic()
    if left <= 0 or not select.select([terminal], [], [], left)[0]:
        return False
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        return False
    output += piece
    return piece != b""


missing = None
seen = 0
for expect, send in job["part"]:
    wanted = expect.encode()
    while wanted not in output[seen:] and more():
        pass
    if wanted not in output[seen:]:
        missing = expect
        break
    seen = output.index(wanted, seen) + len(wanted)
    os.write(terminal, send.encode())

if missing is None and not job["hangup"]:
    while more():
        pass
os.close(terminal)
status = None
while status is None and time.monotonic() < end:
    done, ended = os.waitpid(pid, os.WNOHANG)
    if done == pid:
        status = ended
    else:
        time.sleep(0.01)
if status is None:
    os.kill(pid, 9)
    status = os.waitpid(pid, 0)[1]
    missing = missing or "its end"
print(json.dumps({
    "output": output.decode("utf8", "replace"),
    "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
    "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
    "missing": missing,
}))
