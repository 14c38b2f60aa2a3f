import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { codes } from './bpf.ts'
import { callNumbers } from './calls.ts'
import { type FilteredProcessor, seccompFilter } from './filter.ts'

interface Call {
  readonly name?: keyof typeof callNumbers
  readonly number?: number
  readonly args?: readonly (number | bigint)[]
  readonly architecture?: number
}

const architectures = { x64: 0xc000003e, arm64: 0xc00000b7 }
const errors = new Map([
  [1, 'EPERM'],
  [13, 'EACCES'],
  [38, 'ENOSYS'],
])

/** Runs the filter as the kernel does. */
function decide(processor: FilteredProcessor, { name, number, args = [], architecture = architectures[processor] }: Call): string {
  const filter = seccompFilter(processor)
  const data = Buffer.alloc(64)
  data.writeUInt32LE(number ?? (name ? callNumbers[name][processor === 'x64' ? 0 : 1] : undefined) ?? 9_999, 0)
  data.writeUInt32LE(architecture, 4)
  args.forEach((argument, index) => void data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(argument)), 16 + 8 * index))
  let accumulator = 0
  for (let at = 0; at < filter.length; at += 8) {
    const [code, jumpTrue, jumpFalse] = [filter.readUInt16LE(at), filter.readUInt8(at + 2), filter.readUInt8(at + 3)]
    const value = filter.readUInt32LE(at + 4)
    const jump = (holds: boolean) => {
      at += 8 * (holds ? jumpTrue : jumpFalse)
    }
    if (code === codes.load) accumulator = data.readUInt32LE(value)
    else if (code === codes.and) accumulator = (accumulator & value) >>> 0
    else if (code === codes.jumpIfEqual) jump(accumulator === value)
    else if (code === codes.jumpIfGreater) jump(accumulator > value)
    else if (code === codes.jumpIfGreaterOrEqual) jump(accumulator >= value)
    else if (code === codes.jumpIfAnyBit) jump((accumulator & value) !== 0)
    else if (code !== codes.end) throw new Error(`unknown instruction ${code}`)
    else if (value === 0x7fff0000) return 'allow'
    else if (value === 0x80000000) return 'kill'
    else return errors.get(value & 0xffff) ?? `unexpected ${value}`
  }
  throw new Error('the filter has no end')
}

const high = 0x1234_0000_0000n // bits in the high half of an argument, which the kernel ignores

