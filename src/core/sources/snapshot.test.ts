import { describe, expect, it } from 'vitest'
import { compactRow, compactSnapshot } from './snapshot.ts'

const whole = {
  sid: 1,
  title: 'T',
  url: 'https://a.b',
  published_time_iso: '2025-01-01T00:00:00Z',
  favicon: 'https://a.b/f.ico',
  mime: 'text/html',
  source_type: 'web',
  artifact_path: 'fi:turn_1.files/a',
  physical_path: 'turn_1/files/a',
} as const

describe('the pool as the timeline keeps it', () => {
  it('timeline 11.116: a text of 600 characters is cut at 500 and says so, and there is no content', () => {
    const [row] = compactSnapshot({ rows: [{ sid: 1, text: 'x'.repeat(600), content: 'body' }], next_sid: 2 })
    expect(row).toEqual({ sid: 1, text: `${'x'.repeat(500)}...(truncated)` })
  })

  it('keeps what a sid needs to lead to its file, and neither handles nor scores', () => {
    expect(
      compactRow({ ...whole, text: 't', content: 'c', rn: 'r', hosted_uri: 'h', key: 'k', weighted_rank: 1, used: true, extra: 1 }),
    ).toEqual({ ...whole, text: 't' })
  })

  it('never cuts a character in two, and 500 of them are not too many', () => {
    expect(compactRow({ sid: 1, text: '\u{1f600}'.repeat(500) }).text).toBe('\u{1f600}'.repeat(500))
    expect(compactRow({ sid: 1, text: `a${'\u{1f600}'.repeat(600)}` }).text).toBe(`a${'\u{1f600}'.repeat(499)}...(truncated)`)
  })

  it('a snapshot of a snapshot is the snapshot', () => {
    const once = compactRow({ ...whole, text: 'y'.repeat(5000) })
    expect(compactRow(once)).toEqual(once)
  })
})
