// Runs a program that does not end and writes to its work folder all the time. Its folder is the first argument.

import { join } from 'node:path'
import { findSandbox } from '../../src/adapters/sandbox/index.ts'

const folder = process.argv[2] as string
const found = await findSandbox()
if (!found.sandbox) throw new Error(found.reason)
await found.sandbox.run({
  execId: 'forever',
  language: 'python',
  code: `
import os, signal, time
for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
if os.fork() == 0: os.setsid()
while True:
  with open(WORKDIR / str(os.getpid()), "a") as file: file.write("x")
  time.sleep(0.02)`,
  folders: { out: join(folder, 'out'), turn: 'turn_1', work: join(folder, 'work'), context: {} },
  timeoutSeconds: 600,
  signal: new AbortController().signal,
  answer: async () => null,
})
