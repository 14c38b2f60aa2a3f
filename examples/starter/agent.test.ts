import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHarness, reply, timelineText } from 'daybook/testing'
import { agent } from './agent.ts'

// Prepared replies replace the model, so the test needs no key and no network. The tool really runs.
test('the agent splits a bill with its tool', async () => {
  const harness = createHarness({
    agent,
    replies: [reply.call('bill.split', { total: 90, people: 4, tipPercent: 10 }), reply.answer('Each pays 24.75.')],
  })
  const { answer, exitReason } = await harness.say('We are four, the bill is 90, and we tip 10 percent.')

  assert.equal(exitReason, 'complete')
  assert.equal(answer, 'Each pays 24.75.')
  assert.match(timelineText(await harness.timeline()), /"each":24\.75/)
})
