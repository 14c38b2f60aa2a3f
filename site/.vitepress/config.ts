import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'

const root = new URL('../../', import.meta.url)

/** The text of a section of docs/README.md. So the side bar has the same order as the index. */
function sectionOf(heading: string): string {
  const [, section = ''] = readFileSync(new URL('docs/README.md', root), 'utf8').split(`\n## ${heading}\n`)
  return section.split('\n## ')[0] ?? ''
}

/** The guides in the groups of the index, such as "Build an agent". */
function guides(): { text: string; items: { text: string; link: string }[] }[] {
  const [, ...groups] = sectionOf('Guides').split(/^([A-Z].*):$/m)
  return groups.flatMap((text, n) => (n % 2 === 0 ? [{ text, collapsed: false, items: linksIn(groups[n + 1] ?? '', '/docs/') }] : []))
}

/** The links to pages below `base`, with a capital letter at the beginning. */
function linksIn(text: string, base: string): { text: string; link: string }[] {
  return [...text.matchAll(/\[([^\]]+)\]\((?!\.\.)([^)#]+)\.md\)/g)].map(([, title = '', page = '']) => ({
    text: title.charAt(0).toUpperCase() + title.slice(1),
    link: base + page,
  }))
}

/** The subjects of the specification, each with its pages: the rows of the table in its index. */
function specification(): { text: string; collapsed: boolean; items: { text: string; link: string }[] }[] {
  const index = readFileSync(new URL('docs/spec/README.md', root), 'utf8')
  return [...index.matchAll(/^\| (The \w+) \| (.*) \|$/gm)].map(([, text = '', row = '']) => ({
    text,
    collapsed: true,
    items: linksIn(row, '/docs/spec/'),
  }))
}

/**
 * How much a page counts in a search. People search for tasks, so guides come before the generated pages and before the list of changes.
 * The text of this function is copied into the pages, so it uses nothing outside of it.
 */
const weightInSearch = (page: string): number => {
  if (page.includes('/CHANGELOG')) return 0.1
  if (page.includes('/reference/sdk/')) return 0.3
  if (page.includes('/reference/') || page.includes('/spec/')) return 0.7
  return page.includes('/guides/') ? 1.5 : 1
}

/** The anchor of a heading, by the rule of code hosts: so the links of the pages work there and on this site. */
const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-')

const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect x="2" y="1" width="12" height="14" rx="2" fill="#3451b2"/><path d="M5 5h6M5 8h6M5 11h4" stroke="#fff"/></svg>'

export default defineConfig({
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  title: 'Daybook',
  description: 'A timeline-native agent runtime for TypeScript',
  srcDir: 'pages', // copied by copy-pages.mjs
  outDir: 'dist',
  // in the same folder, so that relative links stay right
  rewrites: { 'README.md': 'index.md', 'docs/README.md': 'docs/index.md', 'docs/spec/README.md': 'docs/spec/index.md' },
  ignoreDeadLinks: [/\.(?:ts|json)$/, /LICENSE/, /^https?:\/\/localhost/], // links to source files, which are not pages
  cleanUrls: true,
  lastUpdated: false,
  markdown: {
    anchor: { slugify: anchorOf },
    html: false, // pages are Markdown only: a text such as <name> is shown as it is
    config: (md) => {
      md.core.ruler.before('normalize', 'comments', (state) => {
        // `rewrites` renames the files README.md, but not the links to them
        state.src = state.src.replace(/^<!--[^\n]*-->\n/gm, '').replace(/(\]\((?:\.\.\/)*(?:[\w-]+\/)*)README\.md/g, '$1index.md')
      })
    },
  },
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    search: { provider: 'local', options: { miniSearch: { searchOptions: { boostDocument: weightInSearch } } } },
    outline: [2, 3],
    nav: [
      { text: 'Getting started', link: '/docs/getting-started' },
      { text: 'Concepts', link: '/docs/concepts' },
      { text: 'All pages', link: '/docs/' },
      { text: 'Reference', link: '/docs/reference/sdk' },
    ],
    sidebar: [
      {
        text: 'Start',
        items: [
          { text: 'What it is', link: '/' },
          { text: 'Getting started', link: '/docs/getting-started' },
          { text: 'From nothing to a shop', link: '/docs/guides/first-hour' },
          { text: 'Concepts', link: '/docs/concepts' },
          { text: 'Words', link: '/WORDS' },
        ],
      },
      ...guides(),
      { text: 'Coming from', items: linksIn(sectionOf('Coming from'), '/docs/'), collapsed: true },
      { text: 'Reference', items: linksIn(sectionOf('Reference'), '/docs/') },
      { text: 'Specification', link: '/docs/spec/', collapsed: true, items: specification() },
      {
        text: 'The project',
        collapsed: true,
        items: ['ARCHITECTURE', 'SECURITY', 'CONTRIBUTING', 'CHANGELOG'].map((page) => ({
          text: page.charAt(0) + page.slice(1).toLowerCase(),
          link: `/${page}`,
        })),
      },
    ],
  },
})
