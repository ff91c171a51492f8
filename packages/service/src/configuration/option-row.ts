// One row declares one option of the service: the value that code passes, the key of the configuration file, the flag
// of `rxspeech serve`, and what worker processes do with it. Types, codecs, keys, flags and documentation derive from
// the rows.
import type { Any, Decoder, TypeOf } from 'io-ts'
import type { Codec, Codecs } from 'rxspeech/internal/protocol/validation'
import { setting, type Setting } from './settings.js'

/** Makes a path of a file absolute; relative paths begin at the folder of the file. */
type ResolvePath = (path: string) => string

/**
 * The key of an option in the configuration file.
 *
 * @param path such as `tenants`, or `models.folders` for a key in a section
 * @param read returns the option for the value of the key; default: the value
 */
export const inFile = <const Path extends string, Value>(
  path: Path,
  codec: Decoder<unknown, Value>,
  byDefault: string,
  help: string,
  read: (value: Value, resolve: ResolvePath) => unknown = (value) => value,
) => ({ path, setting: setting(codec, byDefault, help), read })

/** Reads a path. */
export const absolute = (path: string, resolve: ResolvePath): string => resolve(path)
export const allAbsolute = (paths: readonly string[], resolve: ResolvePath) => paths.map((path) => resolve(path))

export interface Uses {
  readonly file?: {
    readonly path: string
    readonly setting: Setting<unknown>
    readonly read: (value: never, resolve: ResolvePath) => unknown
  }
  /** The flag of an option, and how its value is typed; the command has a parser of each kind. */
  readonly flag?: {
    /** In camel case, such as `models`. */
    readonly name: string
    readonly kind: 'address' | 'text' | 'workers' | 'customNode'
    /** The placeholder after the name, such as `<dir>`. */
    readonly takes: string
    readonly help: string
    /** `many`: the flag may be repeated. Otherwise the value without the flag, as it is typed. */
    readonly absent?: 'many' | { readonly is: string }
  }
  /**
   * `passed`: each worker process gets the option. `refused`: a service with workers cannot have it, because it
   * contains functions. Otherwise only the process of the service uses it.
   */
  readonly workers?: 'passed' | 'refused'
}

export type OptionRows = Readonly<Record<string, Uses & { readonly codec: Any }>>

/** Declares an option. */
export const option = <A, const Used extends Uses = Uses>(codec: Codec<A>, uses: Used = {} as Used) => ({
  codec,
  ...uses,
})

/** The options of the rows, all optional; each has the docstring of its row. */
export type OptionsOf<Rows extends OptionRows> = {
  readonly [Name in keyof Rows]?: TypeOf<Rows[Name]['codec']> | undefined
}

export const codecsOfRows = (rows: OptionRows): Codecs =>
  Object.fromEntries(Object.entries(rows).map(([name, { codec }]) => [name, codec]))

type KeyIn<Path extends string, Section extends string> = Path extends `${infer Above}.${infer Key}`
  ? Above extends Section
    ? Key
    : never
  : Section extends ''
    ? Path
    : never

type KeysIn<Rows extends OptionRows, Section extends string> = {
  readonly [
    Name in keyof Rows as Rows[Name] extends { readonly file: { readonly path: infer Path extends string } }
      ? KeyIn<Path, Section>
      : never
  ]: Rows[Name] extends { readonly file: { readonly setting: infer Declared } } ? Declared : never
}

/** The keys of a section of the configuration file; those outside of sections for an empty name. */
export const keysIn = <Rows extends OptionRows, Section extends string>(rows: Rows, section: Section) =>
  Object.fromEntries(
    Object.values(rows).flatMap(({ file }) => {
      const [key = '', above = ''] = file?.path.split('.').reverse() ?? []
      return file !== undefined && above === section ? [[key, file.setting]] : []
    }),
  ) as KeysIn<Rows, Section>

/** The options of a decoded configuration file. */
export const optionsOfFile = <Rows extends OptionRows>(rows: Rows, values: unknown, resolve: ResolvePath) =>
  Object.fromEntries(
    Object.entries(rows).flatMap(([name, { file }]) => {
      const value = file?.path.split('.').reduce(entryOf, values)
      return file === undefined || value === undefined ? [] : [[name, file.read(value as never, resolve)]]
    }),
  ) as OptionsOf<Rows>

const entryOf = (values: unknown, key: string): unknown => (values as Readonly<Record<string, unknown>> | null)?.[key]

/** The names of the options that workers handle like this. */
export const namesForWorkers = (rows: OptionRows, handling: 'passed' | 'refused'): readonly string[] =>
  Object.entries(rows).flatMap(([name, { workers }]) => (workers === handling ? [name] : []))
