import { expect, it } from 'vitest'
import { settingsFrom } from './config.ts'

it('has a default for every setting', () => {
  expect(settingsFrom({ PATH: '/bin' })).toEqual({ data: '.daybook', workspace: 'custom' })
})

it('reads DAYBOOK_ variables and names one it does not know', () => {
  expect(settingsFrom({ DAYBOOK_DATA: 'here' })).toMatchObject({ data: 'here' })
  expect(() => settingsFrom({ DAYBOOK_DATUM: 'x' })).toThrow('unknown setting DAYBOOK_DATUM; there is DAYBOOK_DATA')
})
