import { type Attempt, callNumber, type HostFacts, python } from './attempt.ts'

const newUser = 0x10000000

/** Attempts to get rights of the kernel that a program does not have. */
export const kernelAttempts = ({ pid }: HostFacts): readonly Attempt[] => [
  python('trace the first process', `return call(${callNumber(101, 117)}, 16, 1, 0, 0)`),
  python('be traced', `return call(${callNumber(101, 117)}, 0, 0, 0, 0)`),
  python('read the memory of another process', `return call(${callNumber(310, 270)}, 1, 0, 0, 0, 0, 0)`),
  python('take an open file of another process', 'return call(438, call(434, 1, 0), 0, 0)'),
  python('mount a file system', 'if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) < 0: raise OSError(ctypes.get_errno())'),
  python('unmount a file system', 'if libc.umount2(b"/daybook/out", 2) < 0: raise OSError(ctypes.get_errno())'),
  python(
    'remount its history with write access',
    'if libc.mount(None, b"/daybook/out", None, 4096 | 32, None) < 0: raise OSError(ctypes.get_errno())',
  ),
  python('mount with the new calls', 'return call(430, b"tmpfs", 0)'),
  python('change its root folder', 'os.chroot("/tmp")'),
  python('make a user namespace', `if libc.unshare(${newUser}) < 0: raise OSError(ctypes.get_errno())`),
  python('make a user namespace with clone', `return call(${callNumber(56, 220)}, ${newUser | 17}, 0, 0, 0, 0)`),
  python('make a network namespace', 'if libc.unshare(0x40000000) < 0: raise OSError(ctypes.get_errno())'),
  python('make processes with clone3', 'return call(435, ctypes.create_string_buffer(88), 88)'),
  python(
    'make a namespace with a program',
    'import subprocess\nreturn subprocess.run(["unshare", "-Ur", "id"], check=True, capture_output=True).stdout',
  ),
  python(
    'enter the namespace of the first process',
    'if libc.setns(os.open("/proc/1/ns/user", os.O_RDONLY), 0) < 0: raise OSError(ctypes.get_errno())',
  ),
  python('read a key of the kernel', `return call(${callNumber(250, 219)}, 0, -4, 1)`),
  python('add a key to the kernel', `return call(${callNumber(248, 217)}, b"user", b"x", b"x", 1, -4)`),
  python('load a program into the kernel', `return call(${callNumber(321, 280)}, 0, ctypes.create_string_buffer(128), 128)`),
  python('count events of the machine', `return call(${callNumber(298, 241)}, ctypes.create_string_buffer(120), 0, -1, -1, 0)`),
  python('handle page faults', `return call(${callNumber(323, 282)}, 1)`),
  python('use io_uring', 'return call(425, 8, ctypes.create_string_buffer(120))'),
  python('load a module', `return call(${callNumber(313, 273)}, 0, b"", 0)`),
  python('load another kernel', `return call(${callNumber(246, 104)}, 0, 0, 0, 0)`),
  python('restart the machine', `return call(${callNumber(169, 142)}, 0xfee1dead, 672274793, 0x1234567, 0)`),
  python('open a file by its handle', `return call(${callNumber(304, 265)}, -100, ctypes.create_string_buffer(64), 0)`),
  python('hide memory in a file without a name', `return call(${callNumber(319, 279)}, b"x", 0)`),
  python('share memory that no limit counts', `return call(${callNumber(29, 194)}, 0, 1 << 30, 0o1600)`),
  python('set the clock', 'import time\ntime.clock_settime(time.CLOCK_REALTIME, 0)'),
  python('set the name of the machine', 'socket.sethostname("owned")'),
  python('change its personality', `return call(${callNumber(135, 92)}, 0x0040000)`),
  python('become root', 'os.setuid(0)'),
  python('become another group', 'os.setgroups([0])'),
  python(
    'get a capability',
    `return call(${callNumber(126, 91)}, (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xffffffff] * 6))`,
  ),
  python(
    'become root with a program that runs as its owner',
    'import subprocess\nreturn subprocess.run(["su", "-c", "id"], check=True, capture_output=True, stdin=subprocess.DEVNULL).stdout',
  ),
  python('leave a program that runs as its owner', 'open("files/suid", "w").write("x")\nos.chmod("files/suid", 0o4755)'),
  python('make a program that runs as its owner', 'os.open("files/suid2", os.O_CREAT | os.O_WRONLY, 0o6755)'),
  python('make a device', 'os.mknod("files/device", 0o60666, os.makedev(8, 0))'),
  python('write the input of a terminal', 'import fcntl\nfcntl.ioctl(os.open("/dev/tty", os.O_RDWR), 0x5412, b"x")'),
  python('write the input of a terminal of its own', 'import fcntl, pty\nfcntl.ioctl(pty.openpty()[1], 0x5412, b"x")'),
  python('raise its limits', 'import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1 << 40, 1 << 40))'),
  python('raise its priority', 'os.nice(-10)'),
  python('signal the process of the host', `os.kill(${pid}, 9)`),
  ...(process.arch === 'x64'
    ? [
        { ...python('use the calls of x32', 'return call(0x40000000 + 39)'), signal: 'SIGSYS' },
        {
          ...python(
            'use the calls of a 32-bit processor',
            `import mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))
function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
return function()`,
          ),
          signal: 'SIGSYS',
        },
      ]
    : []),
]
