import { CSPProvider } from '@base-ui/react/csp-provider'
import { Menu } from 'lucide-react'
import { useState } from 'react'
import { Route, Router, Switch } from 'wouter'
import { ChatPage } from './chat/chat-page.tsx'
import { NewChat } from './chat/new-chat.tsx'
import { ConversationList } from './conversations/conversation-list.tsx'
import { IconButton } from './primitives/button.tsx'
import { Sheet } from './primitives/sheet.tsx'
import { basePath } from './routes.ts'

/** The page: the list of conversations beside the open one. On a small screen, the list is a sheet. */
export function App() {
  const [listOpen, setListOpen] = useState(false)
  return (
    <CSPProvider disableStyleElements>
      <Router base={basePath}>
        <div className="flex h-dvh w-full overflow-hidden">
          <aside className="hidden w-66 shrink-0 border-r border-line md:block">
            <ConversationList />
          </aside>
          <Sheet open={listOpen} onClose={() => setListOpen(false)} label="Conversations">
            <ConversationList onChoose={() => setListOpen(false)} />
          </Sheet>
          <main className="flex min-w-0 flex-1 flex-col">
            <header className="flex items-center gap-1 px-2 py-1 md:hidden">
              <IconButton label="Show conversations" onClick={() => setListOpen(true)}>
                <Menu size={18} />
              </IconButton>
              <span className="font-semibold">Daybook</span>
            </header>
            <div className="min-h-0 flex-1">
              <Switch>
                <Route path="/c/:id/*?">{({ id }) => <ChatPage id={id} />}</Route>
                <Route>
                  <NewChat />
                </Route>
              </Switch>
            </div>
          </main>
        </div>
      </Router>
    </CSPProvider>
  )
}
