// The floor: a loop without a framework. It calls the model, runs the tool and keeps a list of messages. With a folder it appends every
// message to a file and waits until the file is on the disk.

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { play, roundOf } from '../script.ts'

export const imports = []

export async function open({ script, folder }) {
  const conversations = new Map()
  const historyOf = (id) => {
    if (!conversations.has(id)) conversations.set(id, createHistory(folder && join(folder, `${id}.jsonl`)))
    return conversations.get(id)
  }
  const runTurn = async ({ messages, add }, onText) => {
    for (;;) {
      const response = script.respond(roundOf(messages, ({ role }) => (role === 'tool' ? 'other' : role)))
      let text = ''
      for await (const chunk of play(script, response)) {
        text += chunk
        onText?.(chunk)
      }
      add({ role: 'assistant', text, calls: response.calls })
      if (response.calls.length === 0) return
      for (const { id, args } of response.calls) add({ role: 'tool', id, text: JSON.stringify(await script.run(args)) })
    }
  }
  return {
    async turn(id, text, onText) {
      const history = historyOf(id)
      history.add({ role: 'user', text })
      await runTurn(history, onText)
    },
    async seed(id, rounds) {
      const { messages } = historyOf(id)
      for (let n = 0; n < rounds; n++) {
        messages.push({ role: 'assistant', text: 'Next.', calls: [{ id: `s${n}`, args: { a: 1, b: 2 } }] })
        messages.push({ role: 'tool', id: `s${n}`, text: '{"sum":3}' })
      }
    },
    async close() {
      for (const { close } of conversations.values()) close()
    },
  }
}

function createHistory(file) {
  const messages =
    file !== undefined && existsSync(file)
      ? readFileSync(file, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
      : []
  const handle = file === undefined ? undefined : openSync(file, 'a')
  return {
    messages,
    add(message) {
      messages.push(message)
      if (handle === undefined) return
      writeSync(handle, `${JSON.stringify(message)}\n`)
      fsyncSync(handle)
    },
    close: () => handle !== undefined && closeSync(handle),
  }
}
