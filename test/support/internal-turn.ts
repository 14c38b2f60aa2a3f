import type { ModelRequest } from '../../src/ports/model.ts'
import { type Reply, reply } from '../../src/testing/scripted-model.ts'
import type { MemorySearch } from '../../src/tools/react/memsearch.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { fileWritingTool, weather } from './scenario-tools.ts'

/**
 * The replies and tools of a turn that has internal content in every place where a turn can have it. Internal texts begin with `SECRET-`.
 * All thinking is `THOUGHT`.
 */
export function internalTurn(...last: readonly Reply[]): { readonly replies: readonly Reply[]; readonly tools: readonly Tool[] } {
  const thinking = 'THOUGHT'
  const note = 'files/SECRET-name.md'
  const replies: readonly Reply[] = [
    call('weather.today', { city: 'Rome' }, { notes: 'Looking it up.' }),
    call('react.write', { path: note, channel: 'internal', content: '[P] SECRET-note\nsecond line\n' }),
    call('react.write', { path: 'files/report.md', channel: 'canvas', content: 'A public report.', kind: 'file' }),
    // The reads and the search show the internal texts again. `notePath` finds the logical path of the note in the prompt.
    (request) => call('react.read', { paths: [], items: [{ path: notePath(request), line_start: 1, line_count: 1 }] }),
    (request) => call('react.read', { paths: [], items: [{ path: callPath(request), offset_text_symbols: 0, max_text_symbols: 400 }] }),
    (request) => call('react.hide', { path: notePath(request), replacement_text: 'SECRET-replacement' }),
    call('react.memsearch', { query: 'SECRET-query', targets: ['notes'] }),
    call('react.search_files', { root: 'files', pattern: 'SECRET' }),
    // A patch of an internal file, with a channel for users.
    call('react.patch', { path: note, channel: 'canvas', patch: '@@ -1,2 +1,2 @@\n [P] SECRET-note\n-second line\n+SECRET-patch\n' }),
    // The first call fails, because its channel is misspelt. The second call gets a notice, because its path is in another turn.
    call('react.write', { path: 'files/wrong.md', channel: 'Internal', content: 'SECRET-misspelt' }),
    call('react.write', { path: 'turn_0/files/SECRET-moved.md', channel: 'internal', content: 'SECRET-elsewhere' }),
    call('exec_tools.execute_code_js', { contract: [internalFile], prog_name: 'SECRET-program' }, { code: 'SECRET-code' }),
    call('sample.files', { contract: [] }),
    // This response is rejected, because it has two values for the channel.
    `<channel:thinking>${thinking}</channel:thinking>\n<channel:action>{"action":"call_tool","notes":"","tool_call":{"tool_id":"react.write","params":{"path":"files/SECRET-refused.md","channel":"internal","channel":"canvas","content":"SECRET-refused"}}}</channel:action>`,
    ...last,
    reply.answer('A public answer.', { thinking }),
  ]
  return { replies, tools: [weather(), program(), declaringTool()] }

  function call(toolId: string, params: object, more: { notes?: string; code?: string } = {}): string {
    return reply.call(toolId, params, { thinking, ...more })
  }
}

const internalFile = { filename: 'outputs/SECRET-data.json', description: 'SECRET-description', visibility: 'internal' }

const program = (): Tool => ({ ...fileWritingTool(), id: 'exec_tools.execute_code_js' })

/** A tool that is not an exec tool. It returns an internal file with a description. */
const declaringTool = (): Tool => ({
  ...fileWritingTool(),
  id: 'sample.files',
  exec: false,
  async run(_, { workspace, origin }) {
    const path = `${origin.turnId}/outputs/SECRET-declared.txt`
    await (await workspace()).files.write(path, Buffer.from('SECRET-declared'))
    const row = { physical_path: path, description: 'SECRET-row', visibility: 'internal' }
    return { ok: true, output: { artifact_type: 'files', files: [row] } }
  },
})

/** The internal texts that the journal of this turn contains, without `SECRET-`. An operator can read all of them. */
export const internalTexts = [
  'name',
  'note',
  'query',
  'hit',
  'patch',
  'misspelt',
  'moved',
  'elsewhere',
  'program',
  'code',
  'data',
  'description',
  'declared',
  'row',
  'replacement',
]

/** A memory whose search returns an internal note for every query. */
export const noteMemory: MemorySearch = {
  async search(_query, { origin }) {
    return { hits: [{ turn_id: origin.turnId, ts: origin.ts, score: 1, role: 'notes', path: 'ar:t', text: 'SECRET-hit' }] }
  },
}

const notePath = (request: ModelRequest) => `fi:${turnIn(request)}.files/SECRET-name.md`

/** The path of the tool call that wrote the note. */
const callPath = (request: ModelRequest) => {
  const calls = [...JSON.stringify(request).matchAll(/tc:[\w-]+\.[\w-]+\.call/g)].map(([path]) => path)
  return [...new Set(calls)][1] ?? ''
}

const turnIn = (request: ModelRequest) => /tc:([\w-]+)\./.exec(JSON.stringify(request))?.[1] ?? ''
