import type { Block } from '../block/block.ts'
import { promptPath } from '../path/build.ts'
import { cutAt, oneLine } from '../render/text.ts'

const MOST_TURNS = 24
const PREVIOUS_CHARS = 8000

/**
 * A summary without a model, for one case only: the prompt was too long, so the turn cannot go on without a shorter one, and the
 * model that should summarise did not answer. It says what was asked and answered; the appendix and the digest say the rest.
 */
export function fallbackSummary(blocks: readonly Block[], previous: string | undefined): string {
  const turns = new Map<string, { request?: string; answer?: string }>()
  for (const block of blocks) {
    const turn = turns.get(block.turn_id) ?? {}
    if (block.type === 'user.prompt') turn.request = oneLine(block.text ?? '', 200)
    if (block.type === 'assistant.completion') turn.answer = oneLine(block.text ?? '', 300)
    if (turn.request !== undefined || turn.answer !== undefined) turns.set(block.turn_id, turn)
  }
  const lines = [...turns].slice(-MOST_TURNS).map(([turnId, { request, answer }]) => {
    const asked = request === undefined ? '' : ` asked: ${request}`
    return `- ${promptPath(turnId)}${asked}${answer === undefined ? '' : `\n  answered: ${answer}`}`
  })
  return [
    ...(previous ? [cutAt(previous, PREVIOUS_CHARS)] : []),
    '## Active Work Reminder',
    'No model wrote this part: earlier turns were folded without a summary because the context was too long.',
    '## Progress',
    ...lines,
  ].join('\n')
}
