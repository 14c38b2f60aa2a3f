import { runInWorkers } from './workflows/durable.ts'
import { openMailAgent } from './workflows/mail-agent.ts'
import { execute, proxyActivities } from './workflows/temporal.ts' // stands in for @temporalio/workflow and @temporalio/worker

await runInWorkers(import.meta.url, async (folder) => {
  const { agent, sent, close } = await openMailAgent(folder)

  const activities = {
    /** May run any number of times: a second message with the same id has no effect, and `untilClosed` only reads. */
    async askAgent(conversationId: string, eventId: string, text: string) {
      await agent.send(conversationId, text, { eventId })
      const { answer } = await agent.untilClosed(conversationId, eventId)
      return answer
    },
  }

  const { askAgent } = proxyActivities<typeof activities>({ startToCloseTimeout: '10 minutes', retry: { maximumAttempts: 5 } })

  /** The workflow. Ids are made from its input, so that they are the same in every attempt. */
  async function shipOrder(order: string) {
    return askAgent(`order-${order}`, `shipped-${order}`, 'Tell the customer that the order is on its way.')
  }

  console.log(await execute(folder, activities, shipOrder, '4711'))
  console.log('mails sent:', sent().length)
  await close()
})
