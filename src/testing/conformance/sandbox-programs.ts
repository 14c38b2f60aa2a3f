import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Sandbox, SandboxFolders, SandboxLanguage, SandboxProgram, SandboxReport } from '../../ports/sandbox.ts'

/** Runs programs in folders of their own, and reads the files that they leave. */
export interface SandboxFixture {
  readonly folder: string
  readonly folders: SandboxFolders
  run(language: SandboxLanguage['id'], code: string, options?: Partial<SandboxProgram>): Promise<SandboxReport>
  /** Writes a file below the folder of the fixture, such as `out/turn_1/files/a.txt`. */
  write(path: string, content: string): Promise<string>
  read(path: string): Promise<string>
  remove(): Promise<void>
}

/** Makes the folders `out/turn_1`, `out/turn_2` and `work`. The current turn is `turn_2`. */
export async function openSandboxFixture(sandbox: Sandbox): Promise<SandboxFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-sandbox-'))
  const folders = { out: join(folder, 'out'), turn: 'turn_2', work: join(folder, 'work'), context: {} }
  for (const name of ['out/turn_1/files', 'out/turn_2/files', 'work']) await mkdir(join(folder, name), { recursive: true })
  return {
    folder,
    folders,
    run: (language, code, options = {}) =>
      sandbox.run({
        execId: 'exec_1',
        language,
        code,
        folders,
        timeoutSeconds: 60,
        signal: new AbortController().signal,
        answer: () => Promise.reject(new Error('this program may not send requests')),
        ...options,
      }),
    async write(path, content) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), content)
      return join(folder, path)
    },
    read: (path) => readFile(join(folder, path), 'utf8'),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Programs with the same effect in each language. */
export interface SandboxPrograms {
  readonly showVariables: string
  readonly copyHistory: string
  readonly writeToHistory: string
  readonly writeToAttachments: string
  readonly failInLine3: string
  readonly waitAtTopLevel: string
  readonly exitWith3: string
  readonly mixedOutput: string
  readonly startThenSleep: string
  readonly askForContext: string
  readonly callTools: string
  readonly callForbiddenTool: string
  readonly sendBytes: string
  readonly askTogether: string
}

const python: SandboxPrograms = {
  showVariables: `
import os
print(os.path.samefile(os.getcwd(), OUT_DIR / "turn_2"), OUTPUT_DIR == str(OUT_DIR), os.path.isdir(WORKDIR))
print((CONTEXT_DIR / "timeline.json").read_text())`,
  copyHistory: `
open("files/b.txt", "w").write((OUT_DIR / "turn_1/files/a.txt").read_text() + "!")
(WORKDIR / "w.txt").write_text("w")`,
  writeToHistory: '(OUT_DIR / "turn_1/files/a.txt").write_text("changed")',
  writeToAttachments: 'open("attachments/b.txt", "w").write("changed")',
  failInLine3: '# one\n# two\nraise ValueError("broken")',
  waitAtTopLevel: 'import asyncio\nawait asyncio.sleep(0.01)\nprint("awaited")',
  exitWith3: 'import sys\nsys.exit(3)',
  mixedOutput: `
import os
for n in range(50):
  os.write(1, b"o%d\\n" % n)
  os.write(2, b"e%d\\n" % n)
print("\\x1b[31mred\\x1b[0m")`,
  startThenSleep: 'import time\nopen("files/started", "w").write("yes")\ntime.sleep(600)',
  askForContext: `
import context_tools, json
from ctx_tools import fetch_ctx as imported
rows = [fetch_ctx("so:sources_pool[1,3]"), await fetch_ctx("ar:x"), context_tools.fetch_ctx("a"), imported("b"), fetch_ctx("missing")]
print(json.dumps(rows, separators=(",", ":")))`,
  callTools: `
import json
from io_tools import tool_call as imported
results = [
  await tool_call("web_tools.web_search", {"query": "a"}, "because"),
  await io_tools.tool_call(tool_id="web_tools.web_search", params={"query": "b"}),
  await imported({"tool_id": "web_tools.web_search", "params": {"query": "c"}}),
  await web_tools.web_search(query="d"),
  await tool_call(fn=web_tools.web_search, params={"query": "e"}),
]
print(json.dumps(results, separators=(",", ":")))`,
  callForbiddenTool: `
try:
  await tool_call("shell.run", {})
except RuntimeError as error:
  print("refused:", error)`,
  sendBytes: `
result = await tool_call("bytes_tools.echo", {"data": bytes(range(256)), "list": [b"x"]})
print(result["data"] == bytes(range(256)), result["list"] == [b"x"])`,
  askTogether: `
import asyncio
results = await asyncio.gather(*[web_tools.web_search(query=str(n)) for n in range(20)])
print([result["query"] for result in results] == [str(n) for n in range(20)])`,
}