describe.each(['x64', 'arm64'] as const)('the filter of system calls for %s', (processor) => {
  const decideAll = (calls: readonly Call[]) => calls.map((call) => decide(processor, call))

  it('kills a program that makes calls of another processor or of x32', () => {
    const other = processor === 'x64' ? architectures.arm64 : architectures.x64
    const i386 = 0x40000003
    expect(
      decideAll([
        { name: 'read', architecture: other },
        { name: 'read', architecture: i386 },
      ]),
    ).toEqual(['kill', 'kill'])
    expect(decideAll([{ number: 0x40000000 }, { number: 0x40000000 + 59 }, { number: 0xffffffff }])).toEqual(['kill', 'kill', 'kill'])
  })

  it('refuses calls that are newer than its table', () => {
    expect(decideAll([{ number: 462 }, { number: 463 }, { number: 5_000 }])).toEqual(['allow', 'ENOSYS', 'ENOSYS'])
  })

  it.each([
    ['ptrace', 'process_vm_readv', 'process_vm_writev', 'pidfd_getfd'],
    ['mount', 'umount2', 'pivot_root', 'chroot', 'fsopen', 'move_mount', 'open_tree', 'mount_setattr'],
    ['unshare', 'setns', 'add_key', 'request_key', 'keyctl', 'bpf', 'perf_event_open', 'userfaultfd'],
    ['kexec_load', 'kexec_file_load', 'init_module', 'finit_module', 'delete_module', 'reboot', 'swapon'],
    ['open_by_handle_at', 'settimeofday', 'clock_settime', 'syslog'],
  ] as const)('forbids %s and others', (...names) => {
    expect(decideAll(names.map((name) => ({ name })))).toEqual(names.map(() => 'EPERM'))
  })

  it('refuses calls whose flags are in memory, io_uring, and calls that use memory which no limit counts', () => {
    const names = [
      'clone3',
      'openat2',
      'io_uring_setup',
      'io_uring_enter',
      'io_uring_register',
      'io_setup',
      'memfd_create',
      'shmget',
    ] as const
    expect(decideAll(names.map((name) => ({ name })))).toEqual(names.map(() => 'ENOSYS'))
  })

  it('lets programs make processes and threads, but no namespaces', () => {
    const forkFlags = 0x01200011
    const threadFlags = 0x3d0f00
    expect(decideAll([forkFlags, threadFlags, 0x11].map((flags) => ({ name: 'clone', args: [flags] })))).toEqual([
      'allow',
      'allow',
      'allow',
    ])
    const namespaces = [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000]
    for (const flag of namespaces) expect(decide(processor, { name: 'clone', args: [BigInt(flag | 0x11) | high] })).toBe('EPERM')
  })

  it('lets programs make local sockets only', () => {
    const families = { unix: 1, inet: 2, inet6: 10, netlink: 16, packet: 17, alg: 38, vsock: 40, bluetooth: 31 }
    for (const name of ['socket', 'socketpair'] as const)
      for (const [family, number] of Object.entries(families))
        expect([family, decide(processor, { name, args: [BigInt(number) | high] })]).toEqual([
          family,
          family === 'unix' ? 'allow' : 'EACCES',
        ])
  })

  it('lets programs control files and terminals, but not write the input of a terminal', () => {
    const ioctl = (request: number | bigint) => decide(processor, { name: 'ioctl', args: [1, request] })
    expect([0x5401, 0x5413, 0x541b].map(ioctl)).toEqual(['allow', 'allow', 'allow'])
    expect([0x5412, 0x541c, 0x5412n | high].map(ioctl)).toEqual(['EPERM', 'EPERM', 'EPERM'])
  })

  it('does not let a program change its personality', () => {
    const personality = (value: number) => decide(processor, { name: 'personality', args: [value] })
    expect([0, 0xffffffff, 0x0040000, 0x0400000, 8].map(personality)).toEqual(['allow', 'allow', 'EPERM', 'EPERM', 'EPERM'])
  })

  it('lets programs make files, but no files that run as their owner', () => {
    const calls = (mode: number): readonly Call[] => [
      { name: 'fchmod', args: [3, mode] },
      { name: 'fchmodat', args: [3, 0, mode] },
      { name: 'fchmodat2', args: [3, 0, mode] },
      { name: 'mkdirat', args: [3, 0, mode] },
      { name: 'mknodat', args: [3, 0, mode] },
      { name: 'openat', args: [3, 0, 0x41, mode] },
      { name: 'openat', args: [3, 0, 0x410000, mode] },
    ]
    const oldCalls = (mode: number): readonly Call[] => [
      { name: 'chmod', args: [0, mode] },
      { name: 'mkdir', args: [0, mode] },
      { name: 'mknod', args: [0, mode] },
      { name: 'creat', args: [0, mode] },
      { name: 'open', args: [0, 0x41, mode] },
    ]
    const all = (mode: number) => [...calls(mode), ...(processor === 'x64' ? oldCalls(mode) : [])]
    for (const mode of [0o755, 0o1777, 0o100644]) expect(decideAll(all(mode))).toEqual(all(mode).map(() => 'allow'))
    for (const mode of [0o4755, 0o2755, 0o6000]) expect(decideAll(all(mode))).toEqual(all(mode).map(() => 'EPERM'))
    expect(decide(processor, { name: 'openat', args: [3, 0, 0, 0o6777] })).toBe('allow') // without O_CREAT there is no mode
  })

  it('decides about every call without an error of its own', () => {
    fc.assert(
      fc.property(fc.nat(0xffffffff), fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { maxLength: 6 }), (number, args) => {
        expect(['allow', 'kill', 'EPERM', 'EACCES', 'ENOSYS']).toContain(decide(processor, { number, args }))
      }),
    )
    for (let number = 0; number < 470; number += 1) expect(['allow', 'EPERM', 'EACCES', 'ENOSYS']).toContain(decide(processor, { number }))
  })
})
