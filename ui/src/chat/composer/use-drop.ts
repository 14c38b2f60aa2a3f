import { useEffect, useRef, useState } from 'react'

/** Accepts files that are dropped anywhere on the page. Returns whether files are being dragged over the page. */
export function useDrop(onFiles: (files: readonly File[]) => void): boolean {
  const [dropping, setDropping] = useState(false)
  const handler = useRef(onFiles)
  handler.current = onFiles
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false
    const onOver = (event: DragEvent) => {
      if (!hasFiles(event)) return
      event.preventDefault() // otherwise the browser would open the file
      setDropping(true)
    }
    const onLeave = (event: DragEvent) => {
      if (event.relatedTarget === null) setDropping(false)
    }
    const onDrop = (event: DragEvent) => {
      setDropping(false)
      if (!hasFiles(event)) return
      event.preventDefault()
      handler.current([...(event.dataTransfer?.files ?? [])])
    }
    document.addEventListener('dragover', onOver)
    document.addEventListener('dragleave', onLeave)
    document.addEventListener('drop', onDrop)
    return () => {
      document.removeEventListener('dragover', onOver)
      document.removeEventListener('dragleave', onLeave)
      document.removeEventListener('drop', onDrop)
    }
  }, [])
  return dropping
}
