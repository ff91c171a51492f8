import { either } from 'fp-ts'
import { workerCount, type WorkerCount } from 'rxspeech-engines/threads/worker-count'
import { parseNetwork } from 'rxspeech-server/listen/trusted-proxies'
import { maxReportedFaults } from 'rxspeech-server/project/format/project-fault'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { maxTimerMs } from 'rxspeech/internal/kernel/timers'
import { nearestName } from 'rxspeech/internal/protocol/nearest-name'
import type { ListenAddress } from 'rxspeech/internal/transport/listen-address'
import * as t from 'io-ts'
import { parseListenAddress } from './listen-address.js'

/** One key of the configuration: its codec, and its text in the documentation. */
export interface Setting<A> {
  readonly codec: t.Decoder<unknown, A>
  readonly byDefault: string
  readonly help: string
}

export const setting = <A>(codec: t.Decoder<unknown, A>, byDefault: string, help: string): Setting<A> => ({
  codec,
  byDefault,
  help,
})

/** A group of keys, which are optional unless they are required. */
export interface Section<Shape extends SectionShape> {
  readonly shape: Shape
  readonly codec: t.Decoder<unknown, SectionValues<Shape>>
}

export interface SectionShape {
  readonly [key: string]: Setting<unknown> | Section<SectionShape>
}

export type SectionValues<Shape extends SectionShape> = {
  readonly [Key in keyof Shape]?: Shape[Key] extends { readonly codec: t.Decoder<unknown, infer Value> } ? Value : never
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const unknownKey = (key: string, known: readonly string[]): string => {
  const near = nearestName(key, known)
  return near === undefined
    ? `there is no such key; the keys are ${known.join(', ')}`
    : `there is no such key; did you mean ${near}?`
}

/** Reads all keys and reports all faults. An empty section counts as one without keys. */
export const section = <Shape extends SectionShape>(
  shape: Shape,
  required: readonly (keyof Shape & string)[] = [],
): Section<Shape> => {
  const known = Object.keys(shape)
  const validate = (value: unknown, context: t.Context): t.Validation<SectionValues<Shape>> => {
    const given = value ?? {}
    if (!isRecord(given)) return t.failure(value, context, 'expected keys with values')
    const errors: t.ValidationError[] = []
    const values: Record<string, unknown> = {}
    for (const [key, item] of Object.entries(given)) {
      const setting = Object.hasOwn(shape, key) ? shape[key] : undefined
      if (setting === undefined) {
        const at = t.appendContext(context, key, t.unknown, item)
        errors.push({
          value: item,
          context: at,
          message: errors.length < maxReportedFaults ? unknownKey(key, known) : 'there is no such key',
        })
        continue
      }
      const read = setting.codec.validate(item, t.appendContext(context, key, setting.codec, item))
      if (either.isLeft(read)) errors.push(...read.left)
      else values[key] = read.right
    }
    for (const key of required) {
      if (!Object.hasOwn(given, key)) errors.push({ value, context, message: `${key} is missing` })
    }
    return errors.length > 0 ? t.failures(errors) : t.success(values as SectionValues<Shape>)
  }
  const is = (value: unknown): value is SectionValues<Shape> => isRecord(value)
  return { shape, codec: new t.Type<SectionValues<Shape>, unknown>('section', is, validate, (values) => values) }
}

/** A codec whose error names what was expected. `read` returns undefined for an invalid value. */
const codecOf = <A>(expected: string, read: (value: unknown) => A | undefined): t.Type<A, unknown> =>
  new t.Type<A, unknown>(
    expected,
    (value): value is A => value !== undefined,
    (value, context) => {
      const found = read(value)
      return found === undefined ? t.failure(value, context, `expected ${expected}`) : t.success(found)
    },
    (value) => value,
  )

export const text = codecOf('a text that is not empty', (value) =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined,
)

export const yesOrNo = codecOf('true or false', (value) => (typeof value === 'boolean' ? value : undefined))

export const wholeFrom = (min: number, max: number): t.Type<number, unknown> =>
  codecOf(`a whole number from ${min} to ${max}`, (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max ? value : undefined,
  )

export const workers: t.Type<WorkerCount, unknown> = codecOf(workerCount.name, (value) =>
  workerCount.is(value) ? value : undefined,
)

export const oneOfWords = <Word extends string>(words: readonly Word[]): t.Type<Word, unknown> =>
  new t.Type<Word, unknown>(
    words.join(' or '),
    (value): value is Word => words.some((word) => word === value),
    (value, context) => {
      const found = words.find((word) => word === value)
      const near = typeof value === 'string' ? nearestName(value, words) : undefined
      const end = near === undefined ? '' : `; did you mean ${near}?`
      return found === undefined ? t.failure(value, context, `expected ${words.join(' or ')}${end}`) : t.success(found)
    },
    (value) => value,
  )

export const webAddress = codecOf('an http or https address', (value) =>
  typeof value === 'string' && URL.canParse(value) && /^https?:/.test(value) ? value : undefined,
)

export const absoluteUri = codecOf('an absolute URI', (value) =>
  typeof value === 'string' && URL.canParse(value) ? value : undefined,
)

export const listenAddress: t.Type<ListenAddress, unknown> = codecOf(
  'HOST:PORT, such as 127.0.0.1:8443 or "[::]:8443"',
  (value) => {
    try {
      return typeof value === 'string' ? parseListenAddress(value) : undefined
    } catch (error) {
      if (isSpeechError(error)) return undefined
      throw error
    }
  },
)

export const network = codecOf('an IP address, or a network such as 10.0.0.0/8 or "2001:db8::/32"', (value) =>
  typeof value === 'string' && parseNetwork(value) !== undefined ? value : undefined,
)

/** The configuration never contains a secret, only the environment variable or the file that has it. */
export type SecretSource = { readonly env: string } | { readonly file: string }

export const secretSource: t.Type<SecretSource, unknown> = codecOf(
  '{env: NAME} or {file: PATH}; never the secret itself',
  (value) => {
    if (typeof value !== 'object' || value === null || Object.keys(value).length !== 1) return undefined
    if ('env' in value && typeof value.env === 'string' && /^\w+$/.test(value.env)) return { env: value.env }
    if ('file' in value && typeof value.file === 'string' && value.file !== '') return { file: value.file }
    return undefined
  },
)

export const durationMs = (min: number, byDefault: number, help: string): Setting<number> =>
  setting(wholeFrom(min, maxTimerMs), String(byDefault), help)

/** A list; faults name the index of their item. */
export const listOf = <A>(item: t.Decoder<unknown, A>): t.Type<readonly A[], unknown> =>
  new t.Type<readonly A[], unknown>(
    'a list',
    (value): value is readonly A[] => Array.isArray(value),
    (value, context) => {
      if (!Array.isArray(value)) return t.failure(value, context, 'expected a list')
      const read = value.map((entry: unknown, index) =>
        item.validate(entry, t.appendContext(context, String(index), item, entry)),
      )
      const errors = read.flatMap((result) => (either.isLeft(result) ? result.left : []))
      return errors.length > 0
        ? t.failures(errors)
        : t.success(read.flatMap((result) => (either.isRight(result) ? [result.right] : [])))
    },
    (value) => value,
  )
