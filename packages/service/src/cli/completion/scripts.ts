import type { CompletedCommand, Values } from './completion-tree.js'

export type Shell = 'bash' | 'zsh' | 'fish'

export const completionScript = (shell: Shell, commands: readonly CompletedCommand[]): string =>
  ({ bash: bashScript, zsh: zshScript, fish: fishScript })[shell](commands)

/** A word of any of the shells. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

const paths = (commands: readonly CompletedCommand[]): readonly string[] =>
  commands.map(({ path }) => path).filter((path) => path !== '')

/** Branches of `case`, for each command and for each option with a value. */
const branches = (commands: readonly CompletedCommand[], bodyOf: (values: Values) => string): string =>
  commands
    .flatMap(({ path, options }) =>
      options.flatMap(({ name, values }) =>
        values === undefined ? [] : [`    ${quoted(`${path} ${name}`)}) ${bodyOf(values)} ;;`],
      ),
    )
    .join('\n')

const commandBranches = (
  commands: readonly CompletedCommand[],
  bodyOf: (command: CompletedCommand) => string,
): string => commands.map((command) => `    ${quoted(command.path)}) ${bodyOf(command)} ;;`).join('\n')

const names = ({ subcommands, options, argument }: CompletedCommand): readonly string[] => [
  ...subcommands.map(({ name }) => name),
  ...(argument.kind === 'words' ? argument.words : []),
  ...options.map(({ name }) => name),
]

/** Words of `values`, as `words` and `kind` of the script. */
const assigned = (values: Values): string =>
  values.kind === 'words' ? `kind=words words=${quoted(values.words.join(' '))}` : `kind=${values.kind}`

const bashScript = (commands: readonly CompletedCommand[]): string => `\
# Completes rxspeech in bash. In ~/.bashrc: source <(rxspeech completion bash)
_rxspeech() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} at='' kind='' words='' models='' i
  # bash separates --name=value.
  if [[ $cur == = ]]; then cur=''
  elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at/\${COMP_WORDS[i]}" in
${paths(commands).map(quoted).join('|')}) at="$at/\${COMP_WORDS[i]}" ;;
    esac
    [[ \${COMP_WORDS[i]} == --models ]] && models=\${COMP_WORDS[i+1]}
  done
  case "$at $prev" in
${branches(commands, assigned)}
  esac
  if [[ -z $kind ]]; then case "$at" in
${commandBranches(commands, (command) => {
  const { kind } = command.argument
  return `kind=${kind === 'other' ? 'words' : kind} words=${quoted(names(command).join(' '))}`
})}
  esac; [[ $cur == -* ]] && kind=words; fi
  local IFS=$'\\n' word
  case "$kind" in
    # readline quotes names of files itself.
    file) compopt -o default 2>/dev/null || COMPREPLY=($(compgen -f -- "$cur")) ;;
    folder) compopt -o dirnames 2>/dev/null || COMPREPLY=($(compgen -d -- "$cur")) ;;
    # compgen -W would run commands in a name.
    model)
      if [[ $models == [\\"\\']* ]]; then models=\${models:1:\${#models}-2}; else models=\${models//\\\\/}; fi
      while IFS= read -r word; do
        printf -v word %q "$word"
        [[ $word == "$cur"* ]] && COMPREPLY+=("$word")
      done < <(rxspeech completion models \${models:+"--models=\${models/#\\~/$HOME}"} 2>/dev/null) ;;
  esac
  IFS=$' \\t\\n'
  [[ -n $words && ( $kind == words || $kind == model ) ]] && COMPREPLY+=($(compgen -W "$words" -- "$cur"))
}
complete -F _rxspeech rxspeech
`

const described = (name: string, help: string): string => quoted(`${name.replaceAll(':', String.raw`\:`)}:${help}`)

