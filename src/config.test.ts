import { expect, it } from 'vitest'
import { settingsFrom } from './config.ts'

it('has a default for every setting', () => {
  expect(settingsFrom({ PATH: '/bin' })).toEqual({ data: '.daybook', model: 'offline', workspace: 'custom' })
})

it('reads DAYBOOK_ variables and names one it does not know', () => {
  expect(settingsFrom({ DAYBOOK_DATA: 'here', DAYBOOK_MODEL: 'openai/gpt-6-sol' })).toMatchObject({
    data: 'here',
    model: 'openai/gpt-6-sol',
  })
  expect(() => settingsFrom({ DAYBOOK_DATUM: 'x' })).toThrow('unknown setting DAYBOOK_DATUM; there is DAYBOOK_DATA, DAYBOOK_MODEL')
})
