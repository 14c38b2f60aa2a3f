import { expect, it } from 'vitest'
import { z } from 'zod'
import { requestTools } from './catalog.ts'
import { defineTool } from './define.ts'

const search = defineTool({
  id: 'shop.search',
  description: 'Find articles.',
  params: z.object({
    query: z.string().describe('what to look for'),
    sort: z.enum(['price', 'name']).default('name'),
    page: z.number().int().min(1).optional(),
  }),
  constraints: ['at most 20 articles'],
  returns: 'a list',
  run: () => 'none',
})

it('a tool has its provider name, its constraints and its parameters in their order as JSON Schema', () => {
  expect(requestTools([search])).toEqual([
    {
      name: 'shop__search',
      description: 'Find articles.\nat most 20 articles\nReturns: a list',
      schema: {
        type: 'object',
        properties: {
          query: { type: 'string', description: 'what to look for' },
          sort: { type: 'string', enum: ['price', 'name'], default: 'name' },
          page: { type: 'integer', minimum: 1 },
        },
        required: ['query'],
      },
    },
  ])
})

it('an exec tool has the program as its last parameter', () => {
  const params = z.object({ contract: z.array(z.object({ filename: z.string(), description: z.string() })) })
  const exec = defineTool({ id: 'lab.run', description: 'Run it.', params, exec: true, run: () => 'done' })
  const [tool] = requestTools([exec])
  expect(Object.keys(tool?.schema.properties ?? {})).toEqual(['contract', 'program'])
  expect(tool?.schema.required).toEqual(['contract', 'program'])
})

it('built-in tools come first, as in the catalogue', () => {
  const read = { ...search, id: 'react.read' }
  expect(requestTools([search, read]).map(({ name }) => name)).toEqual(['react__read', 'shop__search'])
})

it('a parameter of which only the short notation is known has the notation in its description', () => {
  const listed = defineTool({
    id: 'shop.order',
    description: 'Order.',
    params: z.looseObject({}),
    parameters: [
      { name: 'articles', type: 'array', required: true, shape: 'array of {id: string}', description: 'what to order' },
      { name: 'note', type: 'any', required: false },
    ],
    run: () => 'done',
  })
  expect(requestTools([listed])[0]?.schema).toEqual({
    type: 'object',
    properties: { articles: { type: 'array', items: {}, description: 'array of {id: string} — what to order' }, note: {} },
    required: ['articles'],
  })
})

it('a schema with references is described, because the definitions it refers to are not sent', () => {
  type Tree = { readonly name: string; readonly children: readonly Tree[] }
  const tree: z.ZodType<Tree> = z.lazy(() => z.object({ name: z.string(), children: z.array(tree) }))
  const grow = defineTool({ id: 'shop.grow', description: 'Grow.', params: z.object({ tree }), run: () => 'done' })
  expect(JSON.stringify(requestTools([grow]))).not.toContain('$ref')
})
