import { describe, expect, it } from 'vitest'
import { library, weather } from '../../../test/support/scenario-tools.ts'
import type { CacheReport, CacheRow } from '../../core/cache/cache-report.ts'
import { lintCacheReport } from '../../core/cache/lint.ts'
import { createMiss } from '../../core/cache/misses.ts'
import { lintAgent, type StandingParts } from './lint.ts'

const rulesIn = async (construct: () => StandingParts) => (await lintAgent(construct)).map(({ rule, where }) => `${rule}: ${where}`)

describe('the system text of an agent', () => {
  it('has no findings by default, or with stable tools and instructions', async () => {
    expect(await rulesIn(() => ({}))).toEqual([])
    expect(await rulesIn(() => ({ tools: [weather(), library()], instructions: 'Answer in 3 lines; call 112 at 9.' }))).toEqual([])
  })

  it.each([
    ['Today is 2026-11-15.', 'date in system text'],
    ['Today is 15 November 2026.', 'date in system text'],
    ['It is November 15, 2026', 'date in system text'],
    ['Sun Nov 15 2026 it is.', 'date in system text'],
    ['As of 3rd of July 2026', 'date in system text'],
    ['Heute ist der 15.11.2026.', 'date in system text'],
    ['Date: 11/15/2026', 'date in system text'],
    ['Today is Monday.', 'date in system text'],
    ['API version 2023-06-01. Today is 2026-11-15.', 'date in system text'],
    ['It is 2:30 PM.', 'time in system text'],
    ['Snapshot 20261115T094107Z', 'time in system text'],
    ['Trace 01JCQ8Z5T3N7V9XK2M4B6D8F0G', 'id in system text'],
    ['You serve user_8fj3k2q9x1.', 'id in system text'],
    ['Started at 09:41:07.', 'time in system text'],
    ['Now: 1794000000000', 'time in system text'],
    ['Session 3f2b8c9a-1d2e-4f5a-8b6c-7d8e9f0a1b2c', 'id in system text'],
    ['request 9f86d081884c7d65', 'id in system text'],
    ['You are in turn_1767225600000_ab12cd.', 'id in system text'],
  ])('has a finding for "%s"', async (customisation, rule) => {
    expect(await rulesIn(() => ({ customisation }))).toContain(`${rule}: customisation`)
  })

  it.each([
    'Use Node 24.1.0, Python 3.12.4 and Ubuntu release 2024.10.1.',
    'Send the header anthropic-version: 2023-06-01.',
    'Write dates as ISO 8601, e.g. 2026-01-31, and times like 09:41.',
    'The knowledge cutoff: April 2024.',
    'The server is at http://127.0.0.1:22 or 10.0.0.10:22, the database at db-10:45, the queue at localhost:6379.',
    'A fine of $1500000000, of 1,600,000,000 or of 1700000000 EUR; prices from 9.99 to 1999.00.',
    'Open 09:00-17:00, on Fridays from 09:00 to 12:30.',
    'Draw at a scale of 1:25 in 16:9, 1920x1080, at most 12/24.',
    'Colours are #ff00aa; call +1 555 010 2000; see RFC 3339, section 5.6.1.',
    'Fields: user_id, session_key, request_count, conversation-history, org-chart.',
    'May I? You may in 2 of 3 cases. March on.',
  ])('has no finding for "%s"', async (customisation) => {
    expect(await rulesIn(() => ({ customisation }))).toEqual([])
  })

  it('is checked quickly even when it is long and repetitive', async () => {
    const long = ['1:', '2026-', 'a1', 'user_1', '0', 'today ', '$'].map((piece) => piece.repeat(20_000)).join(' ')
    expect(await rulesIn(() => ({ customisation: long }))).toEqual(expect.any(Array))
  })

  it('has findings that name the tool', async () => {
    const dated = { ...weather(), description: 'The weather of 2026-11-15.' }
    expect(await rulesIn(() => ({ tools: [dated] }))).toEqual(['date in system text: tool weather.today'])
  })

  it('is built twice, so that any text, tool order or tool that varies is found', async () => {
    let made = 0
    expect(await rulesIn(() => ({ customisation: `Visitor ${made++ === 0 ? 'one' : 'two'}.` }))).toEqual(['unstable text: customisation'])
    const varyingOrder = () => (made++ % 2 === 0 ? [weather(), library()] : [library(), weather()])
    expect(await rulesIn(() => ({ tools: varyingOrder() }))).toEqual(['unstable tool order: tool weather.today'])
    expect(await rulesIn(() => ({ tools: made++ % 2 === 0 ? [weather()] : [weather(), library()] }))).toEqual(['changing tools: tools'])
  })
})

describe('the cache report of a conversation', () => {
  const row = (iteration: number, more: Partial<CacheRow> = {}): CacheRow => ({
    seq: iteration,
    turnId: 't1',
    iteration,
    ts: '',
    model: 'm',
    segments: [],
    reach: 1,
    predicted: undefined,
    billed: { read: 900, write: 50, uncached: 50 },
    ...more,
  })
  const reportOf = (rows: readonly CacheRow[], hitRate = 0.9): CacheReport => ({
    rows,
    hitRate,
    billed: { read: 0, write: 0, uncached: 0 },
    misses: rows.filter(({ miss }) => miss !== undefined),
  })
  const rules = (report: CacheReport, budget?: Parameters<typeof lintCacheReport>[1]) =>
    lintCacheReport(report, budget).map(({ rule }) => rule)

  it('has no findings for misses that hide, expiry, compaction or the TTL explain', () => {
    const explained = (['hide', 'expiry', 'compaction', 'ttl gap'] as const).map((cause, n) => row(n, { miss: createMiss(cause, 100) }))
    expect(rules(reportOf([...explained, row(9)]))).toEqual([])
  })

  it('has a finding for avoidable misses beyond the budget', () => {
    const one = [row(1), row(2, { miss: createMiss('system text changed', 900) })]
    expect(rules(reportOf(one))).toEqual(['avoidable miss'])
    expect(rules(reportOf(one), { hitRate: 0, misses: 1, roundParts: 15 })).toEqual([])
  })

  it('has a finding for changing tools, long rounds and a low hit rate', () => {
    const changing = [row(1, { miss: createMiss('tool text changed', 9) }), row(2, { miss: createMiss('tool text changed', 9) })]
    expect(rules(reportOf(changing), { hitRate: 0, misses: 9, roundParts: 15 })).toEqual(['changing tools'])
    expect(rules(reportOf([row(1), row(2, { reach: 16 })]))).toEqual(['long round'])
    expect(rules(reportOf([row(1), row(2)], 0.3))).toEqual(['hit rate'])
    expect(rules(reportOf([row(1)], 0))).toEqual([]) // a single call can not have read from the cache
  })
})
