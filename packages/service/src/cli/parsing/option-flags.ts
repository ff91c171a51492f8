import { serviceRows } from '../../configuration/service-options.js'
import { listenAddress } from './addresses.js'
import { flag, flagOr, repeatedFlag, type Flag, type ParseValue } from './flags.js'
import { customNodes, text, workers } from './values.js'

/** The parser of each kind of flag. */
const parsers = { address: listenAddress, text, workers, customNode: customNodes }

type Rows = typeof serviceRows
type FlagOf<Row> = Row extends { readonly flag: infer Declared } ? Declared : never
type ParsedAs<Declared> = Declared extends { readonly kind: infer Kind extends keyof typeof parsers }
  ? ReturnType<(typeof parsers)[Kind]>
  : never
type ValueOf<Declared> = Declared extends { readonly absent: 'many' }
  ? readonly ParsedAs<Declared>[]
  : ParsedAs<Declared> | (Declared extends { readonly absent: object } ? never : undefined)

type NameOf<Row> = FlagOf<Row> extends { readonly name: infer Name extends string } ? Name : never
type OptionFlags = { readonly [Option in keyof Rows as NameOf<Rows[Option]>]: Flag<ValueOf<FlagOf<Rows[Option]>>> }

/** The values of the flags of options, by the names of the options. */
export type FlagOptions = {
  readonly [Option in keyof Rows as Rows[Option] extends { readonly flag: unknown } ? Option : never]: ValueOf<
    FlagOf<Rows[Option]>
  >
}

const declared = Object.entries(serviceRows).flatMap(([option, row]) =>
  'flag' in row ? [{ option, ...row.flag } as const] : [],
)

/** The flags of options of the service, in the order of their rows. */
export const optionFlags = Object.fromEntries(
  declared.map(({ name, kind, takes, help, ...rest }): [string, Flag<unknown>] => {
    const parse: ParseValue<unknown> = parsers[kind]
    const absent = 'absent' in rest ? rest.absent : undefined
    if (absent === 'many') return [name, repeatedFlag(takes, help, parse)]
    return [name, absent === undefined ? flag(takes, help, parse) : flagOr(takes, help, parse, absent.is)]
  }),
) as unknown as OptionFlags

/** @param flags the values of `optionFlags`, and of any others */
export const optionsOfFlags = (flags: Readonly<Record<string, unknown>>): FlagOptions =>
  Object.fromEntries(declared.map(({ option, name }) => [option, flags[name]])) as unknown as FlagOptions
