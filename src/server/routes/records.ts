import { createRoute, z } from '@hono/zod-openapi'
import { turnResultView } from '../../agent/archive/stored-result.ts'
import { FileList } from '../../core/api/conversation.ts'
import { EntryPage, EntryQuery } from '../../core/api/inspection.ts'
import { PromptView } from '../../core/api/report.ts'
import { TurnResultView } from '../../core/api/turn-result.ts'
import { fileSummaries } from '../../core/view/file-summaries.ts'
import { blocksFor, requireOperator, resultFor } from '../auth/viewer.ts'
import { publicBlock, publicChange } from '../events/public-change.ts'
import { type App, conversationKeyOf, createRoutes, type ServerParts } from '../handler.ts'
import { json, problems } from './openapi.ts'

const conversationParams = z.object({ id: z.string().describe('The id of the conversation.') })
const turnParams = z.object({
  id: z.string().describe('The id of the conversation.'),
  turn: z.string().max(200).describe('The id of the turn.'),
})
/** The conversation, the turn and the round in the path of a route. */
export const roundParams = z.object({
  id: z.string().describe('The id of the conversation.'),
  turn: z.string().max(200).describe('The id of the turn.'),
  iteration: z
    .string()
    .regex(/^\d{1,6}$/)
    .transform(Number)
    .describe('The number of the round in its turn, from 0.'),
})

/** Routes to read the timeline, turn logs, results, sources, files and prompts of a conversation. */
export function recordRoutes({ agent: { archive }, settings }: ServerParts): App {
  return createRoutes()
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}/timeline',
        summary: 'The visible timeline, `conv.timeline.v1`; users get it without internal content',
        request: { params: conversationParams },
        responses: {
          200: json(z.looseObject({ version: z.literal(1), blocks: z.array(z.looseObject({})) }), 'the payload'),
          ...problems(401, 404),
        },
      }),
      async (c) => {
        const timeline = await archive.timeline(conversationKeyOf(c))
        const blocks = blocksFor(c.get('caller'), timeline.blocks, settings)
        return c.json({ ...timeline, blocks: blocks.map(publicBlock) } as never, 200)
      },
    )
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}/entries',
        summary: 'The entries of the journal, page by page; for operators',
        request: { params: conversationParams, query: EntryQuery },
        responses: { 200: json(EntryPage, 'the entries'), ...problems(400, 401, 403, 404) },
      }),
      async (c) => {
        requireOperator(c)
        const key = conversationKeyOf(c)
        const { after = 0, limit } = c.req.valid('query')
        const { lastSeq: last_seq } = await archive.head(key)
        const entries = (await archive.entries(key, { after, limit })).map(({ seq, change }) => ({ seq, change: publicChange(change) }))
        const last = entries.at(-1)?.seq ?? last_seq
        return c.json({ entries, last_seq, ...(last < last_seq && { next: last }) } as never, 200)
      },
    )
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}/turns/{turn}/log',
        summary: 'Every block that a turn appended, including blocks that were hidden or summarised later; users get no internal content',
        request: { params: turnParams },
        responses: {
          200: json(z.looseObject({ turn_id: z.string(), blocks: z.array(z.looseObject({})) }), 'the log'),
          ...problems(401, 404),
        },
      }),
      async (c) => {
        const log = await archive.turnLog(conversationKeyOf(c), c.req.valid('param').turn)
        const blocks = blocksFor(c.get('caller'), log.blocks, settings)
        return c.json({ ...log, blocks: blocks.map(publicBlock) } as never, 200)
      },
    )
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}/turns/{turn}/result',
        summary: 'The result of a turn: answer, files, sources, tokens and times; for operators also the cost',
        request: { params: turnParams },
        responses: { 200: json(TurnResultView, 'the result'), ...problems(401, 404) },
      }),
      async (c) => {
        const result = turnResultView(await archive.turnResult(conversationKeyOf(c), c.req.valid('param').turn))
        return c.json(resultFor(c.get('caller'), result), 200)
      },
    )
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}/sources',
        summary: 'The sources pool',
        request: { params: conversationParams },
        responses: {
          200: json(z.object({ sources: z.array(z.looseObject({ sid: z.int() })) }), 'the rows of the pool'),
          ...problems(401, 404),
        },
      }),
      async (c) => c.json({ sources: (await archive.sources(conversationKeyOf(c))).map((row) => ({ ...row })) }, 200),
    )
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}/files',
        summary: 'Attached and delivered files, the newest version of each',
        request: { params: conversationParams },
        responses: { 200: json(FileList, 'the files'), ...problems(401, 404) },
      }),
      async (c) => {
        const timeline = await archive.timeline(conversationKeyOf(c))
        return c.json({ files: [...fileSummaries(blocksFor(c.get('caller'), timeline.blocks, settings))] }, 200)
      },
    )
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}/rounds/{turn}/{iteration}/prompt',
        summary: 'The prompt of one round as the model read it, with its cache marks; for operators',
        request: { params: roundParams },
        responses: { 200: json(PromptView, 'the prompt'), ...problems(400, 401, 403, 404) },
      }),
      async (c) => {
        requireOperator(c)
        const { turn, iteration } = c.req.valid('param')
        return c.json(await archive.prompt(conversationKeyOf(c), turn, iteration), 200)
      },
    ) as App
}
