// The one validation kit: everything that comes from outside (messages, options, files, flags) is decoded by an io-ts
// codec. The name of a codec completes the sentence "<path> must be <name>.", so that every fault reads the same.
// Codecs of io-ts itself and of other packages fit in.
import { either } from 'fp-ts'
import {
  failure,
  failures,
  success,
  Type,
  type Any,
  type Context,
  type Errors,
  type TypeOf,
  type Validate,
  type ValidationError,
} from 'io-ts'
import { isObservable, type Observable } from 'rxjs'
import { SpeechError } from '../errors/speech-error.js'
import { maxTimerMs } from '../kernel/timers.js'
import { isJsonObject, type JsonObject } from './json-object.js'
import { nearestName, suggestName } from './nearest-name.js'

export type Codec<A, O = unknown> = Type<A, O>

/** How a value differs from its decoded form; by default it does not. */
export interface Conversion<A> {
  /** Returns the decoded value, or the input itself if it is invalid. */
  readonly read?: ((input: unknown) => unknown) | undefined
  readonly write?: ((value: A) => unknown) | undefined
}

const unchanged = (value: unknown): unknown => value

/**
 * A codec from a guard.
 *
 * @param expected completes "must be …", such as "a string"
 */
export const codec = <A>(
  expected: string,
  is: (value: unknown) => value is A,
  { read = unchanged, write = unchanged }: Conversion<A> = {},
): Codec<A> =>
  new Type<A, unknown>(
    expected,
    is,
    (input, context) => {
      const value = read(input)
      return is(value) ? success(value) : failure(input, context)
    },
    write,
  )

/** Decodes a part of a value, under the key that an issue names. */
export const validatePart = <A>(
  part: Codec<A>,
  actual: unknown,
  key: string,
  context: Context,
): either.Either<Errors, A> => part.validate(actual, [...context, { key, type: part, actual }])

// Single values

export const isText = (value: unknown): value is string => typeof value === 'string'

export const text: Codec<string> = codec('a string', isText)

export const nonEmptyText: Codec<string> = codec(
  'a string that is not empty',
  (value): value is string => isText(value) && value !== '',
)

export const flag: Codec<boolean> = codec('true or false', (value): value is boolean => typeof value === 'boolean')

export const anything: Codec<unknown> = codec('anything', (_value): _value is unknown => true)

export const jsonObject: Codec<JsonObject> = /* @__PURE__ */ codec('an object', isJsonObject)

/** Bounds of a number, both allowed themselves. */
export interface NumberRange {
  readonly min?: number | undefined
  readonly max?: number | undefined
  /** Such as "Hz". */
  readonly unit?: string | undefined
}

const rangeText = (kind: string, { min, max, unit }: NumberRange): string =>
  `${kind}${unit === undefined ? '' : ` of ${unit}`}` +
  (min === undefined ? '' : ` from ${min}`) +
  (max === undefined ? '' : ` ${min === undefined ? 'up ' : ''}to ${max}`)

const isWithin = (value: number, { min = -Infinity, max = Infinity }: NumberRange): boolean =>
  value >= min && value <= max

export const wholeNumber = (range: NumberRange = {}): Codec<number> =>
  codec(
    rangeText('a whole number', range),
    (value): value is number => Number.isSafeInteger(value) && isWithin(Number(value), range),
  )

export const number = (range: NumberRange = {}): Codec<number> =>
  codec(
    rangeText('a number', range),
    (value): value is number => typeof value === 'number' && Number.isFinite(value) && isWithin(value, range),
  )

/** A number from `min` that may be Infinity. */
export const numberUpToInfinity = (min: number): Codec<number> =>
  codec(`a number from ${min}, or Infinity`, (value): value is number => typeof value === 'number' && value >= min)

/** A time in milliseconds that a timer can keep; a fraction is allowed. */
export const milliseconds: Codec<number> = codec(
  `more than 0 and at most ${maxTimerMs} milliseconds`,
  (value): value is number => typeof value === 'number' && value > 0 && value <= maxTimerMs,
)

/** A time in whole milliseconds that a timer can keep. */
export const durationMs = (min: 0 | 1): Codec<number> => wholeNumber({ min, max: maxTimerMs })

/** One of a few values, compared by `===`. */
export const oneOf = <A extends string | number>(...values: readonly A[]): Codec<A> =>
  codec(alternatives(values.map((value) => JSON.stringify(value))), (value): value is A =>
    values.some((one) => one === value),
  )

const alternatives = (shown: readonly string[]): string =>
  shown.length > 1 ? `${shown.slice(0, -1).join(', ')} or ${String(shown.at(-1))}` : String(shown[0])

