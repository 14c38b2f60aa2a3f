import { defineAgent, defineTool } from 'daybook'
import { z } from 'zod'

const splitBill = defineTool({
  id: 'bill.split',
  description: 'Splits a restaurant bill evenly and returns what each person pays.',
  params: z.object({
    total: z.number().positive().describe('the amount on the bill'),
    people: z.number().int().min(1).describe('how many people pay'),
    tipPercent: z.number().min(0).max(100).default(0).describe('the tip in percent'),
  }),
  repeatable: true, // the tool changes nothing, so it may run again after a crash
  run: ({ total, people, tipPercent }) => {
    const withTip = total * (1 + tipPercent / 100)
    return { ok: true, ret: { total: round(withTip), each: round(withTip / people) } }
  },
})

const round = (amount: number) => Math.round(amount * 100) / 100

export const agent = defineAgent({
  model: 'offline', // this model needs no key. Another model: 'anthropic/claude-sonnet-5-5', with the variable ANTHROPIC_API_KEY
  tools: [splitBill],
  instructions: 'You help people in restaurants. Compute amounts with the tool bill.split, never in your head.',
})
