import { markdown } from './markdown.js'

// A page that uses the public API. It follows the chat events of one conversation and shows them. Content is set as text, never as HTML.

const find = (id) => document.getElementById(id)
const [turns, text, files, problem, line] = ['turns', 'text', 'files', 'problem', 'line'].map(find)
let conversation
let stream
let shown = new Map()
let busy = false

const make = (tag, className, words = '') => Object.assign(document.createElement(tag), { className, textContent: words })

const needsToken = `This server needs an access token, and this page can not send one. Use daybook chat --server ${location.origin} --token <token>, or a client of your own.`

async function api(path, options = {}) {
  const response = await fetch(`v1${path}`, options)
  const seconds = Number(response.headers.get('retry-after') ?? 0)
  if (response.status === 503 && seconds > 0 && options.method === 'POST') {
    problem.textContent = 'The server has too much to do; trying again …'
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000 * (1 + Math.random() / 2)))
    problem.textContent = ''
    return api(path, options)
  }
  if (response.ok) return response.status === 204 ? undefined : response.json()
  if (response.status === 401) throw new Error(needsToken)
  const body = await response.json().catch(() => ({}))
  const issues = (body.issues ?? []).map(({ where, message }) => `${where}: ${message}`)
  throw new Error([body.title ?? `The server answered ${response.status}.`, ...issues].join(' '))
}

