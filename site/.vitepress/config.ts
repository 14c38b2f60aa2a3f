import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'

const root = new URL('../../', import.meta.url)

/** The links of a section of docs/README.md. So the side bar has the same order as the index. */
function linksOf(heading: string): { text: string; link: string }[] {
  const [, section = ''] = readFileSync(new URL('docs/README.md', root), 'utf8').split(`\n## ${heading}\n`)
  return linksIn(section.split('\n## ')[0] ?? '', '/docs/')
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

export default defineConfig({
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
    html: false, // pages are Markdown only: a text such as <name> is shown as it is
    config: (md) => {
      md.core.ruler.before('normalize', 'comments', (state) => {
        state.src = state.src.replace(/^<!--[^\n]*-->\n/gm, '')
      })
    },
  },
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    search: { provider: 'local' },
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
          { text: 'Concepts', link: '/docs/concepts' },
          { text: 'Words', link: '/WORDS' },
        ],
      },
      { text: 'Guides', items: linksOf('Guides') },
      { text: 'Coming from', items: linksOf('Coming from'), collapsed: true },
      { text: 'Reference', items: linksOf('Reference') },
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
