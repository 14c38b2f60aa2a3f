import { roughTokens } from '../../../src/core/estimate/tokens.ts'
import { createCacheSimulator, type ModelCall } from '../../../src/testing/index.ts'
import { addingScript, type PeerModule, type RecordedRequest } from '../script.ts'
import type { Measured } from './measured.ts'

const [rounds, secondsBetweenCalls] = [6, 10]
const instructions = `You add up numbers. ${'Work step by step, name each number, and never guess. '.repeat(120)}`
const result = { sum: 3, log: 'Numbers were added. '.repeat(100) }
const statusMark = /\[LIVE STATUS \d+\][^\]]*\[END OF STATUS\]/

/** The costs of three kinds of conversations, with both kinds of caches. */
export async function measure(module: PeerModule, { isQuick }: { readonly isQuick: boolean }): Promise<Measured> {
  const turns = isQuick ? 4 : 20
  const plain = await record(module, turns, {})
  const status = module.hasNoStatus === undefined ? costs(await record(module, turns, { hasStatus: true })) : undefined
  const calls = await record(module, turns, { callsPerRound: 12 })
  const { marks, cost } = costs(plain)
  return {
    plainMarks: marks,
    statusMarks: status?.marks ?? (module.hasNoStatus as string),
    callsMarks: costs(calls).marks,
    plainPrefix: costs(plain).prefix,
    statusPrefix: status?.prefix ?? (module.hasNoStatus as string),
    callsPrefix: costs(calls).prefix,
    plainTokens: cost / 1_000,
    statusTokens: status === undefined ? (module.hasNoStatus as string) : status.cost / 1_000,
  }
}

async function record(
  module: PeerModule,
  turns: number,
  { callsPerRound = 1, hasStatus = false }: { readonly callsPerRound?: number; readonly hasStatus?: boolean },
): Promise<readonly RecordedRequest[]> {
  const requests: RecordedRequest[] = []
  let count = 0
  const status = () => `[LIVE STATUS ${++count}] ${'Orders, stock and time have changed. '.repeat(60)} [END OF STATUS]`
  const peer = await module.open({
    script: addingScript(rounds, {
      instructions,
      callsPerRound,
      run: () => result,
      onRequest: (request) => requests.push(request),
      ...(hasStatus && { status }),
    }),
  })
  for (let turn = 0; turn < turns; turn++) await peer.turn('c', `Add up once more, please. This is request ${turn}.`)
  await peer.close()
  if (requests.length !== turns * rounds) throw new Error(`there were ${requests.length} requests in place of ${turns * rounds}`)
  if (hasStatus && !requests.every(({ system, parts }) => statusMark.test(system) || parts.some(({ text }) => statusMark.test(text)))) {
    throw new Error('a request has no status')
  }
  return requests
}

/** What the requests cost relative to the ideal cost: with a cache that needs marks, and with an automatic cache. */
function costs(requests: readonly RecordedRequest[]): { readonly marks: number | string; readonly prefix: number; readonly cost: number } {
  const isMarked = requests.some(({ isSystemMarked, parts }) => isSystemMarked || parts.some((part) => part.isMarked))
  const total = (kind: 'anthropic' | 'prefix') => {
    const cache = createCacheSimulator({ kind, minimumTokens: 1_024, ttlSeconds: 300, count: roughTokens })
    return requests.reduce((sum, request, index) => sum + cache.call(asCall(request, index)).cost, 0)
  }
  const [marks, prefix] = [isMarked ? total('anthropic') : undefined, total('prefix')]
  return {
    marks: marks === undefined ? 'sets none' : marks / idealCost(requests, 1.25),
    prefix: prefix / idealCost(requests, 1),
    cost: marks ?? prefix,
  }
}

/** The simulator marks every system text, so a system text without a mark is passed as a part. */
function asCall({ system, isSystemMarked, parts }: RecordedRequest, index: number): ModelCall {
  const texts = parts
    .filter(({ text }) => text !== '')
    .map(({ text, isMarked }) => ({ type: 'text' as const, text, ...(isMarked && { cache: true as const }) }))
  const at = index * secondsBetweenCalls
  return isSystemMarked ? { system, parts: texts, at } : { system: '', parts: [{ type: 'text', text: system }, ...texts], at }
}

/**
 * The cost with an ideal cache. The position of a text in the request does not matter. A text that later requests repeat is written to the
 * cache once, and then read from it. Every other text, such as a status, is not cached.
 */
function idealCost(requests: readonly RecordedRequest[], writePrice: number): number {
  const texts = requests.map(textsOf)
  const uses = new Map<string, number>()
  for (const text of texts.flat()) uses.set(text, (uses.get(text) ?? 0) + 1)
  let cost = 0
  for (const [text, count] of uses) cost += tokensOf(text) * (count === 1 ? 1 : writePrice + 0.1 * (count - 1))
  return cost
}

/**
 * The texts of a request. A status inside of a text becomes a text of its own. Equal texts of one request get different numbers, so that
 * they are counted separately.
 */
function textsOf({ system, parts }: RecordedRequest): readonly string[] {
  const seen = new Map<string, number>()
  return [system, ...parts.map(({ text }) => text)]
    .flatMap((text) => {
      const status = statusMark.exec(text)?.[0]
      return status === undefined ? [text] : [text.replace(status, ''), status]
    })
    .map((text) => {
      const count = seen.get(text) ?? 0
      seen.set(text, count + 1)
      return count === 0 ? text : `${text}\n#${count}`
    })
}

const tokensOf = (text: string) => roughTokens(text.replace(/\n#\d+$/, ''))