const json = (body) => ({ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

const showError = ({ message }) => {
  problem.textContent = message
}

const listConversations = () => showConversations().catch(showError)

async function showConversations() {
  const { conversations } = await api('/conversations?limit=50')
  const items = conversations.map(({ id, title }) => {
    const button = make('button', '', title ?? id)
    button.setAttribute('aria-current', String(id === conversation))
    button.onclick = () => open(id, title)
    const item = make('li', '')
    item.append(button)
    return item
  })
  find('conversations').replaceChildren(...items)
}

/** The elements that show a turn. They are created at the first event of the turn. */
function turnOf(id) {
  let turn = shown.get(id)
  if (!turn) {
    const box = make('section', 'turn')
    turn = { box, lanes: new Map(), tools: new Map() }
    shown.set(id, turn)
    turns.append(box)
  }
  return turn
}

function add(turn, element) {
  const follow = turns.scrollHeight - turns.scrollTop - turns.clientHeight < 80
  turn.box.append(element)
  if (follow) turns.scrollTop = turns.scrollHeight
  return element
}

let listing

/** The files of the conversation. Turns that are shown at the same time share one request. */
function listFiles() {
  if (listing?.id !== conversation) {
    listing = { id: conversation, files: api(`/conversations/${conversation}/files`).then(({ files: found }) => found) }
    setTimeout(() => {
      listing = undefined
    }, 300)
  }
  return listing.files
}

async function showAttachments(turnId, prompt) {
  const attached = (await listFiles()).filter(({ logical_path: path }) => path.startsWith(`fi:${turnId}.user.attachments/`))
  for (const { filename, rn } of attached) prompt.append(fileLink(filename, rn, 'attached'))
}

const fileLink = (filename, rn, className) =>
  Object.assign(make('a', className, `${filename} ↓`), { href: `v1/resources/${encodeURIComponent(rn)}?download`, download: filename })

function setBusy(now) {
  busy = now
  find('stop').hidden = !now
  find('send').textContent = now ? 'Add' : 'Send'
  if (!now) line.textContent = ''
}

const handlers = {
  'chat.start': ({ data, conversation: { turn_id: turnId } }, turn) => {
    showAttachments(turnId, add(turn, make('div', 'prompt', data.message))).catch(showError)
  },
  'chat.delta': ({ delta, extra, event }, turn) => {
    if (delta.marker !== 'answer' && delta.marker !== 'thinking') return
    const key = `${delta.marker} ${event.agent} ${extra.attempt}`
    if (!turn.lanes.has(key)) turn.lanes.set(key, add(turn, make('div', delta.marker)))
    const lane = turn.lanes.get(key)
    lane.words = (delta.index === 0 ? '' : (lane.words ?? '')) + delta.text
    if (delta.marker === 'answer') lane.replaceChildren(...markdown(lane.words))
    else lane.textContent = lane.words
    if (extra.as === 'notes') lane.className = 'quiet' // the text was about a tool call, and not the answer
  },
  'chat.step': ({ event }) => {
    line.textContent = event.status === 'completed' ? '' : event.step.replace(/^react\(\d+\)\./, '').replace(/[._]/g, ' ')
  },
  'react.tool.call': ({ data }, turn) => {
    const card = make('details', 'tool')
    card.append(make('summary', '', `${data.tool_id} …`), make('div', '', JSON.stringify(data.params, null, 1)))
    turn.tools.set(data.tool_call_id, add(turn, card))
    turn.lanes.clear()
  },
  'react.tool.result': ({ data }, turn) => {
    const card = turn.tools.get(data.tool_call_id)
    if (!card) return
    const failed = (data.text ?? '').startsWith('{"ok":false')
    card.firstChild.textContent = card.firstChild.textContent.replace(/ …$/, failed ? ' failed' : ' done')
    card.append(make('div', '', data.text ?? ''))
  },
  'react.plan': ({ data }, turn) => {
    if (!data.plan) return
    turn.plan?.remove()
    const open = data.plan.current // a closed plan has no running or waiting steps
    const marks = { done: '✓', failed: '✗', in_progress: open ? '…' : '·' }
    const steps = data.plan.steps.map((step, index) => `${marks[data.plan.status[index + 1]] ?? (open ? '□' : '·')} ${step}`)
    turn.plan = add(turn, make('div', 'tool', steps.join('\n')))
  },
  'chat.complete': ({ data }, turn) => {
    for (const lane of turn.box.querySelectorAll('.answer')) lane.remove()
    for (const words of [...(data.earlier_answers ?? []), data.final_answer]) {
      const answer = make('div', 'answer')
      answer.append(...markdown(words))
      add(turn, answer)
    }
    if (data.stopped) add(turn, make('p', 'quiet', 'Stopped here.'))
    else if (data.truncated) add(turn, make('p', 'quiet', 'Cut off here.'))
  },
  'chat.citations': ({ data }, turn) => {
    for (const { sid, title, url } of data.items) {
      const link = Object.assign(make('a', 'quiet', `[${sid}] ${title ?? url}`), { href: url, rel: 'noreferrer', target: '_blank' })
      const row = make('p', 'quiet')
      row.append(link)
      add(turn, row)
    }
  },
  'chat.files': ({ data }, turn) => {
    for (const { filename, rn } of data.items) {
      const row = make('p', '')
      row.append(fileLink(filename, rn, ''))
      add(turn, row)
    }
  },
  'chat.followups': ({ data }, turn) => {
    const row = make('div', 'followups')
    for (const words of data.items) {
      const button = make('button', '', words)
      button.type = 'button'
      button.onclick = () => {
        text.value = words
        text.focus()
      }
      row.append(button)
    }
    add(turn, row)
  },
  'chat.conversation.title': ({ data }) => {
    find('title').textContent = data.title
    void listConversations()
  },
  'chat.error': ({ data }, turn) => add(turn, make('p', 'quiet', data.error)),
  'conv.status': ({ data }) => setBusy(data.state === 'in_progress'),
}

/** Reconnects, because EventSource does not reconnect after an HTTP error. If the conversation was deleted, the page leaves it. */
async function afterHttpError(id) {
  line.textContent = 'The connection is lost.'
  const response = await fetch(`v1/conversations/${id}`).catch(() => undefined)
  if (id !== conversation) return
  if (response?.status === 404) {
    leave()
    problem.textContent = 'That conversation no longer exists.'
  } else if (response && !response.ok && response.status < 500 && response.status !== 429) {
    problem.textContent = `The server answered ${response.status}.`
  } else {
    line.textContent = 'The connection is lost; trying again …'
    setTimeout(() => id === conversation && open(id, find('title').textContent), 3000)
  }
}

function open(id, title) {
  stream?.close()
  problem.textContent = ''
  conversation = id
  shown = new Map()
  turns.replaceChildren()
  setBusy(false)
  find('title').textContent = title ?? 'Ask something'
  history.replaceState(null, '', `#${id}`)
  void listConversations()
  stream = new EventSource(`v1/conversations/${id}/events?as=chat`)
  stream.onerror = ({ target }) => {
    if (target !== stream) return
    if (target.readyState === EventSource.CLOSED) void afterHttpError(id)
    else line.textContent = 'The connection is lost; trying again …'
  }
  stream.onopen = () => {
    line.textContent = ''
  }
  for (const route of [
    'chat_start',
    'chat_step',
    'chat_delta',
    'chat_compaction',
    'chat_complete',
    'chat_error',
    'chat_service',
    'conv_status',
  ]) {
    stream.addEventListener(route, ({ data }) => {
      const envelope = JSON.parse(data)
      const turnId = envelope.conversation.turn_id ?? [...shown.keys()].at(-1) ?? 'none'
      handlers[envelope.type]?.(envelope, turnOf(turnId))
    })
  }
  stream.addEventListener('resync', () => open(id, title))
}

function leave() {
  stream?.close()
  conversation = undefined
  shown = new Map()
  turns.replaceChildren()
  setBusy(false)
  problem.textContent = ''
  find('title').textContent = 'Ask something'
  history.replaceState(null, '', '.')
  text.focus()
  void listConversations()
}

function showChosen() {
  const items = [...files.files].map((file) => {
    const button = Object.assign(make('button', '', `${file.name} ×`), { type: 'button', title: 'Do not send this file' })
    button.onclick = () => {
      const kept = new DataTransfer()
      for (const each of files.files) if (each !== file) kept.items.add(each)
      files.files = kept.files
      showChosen()
    }
    const item = make('li', '')
    item.append(button)
    return item
  })
  find('chosen').replaceChildren(...items)
}

async function send(mode) {
  problem.textContent = ''
  const words = text.value
  if (words.trim() === '' && files.files.length === 0) return
  try {
    if (!conversation) open((await api('/conversations', json({}))).id)
    const form = new FormData()
    form.set('text', words)
    form.set('mode', mode)
    for (const file of files.files) form.append('files', file)
    await api(`/conversations/${conversation}/turns`, { method: 'POST', body: form })
    text.value = ''
    files.value = ''
    showChosen()
  } catch (error) {
    showError(error)
  }
}

find('ask').onsubmit = (event) => {
  event.preventDefault()
  void send('followup')
}
text.onkeydown = (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
  void send(busy && (event.ctrlKey || event.metaKey) ? 'steer' : 'followup')
}
files.onchange = showChosen
find('stop').onclick = () => api(`/conversations/${conversation}/stop`, { method: 'POST' }).catch(showError)
find('new').onclick = leave

const named = location.hash.slice(1)
if (/^[\w-]{1,128}$/.test(named)) open(named)
else void listConversations()
