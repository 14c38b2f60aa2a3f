import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { composeAnnounce } from '../src/core/announce/announce.ts'
import { promptText } from '../src/core/render/prompt-text.ts'
import { createRenderer } from '../src/core/render/render.ts'
import { sourcesTail } from '../src/core/render/sources-tail.ts'
import { type Situation, situations } from './golden/situations.ts'
import { plainOptions } from './support/timelines.ts'

const folder = join(import.meta.dirname, 'golden')

/** Accept what changed with `npm run golden`, then read the difference as the model will. */
const accepting = process.env.UPDATE_GOLDEN === '1'

function shown({ timeline, turnId, pool, announce }: Situation): string {
  const tails = {
    sources: pool && sourcesTail(pool, { currentTurnId: turnId }),
    announce: announce && composeAnnounce(announce),
  }
  return promptText(createRenderer().render(timeline, plainOptions(turnId, tails)))
}

describe('the prompt as the model reads it', () => {
  it.each(Object.keys(situations))('%s', (name) => {
    const file = join(folder, `${name}.txt`)
    const prompt = shown((situations[name] as () => Situation)())
    if (accepting) writeFileSync(file, prompt)
    expect(prompt).toBe(readFileSync(file, 'utf8'))
  })

  it('has no golden that nothing renders', () => {
    const kept = readdirSync(folder).filter((name) => name.endsWith('.txt'))
    expect(kept.sort()).toEqual(
      Object.keys(situations)
        .map((name) => `${name}.txt`)
        .sort(),
    )
  })
})
