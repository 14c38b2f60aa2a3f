import { type Attempt, type HostFacts, python } from './attempt.ts'

const growth = { limit: 'exec_workspace_delta_limit' } as const

/** Attempts to use up the machine, to live on, and to leave surprises. The sandbox of these attempts has small limits. */
export const resourceAttempts = ({ pid }: HostFacts): readonly Attempt[] => [
  python(
    'fork without end',
    `children = []
while True:
  child = os.fork()
  if child == 0:
    import time
    time.sleep(60)
  children.append(child)
  if len(children) > 500:
    return len(children)`,
  ),
  python(
    'start threads without end',
    'import threading, time\nfor n in range(2000): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nreturn n',
  ),
  { name: 'use up the memory', limit: 'memory_limit', code: 'a = []\nwhile True: a.append(bytearray(10_000_000))' },
  {
    name: 'use up the memory (JavaScript)',
    limit: 'memory_limit',
    language: 'javascript',
    code: 'const a = []\nfor (;;) a.push(new Array(1e6).fill(1))',
  },
  {
    name: 'use up the memory with many processes',
    limit: 'memory_limit',
    code: `import os, time
for _ in range(12):
  if os.fork() == 0:
    kept = bytearray(os.urandom(1 << 20)) * 60
    time.sleep(60)
time.sleep(60)`,
  },
  {
    name: 'use up the memory with shared pages',
    limit: 'memory_limit',
    code: 'import mmap, time\nkept = []\nwhile True:\n  m = mmap.mmap(-1, 1 << 24)\n  m.write(b"x" * (1 << 24))\n  kept.append(m)',
  },
  { name: 'fill the disk with files', ...growth, code: 'n = 0\nwhile True:\n  n += 1\n  open(f"files/{n}", "wb").write(b"x" * 1_000_000)' },
  { name: 'fill the work folder', ...growth, code: 'n = 0\nwhile True:\n  n += 1\n  (WORKDIR / str(n)).write_bytes(b"x" * 1_000_000)' },
  {
    name: 'fill the disk in a folder that can not be read',
    ...growth,
    code: 'import os, time\nos.mkdir("files/d")\nkept = [open(f"files/d/{n}", "wb") for n in range(8)]\nos.chmod("files/d", 0)\nfor f in kept:\n  f.write(b"x" * 7_000_000)\n  f.flush()\ntime.sleep(60)',
  },
  {
    name: 'fill the disk with files without a name',
    ...growth,
    code: 'import os, time\nkept = []\nfor n in range(20):\n  f = open("files/x", "wb")\n  os.unlink("files/x")\n  f.write(b"x" * 5_000_000)\n  f.flush()\n  kept.append(f)\ntime.sleep(60)',
  },
  {
    name: 'fill the disk with memory of files without a name',
    ...growth,
    code: 'import os, mmap, time\nkept = []\nfor n in range(20):\n  f = open("files/x", "w+b")\n  f.truncate(5_000_000)\n  kept.append(mmap.mmap(f.fileno(), 5_000_000))\n  os.unlink("files/x")\n  f.close()\ntime.sleep(60)',
  },
  { name: 'write one large file', limit: 'file_size_limit', code: 'f = open("files/big", "wb")\nwhile True: f.write(b"x" * 1_000_000)' },
  {
    name: 'make a file with a large hole',
    limit: 'file_size_limit',
    code: 'import os\nos.truncate(os.open("files/big", os.O_CREAT | os.O_RDWR), 8 << 20)\nos.truncate("files/big", 1 << 40)',
  },
  { name: 'make many files', ...growth, code: 'n = 0\nwhile True:\n  n += 1\n  open(f"files/{n}", "w")' },
  { name: 'make many folders', ...growth, code: 'import os\nn = 0\nwhile True:\n  n += 1\n  os.mkdir(f"files/{n}")' },
  {
    name: 'make many names of one file',
    ...growth,
    code: 'import os\nopen("files/a", "w")\nn = 0\nwhile True:\n  n += 1\n  os.link("files/a", f"files/{n}")',
  },
  { name: 'make many files in memory', ...growth, code: 'n = 0\nwhile True:\n  n += 1\n  open(f"/tmp/{n}", "w")' },
  {
    name: 'nest folders without end',
    ...growth,
    code: 'import os, time\nfor n in range(300):\n  os.mkdir("d")\n  os.chdir("d")\ntime.sleep(60)',
  },
  python(
    'fill the memory with files in /tmp',
    'f = open("/tmp/x", "wb")\nfor n in range(20): open(f"/tmp/{n}", "wb").write(b"x" * 5_000_000)',
  ),
  python('fill the memory with files in /dev/shm', 'for n in range(20): open(f"/dev/shm/{n}", "wb").write(b"x" * 5_000_000)'),
  { name: 'use the processor without end', limit: 'cpu_limit', code: 'while True: pass' },
  {
    name: 'ignore the request to end',
    limit: 'timeout',
    options: { timeoutSeconds: 1 },
    code: 'import signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\nprint("stopped: not by a signal")\nwhile True: time.sleep(1)',
  },
  {
    name: 'write a gigabyte of output',
    code: 'import sys\nprint("stopped: begin")\nfor _ in range(1000): sys.stdout.buffer.write(b"x" * 1_000_000)\nprint("\\nstopped: end")',
  },
  {
    name: 'leave a process behind',
    code: `import os, time
if os.fork() == 0:
  os.setsid()
  if os.fork() == 0:
    for fd in range(3): os.close(fd)
    while True:
      time.sleep(0.05)
      open(WORKDIR / "survivor", "a").write("x")
  os._exit(0)
time.sleep(0.3)
print("stopped: the program has ended")`,
  },
  {
    name: 'exchange an output after it was checked',
    code: `import os, time
open("files/report.txt", "w").write("checked")
if os.fork() == 0:
  os.setsid()
  while True:
    os.symlink("/etc/passwd", "files/new")
    os.rename("files/new", "files/report.txt")
    open("files/new", "w").write("swapped")
    os.rename("files/new", "files/report.txt")
time.sleep(0.2)
print("stopped: the program has ended")`,
  },
  python(
    'end all processes that it can see',
    'import signal\nsignal.signal(15, signal.SIG_IGN)\nos.kill(-1, 15)\nraise OSError("only processes of the sandbox got the signal")',
  ),
  { ...python('end the first process of its sandbox', `os.kill(1, 9)\nos.kill(${pid}, 0)`) },
  { name: 'control the terminal', code: 'print("\\x1b]0;owned\\x07\\x1b[2J\\x1b]52;c;cm0=\\x07stopped: \\x9b31mplain")' },
  {
    name: 'leave links, pipes, sockets and devices',
    code: `import os, socket
os.symlink("/etc/passwd", "files/report.csv")
os.symlink("/", "files/everything")
os.mkfifo("files/pipe")
socket.socket(socket.AF_UNIX).bind("files/socket")
os.mkdir(b"files/\\xff\\xfe\\n\\x1b[31m")
print("stopped: they are only entries of its folder")`,
  },
  {
    name: 'take away the rights to its own files',
    code: 'import os\nos.makedirs("files/a/b")\nopen("files/a/b/c", "w").write("x")\nos.chmod("files/a/b/c", 0)\nos.chmod("files/a/b", 0)\nos.chmod("files/a", 0)\nos.chmod("files", 0)\nos.chmod(".", 0)\nprint("stopped: the files are there")',
  },
]
