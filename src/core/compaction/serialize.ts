import { type Block, isHidden } from '../block/block.ts'
import { digestText, readDigest } from '../block/digest.ts'
import { isBlockType } from '../block/index.ts'
import { readToolCall } from '../block/tool.ts'
import { binaryContentOf } from '../estimate/binary.ts'
import type { Estimator } from '../estimate/estimate.ts'
import { cutText, shortenJson } from '../expiry/shorten.ts'
import { type Json, parseJson } from '../json.ts'
import { caps, fragments } from '../render/caps.ts'
import { scrubBase64 } from '../render/redact.ts'
import { stripHostingHandles } from '../render/secrets.ts'
import { shapeOf } from '../render/shape.ts'

const LARGE_RESULT = 3000
const SAMPLE_CHARS = 8000
const sampleLimits = { text: 260, items: 2, keys: 16 }
/** How much one block may say, from generous to terse: the first that lets everything fit is used. */
const textLimits = [16_000, 6000, 2000, 600, 200]

/**
 * The conversation as a summariser reads it: one paragraph per block, oldest first. It always fits into `maxChars`; when even the
 * tersest form does not, the oldest paragraphs give way, and the text says so.
 */
export function serializeBlocks(blocks: readonly Block[], tokens: Estimator, maxChars: number): string {
  const read = blocks.filter(isSerialized)
  for (const limit of textLimits) {
    const text = paragraphs(read, tokens, limit).join('\n\n')
    if (text.length <= maxChars) return text
  }
  return newestParagraphs(read, paragraphs(read, tokens, textLimits.at(-1) as number), maxChars)
}

/** Metadata of artifacts comes first, up to half of the room: its paths are what cannot be guessed. Then whatever is newest. */
function newestParagraphs(blocks: readonly Block[], all: readonly string[], maxChars: number): string {
  const kept = new Set<number>()
  let room = maxChars - 80
  const admit = (wanted: (position: number) => boolean, least: number) => {
    for (let position = all.length - 1; position >= 0; position--) {
      const length = (all[position] as string).length + 2
      if (kept.has(position) || !wanted(position)) continue
      if (room - length < least) return
      room -= length
      kept.add(position)
    }
  }
  admit((position) => readDigest(blocks[position] as Block) !== undefined, maxChars / 2)
  admit(() => true, 0)
  const left = all.length - kept.size
  return [`(${left} older blocks left out: too long for one summary)`, ...all.filter((_, position) => kept.has(position))].join('\n\n')
}

/** What the model never saw is not part of what it should remember; summaries are passed apart. */
const isSerialized = ({ type }: Block) => isBlockType(type) && fragments[type].length > 0 && type !== 'conv.range.summary'

const paragraphs = (blocks: readonly Block[], tokens: Estimator, limit: number) =>
  blocks.map((block) => escapeTags(paragraph(block, tokens, limit)))

/** Nothing that was said may close the tag it stands in. */
const escapeTags = (text: string) => text.replace(/<(?=\/?(?:conversation|previous-summary|working-summaries)\b)/gi, '‹')

const speakers: { readonly [type: string]: string } = {
  'user.prompt': '[User]:',
  'user.followup': '[User Followup During Turn]:',
  'user.followup.preserved': '[User Followup During Turn]:',
  'user.steer': '[User Steer During Turn]:',
  'user.steer.preserved': '[User Steer During Turn]:',
  'react.note': '[Internal Note]:',
  'react.note.preserved': '[Internal Note]:',
  'assistant.completion': '[Assistant]:',
  'react.tool.result': '[Tool result]:',
  'conv.working.summary': '[Working Summary]:',
}

function paragraph(block: Block, tokens: Estimator, limit: number): string {
  const digest = readDigest(block)
  const speaker = speakers[block.type] ?? '[Block]'
  if (digest) return `${speaker} ${factsLine(block)}\n${stripHostingHandles(digestText(digest))}` // paths, mime and call id must survive
  if (isHidden(block))
    return `${speaker} ${factsLine(block)} | hidden=true\n${cutText(scrubBase64(block.meta?.replacement_text ?? ''), limit)}`.trimEnd()
  if (binaryContentOf(block)) return `[Binary block] mime=${block.mime ?? 'unknown'} path=${block.path ?? 'none'}`
  const call = readToolCall(block)
  if (call) return cutText(`[Assistant tool calls]: ${call.tool_id}(${scrubBase64(paramsText(call.params))})`, limit)
  const text = scrubBase64(stripHostingHandles(block.text ?? ''))
  if (text.trim() === '') return `${speaker} (${factsLine(block)})`
  if (block.type === 'react.tool.result') return `${speaker} ${factsLine(block)}\n${resultText(block, text, tokens, limit)}`
  return speaker === '[Block]'
    ? `${speaker} ${factsLine(block)}\n${cutWithPath(block, text, limit)}`
    : `${speaker} ${cutWithPath(block, text, limit)}`
}

function factsLine({ type, turn_id, ts, path, mime }: Block): string {
  return [`type=${type}`, `turn=${turn_id}`, `ts=${ts}`, ...(path ? [`path=${path}`] : []), ...(mime ? [`mime=${mime}`] : [])].join(' | ')
}

const paramsText = (params: { readonly [name: string]: unknown }) =>
  Object.entries(params)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(', ')

function cutWithPath(block: Block, text: string, limit: number): string {
  return text.length <= limit ? text : `${cutText(text, limit)} (the whole: ${block.path ?? 'not addressable'})`
}

/** A large result is told by its size, its shape and a sample: the summary must name it, not repeat it. */
function resultText(block: Block, text: string, tokens: Estimator, limit: number): string {
  if (!tokens.reaches(text, LARGE_RESULT)) return cutWithPath(block, text, limit)
  const value = parseJson(text)
  const sample = value === undefined ? text : JSON.stringify(shortenJson(value as Json, sampleLimits).value)
  return [
    `size: ${text.length} characters, about ${tokens.content(block)} tokens`,
    `logical_path: ${block.path ?? 'none'}`,
    ...(block.path === undefined ? [] : [`recovery: react.read(["${block.path}"])`]),
    ...(value === undefined ? [] : [`shape:\n${shapeOf(value, caps)}`]),
    `sample:\n${cutText(sample, Math.min(SAMPLE_CHARS, limit))}`,
  ].join('\n')
}
