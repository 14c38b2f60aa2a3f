import { defineTool, succeeded } from 'daybook'
import { z } from 'zod'

// Finds pages that answers and reports can cite. A real tool would search the catalogue of the shop.
export const search = defineTool({
  id: 'shop.search',
  description: 'Searches the catalogue of the shop.',
  params: z.object({ query: z.string() }),
  readOnly: true,
  run: () =>
    succeeded({
      output: 'The kettle K2 costs 49.50 EUR [[S:1]].',
      sources: [{ sid: 1, title: 'Kettle K2', url: 'https://shop.example/k2', text: 'The kettle K2 costs 49.50 EUR.' }],
    }),
})

export const orders: string[] = []

// A person approves each order before the tool runs.
export const order = defineTool({
  id: 'shop.order',
  description: 'Orders an item.',
  params: z.object({ item: z.string(), pieces: z.number().int().min(1) }),
  approval: true,
  run: ({ item, pieces }) => {
    orders.push(`${pieces} × ${item}`)
    return { item, pieces, status: 'ordered' }
  },
})
