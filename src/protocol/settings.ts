import * as t from 'io-ts'
import type { FieldCodec } from './field-codecs.js'
import { isJsonObject } from './json-object.js'

export type Primitive = string | number | boolean

/** `Settings` and `CallProperties` of a Start or an Update: free names, primitive values or lists of them (decisions.md). */
export type Settings = Readonly<Record<string, Primitive | readonly Primitive[]>>

const isPrimitive = (value: unknown): value is Primitive =>
  typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))

const isSetting = (value: unknown): boolean => isPrimitive(value) || (Array.isArray(value) && value.every(isPrimitive))

const isSettings = (value: unknown): value is Settings => isJsonObject(value) && Object.values(value).every(isSetting)

export const settings: FieldCodec<Settings> = new t.Type(
  'an object of strings, numbers and booleans',
  isSettings,
  (input, context) => (isSettings(input) ? t.success(input) : t.failure(input, context)),
  t.identity,
)
