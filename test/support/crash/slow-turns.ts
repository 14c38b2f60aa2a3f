import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { createSystemClock } from '../../../src/adapters/clock/system.ts'
import { createCustomWorkspaces } from '../../../src/adapters/workspace/custom/custom.ts'
import { createAgentFrom } from '../../../src/agent/agent.ts'
import type { AgentSettings } from '../../../src/agent/settings.ts'
import { hashText } from '../../../src/core/hash.ts'
import type { Change } from '../../../src/core/timeline/change.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import type { Model, ModelRequest } from '../../../src/ports/model.ts'
import type { Workspaces } from '../../../src/ports/workspace.ts'
import { reply } from '../../../src/testing/scripted-model.ts'
import { defineTool } from '../../../src/tools/define.ts'
import type { Tool } from '../../../src/tools/tool.ts'
import { contextWithRoom } from '../context-size.ts'
import { foldersOnDisk } from '../workspace-folders.ts'
import { openCrashFolder } from './crash-folder.ts'

/**
 * A turn that hangs at one place, such as the title or the publish, so that its process can be killed there. Each place has a folder of its
 * own. The replies of the model depend only on the prompt, so another process can continue the turn.
 */
interface SlowTurn {
  readonly settings?: Partial<AgentSettings>
  /** A message that is answered in a turn before the turn that hangs. */
  readonly earlier?: string
  /** The reply in the round with this number. The number is undefined in the wrap-up of a turn that has reached its limit. */
  readonly reply: (iteration: number | undefined) => string
  /** The model calls that the whole turn needs. */
  readonly calls: readonly ModelRequest['role'][]
  readonly exitReason: string
}

export const finalAnswer = 'It is clear in Rome.'

const answer = reply.answer(finalAnswer)
const answering: SlowTurn = { reply: () => answer, calls: ['gate', 'decision'], exitReason: 'complete' }
const write = reply.call('react.write', { path: 'files/a.md', channel: 'canvas', content: 'Clear.', kind: 'file' })
const looking: SlowTurn = {
  settings: { contextTokens: contextWithRoom(6_400), maxRounds: 20, keepRecentTurns: 1 },
  earlier: `What is new? ${'Tell me all of it. '.repeat(300)}`,
  reply: (iteration = 0) =>
    [reply.call('shop.pay'), ...Array.from({ length: 3 }, () => reply.call('shop.look')), answer][iteration] as string,
  calls: ['compaction', 'compaction', 'decision', 'decision', 'decision', 'decision', 'decision'],
  exitReason: 'complete',
}

export const slowTurns = {
  'the exit grace': answering,
  'a hook before the completion': answering,
  'a hook after the completion': answering,
  'a hook after the last call': {
    settings: { maxRounds: 1 },
    reply: (iteration) => (iteration === 0 ? reply.call('shop.pay') : answer),
    calls: ['gate', 'decision', 'decision'],
    exitReason: 'max_iterations',
  },
  'publishing the workspace': {
    ...answering,
    reply: (iteration) => (iteration === 0 ? write : answer),
    calls: ['gate', 'decision', 'decision'],
  },
  'the title after the answer': answering,
  'the title and the first call': answering,
  'the first call after the title': answering,
  'a tool after the title': {
    ...answering,
    reply: (iteration) => (iteration === 0 ? reply.call('shop.look') : answer),
    calls: ['gate', 'decision', 'decision'],
  },
  'the first summary': looking,
  'the second summary': looking,
} satisfies Readonly<Record<string, SlowTurn>>

export type Place = keyof typeof slowTurns

export const placeFolder = (folder: string, place: Place): string => join(folder, place.replaceAll(' ', '-'))

/** The lines of a log of the turn: complete answers of the model, or payments of the tool. */
export function logged(folder: string, place: Place, file: 'answers' | 'payments'): readonly string[] {
  const path = join(placeFolder(folder, place), file)
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []
}

/** Opens the agent of a place. With `onHang`, its turn calls `onHang` at the place and then hangs. */
export async function openSlowTurn(folder: string, place: Place, { onHang, aheadMs = 0 }: { onHang?: () => void; aheadMs?: number }) {
  const turn: SlowTurn = slowTurns[place]
  const own = placeFolder(folder, place)
  mkdirSync(own, { recursive: true })
  const clock = clockAhead(aheadMs)
  const { store } = await openCrashFolder(own, clock)
  let started = onHang === undefined // a process that resumes continues the turn that hung
  const log = (file: 'answers' | 'payments', line: string) => started && appendFileSync(join(own, file), `${line}\n`)
  const hangs = (...at: readonly Place[]) => onHang !== undefined && started && at.includes(place)
  const hang = () => {
    onHang?.()
    return new Promise<never>(() => {})
  }
  /**
   * Resolves when the journal has an entry of this kind. The turn hangs only after this, because a response that is not in the journal when
   * the process dies is paid twice.
   */
  const untilJournaled = async (test: (change: Change) => boolean) => {
    for (let found = false; !found; ) {
      await sleep(5)
      for await (const { change } of store.readJournal('c1', { after: 0 })) found ||= test(change)
    }
  }
  const workspaces = createCustomWorkspaces({ ...foldersOnDisk(join(own, 'workspaces')), blobs: store.blobs })
  const agent = createAgentFrom({
    model: slowModel(turn, (line) => log('answers', line), hangs, hang, untilJournaled),
    tools: [
      payTool((line) => log('payments', line)),
      lookTool(async () => {
        if (hangs('a tool after the title')) await untilJournaled(isTitle).then(hang)
      }),
    ],
    store,
    clock,
    workspaces: hangingWorkspaces(workspaces, () => hangs('publishing the workspace'), hang),
    settings: {
      ...turn.settings,
      exitGraceMs: place === 'the exit grace' && onHang ? 600_000 : 0,
      ...(onHang && { titleWaitMs: 600_000 }),
    },
    hooks: place.startsWith('a hook')
      ? [
          {
            onBeforeCompletion: () => (hangs('a hook before the completion', 'a hook after the last call') ? hang() : []),
            onAfterCompletion: () => (hangs('a hook after the completion') ? hang() : []),
          },
        ]
      : [],
  })
  async function run(): Promise<void> {
    if (turn.earlier !== undefined) await agent.run('c1', turn.earlier).result
    started = true
    await agent.run('c1', 'How is Rome?').result
  }
  return { agent, store, run }
}