/** Any of several codecs; the first that decodes the value counts. */
export const eitherOf = <A, B>(first: Codec<A>, second: Codec<B>): Codec<A | B> =>
  new Type<A | B, unknown>(
    `${first.name} or ${second.name}`,
    (value): value is A | B => first.is(value) || second.is(value),
    (input, context) => {
      const decoded: either.Either<Errors, A | B> = first.validate(input, context)
      if (either.isRight(decoded)) return decoded
      const other = second.validate(input, context)
      // For an object with options, report which one is wrong.
      return either.isRight(other) || ('codecs' in second && isJsonObject(input)) ? other : failure(input, context)
    },
    (value) => (first.is(value) ? first.encode(value) : second.encode(value)),
  )

// What only options in code hold

type AnyFunction = (...parameters: never[]) => unknown

export const functionValue: Codec<AnyFunction> = codec(
  'a function',
  (value): value is AnyFunction => typeof value === 'function',
)

/** An object with these methods, such as a scheduler. */
export const objectWith = <Name extends string>(
  ...methods: readonly Name[]
): Codec<Readonly<Record<Name, AnyFunction>>> =>
  codec(
    `an object with ${methods.join(' and ')}`,
    (value): value is Readonly<Record<Name, AnyFunction>> =>
      typeof value === 'object' &&
      value !== null &&
      methods.every((method) => typeof (value as JsonObject)[method] === 'function'),
  )

/** An Observable of RxJS. */
export const observableValue: Codec<Observable<unknown>> = codec('an Observable', isObservable)

/** A clock of RxJS. */
export const schedulerValue: Codec<Readonly<Record<'now' | 'schedule', AnyFunction>>> = objectWith('now', 'schedule')

// Values of several parts; lists and records are in `collections.ts`

/** The maximum number of reported faults of one value; a hostile file may have millions. */
const maxIssues = 50

/** Adds errors up to a maximum; returns whether there are enough. */
export const addErrors = (errors: ValidationError[], more: Errors): boolean => {
  errors.push(...more.slice(0, maxIssues - errors.length))
  return errors.length >= maxIssues
}

/** A codec for each option, by its name. */
export type Codecs = Readonly<Record<string, Any>>
type RequiredOptions<C extends Codecs> = { readonly [K in keyof C]: TypeOf<C[K]> }
type OptionalOptions<C extends Codecs> = { readonly [K in keyof C]?: TypeOf<C[K]> | undefined }
type Flat<A> = { readonly [K in keyof A]: A[K] }
export type OptionsModel<R extends Codecs, O extends Codecs> = Flat<RequiredOptions<R> & OptionalOptions<O>>

/** The codec of an object with options. */
export interface OptionsCodec<A> extends Codec<A> {
  /** The codec of each option, required ones first. */
  readonly codecs: Codecs
}

/**
 * The codec of an object with required and optional options. It reports all faults. An unknown key is a fault, reported
 * with the name that was probably meant, and before all others if that is missing. An `undefined` option counts as absent.
 *
 * @param expected completes "must be …" if the value is not an object
 */
export const optionsCodec = <Required extends Codecs, Optional extends Codecs>(
  required: Required,
  optional: Optional,
  expected = 'an object with options',
): OptionsCodec<OptionsModel<Required, Optional>> => {
  type Model = OptionsModel<Required, Optional>
  const codecs: Readonly<Record<string, Codec<unknown>>> = { ...required, ...optional }
  const keys = Object.keys(codecs)
  const isModel = (value: unknown): value is Model => either.isRight(validate(value, []))

  const validate: Validate<unknown, Model> = (input, context) => {
    if (!isJsonObject(input)) return failure(input, context)
    const options: Record<string, unknown> = {}
    const errors: ValidationError[] = []
    for (const [key, option] of Object.entries(codecs)) {
      const value = input[key]
      if (value === undefined && !Object.hasOwn(required, key)) continue
      const decoded = validatePart(option, value, key, context)
      if (either.isRight(decoded)) options[key] = decoded.right
      else addErrors(errors, decoded.left)
    }
    const unknownKeys = unknownKeysOf(input, keys).map((key): ValidationError => {
      const value = input[key]
      const at = [...context, { key, type: anything, actual: value }]
      return { value, context: at, message: unknownKeyProblem(key, keys) }
    })
    const isMissing = ({ context: at }: ValidationError): boolean => {
      const name = nearestName(at.at(-1)?.key ?? '', keys)
      return name !== undefined && Object.hasOwn(required, name) && input[name] === undefined
    }
    const misspelled = unknownKeys.filter(isMissing)
    const all = [...misspelled, ...errors].slice(0, maxIssues)
    addErrors(
      all,
      unknownKeys.filter((error) => !misspelled.includes(error)),
    )
    return all.length > 0 ? failures(all) : success(options as Model)
  }

  const encode = (options: Model): unknown =>
    Object.fromEntries(
      Object.entries(options).flatMap(([key, value]) =>
        value === undefined ? [] : [[key, codecs[key]?.encode(value)]],
      ),
    )

  return Object.assign(new Type<Model, unknown>(expected, isModel, validate, encode), { codecs })
}

