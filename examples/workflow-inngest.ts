import { runInWorkers } from './workflows/durable.ts'
import * as inngest from './workflows/inngest.ts' // stands in for a client of the package inngest
import { openMailAgent } from './workflows/mail-agent.ts'

await runInWorkers(import.meta.url, async (folder) => {
  const { agent, sent, close } = await openMailAgent(folder)

  const shipOrder = inngest.createFunction(
    { id: 'ship-order', retries: 4, triggers: { event: 'shop/order.shipped' } },
    async ({ event, step }: inngest.Given<{ order: string }>) => {
      const [conversationId, eventId] = [`order-${event.data.order}`, `shipped-${event.data.order}`]
      return step.run('ask-agent', async () => {
        await agent.send(conversationId, 'Tell the customer that the order is on its way.', { eventId })
        return (await agent.untilClosed(conversationId, eventId)).answer
      })
    },
  )

  console.log(await inngest.receive(folder, shipOrder, { order: '4711' }))
  console.log('mails sent:', sent().length)
  await close()
})
