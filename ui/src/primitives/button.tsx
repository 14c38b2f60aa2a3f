import type { ButtonHTMLAttributes, ReactNode } from 'react'

type Look = 'plain' | 'primary' | 'quiet' | 'danger'

const looks: Readonly<Record<Look, string>> = {
  plain: 'border border-line bg-page hover:bg-hover text-ink',
  primary: 'bg-accent text-on-accent hover:opacity-90 border border-transparent',
  quiet: 'text-soft hover:bg-hover hover:text-ink border border-transparent',
  danger: 'border border-line text-bad hover:bg-bad-tint',
}

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: Look
  readonly ref?: React.Ref<HTMLButtonElement>
}

/** A button with a text. */
export function Button({ look = 'plain', className = '', type = 'button', ...rest }: ButtonProps) {
  return (
    <button
      type={type}
      className={`inline-flex items-center gap-1.5 rounded-md px-2.5 py-1 text-sm font-medium disabled:opacity-50 ${looks[look]} ${className}`}
      {...rest}
    />
  )
}

/** A button with an icon only. The label is read by screen readers and shown when the pointer rests on the button. */
export function IconButton({
  label,
  look = 'quiet',
  children,
  className = '',
  ...rest
}: ButtonProps & { readonly label: string; readonly children: ReactNode }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={`inline-flex size-8 shrink-0 items-center justify-center ${look === 'primary' ? 'rounded-full bg-accent text-on-accent hover:opacity-90' : 'rounded-md text-soft hover:bg-hover hover:text-ink'} disabled:opacity-40 ${className}`}
      {...rest}
    >
      {children}
    </button>
  )
}
