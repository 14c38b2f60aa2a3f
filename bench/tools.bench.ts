import { artifactContentBlock, artifactDigestBlock, type Draft } from '../src/core/block/index.ts'
import { hasReference } from '../src/core/decision/signature.ts'
import { blockOrigin, call, header, prompt, result } from '../src/testing/blocks.ts'
import { createReadTool } from '../src/tools/react/read.ts'
import { toolFixture } from '../test/support/tool-fixture.ts'
import { median, timed } from './measure.ts'

const BLOCKS = 10_000
const BUDGET_MS = 1
const path = 'fi:t1.files/report.md'

function conversation(): readonly Draft[] {
  const written = [
    artifactDigestBlock(blockOrigin('w'), { artifact_path: path, mime: 'text/markdown' }),
    artifactContentBlock(blockOrigin('w'), { path, mime: 'text/markdown', text: 'word '.repeat(1_000), digest: { artifact_path: path } }),
  ]
  const rounds = Array.from({ length: BLOCKS / 2 }, (_, n) => [
    call(`c${n}`, 'shop.look', 't1', n),
    result(`c${n}`, `found ${n}`, 't1', n),
  ]).flat()
  return [header(), prompt('read'), ...written, ...rounds]
}

export async function bench(): Promise<void> {
  const stage = await toolFixture(conversation())
  const read = createReadTool()
  for (const [what, paths] of [
    ['a visible file', [path]],
    ['a visible result', ['tc:t1.c4000.result']],
    ['the call of this result', ['tc:t1.c4000.call']],
  ] as const) {
    const times: number[] = []
    for (let n = 0; n < 300; n++) times.push(await timed(() => read.run({ paths }, stage.call)))
    const took = median(times.slice(50))
    console.log(
      `react.read of ${what} at ${BLOCKS} blocks`.padEnd(58),
      `${took.toFixed(3)} ms  (budget ${BUDGET_MS})  ${took <= BUDGET_MS ? 'ok' : 'OVER'}`,
    )
  }
  const params = { city: 'Rome', days: 3, options: { unit: 'metric' } }
  const rounds = 100_000
  const looked = await timed(() => {
    for (let n = 0; n < rounds; n++) hasReference(params)
  })
  console.log('looking for references in ordinary parameters'.padEnd(58), `${((looked / rounds) * 1_000).toFixed(3)} µs`)
}
