import type { ResultView } from 'daybook/client'
import { useState } from 'react'
import { Button } from '../../primitives/button.tsx'

/** A longer result is cut to this many characters, so that the page stays fast. */
const shownCharacters = 4_000

/** A block of the result of a call. A long block has its own scroll bar. */
export function ToolResult({ result }: { readonly result: ResultView }) {
  const [whole, setWhole] = useState(false)
  const { text, path, mime } = result
  if (text === undefined || text === '') return <p className="text-faint">{[path?.split('/').at(-1), mime].filter(Boolean).join(' · ')}</p>
  const readable = formatted(text)
  const cut = !whole && readable.length > shownCharacters
  return (
    <div>
      <pre
        tabIndex={0}
        aria-label="Result"
        className="max-h-72 overflow-auto rounded-md bg-raised p-2 font-mono text-xs leading-5 whitespace-pre-wrap wrap-anywhere"
      >
        {cut ? readable.slice(0, shownCharacters) : readable}
      </pre>
      {cut && (
        <Button look="quiet" onClick={() => setWhole(true)}>
          Show all {readable.length.toLocaleString('en')} characters
        </Button>
      )}
    </div>
  )
}

/** JSON with line breaks. Other texts are not changed. */
function formatted(text: string): string {
  if (text.length > 200_000 || !/^\s*[{[]/.test(text)) return text
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text // the text looks like JSON, but can not be parsed
  }
}
