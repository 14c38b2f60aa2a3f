import { Argument, Command } from 'commander'
import { withExamples } from '../../options.ts'
import { printLine, type Terminal } from '../../terminal.ts'

const shells = ['bash', 'zsh', 'fish'] as const

/** The command `completion`. It prints a script that completes the commands and options of `program` in a shell. */
export function completionCommand(terminal: Terminal, program: Command): Command {
  const command = new Command('completion')
    .description('print a script that completes commands and options in your shell')
    .addArgument(new Argument('<shell>').choices(shells))
    .action((shell: (typeof shells)[number]) => printLine(terminal, scripts[shell](completionWords(program))))
  return withExamples(command, [
    ['source <(daybook completion bash)', ''],
    ['daybook completion zsh > ~/.zfunc/_daybook', 'with ~/.zfunc in your fpath'],
    ['daybook completion fish > ~/.config/fish/completions/daybook.fish', ''],
  ])
}

interface CompletionWords {
  readonly options: readonly string[]
  readonly commands: readonly { readonly name: string; readonly description: string; readonly options: readonly string[] }[]
}

function completionWords(program: Command): CompletionWords {
  const longOptions = (command: Command) => [...command.options.flatMap(({ long }) => (long ? [long] : [])), '--help']
  return {
    options: longOptions(program),
    commands: program.commands.map((command) => ({
      name: command.name(),
      description: command.description(),
      options: longOptions(command),
    })),
  }
}

const commandNames = ({ commands }: CompletionWords) => commands.map(({ name }) => name).join(' ')

const scripts: Readonly<Record<(typeof shells)[number], (words: CompletionWords) => string>> = {
  bash: (words) => `_daybook() {
  local word="\${COMP_WORDS[COMP_CWORD]}" command="" each
  for each in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case " ${commandNames(words)} " in *" $each "*) command="$each"; break ;; esac
  done
  case "$command" in
${words.commands.map(({ name, options }) => `    ${name}) COMPREPLY=($(compgen -W "${[...options, ...words.options].join(' ')}" -- "$word")) ;;`).join('\n')}
    *) COMPREPLY=($(compgen -W "${commandNames(words)} ${words.options.join(' ')}" -- "$word")) ;;
  esac
  [[ \${#COMPREPLY[@]} -gt 0 || "$word" == -* ]] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -F _daybook daybook`,
  zsh: (words) => `#compdef daybook
_daybook() {
  local -a commands=(
${words.commands.map(({ name, description }) => `    ${quote(`${name}:${description.replaceAll(':', ' -')}`)}`).join('\n')}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  case "$words[2]" in
${words.commands.map(({ name, options }) => `    ${name}) compadd -- ${[...options, ...words.options].join(' ')} ;;`).join('\n')}
  esac
  _files
}
compdef _daybook daybook`,
  fish: (words) =>
    [
      'complete -c daybook -f',
      ...words.commands.map(({ name, description }) => `complete -c daybook -n __fish_use_subcommand -a ${name} -d ${quote(description)}`),
      ...words.commands.flatMap(({ name, options }) =>
        options.map((option) => `complete -c daybook -n '__fish_seen_subcommand_from ${name}' -F -l ${option.slice(2)}`),
      ),
      ...words.options.map((option) => `complete -c daybook -l ${option.slice(2)}`),
    ].join('\n'),
}

const quote = (text: string) => `'${text.replaceAll("'", '’')}'`
