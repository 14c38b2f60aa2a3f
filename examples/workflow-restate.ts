import { runInWorkers } from './workflows/durable.ts'
import { openMailAgent } from './workflows/mail-agent.ts'
import * as restate from './workflows/restate.ts' // stands in for @restatedev/restate-sdk

await runInWorkers(import.meta.url, async (folder) => {
  const { agent, sent, close } = await openMailAgent(folder)

  const orders = restate.service({
    name: 'Orders',
    handlers: {
      ship: async (ctx: restate.Context, order: string) => {
        const [conversationId, eventId] = [`order-${order}`, `shipped-${order}`]
        await ctx.run('send', () => agent.send(conversationId, 'Tell the customer that the order is on its way.', { eventId }))
        return ctx.run('answer', async () => (await agent.untilClosed(conversationId, eventId)).answer)
      },
    },
  })

  console.log(await restate.call(folder, orders.handlers.ship, '4711'))
  console.log('mails sent:', sent().length)
  await close()
})
