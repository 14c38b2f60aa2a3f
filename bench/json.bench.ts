import { createJsonReader } from '../src/core/stream/json/reader.ts'
import { createLanes } from '../src/core/stream/lanes.ts'

/** A typical action as JSON, one megabyte long. It has a long document in `content`, and a list of small objects. */
function action(): string {
  const paragraph =
    'The quick brown fox, "as they say", jumps over the lazy dog.\nIt costs 3.50 € and was seen [[S:1]] near \\ the river 😀. '
  const steps = Array.from({ length: 4000 }, (_, n) => ({ n, label: `step ${n}`, done: n % 2 === 0, next: null }))
  const params = { path: 'files/report.md', channel: 'canvas', content: paragraph.repeat(6500), kind: 'file', steps }
  return JSON.stringify({ action: 'call_tool', notes: 'writing', tool_call: { tool_id: 'react.write', params } })
}

const identity = () => ({ push: (text: string) => text, flush: () => '', cut: () => ({ rest: '', dropped: 0 }) })

export async function bench(): Promise<void> {
  const text = action()
  const chunks = text.match(/[\s\S]{1,20}/g) ?? []
  const megabytes = text.length / 1e6

  const floor = best(() => {
    let all = ''
    for (const chunk of chunks) all += chunk
    return all.charCodeAt(all.length >> 1) // reading one character makes the engine join the pieces of the string
  })
  const reading = best(() => {
    const reader = createJsonReader()
    let events = 0
    for (const chunk of chunks) events += reader.push(chunk).length
    return events + reader.end().length
  })
  const lanes = best(() => {
    const round = createLanes({ iteration: 0, executionId: 'x', replacer: identity, mimeOf: () => 'text/plain' })
    let deltas = round.push({ type: 'channel.start', channel: 'action', instance: 0 }).length
    for (const chunk of chunks) deltas += round.push({ type: 'channel.delta', channel: 'action', instance: 0, text: chunk }).length
    return deltas + round.end('whole').length
  })
  report(
    'read JSON',
    reading / floor,
    20,
    `${(megabytes / (reading / 1000)).toFixed(0)} MB/s; joining ${(megabytes / (floor / 1000)).toFixed(0)} MB/s`,
  )
  report('lanes of the same JSON', lanes / reading, 3, `against reading it; ${(megabytes / (lanes / 1000)).toFixed(0)} MB/s`)
  report('last tenth / first tenth', growth(), 1.3, 'per chunk, inside one string')
  report('a megabyte of quotes', best(() => readAll(`{"a":"${'"'.repeat(1e6)}"}`)) / reading, 8, 'against ordinary JSON')
  report('a key that never ends', best(() => readAll(`{"a":"x", "${'k'.repeat(1e6)}`)) / reading, 5, 'against ordinary JSON')
}

function readAll(text: string): number {
  const reader = createJsonReader()
  let events = 0
  for (let at = 0; at < text.length; at += 20) events += reader.push(text.slice(at, at + 20)).length
  return events + reader.end().length
}

/**
 * The time per chunk at the end of a long string, relative to the time at its beginning. The ratio would be above 1 if the reader scanned
 * text twice.
 */
function growth(): number {
  const chunks = Array.from({ length: 60_000 }, () => 'twenty characters, \\n')
  const tenth = chunks.length / 10
  const ratios = Array.from({ length: 15 }, () => {
    const reader = createJsonReader()
    reader.push('{"a":"')
    const spans: number[] = []
    for (let part = 0; part < 10; part++) {
      const start = performance.now()
      for (let i = part * tenth; i < (part + 1) * tenth; i++) reader.push(chunks[i] as string)
      spans.push(performance.now() - start)
    }
    return (spans[9] as number) / (spans[0] as number)
  })
  return ratios.sort((a, b) => a - b)[7] as number
}

let kept = 0

/** The milliseconds of the fastest of fifteen runs. */
function best(run: () => number): number {
  let quickest = Number.POSITIVE_INFINITY
  for (let i = 0; i < 15; i++) {
    const start = performance.now()
    kept += run()
    quickest = Math.min(quickest, performance.now() - start)
  }
  return kept === 0 ? 0 : quickest
}

function report(name: string, ratio: number, budget: number, detail: string) {
  console.log(`  ${name.padEnd(26)} ${ratio.toFixed(2).padStart(6)} ×  (budget ${budget})  ${ratio <= budget ? 'ok' : 'OVER'}  ${detail}`)
}
