/** Keys to press together, with a space between them. */
export function Kbd({ keys }: { readonly keys: string }) {
  return (
    <span className="flex gap-0.5">
      {keys.split(' ').map((key) => (
        <kbd key={key} className="rounded border border-line bg-raised px-1 font-sans text-[11px] leading-4.5 text-soft">
          {key}
        </kbd>
      ))}
    </span>
  )
}
