import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Situation } from '../golden/scenes.ts'
import { situations } from '../golden/situations.ts'
import { goldenPrompt } from '../support/prompts/golden-prompt.ts'

const folder = join(import.meta.dirname, '../golden')

/**
 * Whether changed prompts are accepted as the new goldens. `npm run golden` sets it. Check the difference, because it changes what the
 * model reads.
 */
const accepting = process.env.UPDATE_GOLDEN === '1'

describe('the prompt as the model reads it', () => {
  it.each(Object.keys(situations))('%s', (name) => {
    const file = join(folder, `${name}.txt`)
    const prompt = goldenPrompt((situations[name] as () => Situation)())
    if (accepting) writeFileSync(file, prompt)
    expect(prompt).toBe(readFileSync(file, 'utf8'))
  })

  it('has no golden file without a situation', () => {
    const kept = readdirSync(folder).filter((name) => name.endsWith('.txt'))
    expect(kept.sort()).toEqual(
      Object.keys(situations)
        .map((name) => `${name}.txt`)
        .sort(),
    )
  })
})
