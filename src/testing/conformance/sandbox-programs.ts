import type { SandboxLanguage } from '../../ports/sandbox.ts'

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
}

/** The programs of the conformance suite, by language. */
export const sandboxPrograms: Readonly<Record<SandboxLanguage['id'], SandboxPrograms>> = { python, javascript }
