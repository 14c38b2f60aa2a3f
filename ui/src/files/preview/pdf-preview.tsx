import { GlobalWorkerOptions, getDocument, type PDFDocumentProxy } from 'pdfjs-dist'
import workerAddress from 'pdfjs-dist/build/pdf.worker.min.mjs?url'
import { useEffect, useRef, useState } from 'react'

GlobalWorkerOptions.workerSrc = workerAddress

const maxPages = 50

/** The pages of a PDF, drawn when they are scrolled into view. Scripts and forms in the file do nothing. */
export default function PdfPreview({ blob }: { readonly blob: Blob }) {
  const [document, setDocument] = useState<PDFDocumentProxy>()
  const [problem, setProblem] = useState(false)
  useEffect(() => {
    let left = false
    let close = () => {}
    void blob.arrayBuffer().then((bytes) => {
      const loading = getDocument({ data: new Uint8Array(bytes), enableXfa: false, useWasm: false, stopAtErrors: false })
      close = () => void loading.destroy()
      if (left) return close()
      loading.promise.then(
        (opened) => !left && setDocument(opened),
        () => !left && setProblem(true),
      )
    })
    return () => {
      left = true
      close()
    }
  }, [blob])
  if (problem) return <p role="alert">This PDF can not be read here. Download it to open it with another program.</p>
  if (!document) return <p className="text-soft">Loading …</p>
  const shown = Math.min(document.numPages, maxPages)
  return (
    <div className="space-y-3">
      {Array.from({ length: shown }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pages are numbered
        <PdfPage key={index} document={document} number={index + 1} />
      ))}
      {shown < document.numPages && (
        <p className="text-xs text-faint">
          The first {shown} of {document.numPages} pages. Download the file to see all pages.
        </p>
      )}
    </div>
  )
}

function PdfPage({ document, number }: { readonly document: PDFDocumentProxy; readonly number: number }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [visible, setVisible] = useState(number === 1)
  useEffect(() => {
    const element = canvas.current
    if (!element) return
    const observer = new IntersectionObserver((entries) => entries.some(({ isIntersecting }) => isIntersecting) && setVisible(true))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    const element = canvas.current
    if (!visible || !element) return
    let stop = () => {}
    void document.getPage(number).then((page) => {
      const width = element.clientWidth * Math.min(window.devicePixelRatio, 2)
      const viewport = page.getViewport({ scale: width / page.getViewport({ scale: 1 }).width })
      element.width = viewport.width
      element.height = viewport.height
      const drawing = page.render({ canvas: element, viewport })
      stop = () => drawing.cancel()
      drawing.promise.then(
        () => {
          element.dataset.drawn = 'true'
        },
        () => {}, // the drawing was cancelled, because the page is not shown any more
      )
    })
    return () => stop()
  }, [document, number, visible])
  return <canvas ref={canvas} role="img" aria-label={`Page ${number}`} className="block w-full border border-line bg-white" />
}