const zshAction = (values: Values): string => {
  switch (values.kind) {
    case 'words':
      return `compadd -- ${values.words.map(quoted).join(' ')}`
    case 'file':
      return '_files'
    case 'folder':
      return '_files -/'
    case 'model':
      return `compadd -- \${(f)"$(rxspeech completion models \${models:+--models=$models} 2>/dev/null)"}`
    case 'other':
      return 'return 0'
  }
}

const zshScript = (commands: readonly CompletedCommand[]): string => `\
#compdef rxspeech
# Completes rxspeech in zsh. In ~/.zshrc, behind compinit: source <(rxspeech completion zsh)
_rxspeech() {
  local at='' prev models='' i
  local -a items
  prev=\${words[CURRENT-1]}
  # --name=value
  if [[ $PREFIX == --*=* ]]; then prev=\${PREFIX%%=*}; compset -P '*='; fi
  for ((i = 2; i < CURRENT; i++)); do
    case "$at/\${words[i]}" in
${paths(commands).map(quoted).join('|')}) at="$at/\${words[i]}" ;;
    esac
    [[ \${words[i]} == --models ]] && models=\${\${(Q)words[i+1]}/#\\~/$HOME}
  done
  case "$at $prev" in
${branches(commands, (values) => `${zshAction(values)}; return`)}
  esac
  if [[ $PREFIX != -* ]]; then case "$at" in
${commandBranches(commands, ({ subcommands, argument }) => {
  const list = subcommands.map(({ name, help }) => described(name, help)).join(' ')
  const offered = argument.kind === 'other' ? '' : `${zshAction(argument)};`
  return `${list === '' ? '' : `items=(${list}); _describe command items;`} ${offered} `
})}
  esac; fi
  if [[ $PREFIX == -* || $compstate[nmatches] == 0 ]]; then case "$at" in
${commandBranches(commands, ({ options }) => `items=(${options.map(({ name, help }) => described(name, help)).join(' ')})`)}
  esac; _describe -o option items; fi
}
compdef _rxspeech rxspeech
`

const fishScript = (commands: readonly CompletedCommand[]): string => `\
# Completes rxspeech in fish: rxspeech completion fish > ~/.config/fish/completions/rxspeech.fish
function __rxspeech_at
  set -l at ''
  for word in (commandline -opc)[2..-1]
    contains -- "$at/$word" ${paths(commands).map(quoted).join(' ')}; and set at "$at/$word"
  end
  test "$at" = "$argv[1]"
end
function __rxspeech_models
  set -l words (commandline -opc)
  set -l at (contains -i -- --models $words)
  and rxspeech completion models --models $words[(math $at + 1)] 2>/dev/null
  or rxspeech completion models 2>/dev/null
end
complete -c rxspeech -e
complete -c rxspeech -f
${commands.flatMap(fishLines).join('\n')}
`

const fishLines = ({ path, subcommands, options, argument }: CompletedCommand): readonly string[] => {
  const start = `complete -c rxspeech -n ${quoted(`__rxspeech_at ${quoted(path)}`)}`
  return [
    ...subcommands.map(({ name, help }) => `${start} -a ${quoted(name)} -d ${quoted(help)}`),
    ...(argument.kind === 'other' ? [] : [`${start} ${fishValues(argument)}`]),
    ...options.map(({ name, help, values }) => {
      const value = values === undefined ? '' : `-x ${values.kind === 'other' ? '' : fishValues(values)} `
      return `${start} -l ${name.slice(2)} ${value}-d ${quoted(help)}`
    }),
  ]
}

const fishValues = (values: Values): string => {
  switch (values.kind) {
    case 'words':
      return `-a ${quoted(values.words.join(' '))}`
    case 'file':
      return "-a '(__fish_complete_path (commandline -ct))'"
    case 'folder':
      return "-a '(__fish_complete_directories (commandline -ct))'"
    case 'model':
      return "-a '(__rxspeech_models)'"
    case 'other':
      return ''
  }
}
