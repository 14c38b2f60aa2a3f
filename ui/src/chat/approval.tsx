import type { ToolStep, Wait } from 'daybook/client'
import { useContext, useEffect, useState } from 'react'
import { mainParameters, toolTitle } from '../model/tool-titles.ts'
import { isCut } from '../primitives/cut-parameters.ts'
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
  const params = useCompleteParams(callId, step.params)
  const { title, detail } = toolTitle(step.toolId, step.params, 'asked')
  // the default question of the server contains the id of the tool and says nothing else, so it is not shown
  const question = wait.question?.includes(step.toolId) ? undefined : wait.question
  return (
    <WaitCard
      title={title}
      detail={detail}
      question={question}
      params={params}
      main={mainParameters(step.toolId)}
      onlyOperator={wait.approver === 'operator'}
      decide={(decision) => decide(callId, decision)}
    />
  )
}

/**
 * The complete parameters of a call. Long texts are cut in events. So the cut parameters are returned until the complete parameters have
 * arrived.
 */
function useCompleteParams(callId: string, shown: ToolStep['params']): ToolStep['params'] {
  const { readParams } = useContext(ChatActionsContext)
  const [complete, setComplete] = useState<ToolStep['params']>()
  const isShortened = isCut(shown)
  useEffect(() => {
    if (!isShortened) return
    let isOpen = true
    readParams(callId).then(
      (params) => isOpen && params && setComplete(params),
      () => {}, // the card keeps the cut parameters and says that they are cut
    )
    return () => {
      isOpen = false
    }
  }, [callId, isShortened, readParams])
  return complete ?? shown
}
