import type { Command, Option } from 'commander'

/** What a value or an argument can be. */
export type Values =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'file' | 'folder' | 'model' | 'other' }

export interface CompletedOption {
  /** As it is typed, such as `--format`. */
  readonly name: string
  readonly help: string
  /** Undefined for a switch. */
  readonly values?: Values
}

/** A command with what can follow it. */
export interface CompletedCommand {
  /** The words that lead to it, such as `/models/add`; empty for the program. */
  readonly path: string
  readonly subcommands: readonly { readonly name: string; readonly help: string }[]
  readonly options: readonly CompletedOption[]
  readonly argument: Values
}

/** The commands of a program, with all that their declarations say. */
export const completionTree = (program: Command): readonly CompletedCommand[] => {
  const commands = program.commands.map(subcommandOf)
  return [...walk(program, ''), { path: '/help', subcommands: commands, options: [], argument: { kind: 'other' } }]
}

const subcommandOf = (command: Command): { readonly name: string; readonly help: string } => ({
  name: command.name(),
  help: firstLine(command.summary() || command.description()),
})

const walk = (command: Command, path: string): readonly CompletedCommand[] => [
  {
    path,
    subcommands: [
      ...command.commands.map(subcommandOf),
      ...(path === '' ? [{ name: 'help', help: 'show the help of a command' }] : []),
    ],
    options: [...command.options.flatMap(optionOf), { name: '--help', help: 'show this help' }],
    argument: valuesOf(command.registeredArguments[0]?.name() ?? '', argumentChoices(command)),
  },
  ...command.commands.flatMap((below) => walk(below, `${path}/${below.name()}`)),
]

const argumentChoices = (command: Command): readonly string[] | undefined => command.registeredArguments[0]?.argChoices

const optionOf = (option: Option & { readonly completions?: readonly string[] }): readonly CompletedOption[] => {
  const { long, flags, description, completions } = option
  if (long === undefined || long === null) return []
  const [, placeholder] = /<([^<>]*)>/.exec(flags) ?? []
  const isModel = long === '--model'
  const values = placeholder === undefined ? undefined : valuesOf(isModel ? 'model' : placeholder, completions)
  return [{ name: long, help: firstLine(description), ...(values && { values }) }]
}

/** By the name of a placeholder, as the help shows it. */
const valuesOf = (placeholder: string, choices: readonly string[] | undefined): Values => {
  if (choices !== undefined) return { kind: 'words', words: choices }
  if (/^(?:file|program)s?\b/.test(placeholder)) return { kind: 'file' }
  if (/^dirs?$/.test(placeholder)) return { kind: 'folder' }
  return { kind: /^models?$/.test(placeholder) ? 'model' : 'other' }
}

/** The beginning of an explanation, which a shell shows in one line. */
const firstLine = (text: string): string => {
  const [line = ''] = text.split(/[;\n]|\. /)
  return line.length > 70 ? `${line.slice(0, 69)}…` : line
}
