import type { Command } from 'commander'
import { usageError } from '../process/failure.js'

/** Parses the text of a flag. Throws `invalid-options` with a sentence that names the flag. */
export interface ParseValue<A> {
  (typed: string, flag: string): A
  /** All texts that it accepts, if these are few. */
  readonly choices?: readonly string[]
}

/** One flag of the command line: its text, all texts of a repeated flag, `true` for a switch, `false` for `--no-…`. */
type Typed = string | boolean | readonly string[] | undefined
export type TypedFlags = Readonly<Record<string, Typed>>

/** The one declaration of a flag: its help and its value. Its name is its key in `Flags`. */
export interface Flag<A> {
  /** The placeholder after the name, such as `<url>`; none for a switch. */
  readonly placeholder?: string
  readonly help: string
  readonly isRepeatable?: true
  /** All values that it has, if these are few. */
  readonly choices?: readonly string[] | undefined
  /** The help of `--no-…`, if there is such a flag. */
  readonly negation?: string
  /** The title above it in the help. */
  readonly group?: string
  /** Whether the help of this command leaves it out. Completions have it. */
  readonly isHidden?: true
  /** How it gets a value where it is not typed; undefined for a flag that only the command line sets. */
  readonly setting?: SettingTraits
  /** The value of the flag, also if it is absent. */
  readonly valueOf: (typed: Typed, flag: string) => A
}

/** A flag whose value can also come from a variable of the environment, or from the file of the user. */
export interface SettingTraits {
  /**
   * What it is about: the address of a service, models of this process, how to reach a service, what to use there, or
   * nothing of these. An address or models that take precedence replace all others of the first four.
   */
  readonly about: 'service' | 'models' | 'connection' | 'session' | 'command'
  /** Whether it is a path, which in a file may be relative to it. */
  readonly isPath?: true
  /** Only a variable has it, which the command reads itself, and nothing shows it. */
  readonly isSecret?: true
}

/** The same flag, with those other sources. */
export const settable = <A>(
  declaration: Flag<A>,
  about: SettingTraits['about'],
  traits: Omit<SettingTraits, 'about'> = {},
): Flag<A> => ({ ...declaration, setting: { about, ...traits } })

/** Flags by their names in camel case: `authUrl` is `--auth-url`. */
export type Flags = Readonly<Record<string, Flag<unknown>>>
export type FlagValues<F extends Flags> = { readonly [Name in keyof F]: F[Name] extends Flag<infer A> ? A : never }

/** A flag with a value, undefined if it is absent. */
export const flag = <A>(placeholder: string, help: string, parse: ParseValue<A>): Flag<A | undefined> => ({
  placeholder,
  help,
  choices: parse.choices,
  valueOf: (typed, name) => (typeof typed === 'string' ? parse(typed, name) : undefined),
})

/**
 * A flag with a value and a default, in the form of the command line, so that the help shows what the parser accepts.
 */
export const flagOr = <A>(placeholder: string, help: string, parse: ParseValue<A>, preset: string): Flag<A> => ({
  placeholder,
  help: `${help} (default: ${preset})`,
  choices: parse.choices,
  valueOf: (typed, name) => parse(typeof typed === 'string' ? typed : preset, name),
})

/** A flag that may be repeated; no values if it is absent. */
export const repeatedFlag = <A>(placeholder: string, help: string, parse: ParseValue<A>): Flag<readonly A[]> => ({
  placeholder,
  help,
  isRepeatable: true,
  choices: parse.choices,
  valueOf: (typed, name) => (Array.isArray(typed) ? typed.map((value: string) => parse(value, name)) : []),
})

/** The same with one value as its default. */
export const repeatedFlagOr = <A>(
  placeholder: string,
  help: string,
  parse: ParseValue<A>,
  preset: string,
): Flag<readonly A[]> => {
  const { valueOf, ...declaration } = repeatedFlag(placeholder, help, parse)
  return {
    ...declaration,
    help: `${help} (default: ${preset})`,
    valueOf: (typed, name) => valueOf(typed ?? [preset], name),
  }
}

/** A flag without a value. */
export const switchFlag = (help: string): Flag<boolean> => ({ help, valueOf: (typed) => typed === true })

/** Adds `--no-…` to a flag, which makes its value false. */
export const withNegation = <A>(declaration: Flag<A>, negation: string): Flag<A | false> => ({
  ...declaration,
  negation,
  valueOf: (typed, name) => (typed === false ? false : declaration.valueOf(typed, name)),
})

/** Shows flags below a title in the help. */
export const flagGroup = <F extends Flags>(group: string, flags: F): F =>
  Object.fromEntries(Object.entries(flags).map(([name, declaration]) => [name, { ...declaration, group }])) as F

/** The same flags, which the help of the command leaves out, because that of another one has them. */
export const withoutHelp = <F extends Flags>(flags: F): F =>
  Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, { ...flag, isHidden: true }])) as F

/** The same flags, which no variable and no file of the user sets. */
export const typedOnly = <F extends Flags>(flags: F): F =>
  Object.fromEntries(
    Object.entries(flags).map(([name, { setting: _setting, ...declaration }]) => [name, declaration]),
  ) as F

/** The name of a flag as it is typed: `--auth-url` for `authUrl`. */
export const flagName = (name: string): string => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

/** Adds the flags to a command, in their order. */
export const addFlags = (command: Command, flags: Flags): void => {
  for (const [name, { placeholder, help, isRepeatable, negation, group, choices, isHidden = false }] of Object.entries(
    flags,
  )) {
    const typed = flagName(name)
    const option = command.createOption(placeholder === undefined ? typed : `${typed} ${placeholder}`, help)
    if (isRepeatable === true) option.argParser(collect)
    // Not commander's own choices, which it checks itself and adds to the help.
    Object.assign(option, { completions: choices })
    if (group !== undefined) option.helpGroup(group)
    command.addOption(option.hideHelp(isHidden))
    if (negation === undefined) continue
    const opposite = command.createOption(typed.replace('--', '--no-'), negation)
    if (group !== undefined) opposite.helpGroup(group)
    command.addOption(opposite.hideHelp(isHidden))
  }
}

const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [...(before ?? []), value]

/**
 * The values of all flags. Throws `invalid-options` for the first, in their order, whose value is wrong.
 *
 * @param nameOf how messages name a flag
 */
export const readFlags = <F extends Flags>(flags: F, typed: TypedFlags, nameOf = flagName): FlagValues<F> =>
  Object.fromEntries(
    Object.entries(flags).map(([name, { valueOf }]) => [name, valueOf(typed[name], nameOf(name))]),
  ) as FlagValues<F>

/**
 * Throws `invalid-options` for a flag that cannot be combined with `--config`, which replaces all others.
 *
 * @param given the flags that were typed
 */
export const refuseOtherFlags = (given: readonly string[], allowed: readonly string[]): void => {
  const refused = given.find((name) => !allowed.includes(name))
  if (refused === undefined) return
  throw usageError(`--config is the whole configuration; omit ${flagName(refused)}, or set it in the file.`)
}
