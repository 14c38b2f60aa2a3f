import { createAgent, defineTool } from 'daybook'
import { reply, scriptedModel } from 'daybook/testing'
import { z } from 'zod'

const sent: string[] = []

const sendMail = defineTool({
  id: 'mail.send',
  description: 'Sends a mail.',
  params: z.object({ to: z.string(), text: z.string() }),
  approval: ({ to }) => !to.endsWith('@our.example'), // mails to other companies need an approval
  run: ({ to, text }) => {
    sent.push(`${to}: ${text}`)
    return { status: 'sent' }
  },
})

const model = scriptedModel([
  reply.call('mail.send', { to: 'ann@client.example', text: 'The report is ready.' }),
  reply.answer('I have sent the mail to Ann.'),
])
const agent = createAgent({ model, tools: [sendMail] })

// The turn stops before the tool runs. The process could end here: any process with the same store can decide later.
const { turnId, exitReason, waits = [] } = await agent.run('mails', 'Tell Ann that the report is ready.').result
console.log(exitReason, '-', waits[0]?.kind, '- sent:', sent.length)

await agent.decide('mails', waits[0]?.callId ?? '', { approved: true, by: 'Bob' })
await agent.drain(5_000) // waits for the rest of the turn

console.log(sent)
console.log((await agent.archive.turnResult('mails', turnId)).answer)
await agent.close()
