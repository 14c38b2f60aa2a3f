import { createCssVariablesTheme, createHighlighterCore, type HighlighterCore, type LanguageRegistration } from 'shiki/core'
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript'

/** A piece of code in one colour. */
export interface CodePiece {
  readonly text: string
  readonly color: string | undefined
}

type LoadLanguage = () => Promise<{ default: LanguageRegistration[] }>

/** The languages that answers use most. Code in another language gets no colours. */
const languages: Readonly<Record<string, LoadLanguage>> = {
  bash: () => import('shiki/langs/bash.mjs'),
  c: () => import('shiki/langs/c.mjs'),
  cpp: () => import('shiki/langs/cpp.mjs'),
  css: () => import('shiki/langs/css.mjs'),
  diff: () => import('shiki/langs/diff.mjs'),
  go: () => import('shiki/langs/go.mjs'),
  html: () => import('shiki/langs/html.mjs'),
  java: () => import('shiki/langs/java.mjs'),
  javascript: () => import('shiki/langs/javascript.mjs'),
  json: () => import('shiki/langs/json.mjs'),
  markdown: () => import('shiki/langs/markdown.mjs'),
  python: () => import('shiki/langs/python.mjs'),
  rust: () => import('shiki/langs/rust.mjs'),
  sql: () => import('shiki/langs/sql.mjs'),
  tsx: () => import('shiki/langs/tsx.mjs'),
  typescript: () => import('shiki/langs/typescript.mjs'),
  xml: () => import('shiki/langs/xml.mjs'),
  yaml: () => import('shiki/langs/yaml.mjs'),
}
const otherNames: Readonly<Record<string, string>> = {
  js: 'javascript',
  jsx: 'tsx',
  py: 'python',
  rs: 'rust',
  sh: 'bash',
  shell: 'bash',
  ts: 'typescript',
  yml: 'yaml',
  md: 'markdown',
}

const longestCode = 60_000
const theme = createCssVariablesTheme({ name: 'page', variablePrefix: '--code-', fontStyle: false })
let highlighter: Promise<HighlighterCore> | undefined

/** The lines of a program, each as pieces with their colours. Undefined if the language is not known or the code is very long. */
export async function highlight(code: string, language: string): Promise<readonly (readonly CodePiece[])[] | undefined> {
  const name = language.toLowerCase()
  const lang = Object.hasOwn(otherNames, name) ? (otherNames[name] ?? name) : name
  const load = Object.hasOwn(languages, lang) ? languages[lang] : undefined
  if (!load || code.length > longestCode) return undefined
  highlighter ??= createHighlighterCore({ themes: [theme], langs: [], engine: createJavaScriptRegexEngine({ forgiving: true }) })
  const ready = await highlighter
  if (!ready.getLoadedLanguages().includes(lang)) await ready.loadLanguage((await load()).default)
  const lines = ready.codeToTokensBase(code, { lang, theme: 'page' })
  return lines.map((line) => line.map(({ content, color }) => ({ text: content, color })))
}
