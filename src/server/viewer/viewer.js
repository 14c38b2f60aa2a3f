// Shows content that is not trusted, for the page that frames this document: HTML files, SVG pictures and Mermaid diagrams.
//
//   page ── { type: 'daybook.show', id, kind, text, dark? } ──▶ viewer (an origin of its own) ──▶ a frame without scripts, or a picture
//   page ◀── { type: 'daybook.viewer', id, state, … } ───────── viewer
//
// The states are `ready` (the viewer accepts content), `shown` (with the width and height of a picture) and `failed` (with a message).

/** The longest diagram that is drawn. Drawing takes time, and the page may have to wait for it. */
const maxDiagramLength = 50_000

/** Elements that load something, navigate or replace the document. Some of them connect to other servers although the policy forbids it. */
const forbidden = 'script, link, meta, base, iframe, frame, frameset, object, embed, portal, fencedframe, template[shadowrootmode]'

/**
 * Attributes with addresses that are requested only when a person follows them. They are removed, so that a browser does not look up their
 * host names in advance.
 */
const addresses = ['href', 'xlink:href', 'action', 'formaction', 'ping', 'target', 'manifest', 'attributionsrc']

const report = (id, state, more = {}) => window.parent.postMessage({ type: 'daybook.viewer', id, state, ...more }, '*')

/** The document without everything that could run code, connect to a server or navigate to another page. Links within the document stay. */
function harmless(html) {
  const copy = new DOMParser().parseFromString(html, 'text/html')
  for (const element of copy.querySelectorAll(forbidden)) element.remove()
  for (const element of copy.querySelectorAll('*')) {
    for (const { name, value } of [...element.attributes]) {
      const isPlace = (name === 'href' || name === 'xlink:href') && value.startsWith('#')
      if (name.startsWith('on') || (addresses.includes(name) && !isPlace)) element.removeAttribute(name)
    }
  }
  return `<!doctype html>${copy.documentElement.outerHTML}`
}

function showHtml(text) {
  const frame = document.createElement('iframe')
  frame.setAttribute('sandbox', '') // no scripts, forms, popups or downloads, and no way to navigate the page
  frame.setAttribute('referrerpolicy', 'no-referrer')
  frame.title = 'Content of the file'
  frame.srcdoc = harmless(text)
  document.body.replaceChildren(frame)
  return {}
}

/** Shows a picture. As the source of an image, an SVG runs no script and loads nothing. */
async function showSvg(text) {
  const image = new Image()
  image.alt = ''
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`
  try {
    await image.decode()
  } catch {
    throw new Error('This is not a picture that can be shown.')
  }
  document.body.replaceChildren(image)
  return { width: image.naturalWidth, height: image.naturalHeight }
}

let loading

/** Loads the script that draws diagrams, once. */
function loadMermaid() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = 'mermaid.js'
    script.addEventListener('load', () => resolve(window.mermaid))
    script.addEventListener('error', () => reject(new Error('Diagrams can not be drawn: the server lacks the package for them.')))
    document.head.append(script)
  })
  return loading
}

let drawings = 0

async function showDiagram(text, dark) {
  if (text.length > maxDiagramLength) throw new Error(`The diagram is longer than ${maxDiagramLength} characters.`)
  // browsers make a frame transparent only if it has the same colour scheme as the page around it
  document.documentElement.style.colorScheme = dark ? 'dark' : 'light'
  const mermaid = await loadMermaid()
  const settings = { startOnLoad: false, securityLevel: 'strict', htmlLabels: false, flowchart: { htmlLabels: false } }
  mermaid.initialize({ ...settings, suppressErrorRendering: true, theme: dark ? 'dark' : 'neutral' })
  const work = document.createElement('div')
  work.className = 'work'
  document.body.append(work)
  try {
    const { svg } = await mermaid.render(`diagram-${drawings++}`, text, work)
    return await showSvg(withSize(svg))
  } finally {
    work.remove()
  }
}

/** Mermaid makes pictures that are as wide as the element around them. But an SVG that is shown as an image needs a fixed size. */
function withSize(svg) {
  const root = new DOMParser().parseFromString(svg, 'text/html').querySelector('svg')
  const [, , width, height] = (root?.getAttribute('viewBox') ?? '').split(' ').map(Number)
  if (!root || !(width > 0) || !(height > 0)) return svg
  root.setAttribute('width', String(Math.ceil(width)))
  root.setAttribute('height', String(Math.ceil(height)))
  root.removeAttribute('style')
  return new XMLSerializer().serializeToString(root)
}

async function show({ id, kind, text, dark }) {
  try {
    if (typeof text !== 'string') throw new TypeError('There is no text to show.')
    if (kind === 'html') report(id, 'shown', showHtml(text))
    else if (kind === 'svg') report(id, 'shown', await showSvg(text))
    else if (kind === 'mermaid') report(id, 'shown', await showDiagram(text, dark === true))
    else throw new TypeError('The viewer does not know this kind of content.')
  } catch (error) {
    report(id, 'failed', { message: error instanceof Error ? error.message : String(error) })
  }
}

window.addEventListener('message', ({ source, data }) => {
  if (source === window.parent && data?.type === 'daybook.show') show(data)
})
report(undefined, 'ready')
