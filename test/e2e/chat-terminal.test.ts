import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openPseudoTerminal, type PseudoTerminal } from '../support/pseudo-terminal.ts'

/** A configuration file whose model gives prepared replies, one per question. */
const configuration = `
import { reply, scriptedModel } from '${resolve('src/testing/scripted-model.ts')}'
const unfinished = (text) => ({ text: reply.answer(text).replace('</channel:answer>', ''), chunks: 7, delayMs: 1, stall: true })
const replies = {
  first: [
    { text: reply.answer('The first answer, word by word.', { thinking: 'Let me think.' }), chunks: 5, delayMs: 1 },
    unfinished('Heading for the wrong place'),
    unfinished('Heading for the right place'),
    reply.answer('Still here.'),
  ],
  later: [reply.answer('Back again.'), reply.answer('Back again.')],
}
export default { data: 'data', model: scriptedModel(replies[process.env.SCRIPT]) }
`

let folder: string
const terminals: PseudoTerminal[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'daybook-terminal-'))
  writeFileSync(join(folder, 'daybook.config.ts'), configuration)
})
afterEach(async () => {
  for (const terminal of terminals.splice(0)) {
    terminal.kill()
    await terminal.exitCode
  }
  rmSync(folder, { recursive: true, force: true })
})

function chat(script: string, ...args: readonly string[]): PseudoTerminal {
  const command = [process.execPath, resolve('bin/daybook.js'), 'chat', ...args].map((word) => `'${word}'`).join(' ')
  const terminal = openPseudoTerminal(command, { folder, environment: { PATH: process.env.PATH, SCRIPT: script } })
  terminals.push(terminal)
  return terminal
}

const enter = '\r'
const controlC = '\x03'
const controlD = '\x04'

it('a chat in a real terminal takes input, streams, can be steered, stopped and resumed', async () => {
  const first = chat('first', '--conversation', 'c1')
  await first.until('c1 · /help')
  await first.until('› ')
  first.press('hello there')
  await first.until('hello there') // the terminal echoes the keys
  first.press(enter)
  await first.until('Let me think.')
  await first.until('The first answer, word by word.')

  await first.until('› ')
  first.press(`go somewhere${enter}`)
  await first.until('Heading for the wrong place')
  first.press('/steer the right')
  await first.until('› /steer the right')
  first.press(` place${enter}`)
  await first.until('> the right place')
  await first.until('Heading for the right place')

  first.press(controlC)
  await first.until('stopping the turn; press Ctrl-C again to leave')
  await first.until('› ')
  first.press(`still there?${enter}`)
  await first.until('Still here.')
  await first.until('› ')
  first.press(controlC)
  await first.until('press Ctrl-C again to leave')
  first.press(controlC)
  await first.until('to continue: daybook chat --conversation c1')
  expect(await first.exitCode).toBe(0)
  expect(first.raw).toContain('\x1b[2m') // on a terminal, thinking is shown dimmed

  const again = chat('later', '--continue')
  await again.until('> hello there')
  await again.until('The first answer, word by word.')
  await again.until('> still there?')
  await again.until('Still here.')
  await again.until('› ')
  again.press(`and now?${enter}`)
  await again.until('Back again.')
  await again.until('› ')
  again.press(`/new${enter}`)
  await again.until('to continue: daybook chat --conversation c1')
  await again.until(/c_[0-9a-f]{12} · \/help/)
  await again.until('› ')
  again.press(`/files${enter}`)
  await again.until('no files yet')
  await again.until('› ')
  again.press(controlD)
  await again.until('to continue: daybook chat --conversation c_')
  expect(await again.exitCode).toBe(0)
}, 90_000)

it('a chat closed during a turn leaves the turn open, and the next chat says so', async () => {
  const first = chat('first', '--conversation', 'c1')
  await first.until('› ')
  first.press(`hello${enter}`)
  await first.until('The first answer, word by word.')
  await first.until('› ')
  first.press(`go somewhere${enter}`)
  await first.until('Heading for the wrong place')
  first.press(controlD)
  expect(await first.exitCode).toBe(0)
  const again = chat('later', '--conversation', 'c1')
  await again.until('> go somewhere')
  await again.until('the last turn is unfinished')
  await again.until('› ')
  again.press(`go on${enter}`)
  await again.until('Back again.')
  again.press(controlD)
  expect(await again.exitCode).toBe(0)
}, 90_000)
