import { and, codes, dataOffset, encode, end, type Instruction, load, unless, verdicts, when } from './bpf.ts'
import { callNumbers, highestKnownCall } from './calls.ts'

type CallName = keyof typeof callNumbers
/** The processors that have a filter, as Node names them. */
export type FilteredProcessor = 'x64' | 'arm64'

/** Whether there is a filter for a processor. On a processor without a filter, there is no sandbox. */
export const hasFilter = (processor: string): processor is FilteredProcessor => Object.hasOwn(architectures, processor)

const architectures = { x64: 0xc000003e, arm64: 0xc00000b7 } as const
const errno = { EPERM: 1, EACCES: 13, ENOSYS: 38 } as const

/** Calls that fail with EPERM, by what a program could do with them. */
const forbidden: Readonly<Record<string, readonly CallName[]>> = {
  'read or change other processes': ['ptrace', 'process_vm_readv', 'process_vm_writev', 'kcmp', 'pidfd_getfd', 'process_madvise'],
  'change what is mounted': [
    ...(['mount', 'umount2', 'pivot_root', 'chroot', 'open_tree', 'move_mount', 'fsopen', 'fsconfig', 'fsmount', 'fspick'] as const),
    ...(['mount_setattr', 'statmount', 'listmount'] as const),
  ],
  'make or enter namespaces': ['unshare', 'setns'],
  'use keys of the kernel, which belong to no namespace': ['add_key', 'request_key', 'keyctl'],
  'reach parts of the kernel with many past vulnerabilities': ['bpf', 'perf_event_open', 'userfaultfd', 'fanotify_init', 'modify_ldt'],
  'open files without their path': ['name_to_handle_at', 'open_by_handle_at'],
  'load code into the kernel': [
    ...(['kexec_load', 'kexec_file_load', 'init_module', 'finit_module', 'delete_module'] as const),
    ...(['create_module', 'query_module', 'get_kernel_syms'] as const),
  ],
  'administer the machine': [
    ...(['reboot', 'swapon', 'swapoff', 'acct', 'syslog', 'sethostname', 'setdomainname', 'iopl', 'ioperm', 'vhangup'] as const),
    ...(['quotactl', 'quotactl_fd', 'nfsservctl', 'uselib', 'ustat', 'sysfs', '_sysctl', 'lookup_dcookie'] as const),
    ...(['settimeofday', 'clock_settime', 'clock_adjtime', 'adjtimex'] as const),
  ],
  'move memory between processors': ['mbind', 'migrate_pages', 'move_pages', 'set_mempolicy', 'set_mempolicy_home_node'],
}

/** Calls that fail as if the kernel did not have them. Libraries then use older calls, whose arguments the filter can check. */
const absent: readonly CallName[] = [
  ...(['clone3', 'openat2'] as const), // their flags are in memory, where a filter can not read them
  ...(['io_uring_setup', 'io_uring_enter', 'io_uring_register'] as const), // with them a program could make other calls that no filter sees
  ...(['io_setup', 'io_submit', 'io_destroy', 'io_cancel', 'io_getevents', 'io_pgetevents'] as const),
  ...(['memfd_create', 'memfd_secret', 'shmget', 'msgget', 'semget', 'mq_open'] as const), // no limit of a process includes their memory
]

const newNamespaceFlags = 0x7e020000
const localSockets = 1 // AF_UNIX
const terminalInput = [0x5412, 0x541c] as const // TIOCSTI and TIOCLINUX put text into the input of a terminal
const runsAsOwner = 0o6000 // the bits set-user-id and set-group-id
const createsFile = 0x40 | 0x400000 // O_CREAT and O_TMPFILE. Without them `open` has no mode
const plainPersonalities = [0, 0xffffffff] as const // 0 is the ordinary personality, and 0xffffffff only asks for the current one

/** Calls with a file mode, and the index of the argument that contains the mode. */
const callsWithMode: readonly (readonly [CallName, number])[] = [
  ...([
    ['chmod', 1],
    ['fchmod', 1],
    ['fchmodat', 2],
    ['fchmodat2', 2],
  ] as const),
  ...([
    ['mkdir', 1],
    ['mkdirat', 2],
    ['mknod', 1],
    ['mknodat', 2],
    ['creat', 1],
  ] as const),
]

/**
 * The filter of system calls for programs in a sandbox. The namespaces and the missing capabilities already isolate programs. The filter
 * blocks system calls that programs do not need, so that a program can not exploit errors of the kernel in these calls.
 */
export function seccompFilter(processor: FilteredProcessor): Buffer {
  const fails = (error: number) => [end(verdicts.error(error))]
  const numberOf = (name: CallName) => callNumbers[name][processor === 'x64' ? 0 : 1]
  /** Rules for one call. When they start, the number of the call is loaded. They must end with a verdict. */
  const onCall = (name: CallName, body: readonly Instruction[]) => {
    const number = numberOf(name)
    return number === undefined ? [] : when(codes.jumpIfEqual, number, body)
  }
  /** Loads the low half of an argument. The kernel ignores the high half of these arguments. */
  const argument = (index: number) => load(dataOffset.argument(index))
  const allow = end(verdicts.allow)
  const failsUnless = (values: readonly number[], error: number) => [
    ...values.flatMap((value) => when(codes.jumpIfEqual, value, [allow])),
    ...fails(error),
  ]
  const failsWithBits = (bits: number) => [...when(codes.jumpIfAnyBit, bits, fails(errno.EPERM)), allow]

  return encode([
    load(dataOffset.architecture),
    ...unless(codes.jumpIfEqual, architectures[processor], [end(verdicts.kill)]),
    load(dataOffset.number),
    // On x86_64, numbers from this value on belong to x32, a second set of calls that this filter does not know.
    ...when(codes.jumpIfGreaterOrEqual, 0x40000000, [end(verdicts.kill)]),
    ...when(codes.jumpIfGreater, highestKnownCall, fails(errno.ENOSYS)),
    ...Object.values(forbidden)
      .flat()
      .flatMap((name) => onCall(name, fails(errno.EPERM))),
    ...absent.flatMap((name) => onCall(name, fails(errno.ENOSYS))),
    ...onCall('clone', [argument(0), ...failsWithBits(newNamespaceFlags)]),
    ...(['socket', 'socketpair'] as const).flatMap((name) => onCall(name, [argument(0), ...failsUnless([localSockets], errno.EACCES)])),
    ...onCall('personality', [argument(0), ...failsUnless(plainPersonalities, errno.EPERM)]),
    ...onCall('ioctl', [argument(1), ...terminalInput.flatMap((value) => when(codes.jumpIfEqual, value, fails(errno.EPERM))), allow]),
    ...callsWithMode.flatMap(([name, index]) => onCall(name, [argument(index), ...failsWithBits(runsAsOwner)])),
    ...(
      [
        ['open', 1],
        ['openat', 2],
      ] as const
    ).flatMap(([name, index]) =>
      onCall(name, [
        argument(index),
        and(createsFile),
        ...when(codes.jumpIfEqual, 0, [allow]),
        argument(index + 1),
        ...failsWithBits(runsAsOwner),
      ]),
    ),
    allow,
  ])
}
