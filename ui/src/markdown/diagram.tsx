import { type ReactNode, useState } from 'react'
import { ViewerFrame } from '../primitives/viewer-frame.tsx'

/** A diagram in the language of Mermaid. The viewer draws it. If it can not be drawn, its source is shown with the reason. */
export function Diagram({ code, source }: { readonly code: string; readonly source: ReactNode }) {
  const [problem, setProblem] = useState<string>()
  if (problem === undefined) return <ViewerFrame kind="mermaid" text={code} label="Diagram" height="8rem" onFailed={setProblem} />
  return (
    <>
      {source}
      <p className="text-xs text-faint">This diagram can not be drawn: {problem}</p>
    </>
  )
}
