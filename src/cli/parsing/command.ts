import type { Command } from 'commander'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'
import { paintFor, type Paint } from '../view/paint.js'
import { addFlags, readFlags, type Flags, type FlagValues, type TypedFlags } from './flags.js'

/** What every command works with. */
export interface CommandContext {
  readonly host: Host
  readonly output: Output
}

/** One call of a command. `argument`: the file, name or id; undefined where it is left out or the command takes none. */
export interface CommandCall<F extends Flags, Argument> extends CommandContext {
  readonly argument: Argument
  readonly flags: FlagValues<F>
  /** The names of the flags that were typed, in camel case. */
  readonly given: readonly string[]
}

export interface CommandDefinition<F extends Flags, Argument extends string | undefined> {
  readonly description?: string
  /** The argument as help shows it, such as `<file>` or `[jti]`, and what it means. */
  readonly argument?: readonly [usage: string, help: string]
  readonly flags: F
  readonly examples?: Section
  readonly run: (call: CommandCall<F, Argument>) => Promise<void> | void
}

/** Makes a command of its definition: its help, its flags, and what it does. */
export const defineCommand = <F extends Flags, Argument extends string | undefined = undefined>(
  command: Command,
  { host, output }: CommandContext,
  { description, argument: taken, flags, examples, run }: CommandDefinition<F, Argument>,
): void => {
  if (description !== undefined) command.description(description)
  if (taken !== undefined) command.argument(...taken)
  addFlags(command, flags)
  if (examples !== undefined) addExamples(command, host, examples)
  command.action(async (...received: unknown[]) => {
    const argument = (taken === undefined ? undefined : received[0]) as Argument
    const typed: TypedFlags = command.opts()
    await run({ argument, flags: readFlags(flags, typed), given: Object.keys(typed), host, output })
  })
}

/** A command that only has commands of its own. */
export const defineCommandGroup = (
  command: Command,
  { host }: CommandContext,
  { description, examples }: { readonly description: string; readonly examples?: Section },
): void => {
  command.description(description).helpCommand(false)
  if (examples !== undefined) addExamples(command, host, examples)
}

/** Lines of two columns below a title: what is typed, and what it means. */
export type Section = readonly (readonly [typed: string, meaning: string])[]

/** Sections below the help that the options give, laid out as that is. */
export const helpText = (paint: Paint, sections: Readonly<Record<string, Section>>): string =>
  Object.entries(sections)
    .map(([title, lines]) => {
      const width = Math.max(...lines.map(([typed]) => typed.length))
      const text = lines.map(([typed, meaning]) => `  ${typed.padEnd(width)}  ${meaning}`).join('\n')
      return `\n${paint('bold', `${title}:`)}\n${text}`
    })
    .join('\n')

/** Examples below the help of one command: what it is for, then what is typed. */
export const exampleText = (paint: Paint, examples: Section): string =>
  `\n${paint('bold', 'Examples:')}\n${examples.map(([typed, meaning]) => `  # ${meaning}\n  $ ${typed}`).join('\n')}`

const addExamples = (command: Command, { stdout, env }: Host, examples: Section): void => {
  command.addHelpText('after', () => exampleText(paintFor(stdout, env), examples))
}
