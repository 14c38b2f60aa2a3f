import { RequestRefused } from 'daybook/client'
import { useCallback, useEffect, useRef, useState } from 'react'
import { readDraft, writeDraftFiles, writeDraftText } from '../../data/drafts.ts'
import { loadAttachLimits } from '../../data/info.ts'
import { freeName, refuseFile } from '../../model/attach.ts'

export type SendMode = 'followup' | 'steer'

/** A message that is being written or sent. */
export interface DraftState {
  readonly text: string
  readonly files: readonly File[]
  readonly problems: readonly string[]
  /** The part of the files that was sent, from 0 to 1. Undefined while nothing is sent. */
  readonly progress: number | undefined
}

export type SendDraft = (
  draft: { text: string; files: readonly File[]; mode: SendMode; key: string },
  onProgress: (part: number) => void,
) => Promise<void>

const empty: DraftState = { text: '', files: [], problems: [], progress: undefined }

/** The draft of a conversation. It is stored at every change, and removed only when the server has stored the message. */
export function useDraft(key: string, send: SendDraft) {
  const [state, setState] = useState(empty)
  const current = useRef(state)
  current.current = state
  const messageKey = useRef<string>(undefined)
  const attaching = useRef(Promise.resolve()) // resolves when all chosen files are checked. Choices are checked one after the other

  useEffect(() => {
    let left = false
    void readDraft(key).then(({ text, files }) => {
      if (!left) setState((before) => (before.text === '' && before.files.length === 0 ? { ...before, text, files } : before))
    })
    return () => {
      left = true
    }
  }, [key])

  const setText = useCallback(
    (text: string) => {
      setState((before) => ({ ...before, text }))
      void writeDraftText(key, text)
    },
    [key],
  )
  const setFiles = useCallback(
    (files: readonly File[], problems: readonly string[]) => {
      // set without waiting for the next render, because `submit` may be waiting for these files
      current.current = { ...current.current, files, problems }
      setState((before) => ({ ...before, files, problems }))
      void writeDraftFiles(key, files)
    },
    [key],
  )
  const attach = (added: readonly File[]): void => {
    attaching.current = attaching.current
      .then(() => check(added))
      .catch((error: unknown) => setFiles(current.current.files, problemsOf(error)))
  }
  async function check(added: readonly File[]): Promise<void> {
    const limits = await loadAttachLimits()
    const files = [...current.current.files]
    const problems: string[] = []
    for (const file of added) {
      const problem = refuseFile(file, files, limits)
      const name = freeName(
        file.name,
        files.map(({ name: taken }) => taken),
      )
      if (problem !== undefined) problems.push(problem)
      else files.push(name === file.name ? file : new File([file], name, { type: file.type }))
    }
    setFiles(files, problems)
  }
  async function submit(mode: SendMode): Promise<void> {
    const { problems } = current.current
    await attaching.current
    if (current.current.problems !== problems && current.current.problems.length > 0) return // a file was refused while `submit` waited
    const { text, files, progress } = current.current
    if (progress !== undefined || (text.trim() === '' && files.length === 0)) return
    messageKey.current ??= crypto.randomUUID()
    current.current = { ...current.current, progress: 0 }
    setState((before) => ({ ...before, progress: 0, problems: [] }))
    try {
      await send({ text, files, mode, key: messageKey.current }, (part) => setState((before) => ({ ...before, progress: part })))
      messageKey.current = undefined
      await Promise.all([writeDraftText(key, ''), writeDraftFiles(key, [])])
      setState(empty)
    } catch (error) {
      setState((before) => ({ ...before, progress: undefined, problems: problemsOf(error) }))
    }
  }
  return {
    state,
    setText,
    attach,
    submit,
    detach: (file: File) =>
      setFiles(
        state.files.filter((other) => other !== file),
        [],
      ),
  }
}

/** Why a message was not sent, as sentences for the person. If the server refused files, there is one sentence for each refused file. */
function problemsOf(error: unknown): readonly string[] {
  if (!(error instanceof RequestRefused))
    return [error instanceof TypeError ? offline : String(error instanceof Error ? error.message : error)]
  const issues = error.problem.issues ?? []
  return issues.length > 0 ? issues.map(({ where, message }) => `“${where}”: ${message}`) : [error.message]
}

const offline = 'The server could not be reached. The message was kept; send it again.'
