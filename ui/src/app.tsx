import { CSPProvider } from '@base-ui/react/csp-provider'
import { Menu } from 'lucide-react'
import { lazy, Suspense, useCallback, useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { Route, Router, Switch, useLocation } from 'wouter'
import { ChatPage } from './chat/chat-page.tsx'
import { NewChat } from './chat/new-chat.tsx'
import { ConversationList } from './conversations/conversation-list.tsx'
import { session } from './data/session.ts'
import { chooseTheme } from './data/theme.ts'
import { commandOf } from './model/keys.ts'
import { KeyList } from './palette/key-list.tsx'
import { Palette, type PaletteEntry } from './palette/palette.tsx'
import { IconButton } from './primitives/button.tsx'
import { Sheet } from './primitives/sheet.tsx'
import { basePath, conversationPath, inspectPath, inspectScreens, isInspectScreen } from './routes.ts'
import { SettingsPage } from './settings/settings-page.tsx'
import { SignIn } from './sign-in/sign-in.tsx'
import { TourButton, TourLine } from './tour/tour.tsx'
import { WaitingPage } from './waiting/waiting-page.tsx'

const FilePreview = lazy(() => import('./files/preview/file-preview.tsx'))
const Inspect = lazy(() => import('./inspect.tsx'))

/** The page, or the form for the token if the server asks for one. */
export function App() {
  const { needsToken, signIns } = useSyncExternalStore(session.subscribe, session.get)
  return (
    <CSPProvider disableStyleElements>
      <Router base={basePath}>{needsToken ? <SignIn /> : <Screens key={signIns} />}</Router>
    </CSPProvider>
  )
}

/** The list of conversations beside the open conversation. On a small screen, the list is a sheet. */
function Screens() {
  const [listOpen, setListOpen] = useState(false)
  return (
    <div className="flex h-dvh w-full overflow-hidden pr-[env(safe-area-inset-right)] pl-[env(safe-area-inset-left)]">
      <aside className="hidden w-66 shrink-0 border-r border-line md:block" aria-label="List">
        <ConversationList />
      </aside>
      <Sheet open={listOpen} onClose={() => setListOpen(false)} label="Conversations">
        <ConversationList onChoose={() => setListOpen(false)} />
      </Sheet>
      <main className="flex min-w-0 flex-1 flex-col">
        <header className="flex items-center gap-1 px-2 py-1 pt-[max(0.25rem,env(safe-area-inset-top))] md:hidden">
          <IconButton label="Show conversations" onClick={() => setListOpen(true)}>
            <Menu size={18} />
          </IconButton>
          <span className="font-semibold">Daybook</span>
        </header>
        <TourLine />
        <div className="min-h-0 flex-1">
          <Switch>
            <Route path="/c/:id/*?">
              {({ id, '*': rest = '' }) => {
                const [screen = ''] = rest.split('/')
                return isInspectScreen(screen) ? (
                  <Suspense fallback={<div className="h-full" aria-busy="true" />}>
                    <Inspect id={id} screen={screen} key={id} />
                  </Suspense>
                ) : (
                  <ChatPage id={id} renderFile={(file) => <FilePreview {...file} />} />
                )
              }}
            </Route>
            <Route path="/waiting">
              <WaitingPage />
            </Route>
            <Route path="/settings">
              <SettingsPage />
            </Route>
            <Route>
              <NewChat>
                <TourButton />
              </NewChat>
            </Route>
          </Switch>
        </div>
      </main>
      <Keys />
    </div>
  )
}

/** The keys that work everywhere, and what they open. */
function Keys() {
  const [location, go] = useLocation()
  const [, place, open] = location.split('/')
  const [shown, setShown] = useState<'palette' | 'keys'>()
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const command = commandOf(event, event.target instanceof Element && event.target.matches('input, textarea, [contenteditable]'))
      if (command === undefined || command === 'find') return
      event.preventDefault()
      if (command === 'new') go('/')
      else setShown(command)
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [go])
  const commands = useMemo(
    (): readonly PaletteEntry[] => [
      { id: 'command-new', label: 'New conversation', keys: 'Ctrl Shift O', run: () => go('/') },
      ...(place === 'c' && open !== undefined
        ? inspectScreens.map((screen) => ({
            id: `command-${screen}`,
            label: `${screen.charAt(0).toUpperCase()}${screen.slice(1)} of this conversation`,
            run: () => go(inspectPath(decodeURIComponent(open), screen)),
          }))
        : []),
      { id: 'command-waiting', label: 'What waits', run: () => go('/waiting') },
      { id: 'command-settings', label: 'Settings', run: () => go('/settings') },
      { id: 'command-keys', label: 'Keys', keys: '?', run: () => setShown('keys') },
      { id: 'command-light', label: 'Light colours', run: () => chooseTheme('light') },
      { id: 'command-dark', label: 'Dark colours', run: () => chooseTheme('dark') },
    ],
    [go, place, open],
  )
  const openConversation = useCallback((id: string) => go(conversationPath(id)), [go])
  const close = () => setShown(undefined)
  if (shown === 'keys') return <KeyList onClose={close} />
  if (shown === 'palette') return <Palette commands={commands} openConversation={openConversation} onClose={close} />
  return null
}
