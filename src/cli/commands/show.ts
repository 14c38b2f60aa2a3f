import { Command } from 'commander'
import type { PromptView } from '../../core/api/report.ts'
import { type Block, isHidden } from '../../core/block/index.ts'
import { cutAt, ellipsize } from '../../core/cut.ts'
import type { TimelinePayload } from '../../core/timeline/payload.ts'
import type { TurnLog } from '../../core/timeline/turn-log.ts'
import type { CommandContext } from '../context.ts'
import { wholeNumber, withExamples } from '../options.ts'
import { plural } from '../table.ts'
import { plainLine, plainText, printLine, type Style } from '../terminal.ts'

const maxLineLength = 100

export function showCommand({ terminal, style, withConversations }: CommandContext): Command {
  const command = new Command('show')
    .description('show a conversation block by block: the visible timeline, one turn, or the prompt of one round')
    .argument('<conversation>')
    .option('--turn <id>', 'every block of this turn with its whole text, including blocks that were hidden or summarised later')
    .option('--round <n>', 'the prompt of this round of the turn --turn, or of the last turn; rounds count from 0', wholeNumber)
    .action((id: string, { turn, round }: { turn?: string; round?: number }) =>
      withConversations(async (client) => {
        const print = (line: string) => printLine(terminal, line)
        if (round !== undefined) {
          const last = turn ?? (await client.timeline(id)).turn_ids.at(-1) ?? ''
          for (const line of promptLines(await client.prompt(id, last, round), style)) print(line)
          return
        }
        if (turn !== undefined) {
          const log = await client.turnLog(id, turn)
          print(heading(style, turn, log.ts))
          print(style.dim(turnFacts(log)))
          for (const block of log.blocks) print(fullBlock(block, style))
          return
        }
        const [timeline, { open_turn }] = await Promise.all([client.timeline(id), client.get(id)])
        print(style.bold(`${id}  ${plainLine(timeline.conversation_title ?? '')}`.trimEnd()))
        print(style.dim(conversationFacts(timeline, open_turn)))
        for (const line of overview(timeline.blocks, style)) print(line)
      }),
    )
  return withExamples(command, [
    ['daybook show costs', 'a line for each block that the model still sees'],
    ['daybook show costs --turn turn_1794799251181_4caa1a', 'every block of one turn'],
    ['daybook show costs --round 0', 'the first prompt of the last turn, with its cache marks'],
  ])
}

/** A line that says when the conversation was active, how many turns and sources it has, its origin and its open turn. */
function conversationFacts(timeline: TimelinePayload, openTurn: string | null): string {
  const { conversation_started_at: started, last_activity_at: active, turn_ids, sources_pool, forked_from: origin } = timeline
  return [
    ...(started === null ? [] : [`started ${started}`]),
    ...(active === null ? [] : [`last active ${active}`]),
    plural(turn_ids.length, 'turn'),
    ...(sources_pool.length === 0 ? [] : [plural(sources_pool.length, 'source')]),
    ...(origin === null ? [] : [`forked from ${plainLine(`${origin.conversation_id} at ${origin.turn_id}`)}`]),
    ...(openTurn === null ? [] : [`${plainLine(openTurn)} is not finished`]),
  ].join(' · ')
}

/** A line that says when the turn ended, how many blocks and tokens it has, and which sources it cites. */
function turnFacts({ end_ts, blocks_count, tokens, sources_used }: TurnLog): string {
  return [
    end_ts === null ? 'not finished' : `ended ${end_ts}`,
    plural(blocks_count, 'block'),
    ...(tokens === null ? [] : [plural(tokens, 'token')]),
    ...(sources_used.length === 0 ? [] : [`cites ${sources_used.map((sid) => `S:${sid}`).join(', ')}`]),
  ].join(' · ')
}

function overview(blocks: readonly Block[], style: Style): readonly string[] {
  let turn: string | undefined
  return blocks.flatMap((block) => {
    const line = `  ${style.dim((block.id ?? '').padEnd(7))} ${block.type.padEnd(26)} ${blockSummary(block)}`.trimEnd()
    if (block.turn_id === turn) return [line]
    turn = block.turn_id
    return [heading(style, turn, block.ts), line]
  })
}

const heading = (style: Style, turn: string, ts: string | null) => `\n${style.bold(`── ${plainLine(turn)}`)} ${style.dim(ts ?? '')}`

function blockSummary(block: Block): string {
  const { text, meta, path, blob } = block
  if (isHidden(block)) return `(hidden) ${clip(meta?.replacement_text ?? '')}`
  if (text !== undefined && text.trim() !== '') return `${cutMark(block)}${clip(text)}`
  return `${clip(path ?? '')}${blob === undefined ? '' : ` (${blob.size} bytes)`}`
}

const cutMark = ({ meta }: Block) => (meta?.stopped === true ? '(stopped) ' : meta?.truncated === true ? '(cut off) ' : '')

const clip = (text: string) => ellipsize(plainLine(cutAt(text, 4 * maxLineLength)), maxLineLength)

function fullBlock(block: Block, style: Style): string {
  const head = `\n${style.bold(block.type)} ${style.dim(`${block.id ?? ''} ${plainLine(block.path ?? '')} ${cutMark(block)}`.trim())}`
  const body = block.text ?? (block.blob === undefined ? '' : `(${block.blob.size} bytes)`)
  return body === '' ? head : `${head}\n${plainText(body)}`
}

/** The lines of a prompt, as the model read it. A line with `cache mark` follows the system text and each part that has a mark. */
function promptLines({ turn_id, iteration, model, system, parts, usage, differs }: PromptView, style: Style): readonly string[] {
  const marks = parts.filter(({ marked }) => marked).length
  const lines = [style.bold(`── ${plainLine(turn_id)} round ${iteration}${model === null ? '' : ` · ${plainLine(model)}`}`)]
  if (differs !== undefined) lines.push(style.failure(`this is not the prompt that was sent: ${plainLine(differs)}`))
  lines.push(style.dim('[system]'), plainText(system), cacheMarkLine(style, 'system text'))
  let markNumber = 0
  for (const part of parts) {
    if (part.type === 'text') lines.push(plainText(part.text ?? ''))
    else lines.push(style.dim(`[${part.type} ${plainLine(part.media_type ?? '')}, ${part.size_bytes ?? 0} bytes]`))
    if (part.marked) lines.push(cacheMarkLine(style, `${++markNumber} of ${marks}`))
  }
  const tokens = parts.reduce((sum, part) => sum + part.tokens, 0)
  lines.push(style.dim(`about ${tokens} tokens in ${parts.length} parts, without the system text`))
  if (usage)
    lines.push(style.dim(`billed: ${usage.uncached} in full, ${usage.cache_read} read, ${usage.cache_write} written, ${usage.output} out`))
  return lines
}

const cacheMarkLine = (style: Style, which: string) => style.success(`━━━━━━━━━━━━━━━━ cache mark: ${which} ━━━━━━━━━━━━━━━━`)
