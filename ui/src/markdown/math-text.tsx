import { useEffect, useRef } from 'react'

/** A formula. The library for it is loaded with the first formula, and until then the formula is shown as it was written. */
export function MathText({ text, block }: { readonly text: string; readonly block: boolean }) {
  const element = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    let left = false
    void Promise.all([import('katex'), import('katex/dist/katex.min.css')]).then(([{ default: katex }]) => {
      // `trust` is off, so a formula can not contain links or load images
      if (!left && element.current)
        katex.render(text, element.current, { displayMode: block, throwOnError: false, trust: false, strict: 'ignore', maxExpand: 200 })
    })
    return () => {
      left = true
    }
  }, [text, block])
  return (
    <span ref={element} className={block ? 'block overflow-x-auto py-1' : undefined} data-math>
      {text}
    </span>
  )
}
