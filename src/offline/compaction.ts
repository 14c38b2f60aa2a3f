import type { ModelRequest } from '../ports/model.ts'

/** A summary without understanding: what was asked and answered, noted and named, in the sections that were asked for. */
export function compactionResponse({ parts }: Pick<ModelRequest, 'parts'>): string {
  const prompt = parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
  const conversation = tagContent(prompt, 'conversation')
  const previous = tagContent(prompt, 'previous-summary')
  const gathered = collectFacts(conversation)
  return /^context_for_suffix:/m.test(prompt) ? prefixSummary(gathered) : historySummary(gathered, previous)
}

interface ConversationFacts {
  readonly asked: readonly string[]
  readonly answered: readonly string[]
  readonly notes: readonly { readonly tag: string; readonly text: string }[]
  readonly calls: readonly string[]
  readonly paths: readonly string[]
}

const tagContent = (text: string, tag: string): string => new RegExp(`<${tag}>\\n([\\s\\S]*?)\\n</${tag}>`).exec(text)?.[1] ?? ''

function collectFacts(conversation: string): ConversationFacts {
  const paragraphs = conversation.split(/\n\n(?=\[)/)
  const of = (...speakers: readonly string[]) =>
    paragraphs.flatMap((paragraph) => {
      const speaker = speakers.find((each) => paragraph.startsWith(each))
      return speaker === undefined ? [] : [shorten(paragraph.slice(speaker.length))]
    })
  return {
    asked: of('[User]:', '[User Followup During Turn]:', '[User Steer During Turn]:'),
    answered: of('[Assistant]:'),
    notes: of('[Internal Note]:').flatMap((note) =>
      [...note.matchAll(/\[([A-Z])\]\s*([^[]+)/g)].map(([, tag, text]) => ({ tag: tag as string, text: (text as string).trim() })),
    ),
    calls: of('[Assistant tool calls]:'),
    paths: [...new Set([...conversation.matchAll(/\b(?:fi|ks|su):[\w.-]+[^\s"'|,)\]}]*/g)].map(([path]) => path))].slice(-20),
  }
}

const shorten = (text: string): string => {
  const flat = text.replace(/\s+/g, ' ').trim()
  return flat.length <= 240 ? flat : `${flat.slice(0, 239)}…`
}

const list = (lines: readonly string[]): string => (lines.length === 0 ? 'none' : lines.map((line) => `- ${line}`).join('\n'))

function reminder({ asked, answered, paths }: ConversationFacts): readonly string[] {
  const open = asked.length > answered.length ? (asked.at(-1) ?? 'none') : 'none'
  return [
    `active_request: ${asked.at(-1) ?? 'none'}`,
    `retrieval_anchors: ${asked.slice(-3).join(' | ') || 'none'}`,
    `read_refs: ${paths.slice(-8).join(' ') || 'none'}`,
    `done: ${answered.at(-1) ?? 'none'}`,
    `open: ${open}`,
    `next: ${open === 'none' ? 'wait for the user' : 'answer the open request'}`,
    `recovery_plan: ${paths.length === 0 ? 'none' : `react.read ${paths.slice(-3).join(' ')}`}`,
  ]
}

/** What was summarised before stays, oldest first, as long as there is room. */
function historySummary(gathered: ConversationFacts, previous: string): string {
  const { asked, answered, notes } = gathered
  const kept = (section: string) => [...(sectionOf(previous, section).matchAll(/^- (.+)$/gm) ?? [])].map(([, line]) => line as string)
  const merged = (section: string, lines: readonly string[]) => list([...new Set([...kept(section), ...lines])].slice(-24))
  const tags = (...wanted: readonly string[]) => notes.filter(({ tag }) => wanted.includes(tag)).map(({ tag, text }) => `[${tag}] ${text}`)
  const done = answered.map((text, index) => `${asked[index] ?? 'asked'} → ${text}`)
  const open = asked.length > answered.length ? asked.slice(answered.length) : []
  return [
    ['## Active Work Reminder', ...reminder(gathered)].join('\n'),
    `## Goals\n${merged('Goals', asked.slice(-6))}`,
    `## Constraints & Preferences\n${merged('Constraints & Preferences', tags('P'))}`,
    `## Progress\n### Done\n${merged('Progress', done)}\n### In Progress\n${list(open)}\n### Not Started\nnone\n### Blocked\nnone`,
    `## Key Decisions\n${merged('Key Decisions', tags('D'))}`,
    `## Next Steps\n${list(open)}`,
    `## Critical Context\n${merged('Critical Context', [...tags('S', 'K', 'A'), ...gathered.paths])}`,
  ].join('\n\n')
}

const sectionOf = (text: string, name: string): string => {
  const start = text.indexOf(`## ${name}\n`)
  if (start === -1) return ''
  const end = text.indexOf('\n## ', start + 3)
  return text.slice(start, end === -1 ? undefined : end)
}

function prefixSummary(gathered: ConversationFacts): string {
  const { asked, calls, paths } = gathered
  return [
    ...reminder(gathered),
    `original_request: ${asked[0] ?? 'none'}`,
    `early_progress: ${calls.slice(-6).join(' | ') || 'none'}`,
    `context_for_suffix: ${paths.slice(-8).join(' ') || 'none'}`,
    `compacted_large_results: ${paths.slice(-8).join(' ') || 'none'}`,
  ].join('\n')
}
