import type { Command } from 'commander'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'
import { paintFor } from '../view/paint.js'
import { addFlags, flagName, readFlags, type Flags, type FlagValues, type TypedFlags } from './flags.js'
import type { ResolvedFlags } from './user-settings.js'
import { exampleText, helpColumns, type Section } from './help-text.js'

/** The environment of every command. */
export interface CommandContext {
  readonly host: Host
  readonly output: Output
}

/**
 * One call of a command. `argument`: the file, name or id, or all of them for `<file...>`; undefined if it is omitted
 * or the command has none.
 */
export interface CommandCall<F extends Flags, Argument> extends CommandContext {
  readonly argument: Argument
  readonly flags: FlagValues<F>
  /** The names of the flags that were typed, in camel case. */
  readonly given: readonly string[]
}

export interface CommandDefinition<F extends Flags, Argument extends string | readonly string[] | undefined> {
  readonly description?: string
  /** The argument as shown in the help, such as `<file>`, `[jti]` or `<file...>`, and its description. */
  readonly argument?: readonly [usage: string, help: string]
  readonly flags: F
  /** Whether flags that are not typed have the values of the environment and of the file of the user. @default true */
  readonly usesSettings?: boolean
  readonly examples?: Section
  readonly run: (call: CommandCall<F, Argument>) => Promise<void> | void
}

/** Creates a command from its definition: its help, its flags, and its action. */
export const defineCommand = <F extends Flags, Argument extends string | readonly string[] | undefined = undefined>(
  command: Command,
  { host, output }: CommandContext,
  { description, argument: taken, flags, usesSettings = true, examples, run }: CommandDefinition<F, Argument>,
): void => {
  if (description !== undefined) command.description(description)
  if (taken !== undefined) command.argument(...taken)
  addFlags(command, flags)
  if (examples !== undefined) addExamples(command, host, examples)
  // Behind the arguments are the options and the command; a command may have one more argument before its own.
  command.action(async (...received: unknown[]) => {
    const argument = (taken === undefined ? undefined : received.at(-3)) as Argument
    const typed: TypedFlags = command.opts()
    const { values, nameOf } = usesSettings ? await resolved(flags, typed, host) : { values: typed, nameOf: flagName }
    await run({ argument, flags: readFlags(flags, values, nameOf), given: Object.keys(typed), host, output })
  })
}

/** The settings are read only for a command that has one. */
const resolved = async (flags: Flags, typed: TypedFlags, host: Host): Promise<ResolvedFlags> => {
  if (Object.values(flags).every(({ setting }) => setting === undefined)) return { values: typed, nameOf: flagName }
  const { settingSources, withSettings } = await import('./user-settings.js')
  return withSettings(flags, typed, await settingSources(host))
}

/** A command that consists only of subcommands. */
export const defineCommandGroup = (
  command: Command,
  { host }: CommandContext,
  { description, examples }: { readonly description: string; readonly examples?: Section },
): void => {
  command.description(description).helpCommand(false)
  if (examples !== undefined) addExamples(command, host, examples)
}

/** For a group with a default subcommand: an unknown word is not an argument of that subcommand. */
export const refuseUnknownSubcommands = (group: Command): void => {
  group.hook('preSubcommand', () => {
    const [word] = group.args
    if (word === undefined || word.startsWith('-') || group.commands.some((command) => command.name() === word)) return
    group.error(`error: unknown command '${word}'`, { code: 'commander.unknownCommand' })
  })
}

const addExamples = (command: Command, { stdout, env }: Host, examples: Section): void => {
  command.addHelpText('after', () =>
    exampleText(examples, { paint: paintFor(stdout, env), columns: helpColumns(stdout) }),
  )
}
