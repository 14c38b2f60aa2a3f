import { createAgent } from 'daybook'
import { reply, scriptedModel } from 'daybook/testing'
import { z } from 'zod'

const Invoice = z.object({ number: z.string(), total: z.number(), paid: z.boolean() })

// The first answer does not match the schema. The model is told what is wrong, and answers again.
const model = scriptedModel([
  reply.answer('{"number": "2026-17", "total": "180 euros", "paid": false}'),
  reply.answer('{"number": "2026-17", "total": 180, "paid": false}'),
])

const agent = createAgent({ model })
const text = 'Invoice 2026-17. Please pay 180 euros by Friday.'
const { output, refusal } = await agent.run('invoices', text, { output: Invoice }).result

// `output` has the type of the schema. If there is no output, `refusal` says why.
if (output) console.log(output.number, output.total, output.paid ? 'paid' : 'open')
else console.log(refusal?.code, refusal?.message)

await agent.close()
