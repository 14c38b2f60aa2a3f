import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Agent, createAgent, defineTool, openStore } from 'daybook'
import { reply, scriptedModel } from 'daybook/testing'
import { z } from 'zod'

/** An agent with a tool that must not run twice. */
export interface MailAgent {
  readonly agent: Agent
  /** The mails that were sent by all workers. */
  sent(): readonly string[]
  close(): Promise<void>
}

/** Opens the agent on the data of a folder. The first worker that uses this folder kills itself while the model writes the answer. */
export async function openMailAgent(folder: string): Promise<MailAgent> {
  const mails = join(folder, 'mails')
  const sendMail = defineTool({
    id: 'mail.send',
    description: 'Sends a mail.',
    params: z.object({ text: z.string() }),
    run({ text }) {
      appendFileSync(mails, `${text}\n`)
      return { status: 'sent' }
    },
  })
  const model = scriptedModel(
    Array.from({ length: 10 }, () => ({ parts }) => {
      const isSent = parts.some((part) => part.type === 'text' && part.text.includes('[TOOL RESULT '))
      if (!isSent) return reply.call('mail.send', { text: 'Your order is on its way.' })
      dieOnce(folder)
      return reply.answer('The customer has a mail.')
    }),
  )
  const store = await openStore({ data: join(folder, 'data') })
  const agent = createAgent({ model, tools: [sendMail], store })
  agent.work() // continues the turns that a dead worker has left open
  return {
    agent,
    sent: () => (existsSync(mails) ? readFileSync(mails, 'utf8').trim().split('\n') : []),
    async close() {
      await agent.close()
      await store.close()
    },
  }
}

/** Kills this process (SIGKILL), if no process with this folder was killed before. */
function dieOnce(folder: string): void {
  const file = join(folder, 'died')
  if (existsSync(file)) return
  writeFileSync(file, '')
  process.kill(process.pid, 'SIGKILL')
}
