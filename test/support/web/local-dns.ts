import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Resolve } from '../../../src/adapters/web/guard.ts'

/**
 * The answers for one name: IP addresses, and at most one other name that it is an alias of. With a list of lists, each question gets the
 * next answer, and further questions get the last answer.
 */
export type Zone = Readonly<Record<string, readonly string[] | readonly (readonly string[])[]>>

export interface LocalDns {
  /** Asks this server, as the guard does. */
  readonly resolve: Resolve
  /** The questions for IPv4 addresses that the server got, in order. */
  readonly questions: readonly string[]
  close(): void
}

/** Starts a name server on this machine. It answers over UDP with time to live 0. */
export async function startDns(zone: Zone): Promise<LocalDns> {
  const questions: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = readQuestion(query)
    if (type === typeA) questions.push(name)
    const asked = questions.filter((each) => each === name).length
    socket.send(reply(query, end, type, answersFor(zone, name, Math.max(1, asked))), port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  const resolver = new Resolver({ timeout: 5_000, tries: 1 })
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return {
    questions,
    close: () => void socket.close(),
    async resolve(host) {
      const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
      const addresses = found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
      if (addresses.length === 0) throw Object.assign(new Error(`queryA ENOTFOUND ${host}`), { code: 'ENOTFOUND' })
      return addresses.map((address) => ({ address }))
    },
  }
}

const typeA = 1
const typeCname = 5
const typeAaaa = 28

interface Answer {
  readonly type: number
  readonly owner: string
  readonly data: Buffer
}

function answersFor(zone: Zone, name: string, asked: number): readonly Answer[] {
  const entry = zone[name] ?? []
  const records = (Array.isArray(entry[0]) ? entry[Math.min(asked, entry.length) - 1] : entry) as readonly string[]
  return records.flatMap((record): readonly Answer[] => {
    if (isIP(record) === 4) return [{ type: typeA, owner: name, data: Buffer.from(record.split('.').map(Number)) }]
    if (isIP(record) === 6) return [{ type: typeAaaa, owner: name, data: bytesOf6(record) }]
    return [{ type: typeCname, owner: name, data: nameBytes(record) }, ...answersFor(zone, record, 1)]
  })
}

function readQuestion(query: Buffer) {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.subarray(at + 1, at + 1 + length).toString())
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function reply(query: Buffer, end: number, type: number, all: readonly Answer[]): Buffer {
  const answers = all.filter((answer) => answer.type === type || answer.type === typeCname)
  const header = Buffer.from(query.subarray(0, 12))
  header.writeUInt16BE(all.length === 0 ? 0x8183 : 0x8180, 2) // a response; NXDOMAIN if the name is not known
  header.writeUInt16BE(answers.length, 6)
  header.writeUInt32BE(0, 8)
  const records = answers.map(({ type: kind, owner, data }) => {
    const fixed = Buffer.alloc(10) // type, class IN, time to live 0, length
    fixed.writeUInt16BE(kind, 0)
    fixed.writeUInt16BE(1, 2)
    fixed.writeUInt16BE(data.length, 8)
    return Buffer.concat([nameBytes(owner), fixed, data])
  })
  return Buffer.concat([header, query.subarray(12, end), ...records])
}

const nameBytes = (name: string) =>
  Buffer.concat([...name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])), Buffer.from([0])])

/** The 16 bytes of an IPv6 address, without an IPv4 part in dots. */
function bytesOf6(address: string): Buffer {
  const [before = '', after] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)))
  const left = groups(before)
  const right = groups(after ?? '')
  const bytes = Buffer.alloc(16)
  const all = [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
  for (const [index, group] of all.entries()) bytes.writeUInt16BE(group, index * 2)
  return bytes
}
