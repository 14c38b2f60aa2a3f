import { type Attempt, type HostFacts, python } from './attempt.ts'

/** Attempts to read or change files that do not belong to the program. */
export const fileAttempts = ({ secretFile, pid }: HostFacts): readonly Attempt[] => [
  python('read a file of the host', `return open(${JSON.stringify(secretFile)}).read()`),
  python('read the password file of the host', 'return open("/etc/shadow").read()'),
  python('learn the users of the host', 'names = open("/etc/passwd").read()\nassert "root" in names, names\nreturn names'),
  python('list home folders', 'return os.listdir("/root") + os.listdir("/home")'),
  python('read the variables of the first process', 'assert "DAYBOOK_SECRET" in open("/proc/1/environ").read(), "not there"'),
  python('read the variables of the host process', `return open("/proc/${pid}/environ").read()`),
  python('find a secret in its own variables', 'assert any("SECRET" in name for name in os.environ), sorted(os.environ)'),
  python(
    'find the secret in an open file that was inherited',
    `for fd in os.listdir("/proc/self/fd"):
  try:
    text = os.pread(int(fd), 100, 0)
  except OSError:
    continue
  if text:
    return text
raise OSError("no open file has a text")`,
  ),
  python('leave its folder with ..', `return open("../" * 20 + ${JSON.stringify(secretFile.slice(1))}).read()`),
  python('leave by the root of the first process', `return open("/proc/1/root" + ${JSON.stringify(secretFile)}).read()`),
  python('leave by the current folder of the first process', `return os.listdir("/proc/1/cwd/root")`),
  python('read a file of the host by a link', `os.symlink(${JSON.stringify(secretFile)}, "files/link")\nreturn open("files/link").read()`),
  python('change a file of an earlier turn', 'open(OUT_DIR / "turn_1/files/a.txt", "a").write("changed")'),
  python('change the permissions of an earlier turn', 'os.chmod(OUT_DIR / "turn_1/files/a.txt", 0o777)'),
  python('remove an earlier turn', 'os.rename(OUT_DIR / "turn_1", OUT_DIR / "turn_9")'),
  python(
    'change a file of an earlier turn by a hard link',
    'os.link(OUT_DIR / "turn_1/files/a.txt", "files/a.txt")\nopen("files/a.txt", "w").write("changed")',
  ),
  python('hard link a file of the system into its outputs', 'os.link("/usr/bin/env", "files/env")'),
  python('make the folder of a new turn', 'os.mkdir(OUT_DIR / "turn_9")'),
  python('change a context file', 'open(CONTEXT_DIR / "timeline.json", "w").write("{}")'),
  python('change the program that loads programs', 'open("/daybook/guest/python/loader.py", "a").write("x")'),
  python('replace the interpreter', 'os.rename("/usr/bin/python3", "/usr/bin/python4")'),
  python('write to the system', 'open("/usr/bin/daybook-was-here", "w").write("x")'),
  python('write to the root folder', 'open("/x", "w").write("x")'),
  python('write to the folder of devices', 'open("/dev/x", "w").write("x")'),
  python(
    'open the memory and the disks of the machine',
    'return [open(path, "rb") for path in ("/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda")]',
  ),
  python('read the memory of the kernel', 'return open("/proc/kcore", "rb").read(1)'),
  python('change a setting of the kernel', 'open("/proc/sys/kernel/core_pattern", "w").write("|/tmp/x")'),
  python('restart the machine by a file', 'open("/proc/sysrq-trigger", "w").write("b")'),
  python('reach the cgroups of the host', 'return os.listdir("/sys/fs/cgroup")'),
  python('reach the containers of the host', 'socket.socket(socket.AF_UNIX).connect("/var/run/docker.sock")'),
  {
    name: 'read a file of the host (JavaScript)',
    language: 'javascript',
    code: `try {
  console.log('ESCAPED', require('fs').readFileSync(${JSON.stringify(secretFile)}, 'utf8'))
} catch (error) {
  console.log('stopped:', error.message)
}`,
  },
  {
    name: 'find a secret in its variables (JavaScript)',
    language: 'javascript',
    code: "console.log(Object.keys(process.env).some((name) => name.includes('SECRET')) ? 'ESCAPED' : 'stopped: no secret')",
  },
]
