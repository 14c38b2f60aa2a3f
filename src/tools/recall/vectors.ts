import { setTimeout as sleep } from 'node:timers/promises'
import type { Embedder } from '../../ports/embedder.ts'
import type { MemoryFilter, MemoryVectors } from '../../ports/store/memory-index.ts'

/** Makes the vectors of the memory index in the background, and the vectors of questions. */
export interface VectorMaker {
  /** The vector of a question. Undefined until the embedding model has answered for the first time. */
  ofQuestion(question: string, signal: AbortSignal): Promise<MemoryFilter['vector']>
  /** Ends the work. */
  close(): Promise<void>
}

/** How many texts are sent together. */
const BATCH = 64
/**
 * `IDLE_MS` is the time between two checks for new texts. `FIRST_WAIT_MS` is the wait after the first error. The wait doubles with each
 * further error, up to `MAX_WAIT_MS`.
 */
const [IDLE_MS, FIRST_WAIT_MS, MAX_WAIT_MS] = [2_000, 1_000, 300_000]

/**
 * Starts to make vectors. The first answer of the model tells how long its vectors are. If the name of the model or this length has
 * changed, all vectors are made again. While vectors are missing, searches use words and the vectors that already exist. An error is
 * reported once, and the work is tried again later.
 */
export function startVectors(
  vectors: MemoryVectors,
  embedder: Embedder,
  onProblem: (error: unknown) => void,
  { idleMs = IDLE_MS, waitMs = FIRST_WAIT_MS }: { readonly idleMs?: number; readonly waitMs?: number } = {},
): VectorMaker {
  const ending = new AbortController()
  const { signal } = ending
  let hasReportedRefusal = false
  let chosen: { readonly model: number; readonly dimensions: number } | undefined

  const pause = (ms: number) => sleep(ms, undefined, { signal, ref: false }) // this work does not keep the process running

  async function choose(dimensions: number): Promise<number> {
    if (chosen?.dimensions !== dimensions) {
      const model = await vectors.choose({ name: embedder.name, dimensions })
      chosen = { model, dimensions }
    }
    return chosen.model
  }

  /**
   * The vectors of texts. If the model answers with an error, each text is sent alone. In this way, one text that the model refuses does
   * not prevent the vectors of the other texts. The vector of a refused text is empty.
   */
  async function embed(texts: readonly string[]): Promise<readonly Float32Array[]> {
    try {
      return await embedder.embed(texts, signal)
    } catch {
      await checkModel()
    }
    const made: Float32Array[] = []
    for (const text of texts) made.push(await embedAlone(text))
    return made
  }

  async function embedAlone(text: string): Promise<Float32Array> {
    try {
      const [vector] = await embedder.embed([text], signal)
      return vector ?? new Float32Array()
    } catch (error) {
      await checkModel()
      if (!hasReportedRefusal) onProblem(error)
      hasReportedRefusal = true
      return new Float32Array()
    }
  }

  /** Tests the model with a plain word, and returns the length of its vectors. Throws if the model returns an error. */
  const checkModel = async (): Promise<number> => dimensionsOf(await embedder.embed(['daybook'], signal))

  /** Makes some vectors. Returns false when there is nothing to do. */
  async function makeSome(): Promise<boolean> {
    const model = chosen?.model ?? (await choose(await checkModel()))
    const texts = await vectors.missing(model, BATCH)
    if (!texts || texts.length === 0) return false // no vector is missing, or another process has chosen another model
    const made = await embed(texts.map(({ text }) => text))
    const current = await choose(dimensionsOf(made) || (chosen?.dimensions ?? 0))
    await vectors.save(
      current,
      made.map((vector, n) => ({ owner: texts[n]?.owner ?? 0, number: texts[n]?.number ?? 0, vector })),
    )
    return true
  }

  async function work(): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      try {
        if (!(await makeSome())) await pause(idleMs)
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        if (failures === 0) onProblem(error)
        await pause(Math.min(MAX_WAIT_MS, waitMs * 2 ** failures++)).catch(() => undefined) // the pause rejects only when the work ends
      }
    }
  }
  const working = work()

  return {
    async ofQuestion(question, asking) {
      if (!chosen) return undefined
      const [values] = await embedder.embed([question], AbortSignal.any([signal, asking]))
      return values && values.length === chosen.dimensions ? { model: chosen.model, values } : undefined
    },
    async close() {
      ending.abort()
      await working
    },
  }
}

/** The length of the vectors. Empty vectors, which belong to refused texts, are ignored. */
const dimensionsOf = (vectors: readonly Float32Array[]): number => vectors.find(({ length }) => length > 0)?.length ?? 0
