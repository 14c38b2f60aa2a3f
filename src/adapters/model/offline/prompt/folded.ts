import type { PromptEntry } from '../../../../offline/prompt/entries.ts'

const hiddenLine = /^[a-z_]+: path=(\S+)(?:.*? mime=(\S+))?/

/** Lines that stand for what was folded away: it can be read again by its path. Undefined when the text is something else. */
export function parseHidden(text: string): readonly PromptEntry[] | undefined {
  const hidden = /^HIDDEN — .*Retrieve with react\.read\(([^)\n]+)\)/.exec(text)?.[1]
  if (hidden !== undefined) return [{ kind: 'folded', path: hidden, mime: undefined }]
  if (!hiddenLine.test(text)) return undefined
  return text.split('\n').flatMap((line): readonly PromptEntry[] => {
    const [, path, mime] = hiddenLine.exec(line) ?? []
    return path === undefined ? [] : [{ kind: 'folded', path, mime: mime === '-' ? undefined : mime }]
  })
}
