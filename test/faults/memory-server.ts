/**
 * A server in its own process, whose memory a test measures:
 *
 *   node memory-server.ts <folder>
 *
 * It hosts a file of 9.9 MB, and prints `listening <url> <rn>`. The message `<n>` is answered with a text of n thousand characters.
 */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { createFileBlobs } from '../../src/adapters/blobs/file.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createHosting } from '../../src/adapters/hosting/hosting.ts'
import { createMemoryObjects } from '../../src/adapters/hosting/memory-objects.ts'
import { createSqliteStore } from '../../src/adapters/store/sqlite/store.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import { localScope } from '../../src/core/scope.ts'
import type { Model } from '../../src/ports/model.ts'
import { noLog } from '../../src/server/log.ts'
import { createMetrics, metricsHelp } from '../../src/server/metrics.ts'
import { serve } from '../../src/server/serve.ts'
import { defaultServerSettings } from '../../src/server/settings.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'

const folder = process.argv[2] ?? ''
const clock = createSystemClock()
const blobs = createFileBlobs({ folder: join(folder, 'blobs') })
const store = await createSqliteStore({ file: join(folder, 'daybook.db'), blobs, clock })
const hosting = createHosting({ objects: createMemoryObjects(), blobs })

const model: Model = {
  name: 'long answers',
  window: 100_000_000,
  stream(request, signal) {
    const prompt = request.parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
    const thousands = Number(/answer with (\d+) thousand/g.exec(prompt.slice(prompt.lastIndexOf('answer with ')))?.[1] ?? 1)
    const line = `${'x'.repeat(99)}\n`
    const answer = { text: reply.answer(line.repeat(thousands * 10)), chunks: Math.max(20, thousands / 2) }
    return scriptedModel([answer]).stream(request, signal)
  },
}

const settings = { contextTokens: 50_000_000, maxSeconds: 600 }
const agent = createAgentFrom({ model: { decision: model, gate: model, compaction: model }, store, clock, hosting, settings })
const content = new Uint8Array(9_900_000).map((_, index) => index % 251)
const place = { owner: localScope, conversationId: 'c1', turnId: 't1', stage: 'file', physicalPath: 't1/files/data.bin' } as const
const { rn } = await hosting.host({ ...place, mime: 'application/octet-stream', ts: clock.now(), content })
const server = await serve({
  agent,
  settings: {
    ...defaultServerSettings,
    port: 0,
    followersPerUser: 1_000,
    downloadsPerUser: 1_000,
    requestsPerMinute: 1e6,
    turnsPerMinute: 1e6,
  },
  log: noLog,
  metrics: createMetrics(metricsHelp),
  now: clock.now,
  newId: () => clock.randomHex(12),
})
writeSync(1, `listening ${server.url} ${encodeURIComponent(rn)}\n`)
