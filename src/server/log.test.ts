import { expect, it } from 'vitest'
import { createLog } from './log.ts'
import { createMetrics } from './metrics.ts'

it('writes one JSON line per event and redacts secrets wherever they are', () => {
  const lines: string[] = []
  const log = createLog(
    (line) => lines.push(line),
    () => '2026-01-01T00:00:00.000Z',
  )
  log('warn', 'request', {
    path: '/v1/x\n',
    headers: { Authorization: 'Bearer planted-token', cookie: 'a=b' },
    error: new Error('401 for sk-planted-key-123 and Bearer planted-token'),
    apiKey: 'planted',
    nested: [{ password: 'planted' }],
    count: 3,
  })
  expect(lines).toHaveLength(1)
  expect(lines[0]).not.toMatch(/planted|a=b/)
  expect(JSON.parse(lines[0] as string)).toMatchObject({ level: 'warn', event: 'request', path: '/v1/x\n', count: 3 })
})

it('writes metrics in the text format of Prometheus', () => {
  const metrics = createMetrics({ turns_total: 'Turns by how they ended.' })
  metrics.count('turns_total', { exit: 'complete' })
  metrics.count('turns_total', { exit: 'complete' })
  metrics.count('turns_total', { exit: 'a "quoted"\nline' })
  metrics.gauge('followers', () => 7)
  metrics.observe('request_seconds', 0.02, { route: '/v1' })
  expect(metrics.text()).toContain(
    '# HELP turns_total Turns by how they ended.\n# TYPE turns_total counter\nturns_total{exit="complete"} 2\n',
  )
  expect(metrics.text()).toContain('turns_total{exit="a \\"quoted\\"\\nline"} 1\n')
  expect(metrics.text()).toContain('followers 7\n')
  expect(metrics.text()).toMatch(
    /request_seconds_bucket\{route="\/v1",le="0.01"\} 0\nrequest_seconds_bucket\{route="\/v1",le="0.025"\} 1\n/,
  )
  expect(metrics.text()).toContain('request_seconds_count{route="/v1"} 1\n')
})
