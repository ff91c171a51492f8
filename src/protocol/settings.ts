import { either, function as f } from 'fp-ts'
import { codec, failure } from './codec.js'
import type { FieldCodec } from './field-codecs.js'
import { isJsonObject, type JsonObject } from './json-object.js'

export type Primitive = string | number | boolean

/** `Settings` and `CallProperties` of a Start or an Update: free names, primitive values or lists of them (decisions.md). */
export type Settings = Readonly<Record<string, Primitive | readonly Primitive[]>>

const isPrimitive = (value: unknown): value is Primitive =>
  typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))

const isSetting = (value: unknown): boolean => isPrimitive(value) || (Array.isArray(value) && value.every(isPrimitive))

const isSettings = (value: unknown): value is Settings =>
  isJsonObject(value) && !Object.hasOwn(value, '__proto__') && Object.values(value).every(isSetting)

/** JSON may hold `__proto__` as a name, and whoever merges by assignment would set a prototype by it: it goes no further. */
const withoutPrototype = (input: JsonObject): JsonObject =>
  Object.hasOwn(input, '__proto__')
    ? Object.fromEntries(Object.entries(input).filter(([name]) => name !== '__proto__'))
    : input

export const settings: FieldCodec<Settings> = codec(
  'an object of strings, numbers, booleans and lists of them',
  isSettings,
  (input, context) => {
    const value = isJsonObject(input) ? withoutPrototype(input) : input
    return isSettings(value) ? either.right(value) : failure(input, context)
  },
  f.identity,
)
