import { keyHints } from '../model/keys.ts'
import { Dialog } from '../primitives/dialog.tsx'
import { Kbd } from '../primitives/kbd.tsx'

/** The keys of the page. */
export function KeyList({ onClose }: { onClose(): void }) {
  return (
    <Dialog label="Keys" onClose={onClose} className="p-5">
      <h2 className="font-semibold">Keys</h2>
      <dl className="mt-3 grid grid-cols-[max-content_1fr] gap-x-4 gap-y-2 text-sm">
        {keyHints.map(({ keys, does }) => (
          <div key={keys} className="contents">
            <dt>
              <Kbd keys={keys} />
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
