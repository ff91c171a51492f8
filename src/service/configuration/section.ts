import { either } from 'fp-ts'
import * as t from 'io-ts'
import { nearestName } from '../project/nearest-name.js'
import { maxReportedFaults } from '../project/yaml-bounds.js'

/** One key of the configuration: how it is read, and what its reader's manual says. */
export interface Setting<A> {
  readonly codec: t.Decoder<unknown, A>
  readonly byDefault: string
  readonly help: string
}

/** Keys that stand together; each may be left out, unless it is required. */
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
    ? `there is no such key; known here are ${known.join(', ')}`
    : `there is no such key; did you mean ${near}?`
}

/** Reads all keys and tells every fault, not the first. An empty section is one without keys. */
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