type RequiredKeys<Options> = {
  [Key in keyof Options]-?: undefined extends Options[Key] ? never : Key
}[keyof Options]

/**
 * `optionsCodec` of a type: the compiler finds an option without a codec, and a codec without an option.
 *
 * @example
 * const codec = optionsOf<PaceOptions>()({ format: audioFormat }, { everyMs: number({ min: 1 }) })
 */
export const optionsOf =
  <Options>() =>
  (
    required: Readonly<Record<RequiredKeys<Options>, Any>>,
    optional: Readonly<Required<Record<Exclude<keyof Options, RequiredKeys<Options>>, Any>>>,
    expected?: string,
  ): OptionsCodec<Options> =>
    optionsCodec(required as Codecs, optional as Codecs, expected) as unknown as OptionsCodec<Options>

/**
 * A union of objects, of which the property `tag` names the one that applies.
 *
 * @example
 * const shape = taggedBy('kind', { circle: optionsOf<Circle>()({ kind: text, radius: number() }, {}) })
 */
export const taggedBy = <Variants extends Readonly<Record<string, Any>>>(
  tag: string,
  variants: Variants,
): Codec<TypeOf<Variants[keyof Variants]>> => {
  type Model = TypeOf<Variants[keyof Variants]>
  const tagCodec = oneOf(...Object.keys(variants))
  const variantOf = (value: unknown): Codec<Model> | undefined => {
    const name = isJsonObject(value) ? value[tag] : undefined
    return tagCodec.is(name) ? variants[name] : undefined
  }
  const tagErrors = (input: JsonObject, context: Context): Errors => {
    const value = input[tag]
    return [{ value, context: [...context, { key: tag, type: tagCodec, actual: value }] }]
  }
  return new Type<Model, unknown>(
    `an object with ${tag}`,
    (value): value is Model => variantOf(value)?.is(value) === true,
    (input, context) => {
      if (!isJsonObject(input)) return failure(input, context)
      return variantOf(input)?.validate(input, context) ?? failures(tagErrors(input, context))
    },
    (value) => variantOf(value)?.encode(value),
  )
}

/** The beginning of the problem of an unknown key. */
const unknownKey = 'is not known; '

export const unknownKeyProblem = (key: string, known: readonly string[]): string => unknownKey + suggestName(key, known)

export const unknownKeysOf = (input: JsonObject, keys: readonly string[]): readonly string[] =>
  Object.keys(input)
    .filter((key) => input[key] !== undefined && !keys.includes(key))
    .slice(0, maxIssues)

// Issues

/** What is wrong with one part of a value. */
export interface Issue {
  /** The keys that lead to the part; empty for the value itself. */
  readonly path: readonly string[]
  /** What is wrong, as the rest of a sentence: "must be a string". */
  readonly problem: string
  readonly value: unknown
}

const issueOf = ({ value, context, message }: ValidationError): Issue => ({
  // Codecs of io-ts number the members of an intersection or a union; these numbers are not keys of the value.
  path: context.flatMap(({ key }, index) => (key === '' || isMember(context, index) ? [] : [key])),
  problem: message ?? `must be ${context.at(-1)?.type.name ?? 'valid'}`,
  value,
})

const isMember = (context: Context, index: number): boolean => {
  const above: object | undefined = context[index - 1]?.type
  return above !== undefined && '_tag' in above && (above._tag === 'IntersectionType' || above._tag === 'UnionType')
}

export const issuesOf = (errors: Errors): readonly Issue[] => errors.map(issueOf)

/**
 * An issue as a sentence. The value itself is never repeated, because it may be a misplaced secret.
 *
 * @param subject names the value itself if the issue has no path
 */
export const issueText = ({ path, problem }: Issue, subject: string): string =>
  `${path.join('.') || subject} ${problem}${problem.endsWith('?') ? '' : '.'}`

/** Decodes the options of a function; throws `invalid-options` for the first issue. */
export const checkOptions = <A>(options: Codec<A>, given: unknown, subject = 'The options'): A => {
  const decoded = options.decode(given)
  if (either.isRight(decoded)) return decoded.right
  throw invalidOption(decoded.left, subject)
}

/** Checks a single option; throws `invalid-options` with its name. */
export const checkOption = <A>(name: string, option: Codec<A>, value: unknown): A => checkOptions(option, value, name)

const unusable: Issue = { path: [], problem: 'cannot be used', value: undefined }

const invalidOption = (errors: Errors, subject: string): SpeechError => {
  const [{ path, problem, value } = unusable] = issuesOf(errors)
  if (problem.startsWith(unknownKey)) {
    const suggestion = problem.slice(unknownKey.length)
    const end = suggestion.endsWith('?') ? '' : '.'
    return new SpeechError('invalid-options', `Unknown option "${path.join('.')}"; ${suggestion}${end}`)
  }
  const shown = typeof value === 'number' ? `, not ${value}` : ''
  return new SpeechError('invalid-options', issueText({ path, problem: problem + shown, value }, subject))
}
