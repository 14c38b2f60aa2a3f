/** An entry of a tar archive. `longName` and `paxPath` are stored in an entry before it, as programs do with long names. */
export interface Tarred {
  readonly name: string
  readonly content?: string
  readonly type?: string
  readonly link?: string
  readonly longName?: string
  readonly paxPath?: string
}

export function tar(entries: readonly Tarred[]): Buffer {
  return Buffer.concat([...entries.flatMap(blocksOf), Buffer.alloc(1024)])
}

function blocksOf({ name, content = '', type = '0', link = '', longName, paxPath }: Tarred): readonly Buffer[] {
  const record = ` path=${paxPath}\n`
  return [
    ...(longName === undefined ? [] : entry('././@LongLink', 'L', '', `${longName}\0`)),
    ...(paxPath === undefined ? [] : entry('pax', 'x', '', `${record.length + 2}${record}`)),
    ...entry(name, type, link, content),
  ]
}

function entry(name: string, type: string, link: string, content: string): readonly Buffer[] {
  const header = Buffer.alloc(512)
  const body = Buffer.from(content)
  header.write(name, 0, 100)
  header.write('0000644\0', 100)
  header.write(`${body.length.toString(8).padStart(11, '0')}\0`, 124)
  header.write('        ', 148)
  header.write(type, 156)
  header.write(link, 157, 100)
  header.write('ustar\x0000', 257, 'latin1')
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return [header, body, Buffer.alloc((512 - (body.length % 512)) % 512)]
}
