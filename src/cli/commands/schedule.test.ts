import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CommandLine, createCommandLine } from '../../../test/support/command-line.ts'

let line: CommandLine
beforeEach(() => {
  line = createCommandLine()
})
afterEach(() => line.remove())

const add = (...args: readonly string[]) => line.run('schedule', 'add', 'costs', 'Compare the costs.', ...args)

it('adds, lists and removes schedules', async () => {
  expect((await line.run('schedule', 'list')).text).toBe('nothing is scheduled')
  expect((await add('--at', '2100-01-31T09:00:00+01:00', '--id', 'once')).text).toContain(
    'once scheduled, next at 2100-01-31T08:00:00.000Z',
  )
  expect((await add('--at', '2099-01-01T00:00:00Z', '--every', '7d', '--id', 'weekly', '--notify')).exitCode).toBe(0)
  expect((await add('--every', '1h', '--id', 'once')).text).toContain('was scheduled before')
  const { text } = await line.run('schedule', 'list', 'costs')
  expect(text).toContain('2099-01-01T00:00:00.000Z  costs  weekly  (every 604800 s, notification)\n    Compare the costs.\n2100-01-31')
  expect((await line.run('schedule', 'remove', 'costs', 'weekly')).text).toContain('removed weekly')
  expect(await line.run('schedule', 'remove', 'costs', 'weekly')).toMatchObject({
    exitCode: 1,
    text: expect.stringContaining('no schedule'),
  })
  expect((await line.run('schedule', 'list')).text).not.toContain('weekly')
})

it('says what is wrong with a time or an interval', async () => {
  expect((await add()).text).toContain('say when: --at <time>, --every <interval>')
  expect((await add('--at', 'tomorrow')).text).toContain('--at must be a time such as')
  for (const every of ['0', '-1', '1w', '1.5h', 'x']) expect((await add('--every', every)).text).toContain('such as 90, 15m or 7d')
  expect((await add('--every', '1h', '--id', 'a b')).text).toContain('letters, digits')
})
