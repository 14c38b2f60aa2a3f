import { z } from 'zod'
import { toolPath } from '../path/build.ts'
import type { Draft } from './block.ts'
import { oncePerBlockOfType, parseJsonAs } from './reader.ts'
import type { BlockOrigin } from './tool.ts'

/** What the runtime tells the model about its own output: it must carry the diagnosis itself. */
export const Notice = z.looseObject({ code: z.string(), message: z.string() })
export type Notice = z.infer<typeof Notice>

export function noticeBlock(place: BlockOrigin, said: Notice, rel: 'call' | 'result' = 'call'): Draft<'react.notice'> {
  return {
    type: 'react.notice',
    author: 'react',
    turn_id: place.turnId,
    ts: place.ts,
    mime: 'application/json',
    path: toolPath(place.turnId, place.callId, 'notice'),
    call_id: place.callId,
    text: JSON.stringify(said, null, 2),
    meta: { tool_call_id: place.callId, iteration: place.iteration, rel },
  }
}

export const readNotice = oncePerBlockOfType(['react.notice'], (block) => parseJsonAs(Notice, block.text))
