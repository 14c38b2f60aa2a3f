import { Play, X } from 'lucide-react'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { useLocation } from 'wouter'
import { loadConversations } from '../data/conversations.ts'
import { client } from '../data/session.ts'
import { Button, IconButton } from '../primitives/button.tsx'
import { conversationPath } from '../routes.ts'
import { endTour, startTour, tour, tourLength } from './run-tour.ts'

/** Starts the tour. It is offered only with the offline model, because other models cost money. */
export function TourButton() {
  const [, go] = useLocation()
  const [offered, setOffered] = useState(false)
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    let left = false
    client.info().then(
      ({ model }) => !left && setOffered(model.startsWith('offline')),
      () => {}, // not reported here, because the list of conversations shows that the server can not be reached
    )
    return () => {
      left = true
    }
  }, [])
  async function start() {
    try {
      const id = await startTour(client)
      void loadConversations()
      go(conversationPath(id))
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    }
  }
  if (!offered) return <div className="h-8" /> // keeps the place of the button, so that the message box does not move when the button appears
  return (
    <div className="min-h-8 text-center">
      <Button look="quiet" onClick={() => void start()}>
        <Play size={14} aria-hidden /> Take the tour
      </Button>
      {problem !== undefined && (
        <p role="alert" className="text-sm text-bad">
          {problem}
        </p>
      )}
    </div>
  )
}

/** Explains what the running step of the tour shows. */
export function TourLine() {
  const state = useSyncExternalStore(tour.subscribe, tour.get)
  if (!state) return null
  const { step, number, ended, problem } = state
  return (
    <div role="status" className="flex items-center gap-3 border-b border-line bg-tint px-4 py-2 text-sm">
      <p className="min-w-0 flex-1">
        <span className="font-medium">
          Tour, {number} of {tourLength}.
        </span>{' '}
        {problem ?? step.explanation} {ended && problem === undefined && 'That was the tour: ask something of your own now.'}
      </p>
      <IconButton label="End the tour" onClick={endTour}>
        <X size={16} />
      </IconButton>
    </div>
  )
}
