import type { ToolStep, Wait } from 'daybook/client'
import { useContext } from 'react'
import { toolTitle } from '../model/tool-titles.ts'
import { WaitCard } from '../primitives/wait-card.tsx'
import { ChatActionsContext } from './chat-actions.ts'

interface ApprovalProps {
  readonly wait: Wait
  readonly callId: string
  readonly step: Pick<ToolStep, 'toolId' | 'params'>
}

/** A call of this conversation that waits for a person. */
export function Approval({ wait, callId, step }: ApprovalProps) {
  const { decide } = useContext(ChatActionsContext)
  const { title, detail } = toolTitle(step.toolId, step.params, true)
  // the question that the server asks by itself only repeats the id of the tool
  const question = wait.question?.includes(step.toolId) ? undefined : wait.question
  return (
    <WaitCard
      title={title}
      detail={detail}
      question={question}
      params={step.params}
      onlyOperator={wait.approver === 'operator'}
      decide={(decision) => decide(callId, decision)}
    />
  )
}
