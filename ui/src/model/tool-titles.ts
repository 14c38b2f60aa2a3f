/** The title of a tool call on the page: a verb, and what the call is about. */
export interface ToolTitle {
  readonly title: string
  readonly detail: string
}

type Params = Readonly<Record<string, unknown>>
type Describe = readonly [running: string, done: string, asked: string, detail: (params: Params) => string]

const none = () => ''
const text = (value: unknown) => (typeof value === 'string' ? value : '')
const list = (value: unknown) => (Array.isArray(value) ? value.map(text).filter((item) => item !== '') : [text(value)])
/** The last part of a path, which is the name that people know. */
const nameOf = (path: string) => path.split('/').at(-1) ?? path
const pathNames = ({ path, paths }: Params) =>
  list(paths ?? path)
    .map(nameOf)
    .join(', ')
const hostOf = (url: string) => URL.parse(url)?.hostname.replace(/^www\./, '') ?? url

const known: Readonly<Record<string, Describe>> = {
  'react.read': ['Reading', 'Read', 'Read', pathNames],
  'react.write': ['Writing', 'Wrote', 'Save', pathNames],
  'react.patch': ['Changing', 'Changed', 'Change', pathNames],
  'react.plan': ['Planning', 'Planned', 'Plan', none],
  'react.hide': ['Setting aside', 'Set aside', 'Set aside', pathNames],
  'react.pull': ['Fetching files', 'Fetched files', 'Fetch files', pathNames],
  'react.checkout': ['Opening files', 'Opened files', 'Open files', pathNames],
  'react.memsearch': ['Searching earlier messages', 'Searched earlier messages', 'Search earlier messages', ({ query }) => text(query)],
  'react.search_files': ['Searching files', 'Searched files', 'Search files', ({ query, pattern }) => text(query ?? pattern)],
  'react.search_knowledge': ['Searching the knowledge', 'Searched the knowledge', 'Search the knowledge', ({ query }) => text(query)],
  'web_tools.web_search': ['Searching the web', 'Searched the web', 'Search the web', ({ queries }) => list(queries).join(' · ')],
  'web_tools.web_fetch': ['Reading', 'Read', 'Read', ({ urls }) => list(urls).map(hostOf).join(', ')],
  'exec_tools.execute_code_python': ['Running a program', 'Ran a program', 'Run a program', ({ prog_name: name }) => text(name)],
  'exec_tools.execute_code_javascript': ['Running a program', 'Ran a program', 'Run a program', ({ prog_name: name }) => text(name)],
  'rendering_tools.write_pdf': ['Making a PDF', 'Made a PDF', 'Make a PDF', pathNames],
  'rendering_tools.write_docx': ['Making a document', 'Made a document', 'Make a document', pathNames],
  'rendering_tools.write_pptx': ['Making slides', 'Made slides', 'Make slides', pathNames],
  'rendering_tools.write_png': ['Making a picture', 'Made a picture', 'Make a picture', pathNames],
}

/** Whether a call is running, has ended, or waits until a person allows it. */
type CallState = 'running' | 'done' | 'asked'

/** The title of a call. For a tool that the page does not know, the title is made from the words of its id. */
export function toolTitle(toolId: string, params: Params, state: CallState): ToolTitle {
  const description = Object.hasOwn(known, toolId) ? known[toolId] : undefined
  if (!description) return { title: wordsOf(toolId), detail: shortest(params) }
  const [running, done, asked, detail] = description
  return { title: { running, done, asked }[state], detail: detail(params) }
}

/**
 * The parameters that people need to see to decide about a call. The other parameters are settings. Undefined if all parameters are shown.
 */
export function mainParameters(toolId: string): readonly string[] | undefined {
  if (toolId === 'react.write' || toolId === 'react.patch') return ['path', 'content', 'patch']
  if (toolId.startsWith('rendering_tools.')) return ['path', 'content', 'title']
  return undefined
}

/** Whether a call only organises the agent's own work, so that people need not see it. */
export const isBookkeeping = (toolId: string) => toolId === 'react.plan' || toolId === 'react.hide'

function wordsOf(toolId: string): string {
  const words = toolId.replace(/[._-]+/g, ' ').trim()
  return words === '' ? 'Tool' : `${words[0]?.toUpperCase()}${words.slice(1)}`
}

/** The first parameter that is short enough for one line. */
function shortest(params: Params): string {
  const values = Object.values(params).filter((value) => typeof value === 'string' || typeof value === 'number')
  return values.map(String).find((value) => value.length <= 60 && !value.includes('\n')) ?? ''
}
