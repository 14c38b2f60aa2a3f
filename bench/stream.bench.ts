import type { CitedSource } from '../src/core/citations/replace.ts'
import { createCitationReplacer, createCitationRewriter } from '../src/core/citations/replace.ts'
import { decisionChannels } from '../src/core/decision/decision.ts'
import { createChannelParser } from '../src/core/stream/channel-parser.ts'
import { createNativeLanes } from '../src/core/stream/native-lanes.ts'
import { createPartCollector, type NativeEvent } from '../src/core/stream/native-parts.ts'

const megabyte = 1_000_000
const chunkLength = 20
const sources = new Map<number, CitedSource>([1, 2, 3].map((id) => [id, { title: `Source ${id}`, url: `https://s.example/${id}` }]))

const prose =
  'The *quick* brown fox (see [[S:1]] and `code [0]`) jumps over 3 < 4 lazy dogs, and again [[S:2-3]].\n- a list item [link](https://x.example)\n\n'
const section = `<channel:answer>${prose.repeat(40)}\`\`\`py\nx = a[0]\n\`\`\`\n</channel:answer>\n<channel:action>{"notes":"${'plain \\"quoted\\" words `ticked` and more, '.repeat(120)}"}</channel:action>\n`

const ordinary = filled(section)
const oneChannel = `<channel:answer>${filled(prose)}`
const untagged = filled('Plain words without anything that looks like a tag or a citation, line after line.\n')
const hostile = `<channel:answer>${filled('<<<<[[[[')}`

/**
 * Measures the work for every token: text is split into channels, citations are replaced, and the result is collected. A text of one
 * megabyte arrives in chunks of 20 characters. The baseline only joins the chunks.
 */
export async function bench(): Promise<void> {
  const texts = [ordinary, oneChannel, untagged, hostile].map(cut)
  for (let round = 0; round < 5; round++) for (const chunks of texts) run(chunks)
  const [ordinaryChunks, oneChannelChunks, untaggedChunks, hostileChunks] = texts as [string[], string[], string[], string[]]

  const floor = best(() => concatenate(ordinaryChunks))
  const cost = best(() => run(ordinaryChunks))
  const perSecond = (megabyte / 1e6 / (cost / 1000)).toFixed(0)
  report('two channels, 1 MB', cost / floor, 40, `floor ${floor.toFixed(2)} ms, ${perSecond} MB/s`)
  report('last tenth / first tenth', lastToFirst(ordinaryChunks), 1.3)
  report('last / first tenth, one channel', lastToFirst(oneChannelChunks), 1.3)
  report('no tag / ordinary', best(() => run(untaggedChunks)) / cost, 3)
  report('<<<<[[[[ / ordinary', best(() => run(hostileChunks)) / cost, 3)
  report(
    'last / first tenth, arguments',
    lastToFirstOfArguments(cut(JSON.stringify({ path: 'files/a.md', channel: 'canvas', content: filled(prose) }))),
    1.3,
  )
}

/**
 * Reads the arguments of a native call in chunks, and shows the content while it arrives. The arguments have one megabyte. Returns the time
 * for the last tenth relative to the time for the first tenth.
 */
function lastToFirstOfArguments(chunks: readonly string[]): number {
  const tenth = Math.floor(chunks.length / 10)
  const ratios = Array.from({ length: 15 }, () => {
    const lanes = createNativeLanes({
      iteration: 0,
      executionId: 'x',
      executionIdOf: () => 'x',
      channels: decisionChannels,
      toolIdOf: (name) => name.replace('__', '.'),
      hasCallInText: () => false,
      replacer: (format) => createCitationRewriter({ format, sources: () => sources, stripUsage: true, keepUnresolved: false }),
      mimeOf: () => 'text/markdown',
    })
    const collector = createPartCollector()
    let shown = 0
    const push = (event: NativeEvent) => {
      collector.add(event)
      shown += lanes.push(event).length
    }
    const part = (from: number, to: number) => {
      for (let at = from; at < to; at++) push({ type: 'call.delta', index: 0, text: chunks[at] as string })
      return shown
    }
    push({ type: 'call.start', index: 0, name: 'react__write' })
    const first = time(() => part(0, tenth))
    part(tenth, chunks.length - tenth)
    return time(() => part(chunks.length - tenth, chunks.length)) / first
  })
  return ratios.sort((a, b) => a - b)[7] as number
}

/** Processes a whole message. At the end it reads the raw text and the shown text, so that the engine has to join their pieces. */
function run(chunks: readonly string[]): number {
  const state = start()
  runPart(chunks, 0, chunks.length, state)
  return read(state.raw) + read(state.shown)
}

/** Processes some chunks of a message. An agent does the same during a model call. */
function runPart(chunks: readonly string[], from: number, to: number, state: ReturnType<typeof start>): number {
  for (let at = from; at < to; at++) {
    for (const event of state.parser.push(chunks[at] as string)) {
      if (event.type === 'channel.start') state.replacer = replacer()
      if (event.type !== 'channel.delta') continue
      state.raw += event.text
      state.shown += event.channel === 'answer' ? state.replacer.push(event.text) : event.text
    }
  }
  return state.shown.length + state.raw.length
}

function start() {
  const parser = createChannelParser([
    { name: 'answer', format: 'markdown' },
    { name: 'action', format: 'json' },
  ])
  return { parser, replacer: replacer(), raw: '', shown: '' }
}

const replacer = () => createCitationReplacer({ format: 'markdown', sources: () => sources, stripUsage: true })

function concatenate(chunks: readonly string[]): number {
  let text = ''
  for (const chunk of chunks) text += chunk
  return read(text)
}

/**
 * Reads one character of a text. The JavaScript engine stores a joined text as a list of pieces. Reading a character makes the engine join
 * the pieces.
 */
const read = (text: string): number => (text === '' ? 0 : text.charCodeAt(text.length - 1))

/** The time for the last tenth of a message, relative to the time for the first tenth. The result is the median of 15 runs. */
function lastToFirst(chunks: readonly string[]): number {
  const tenth = Math.floor(chunks.length / 10)
  const ratios = Array.from({ length: 15 }, () => {
    const state = start()
    const first = time(() => runPart(chunks, 0, tenth, state))
    runPart(chunks, tenth, chunks.length - tenth, state)
    return time(() => runPart(chunks, chunks.length - tenth, chunks.length, state)) / first
  })
  return ratios.sort((a, b) => a - b)[7] as number
}

const best = (action: () => number): number => Math.min(...Array.from({ length: 15 }, () => time(action)))

function time(action: () => number): number {
  const before = performance.now()
  if (action() < 0) throw new Error('nothing was done')
  return performance.now() - before
}

function report(what: string, ratio: number, budget: number, more = ''): void {
  const verdict = ratio <= budget ? 'ok' : 'OVER'
  console.log(`  ${what.padEnd(26)} ${ratio.toFixed(2).padStart(6)} ×  (budget ${budget})  ${verdict}${more === '' ? '' : `   ${more}`}`)
}

function filled(piece: string): string {
  return piece.repeat(Math.ceil(megabyte / piece.length)).slice(0, megabyte)
}

function cut(text: string): string[] {
  return Array.from({ length: Math.ceil(text.length / chunkLength) }, (_, index) =>
    // Each chunk is a copy, as if it came from a network. A slice would only refer to the large string.
    Buffer.from(text.slice(index * chunkLength, (index + 1) * chunkLength)).toString(),
  )
}