/** A clock that is ahead of the system. For a process with this clock, the lease of a process that was just killed has already expired. */
function clockAhead(aheadMs: number): Clock {
  const clock = createSystemClock()
  return { ...clock, now: () => new Date(Date.parse(clock.now()) + aheadMs).toISOString() }
}

/** A model that hangs at the given places. It logs each answer when it is complete, because from then on the answer has to be paid. */
function slowModel(
  turn: SlowTurn,
  onAnswer: (line: string) => void,
  hangs: (...at: readonly Place[]) => boolean,
  hang: () => Promise<never>,
  untilJournaled: (test: (change: Change) => boolean) => Promise<void>,
): Model {
  let summaries = 0
  return {
    name: 'slow',
    window: 200_000,
    async *stream(request) {
      const { role } = request
      if (role === 'compaction') summaries++
      if (role === 'decision' && hangs('the first call after the title')) await untilJournaled(isTitle).then(hang)
      const text = replyTo(turn, request)
      yield { type: 'text.delta', text: text.slice(0, 30) }
      if (role === 'gate' && hangs('the title after the answer')) await untilJournaled(isDecision).then(hang)
      if (role === 'gate' && hangs('the title and the first call')) await new Promise<never>(() => {})
      if (role === 'decision' && hangs('the title and the first call')) await hang()
      if (role === 'compaction' && summaries === 1 && hangs('the first summary')) await hang()
      if (role === 'compaction' && summaries === 2 && hangs('the second summary')) await hang()
      yield { type: 'text.delta', text: text.slice(30) }
      onAnswer(`${role} ${role === 'compaction' ? hashText(textOf(request)) : (iterationOf(request) ?? 'last')}`)
      yield { type: 'finish', finishReason: 'stop', modelName: 'slow', usage }
      if (text === answer && hangs('the exit grace')) setTimeout(hang, 100) // after 100 ms the turn waits in its exit grace
    },
  }
}

const usage = { uncached: 10, cacheRead: 0, cacheWrite: 0, output: 10, reasoning: 0 }
const title = '<channel:thinking>A title.</channel:thinking><channel:output>{"conversation_title":"Rome"}</channel:output>'

function replyTo(turn: SlowTurn, request: ModelRequest): string {
  if (request.role === 'gate') return title
  if (request.role === 'compaction') return '## Goals\nThe weather.\n\n## Progress\nShelves were looked at, and the goods were paid for.'
  return textOf(request).includes('How is Rome?') ? turn.reply(iterationOf(request)) : reply.answer('Nothing is new.')
}

const textOf = ({ parts }: ModelRequest) => parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')

/** The number of the round, from 0. Undefined in the wrap-up of a turn that has reached its limit, and in calls outside of rounds. */
function iterationOf(request: ModelRequest): number | undefined {
  const [, shown, wrapUp] = /Iteration (\d+)\/[^║]*?(— wrap-up)? *║/.exec(textOf(request)) ?? []
  return shown === undefined || wrapUp !== undefined ? undefined : Number(shown) - 1
}

const payTool = (onPayment: (line: string) => void): Tool =>
  defineTool({
    id: 'shop.pay',
    description: 'Pays. Must not be repeated.',
    params: z.object({}),
    run(_params, call) {
      onPayment(call.idempotencyKey)
      return { paid: true, receipt: 'paid '.repeat(1_500) }
    },
  })

const lookTool = (beforeLook: () => Promise<void>): Tool =>
  defineTool({
    id: 'shop.look',
    description: 'Looks at the shelves.',
    params: z.object({}),
    repeatable: true,
    async run() {
      await beforeLook()
      return { goods: 'salt '.repeat(1_500) }
    },
  })

const isTitle = ({ type }: Change) => type === 'title.set'
const isDecision = (change: Change) => change.type === 'response.received' && change.role === undefined

const hangingWorkspaces = (workspaces: Workspaces, hangs: () => boolean, hang: () => Promise<never>): Workspaces => ({
  ...workspaces,
  async open(...args) {
    const workspace = await workspaces.open(...args)
    return { ...workspace, publish: (...published) => (hangs() ? hang() : workspace.publish(...published)) }
  },
})
