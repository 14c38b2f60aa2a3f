import { Command } from 'commander'
import { type Block, isHidden } from '../../core/block/index.ts'
import type { CommandContext } from '../context.ts'
import { wholeNumber, withExamples } from '../options.ts'
import { plainLine, plainText } from '../plain-text.ts'
import { promptLines } from '../prompt-drawing.ts'
import type { Style } from '../style.ts'
import { printLine } from '../terminal.ts'

const maxLineLength = 100

export function showCommand({ terminal, style, withConversations: withShelf }: CommandContext): Command {
  const command = new Command('show')
    .description('a conversation block by block: what is visible now, everything a turn entered, or what the model read in a round')
    .argument('<conversation>')
    .option('--turn <id>', 'this turn, every text as a whole, whatever was folded since')
    .option('--round <n>', 'what the model read in this round of the turn, or of the last one; rounds count from 0', wholeNumber)
    .action((id: string, { turn, round }: { turn?: string; round?: number }) =>
      withShelf(async (shelf) => {
        const print = (line: string) => printLine(terminal, line)
        if (round !== undefined) {
          const last = turn ?? (await shelf.timeline(id)).turn_ids.at(-1) ?? ''
          for (const line of promptLines(await shelf.prompt(id, last, round), style)) print(line)
          return
        }
        if (turn !== undefined) {
          const log = await shelf.turnLog(id, turn)
          print(heading(style, turn, log.ts))
          for (const block of log.blocks) print(fullBlock(block, style))
          return
        }
        const { conversation_title, blocks } = await shelf.timeline(id)
        print(style.bold(`${id}  ${plainLine(conversation_title ?? '')}`.trimEnd()))
        for (const line of overview(blocks, style)) print(line)
      }),
    )
  return withExamples(command, [
    ['daybook show costs', 'a line for each block that the agent still sees'],
    ['daybook show costs --turn turn_2', 'everything of one turn'],
    ['daybook show costs --round 0', 'the first prompt of the last turn, with its cache marks'],
  ])
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
  if (text !== undefined && text.trim() !== '') return clip(text)
  return `${clip(path ?? '')}${blob === undefined ? '' : ` (${blob.size} bytes)`}`
}

const clip = (text: string) => {
  const line = plainLine(text.slice(0, 4 * maxLineLength))
  return line.length <= maxLineLength ? line : `${line.slice(0, maxLineLength)}…`
}

function fullBlock(block: Block, style: Style): string {
  const head = `\n${style.bold(block.type)} ${style.dim(`${block.id ?? ''} ${plainLine(block.path ?? '')}`.trim())}`
  const body = block.text ?? (block.blob === undefined ? '' : `(${block.blob.size} bytes)`)
  return body === '' ? head : `${head}\n${plainText(body)}`
}