const javascript: SandboxPrograms = {
  showVariables: `
import fs from "node:fs"
const here = fs.realpathSync(process.cwd())
console.log(here === fs.realpathSync(OUT_DIR + "/turn_2"), OUTPUT_DIR === OUT_DIR, fs.statSync(WORKDIR).isDirectory())
console.log(fs.readFileSync(CONTEXT_DIR + "/timeline.json", "utf8"))`,
  copyHistory: `
const fs = require("fs")
fs.writeFileSync("files/b.txt", fs.readFileSync(OUT_DIR + "/turn_1/files/a.txt", "utf8") + "!")
fs.writeFileSync(WORKDIR + "/w.txt", "w")`,
  writeToHistory: 'require("fs").writeFileSync(OUT_DIR + "/turn_1/files/a.txt", "changed")',
  writeToAttachments: 'require("fs").writeFileSync("attachments/b.txt", "changed")',
  failInLine3: '// one\n// two\nthrow new Error("broken")',
  waitAtTopLevel: 'await new Promise((resolve) => setTimeout(resolve, 10))\nconsole.log("awaited")',
  exitWith3: 'process.exit(3)',
  mixedOutput: `
import fs from "node:fs"
for (let n = 0; n < 50; n++) {
  fs.writeSync(1, "o" + n + "\\n")
  fs.writeSync(2, "e" + n + "\\n")
}
console.log("\\x1b[31mred\\x1b[0m")`,
  startThenSleep: 'import fs from "node:fs"\nfs.writeFileSync("files/started", "yes")\nsetTimeout(() => {}, 600_000)',
  askForContext: `
import { fetch_ctx as imported } from "ctx_tools"
const rows = [await fetch_ctx("so:sources_pool[1,3]"), await fetch_ctx("ar:x"), await context_tools.fetch_ctx("a"), await imported("b")]
console.log(JSON.stringify([...rows, await fetch_ctx("missing")]))`,
  callTools: `
import { tool_call as imported } from "io_tools"
import { web_search } from "web_tools"
const results = [
  await tool_call("web_tools.web_search", { query: "a" }, "because"),
  await io_tools.tool_call({ tool_id: "web_tools.web_search", params: { query: "b" } }),
  await imported("web_tools.web_search", { query: "c" }),
  await web_tools.web_search({ query: "d" }),
  await web_search({ query: "e" }),
]
console.log(JSON.stringify(results))`,
  callForbiddenTool: `
try {
  await tool_call("shell.run")
} catch (error) {
  console.log("refused:", error.message)
}`,
  sendBytes: `
const data = Uint8Array.from({ length: 256 }, (_, n) => n)
const result = await tool_call("bytes_tools.echo", { data, list: [Buffer.from("x")] })
console.log(Buffer.from(result.data).equals(Buffer.from(data)), Buffer.from(result.list[0]).toString() === "x")`,
  askTogether: `
const numbers = Array.from({ length: 20 }, (_, n) => String(n))
const results = await Promise.all(numbers.map((query) => web_tools.web_search({ query })))
console.log(results.every(({ query }, n) => query === numbers[n]))`,
}

/** The programs of the conformance suite, by language. */
export const sandboxPrograms: Readonly<Record<SandboxLanguage['id'], SandboxPrograms>> = { python, javascript }
