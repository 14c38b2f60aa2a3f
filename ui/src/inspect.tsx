import { ArrowLeft } from 'lucide-react'
import { useEffect, useMemo } from 'react'
import { Link, Route, Switch } from 'wouter'
import { CostScreen } from './cost/cost-screen.tsx'
import { useJournal } from './data/use-journal.ts'
import { Notice } from './primitives/notice.tsx'
import { PromptScreen } from './prompt/prompt-screen.tsx'
import { ReplayScreen } from './replay/replay-screen.tsx'
import { conversationPath, type InspectScreen, inspectPath, inspectScreens } from './routes.ts'
import { EffectsScreen } from './sources/effects-screen.tsx'
import { SourcesScreen } from './sources/sources-screen.tsx'
import { TimelineScreen } from './timeline/timeline-screen.tsx'

const names: { readonly [S in InspectScreen]: string } = {
  timeline: 'Timeline',
  prompt: 'Prompt',
  cost: 'Cost',
  sources: 'Sources',
  effects: 'Effects',
  replay: 'Replay',
}

/** The screens for operators: what the agent saw, what it cost, and why. */
export default function Inspect({ id, screen }: { readonly id: string; readonly screen: InspectScreen }) {
  const journal = useJournal(id)
  const { entries, refused } = journal
  const title = useMemo(() => entries.findLast(({ change }) => change.type === 'title.set')?.change, [entries])
  const name = title?.type === 'title.set' ? title.title : 'Conversation'
  const responses = useMemo(() => entries.filter(({ change }) => change.type === 'response.received').length, [entries])
  const calls = useMemo(() => entries.filter(({ change }) => change.type === 'blocks.appended').length, [entries])
  const limits = useMemo(() => limitsIn(entries), [entries])
  useEffect(() => {
    document.title = `${names[screen]} · ${name} · Daybook`
  }, [screen, name])
  return (
    <section className="flex h-full min-h-0 flex-col" aria-label={`${names[screen]} of ${name}`}>
      <header className="flex items-center gap-2 border-b border-line pr-2 pl-3">
        <Link
          href={conversationPath(id)}
          aria-label="Back to the chat"
          title="Back to the chat"
          className="rounded-md p-1.5 text-soft hover:bg-hover hover:text-ink"
        >
          <ArrowLeft size={16} />
        </Link>
        <h1 className="hidden max-w-64 truncate text-sm font-medium md:block">{name}</h1>
        <nav aria-label="Inspect" className="flex min-w-0 flex-1 gap-1 overflow-x-auto md:ml-4">
          {inspectScreens.map((each) => (
            <Link
              key={each}
              href={inspectPath(id, each)}
              ref={each === screen ? showTab : undefined}
              aria-current={each === screen ? 'page' : undefined}
              className="border-b-2 border-transparent px-2 py-2 text-sm text-soft hover:text-ink aria-[current=page]:border-accent aria-[current=page]:text-ink"
            >
              {names[each]}
            </Link>
          ))}
        </nav>
      </header>
      {refused ? (
        <Notice
          alert
          title={
            refused.status === 404
              ? 'This conversation does not exist.'
              : refused.status === 403
                ? 'These screens are for operators.'
                : refused.message
          }
        >
          {refused.status === 403 && <p>Your token needs the role `operator`. Ask the person who runs this server.</p>}
        </Notice>
      ) : (
        <Switch>
          <Route path="/c/:id/prompt/:turn/:round">
            {({ turn, round }) => <PromptScreen id={id} turn={turn} round={Number(round)} version={responses} />}
          </Route>
          <Route path="/c/:id/prompt">
            <PromptScreen id={id} turn={undefined} round={undefined} version={responses} />
          </Route>
          <Route path="/c/:id/cost">
            <CostScreen id={id} version={responses} limits={limits} />
          </Route>
          <Route path="/c/:id/sources">
            <SourcesScreen id={id} journal={journal} />
          </Route>
          <Route path="/c/:id/effects">
            <EffectsScreen id={id} version={calls} entries={entries} />
          </Route>
          <Route path="/c/:id/replay">
            <ReplayScreen id={id} journal={journal} />
          </Route>
          <Route>
            <TimelineScreen id={id} journal={journal} />
          </Route>
        </Switch>
      )}
    </section>
  )
}

/** In a narrow window, scrolls the row of tabs so that the open tab is visible. */
const showTab = (tab: HTMLAnchorElement | null) => tab?.scrollIntoView({ block: 'nearest', inline: 'nearest' })

/** Texts about the limits of turns: the round limit of a turn that has its own limit, and the cost limit at which a turn ended. */
function limitsIn(entries: ReturnType<typeof useJournal>['entries']): readonly string[] {
  const found = entries.flatMap(({ change }) =>
    change.type === 'turn.opened' && change.options?.max_rounds !== undefined
      ? [`${change.options.max_rounds} rounds in turn ${change.turn_id}`]
      : [],
  )
  const reached = entries.flatMap(({ change }) =>
    change.type === 'turn.closed' && (change.exit_reason === 'budget' || change.exit_reason === 'unpriced')
      ? [`turn ${change.turn_id} reached its cost limit`]
      : [],
  )
  return [...found, ...reached]
}
