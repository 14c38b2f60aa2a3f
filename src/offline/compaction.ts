import { ellipsize } from '../core/cut.ts'
import type { ModelRequest } from '../ports/model.ts'

/**
 * The response to a `compaction` request. It lists requests, answers, notes and paths of the conversation in the sections that the prompt
 * asks for.
 */
export function compactionResponse({ parts }: Pick<ModelRequest, 'parts'>): string {
  const prompt = parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
  const conversation = tagContent(prompt, 'conversation')
  const previous = tagContent(prompt, 'previous-summary')
  const facts = collectFacts(conversation)
  return /^context_for_suffix:/m.test(prompt) ? prefixSummary(facts) : historySummary(facts, previous)
}

/** The texts and paths in a conversation from which the summary is made, oldest first. */
interface ConversationFacts {
  readonly requests: readonly string[]
  readonly answers: readonly string[]
  readonly notes: readonly { readonly tag: string; readonly text: string }[]
  readonly calls: readonly string[]
  readonly paths: readonly string[]
}

function tagContent(text: string, tag: string): string {
  const start = text.indexOf(`<${tag}>\n`) + tag.length + 3
  const end = start < tag.length + 3 ? -1 : text.indexOf(`\n</${tag}>`, start)
  return end === -1 ? '' : text.slice(start, end)
}

function collectFacts(conversation: string): ConversationFacts {
  const paragraphs = conversation.split(/\n\n(?=\[)/)
  const saidBy = (...speakers: readonly string[]) =>
    paragraphs.flatMap((paragraph) => {
      const speaker = speakers.find((each) => paragraph.startsWith(each))
      return speaker === undefined ? [] : [shorten(paragraph.slice(speaker.length))]
    })
  return {
    requests: saidBy('[User]:', '[User Followup During Turn]:', '[User Steer During Turn]:'),
    answers: saidBy('[Assistant]:'),
    notes: saidBy('[Internal Note]:').flatMap((note) =>
      [...note.matchAll(/\[([A-Z])\]\s*([^[]+)/g)].map(([, tag, text]) => ({ tag: tag as string, text: (text as string).trim() })),
    ),
    calls: saidBy('[Assistant tool calls]:'),
    paths: [...new Set([...conversation.matchAll(/\b(?:fi|ks|su):[\w.-]+[^\s"'|,)\]}]*/g)].map(([path]) => path))].slice(-20),
  }
}

const shorten = (text: string): string => ellipsize(text.replace(/\s+/g, ' ').trim(), 240)

const list = (lines: readonly string[]): string => (lines.length === 0 ? 'none' : lines.map((line) => `- ${line}`).join('\n'))

function reminder({ requests, answers, paths }: ConversationFacts): readonly string[] {
  const open = requests.length > answers.length ? (requests.at(-1) ?? 'none') : 'none'
  return [
    `active_request: ${requests.at(-1) ?? 'none'}`,
    `retrieval_anchors: ${requests.slice(-3).join(' | ') || 'none'}`,
    `read_refs: ${paths.slice(-8).join(' ') || 'none'}`,
    `done: ${answers.at(-1) ?? 'none'}`,
    `open: ${open}`,
    `next: ${open === 'none' ? 'wait for the user' : 'answer the open request'}`,
    `recovery_plan: ${paths.length === 0 ? 'none' : `react.read ${paths.slice(-3).join(' ')}`}`,
  ]
}

/**
 * The summary of earlier turns. In each section, the lines of the previous summary come before the new lines. If a section has more than 24
 * lines, only the last 24 are used.
 */
function historySummary(facts: ConversationFacts, previous: string): string {
  const { requests, answers, notes } = facts
  const previousLines = (section: string) => [...sectionOf(previous, section).matchAll(/^- (.+)$/gm)].map(([, line]) => line as string)
  const merged = (section: string, lines: readonly string[]) => list([...new Set([...previousLines(section), ...lines])].slice(-24))
  const tags = (...wanted: readonly string[]) => notes.filter(({ tag }) => wanted.includes(tag)).map(({ tag, text }) => `[${tag}] ${text}`)
  const done = answers.map((text, index) => `${requests[index] ?? 'asked'} → ${text}`)
  const open = requests.length > answers.length ? requests.slice(answers.length) : []
  return [
    ['## Active Work Reminder', ...reminder(facts)].join('\n'),
    `## Goals\n${merged('Goals', requests.slice(-6))}`,
    `## Constraints & Preferences\n${merged('Constraints & Preferences', tags('P'))}`,
    `## Progress\n### Done\n${merged('Progress', done)}\n### In Progress\n${list(open)}\n### Not Started\nnone\n### Blocked\nnone`,
    `## Key Decisions\n${merged('Key Decisions', tags('D'))}`,
    `## Next Steps\n${list(open)}`,
    `## Critical Context\n${merged('Critical Context', [...tags('S', 'K', 'A'), ...facts.paths])}`,
  ].join('\n\n')
}

const sectionOf = (text: string, name: string): string => {
  const start = text.indexOf(`## ${name}\n`)
  if (start === -1) return ''
  const end = text.indexOf('\n## ', start + 3)
  return text.slice(start, end === -1 ? undefined : end)
}

function prefixSummary(facts: ConversationFacts): string {
  const { requests, calls, paths } = facts
  return [
    ...reminder(facts),
    `original_request: ${requests[0] ?? 'none'}`,
    `early_progress: ${calls.slice(-6).join(' | ') || 'none'}`,
    `context_for_suffix: ${paths.slice(-8).join(' ') || 'none'}`,
    `compacted_large_results: ${paths.slice(-8).join(' ') || 'none'}`,
  ].join('\n')
}
