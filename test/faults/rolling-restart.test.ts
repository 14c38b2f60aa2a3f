import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { createConversationRecord } from '../support/load/conversation-record.ts'
import { createLoadClient } from '../support/load/load-client.ts'
import { messageText } from '../support/load/load-model.ts'
import { startServerProcess } from '../support/load/server-process.ts'
import { hasPostgres, startPostgres } from '../support/postgres.ts'

const CONVERSATIONS = 6

describe.skipIf(!hasPostgres)('three replicas', async () => {
  const postgres = hasPostgres ? await startPostgres() : undefined
  afterAll(() => postgres?.stop())
  const folder = mkdtempSync(join(tmpdir(), 'daybook-rolling-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('that are restarted one after the other under load fail no request, and lose and double nothing', async () => {
    const replicas = await Promise.all([0, 1, 2].map(() => startServerProcess(folder, { database: postgres?.url, delayMs: 60 })))
    const errors: string[] = []
    let next = 0
    // as behind a load balancer: each request, and each new attempt, goes to the next replica
    const url = () => replicas[next++ % replicas.length]?.url ?? ''
    const client = createLoadClient({ url, onError: (what) => errors.push(what), survivesLoss: true })
    try {
      const ids = Array.from({ length: CONVERSATIONS }, (_, index) => `c${index}`)
      for (const id of ids) await client.create(id)
      const records = new Map(ids.map((id) => [id, createConversationRecord()]))
      for (const [id, record] of records) client.follow(id, { onEvent: record.read })
      const sent: { readonly id: string; readonly messageId: string }[] = []
      let isOver = false
      const talk = async (id: string) => {
        for (let number = 0; !isOver; number++) {
          const messageId = `${id}-${number}`
          await client.send(id, messageId, messageText(messageId))
          sent.push({ id, messageId })
          await sleep(Math.random() * 150)
        }
      }
      const roll = async () => {
        for (const replica of replicas) {
          await sleep(300)
          await replica.replace()
        }
        isOver = true
      }
      await Promise.all([roll(), ...ids.map(talk)])
      for (const { id, messageId } of sent) await records.get(id)?.untilAnswered(messageId)
      for (const record of records.values()) expect([record.missed, record.doubled]).toEqual([0, 0])
      for (const { id, messageId } of sent) expect(records.get(id)?.readsOf(messageId)).toMatchObject({ reads: 1, closed: 1 })
      const effects = readFileSync(join(folder, 'effects'), 'utf8').split('\n').filter(Boolean)
      expect(new Set(effects).size).toBe(effects.length)
      expect(sent.length).toBeGreaterThan(CONVERSATIONS)
      expect(errors).toEqual([])
    } finally {
      client.close()
      for (const replica of replicas) await replica.stop()
    }
  }, 180_000)
})
