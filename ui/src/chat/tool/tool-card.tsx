import type { ToolStep } from 'daybook/client'
import { Check, CircleAlert, Clock, FileText, Globe, LoaderCircle, type LucideIcon, Search, SquareTerminal, Wrench } from 'lucide-react'
import { memo, useContext, useState } from 'react'
import { CodeBlock } from '../../markdown/code-block.tsx'
import { duration } from '../../model/time.ts'
import { toolTitle } from '../../model/tool-titles.ts'
import { documentKey } from '../../model/turn-items.ts'
import { Button } from '../../primitives/button.tsx'
import { ChatActionsContext } from '../chat-actions.ts'
import { Disclosure } from '../steps/disclosure.tsx'
import { Parameters } from './parameters.tsx'
import { ToolResult } from './tool-result.tsx'

interface ToolCardProps {
  readonly step: ToolStep
  readonly running: boolean
  /** What the running tool reports that it does now. */
  readonly progress: string | undefined
  /** Whether the call waits for a person or for a late result. */
  readonly waiting: boolean
  readonly turnId: string
}

/**
 * A tool call in one line: what it does, and whether it succeeded. When it is opened, it shows the parameters, the program, the result and
 * the notices.
 */
export const ToolCard = memo(function ToolCard({ step, running, progress, waiting, turnId }: ToolCardProps) {
  const { openPanel } = useContext(ChatActionsContext)
  const key = documentKey(step)
  const [chosen, setOpen] = useState<boolean>()
  const open = chosen ?? (running && step.code !== undefined) // while a program runs, the card is open, so that the program can be read
  const { title, detail } = toolTitle(step.toolId, step.params, step.status === 'running' ? 'running' : 'done')
  const Icon = iconOf(step.toolId)
  return (
    <Disclosure
      open={open}
      icon={<Icon size={14} aria-hidden />}
      title={title}
      detail={progress ?? detail}
      end={
        <>
          <span className="shrink-0 text-xs text-faint tabular-nums">{timeOf(step)}</span>
          <Status status={waiting ? 'waiting' : step.status} running={running} />
        </>
      }
      onToggle={setOpen}
    >
      <div className="space-y-2">
        {key === undefined ? (
          <Parameters params={step.params} />
        ) : (
          <Button onClick={() => openPanel({ kind: 'canvas', turnId, key })}>Show the document</Button>
        )}
        {step.code !== undefined && <CodeBlock code={step.code} language={languageOf(step.toolId)} open={false} />}
        {step.results.map((result, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: results are only appended
          <ToolResult key={index} result={result} />
        ))}
        {step.notices.map(({ code, message }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: notices are only appended
          <p key={index} className="text-warn" data-code={code}>
            {message}
          </p>
        ))}
      </div>
    </Disclosure>
  )
})

function Status({ status, running }: { readonly status: ToolStep['status'] | 'waiting'; readonly running: boolean }) {
  if (status === 'waiting') return <Mark icon={Clock} label="waiting" className="text-warn" />
  if (status === 'failed') return <Mark icon={CircleAlert} label="failed" className="text-bad" />
  if (status === 'done') return <Mark icon={Check} label="done" className="text-good" />
  return <Mark icon={LoaderCircle} label={running ? 'running' : 'not finished'} className={running ? 'animate-spin' : ''} />
}

function Mark({ icon: Icon, label, className }: { readonly icon: LucideIcon; readonly label: string; readonly className: string }) {
  return (
    <span className="flex shrink-0 items-center gap-1 text-xs">
      <Icon size={14} className={className} aria-hidden />
      <span className={label === 'failed' || label === 'waiting' ? className : 'sr-only'}>{label}</span>
    </span>
  )
}

function iconOf(toolId: string): LucideIcon {
  if (toolId.startsWith('exec_tools.')) return SquareTerminal
  if (toolId === 'web_tools.web_fetch') return Globe
  if (toolId.includes('search')) return Search
  if (toolId.startsWith('react.') || toolId.startsWith('rendering_tools.')) return FileText
  return Wrench
}

/** How long a call took. Empty for less than a second, because so short a time is not interesting. */
function timeOf({ startedAt, endedAt }: ToolStep): string {
  const ms = endedAt === undefined ? 0 : Date.parse(endedAt) - Date.parse(startedAt)
  return ms < 1000 ? '' : duration(ms)
}

const languageOf = (toolId: string) => toolId.split('execute_code_')[1] ?? ''
