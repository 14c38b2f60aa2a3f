import { planBlock } from '../src/core/block/index.ts'
import { readActionKeys } from '../src/core/decision/action-keys.ts'
import { checkCall } from '../src/core/decision/check-call.ts'
import { scanActionKeys } from '../src/core/decision/fast-read.ts'
import { readDecision } from '../src/core/decision/read.ts'
import { isSameAnswer } from '../src/core/decision/same-answer.ts'
import { currentPlan } from '../src/core/plan/plans.ts'
import { applyChange } from '../src/core/timeline/apply.ts'
import { assignIds, emptyTimeline, type Timeline } from '../src/core/timeline/timeline.ts'
import { minute, rounds } from '../src/testing/blocks.ts'
import { decided } from '../test/support/decisions/responses.ts'
import { someTools } from '../test/support/decisions/signatures.ts'

/**
 * Measures how long it takes to read a decision, relative to parsing its JSON alone. Also compares the time for reading a decision in a
 * short conversation with the time in a long conversation.
 */
export async function bench(): Promise<void> {
  const search = {
    action: 'call_tool',
    notes: 'Looking.',
    tool_call: { tool_id: 'web_tools.web_search', params: { queries: ['a'], n: 5 } },
  }
  const json = JSON.stringify(search)
  const response = decided(search)
  const floor = time(() => JSON.parse(json))
  const deciding = time(() => {
    const reading = readDecision(response)
    return reading.ok && reading.decision.action === 'call_tool' && checkCall(reading.decision, someTools)
  })
  report('read and check a call', deciding / floor, 10, `against JSON.parse; ${deciding.toFixed(1)} µs`)
  report('keys of valid JSON', time(() => scanActionKeys(json)) / time(() => readActionKeys(json)), 0.3, 'against the tolerant reader')

  const short = planned(10)
  const long = planned(10_000)
  currentPlan(short)
  currentPlan(long)
  report('current plan at 10,000 blocks', time(() => currentPlan(long)) / time(() => currentPlan(short)), 2, 'against 10 blocks')

  const answer = (words: number) => Array.from({ length: words }, (_, i) => `word${i % 997}`).join(' ')
  const similar = (words: number) => time(() => isSameAnswer(answer(words), `${answer(words - 1)} other`), 20)
  report('equivalent answers, 8 × the length', similar(80_000) / similar(10_000), 12, 'linear would be 8')
}

function planned(blocks: number): Timeline {
  const plan = { plan_id: 'p', steps: ['a', 'b'], status: {}, current: true, last_ts: minute(1) }
  const drafts = [...rounds(blocks / 2), planBlock('t1', minute(1), plan)]
  return applyChange(emptyTimeline(), { type: 'blocks.appended', blocks: assignIds(emptyTimeline(), drafts) })
}

/** The microseconds per run. Seven series of runs are measured, and the fastest series is the result. */
function time(run: () => unknown, runs = 10_000): number {
  let kept: unknown
  const takes = Array.from({ length: 7 }, () => {
    const started = performance.now()
    for (let i = 0; i < runs; i++) kept = run()
    return ((performance.now() - started) * 1000) / runs
  })
  if (kept === undefined) throw new Error('nothing was measured')
  return Math.min(...takes)
}

function report(what: string, ratio: number, budget: number, remark: string): void {
  console.log(`${what.padEnd(36)} ${ratio.toFixed(2)} × floor  (budget ${budget})  ${ratio <= budget ? 'ok' : 'OVER'}  ${remark}`)
}
