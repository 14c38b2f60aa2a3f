import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { findSandbox } from '../../src/adapters/sandbox/index.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createCustomWorkspaces } from '../../src/adapters/workspace/custom/custom.ts'
import { createGitWorkspaces } from '../../src/adapters/workspace/git/git.ts'
import { localScope } from '../../src/core/scope.ts'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import type { Sandbox } from '../../src/ports/sandbox.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness, type Harness, type HarnessOptions, keepFolders } from '../../src/testing/harness.ts'
import { type Reply, reply } from '../../src/testing/scripted-model.ts'
import { zippedSandbox } from '../../src/testing/zipped-sandbox/zipped-sandbox.ts'
import { codeSearch, weather } from '../support/scenario-tools.ts'
import { foldersOnDisk } from '../support/workspace-folders.ts'

const { sandbox } = await findSandbox()
const root = mkdtempSync(join(tmpdir(), 'daybook-programs-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const tools = { python: 'exec_tools.execute_code_python', javascript: 'exec_tools.execute_code_javascript' } as const
type Language = keyof typeof tools
const languages = Object.keys(tools) as Language[]

const program = (language: Language, filenames: readonly string[], code: string, more: object = {}): Reply =>
  reply.call(tools[language], { contract: filenames.map((filename) => ({ filename, description: 'a file' })), ...more }, { code })

type Kind = 'memory' | 'custom' | 'git'

function createAgent(kind: Kind, options: HarnessOptions): Harness {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const folder = mkdtempSync(join(root, 'w-'))
  const onDisk = { ...foldersOnDisk(folder), blobs: store.blobs }
  const workspaces =
    kind === 'memory' ? undefined : kind === 'git' ? createGitWorkspaces({ ...onDisk, root: folder }) : createCustomWorkspaces(onDisk)
  return createHarness({
    ...(sandbox && { sandbox }),
    clock,
    store,
    ...(workspaces && { workspaces: keepFolders(workspaces) }),
    ...options,
  })
}

/** Runs programs in one turn. Returns the reports, and functions that read what the turn left. */
async function run(replies: readonly Reply[], options: Partial<HarnessOptions> & { readonly kind?: Kind } = {}) {
  const { kind = 'memory', ...more } = options
  const harness = createAgent(kind, { replies: [...replies, reply.answer('Done.')], ...more })
  const { turnId } = await harness.say('Go.')
  await harness.agent.close()
  return { harness, turnId, ...(await readTurn(harness, turnId)) }
}

async function readTurn(harness: Harness, turnId: string) {
  const results = blocksOf(await harness.timeline()).filter(({ type }) => type === 'react.tool.result')
  const reports = results.filter(({ path, mime }) => path?.startsWith('tc:') && mime === 'text/markdown')
  const { files } = await harness.workspaces.open(localScope, harness.conversationId)
  return {
    results,
    reports: reports.map(({ text }) => text ?? ''),
    facts: reports.map(({ meta }) => meta?.exec_report as Record<string, unknown>),
    textOf: (rel: string) => results.find(({ path }) => path === `fi:${turnId}.${rel}`)?.text,
    read: async (rel: string) => Buffer.from((await files.read(`${turnId}/${rel}`)) ?? []).toString(),
  }
}

describe.runIf(sandbox)('programs in the sandbox of this machine', () => {
  const researching: Record<Language, string> = {
    python: [
      'import json',
      'found = await tool_call("web_tools.web_search", {"query": "rivers"}, "to compare")',
      'same = await web_tools.web_search(query="rivers")',
      'rows = fetch_ctx("so:sources_pool[1,3]")["ret"]',
      'missing = fetch_ctx("so:sources_pool[99]")["err"]["code"]',
      'try:',
      '    await tool_call("weather.today", {"city": "Rome"})',
      'except Exception as error:',
      '    refused = str(error)',
      'json.dump([found["ret"], [row["content"] for row in rows], missing, refused], open("outputs/found.json", "w"))',
    ].join('\n'),
    javascript: [
      'import { writeFileSync } from "node:fs"',
      'const found = await tool_call("web_tools.web_search", { query: "rivers" }, "to compare")',
      'await web_tools.web_search({ query: "rivers" })',
      'const rows = (await fetch_ctx("so:sources_pool[1,3]")).ret',
      'const missing = (await fetch_ctx("so:sources_pool[99]")).err.code',
      'const refused = await tool_call("weather.today", { city: "Rome" }).catch((error) => error.message)',
      'writeFileSync("outputs/found.json", JSON.stringify([found.ret, rows.map((row) => row.content), missing, refused]))',
    ].join('\n'),
  }

  const writing: Record<Language, string> = {
    python: 'open("files/sum.txt", "w").write(str(sum([1, 2])))\nprint("done")',
    javascript: 'import { writeFileSync } from "node:fs"\nwriteFileSync("files/sum.txt", String(1 + 2))\nconsole.log("done")',
  }

  it.each(languages.flatMap((language) => (['memory', 'custom', 'git'] as const).map((kind) => [language, kind] as const)))(
    'a %s program writes its file into the %s workspace, and later turns have it',
    async (language, kind) => {
      const harness = createAgent(kind, {
        replies: [program(language, ['files/sum.txt'], writing[language]), reply.answer('3.'), reply.answer('Still 3.')],
      })
      const { turnId } = await harness.say('Add.')
      const { reports, textOf } = await readTurn(harness, turnId)
      expect(reports).toEqual([`Succeeded:\n- ${turnId}/files/sum.txt\nProgram log (tail):\ndone`])
      expect(textOf('files/sum.txt')).toBe('3')
      await harness.say('Again?')
      expect(JSON.stringify((await harness.model.requests.at(-1))?.parts)).toContain('sum.txt')
      await harness.agent.close()
    },
  )

  it('both languages give the same blocks for the same files', async () => {
    const strip = ({ id: _id, ts: _ts, meta, call_id: _call, ...block }: Record<string, unknown>, turnId: string) =>
      JSON.stringify({ ...block, digest: (meta as { digest?: string }).digest })
        .replaceAll(turnId, 'T')
        .replaceAll(/[0-9a-f]{12}/g, 'C')
        .replaceAll(/execute_code_\w+/g, 'exec')
    const [python, javascript] = await Promise.all(
      languages.map(async (language) => {
        const { results, turnId } = await run([program(language, ['files/sum.txt'], writing[language])])
        return results.map((block) => strip(block as never, turnId))
      }),
    )
    expect(javascript).toEqual(python)
  })

  it.each(languages)(
    'tools 18.88: a %s program gives the same blocks when its files are sent to another machine and back',
    async (language) => {
      const code: Record<Language, string> = {
        python: `${researching.python}\nopen("files/a.txt", "w").write("a")\nopen("outputs/extra.txt", "w").write("b")\nprint("log")\nraise ValueError("end")`,
        javascript: `${researching.javascript}\nwriteFileSync("files/a.txt", "a")\nwriteFileSync("outputs/extra.txt", "b")\nconsole.log("log")\nthrow new RangeError("end")`,
      }
      const blocksWith = async (chosen: Sandbox) => {
        const { harness } = await run(
          [
            reply.call('web_tools.web_search', { query: 'hills' }),
            program(language, ['files/a.txt', 'files/none.txt', 'outputs/found.json'], code[language]),
          ],
          { sandbox: chosen, tools: [codeSearch(), weather()] },
        )
        return JSON.stringify(blocksOf(await harness.timeline())).replaceAll(/"duration_ms":\d+/g, '"duration_ms":0')
      }
      const local = sandbox as Sandbox
      const here = await blocksWith(local)
      expect(here).toContain('Runtime error: execution_failed')
      expect(await blocksWith(zippedSandbox(local))).toBe(here)
    },
  )

  const failing: Record<Language, string> = {
    python: '\nopen("files/a.txt", "w").write("a")\nraise ValueError("no rows")',
    javascript: '\nimport { writeFileSync } from "node:fs"\nwriteFileSync("files/a.txt", "a")\nthrow new RangeError("no rows")',
  }

  it.each(languages)('a %s program that throws has its error, the line of the error and its files in the report', async (language) => {
    const { reports, textOf } = await run([program(language, ['files/a.txt', 'files/b.txt'], failing[language])])
    expect(reports[0]).toMatch(
      /^Runtime error: execution_failed — (?:Value|Range)Error: no rows \(exit code 1\)\. Missing output files: .*b\.txt\n/,
    )
    expect(reports[0]).toMatch(language === 'python' ? /line 3/ : /:4/)
    expect(textOf('files/a.txt')).toBe('a')
  })

  it('reads attachments and earlier files, and can change neither', async () => {
    const code = [
      'import os',
      'lines = []',
      'for path in ["attachments/in.txt", OUTPUT_DIR + "/TURN/files/old.txt"]:',
      '    lines.append(open(path).read())',
      '    try:',
      '        open(path, "w").write("changed")',
      '        lines.append("written")',
      '    except OSError as error:',
      '        lines.append("refused")',
      'open("files/seen.txt", "w").write(" ".join(lines))',
    ].join('\n')
    const harness = createAgent('custom', {
      replies: [
        reply.call('react.write', { path: 'files/old.txt', channel: 'canvas', content: 'old', kind: 'display' }),
        reply.answer('Written.'),
        () => program('python', ['files/seen.txt'], code.replace('TURN', first)) as string,
        reply.answer('Read.'),
      ],
    })
    let first = ''
    first = (await harness.say('Write.')).turnId
    const turn = harness.agent.run(harness.conversationId, 'Read.', { attachments: [{ name: 'in.txt', content: Buffer.from('given') }] })
    const { turnId } = await turn.result
    expect((await readTurn(harness, turnId)).textOf('files/seen.txt')).toBe('given refused old refused')
    await harness.agent.close()
  })

  it('tools 18.82: can not open a network connection', async () => {
    const python =
      'import socket\ntry:\n    socket.create_connection(("127.0.0.1", 80), 2)\n    print("open")\nexcept OSError as error:\n    print("closed")'
    const { reports } = await run([program('python', ['files/none.txt'], python)])
    expect(reports[0]).toContain('Program log (tail):\nclosed')
  })

  it('tools 18.85: that writes more than the limit into one file ends with file_size_limit, and what it wrote is kept and named', async () => {
    const code =
      'open("files/a.txt", "w").write("a")\nwith open("files/large.bin", "wb") as file:\n    for _ in range(120):\n        file.write(bytes(1024 * 1024))'
    const { facts, reports } = await run([program('python', ['files/a.txt', 'files/large.bin'], code)])
    expect(facts[0]).toMatchObject({
      status: 'error',
      runtime_error: { code: 'file_size_limit' },
      succeeded: [expect.stringMatching(/a\.txt$/), expect.stringMatching(/large\.bin$/)],
    })
    expect(reports[0]).toMatch(/^Runtime error: file_size_limit — /)
  })

  it('that does not end in time is stopped, and what it wrote is kept', async () => {
    const code = 'import time\nopen("files/half.txt", "w").write("half")\ntime.sleep(600)'
    const { facts, textOf } = await run([program('python', ['files/half.txt', 'files/rest.txt'], code, { timeout_s: 1 })])
    expect(facts[0]).toMatchObject({ runtime_error: { code: 'timeout' }, file_errors: [{ code: 'missing_file' }] })
    expect(textOf('files/half.txt')).toBe('half')
  })

  it.each(['steer', 'stop'] as const)('is killed by a %s, its report names what it wrote, and the turn goes on', async (how) => {
    const code = 'import time\nopen("files/half.txt", "w").write("half")\nopen("files/started", "w").close()\ntime.sleep(600)'
    const harness = createAgent('custom', {
      replies: [program('python', ['files/half.txt'], code), reply.answer('Half of it.')],
      settings: { stopGraceMs: 30_000 }, // after this time, the turn would go on without the report
    })
    const turn = harness.agent.run(harness.conversationId, 'Go.')
    const { files } = await harness.workspaces.open(localScope, harness.conversationId)
    const isStarted = async () => (await files.list('')).files.some(({ path }) => path.endsWith('/files/started'))
    while (!(await isStarted())) await new Promise((resolve) => setTimeout(resolve, 20))
    if (how === 'steer') await harness.agent.steer(harness.conversationId, 'That is enough.')
    else await harness.agent.stop(harness.conversationId)
    const { turnId } = await turn.result
    const { facts, textOf } = await readTurn(harness, turnId)
    expect(facts[0]).toMatchObject({ status: 'error', runtime_error: { code: 'cancelled' } })
    expect(textOf('files/half.txt')).toBe('half')
    await harness.agent.close()
  })

  const unsendable: Record<Language, string> = {
    python: 'try:\n    await tool_call("a.b", {"n": float("nan")})\nexcept Exception as error:\n    print(type(error).__name__, error)',
    javascript: 'await tool_call("a.b", { n: 1n }).catch((error) => console.log(error.name, error.message))',
  }

  it.each(languages)('a %s program that sends what JSON does not have gets an exception and ends', async (language) => {
    const { reports, facts } = await run([program(language, ['files/none.txt'], unsendable[language], { timeout_s: 5 })])
    expect(reports[0]).toContain(
      language === 'python' ? 'ValueError Out of range float' : 'TypeError Do not know how to serialize a BigInt',
    )
    expect(facts[0]).toMatchObject({ runtime_error: null })
  })

  it('can use git in a git workspace', async () => {
    const code =
      'import subprocess\nopen("files/a.txt", "w").write("a")\nrun = lambda *args: subprocess.run(["git", *args], check=True, capture_output=True, text=True).stdout\nrun("add", "-A")\nrun("commit", "-qm", "mine")\nprint(run("log", "--format=%s", "-1").strip(), run("status", "--short").strip() or "clean", run("remote").strip() or "no remote")'
    const { reports } = await run([program('python', ['files/a.txt'], code)], { kind: 'git' })
    expect(reports[0]).toContain('Program log (tail):\nmine clean no remote')
  })

  it.each(languages)(
    'tools 18.82, 18.83 and 18.86: a %s program reads the pool and calls a search tool; a tool that is not on its list is an exception',
    async (language) => {
      const { textOf, facts, harness } = await run(
        [reply.call('web_tools.web_search', { query: 'hills' }), program(language, ['outputs/found.json'], researching[language])],
        { tools: [codeSearch(), weather()] },
      )
      expect(JSON.parse(textOf('outputs/found.json') ?? '[]')).toEqual([
        { query: 'rivers', best: '[[S:4]]' },
        ['All about hills, page 1.', 'All about hills, page 3.'],
        'not_found',
        expect.stringContaining('weather.today can not be called from code'),
      ])
      expect(facts[0]?.tool_calls).toEqual([
        { tool_id: 'web_tools.web_search', reason: 'to compare', ok: true },
        { tool_id: 'web_tools.web_search', ok: true },
        { tool_id: 'weather.today', ok: false, error_code: 'tool_not_allowed' },
      ])
      expect((await harness.timeline()).sources.rows.map(({ sid, title }) => [sid, title])).toEqual([
        [1, 'hills 1'],
        [2, 'hills 2'],
        [3, 'hills 3'],
        [4, 'rivers 1'],
        [5, 'rivers 2'],
        [6, 'rivers 3'],
      ])
    },
  )
})
