import * as t from 'io-ts'
import { isJsonObject, ownValue } from '../../../protocol/json-object.js'
import type { EventEnvelope } from '../../../protocol/dataflow-events.js'
import { foldCase } from './fold-words.js'

/** All channels (decisions.md: event envelope). */
export const allChannels = -2

/**
 * Whether a name fits a pattern, in which `*` stands for any letters, also none: `SR *`. The letter case counts. Takes
 * the time of a search for each part between two stars, whatever the pattern.
 */
export const matchesPattern = (pattern: string, name: string): boolean => {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return name === pattern
  if (!name.startsWith(first)) return false
  let at = first.length
  for (const part of rest) {
    const found = name.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return name.length - last.length >= at && name.endsWith(last)
}

/** An event of all channels is of each of them. */
export const isOfChannel = (event: EventEnvelope, channel: number): boolean =>
  event.channel === channel || event.channel === allChannels

const dataOf = (event: EventEnvelope, name: string): unknown =>
  isJsonObject(event.data) ? ownValue(event.data, name) : undefined

/** `Data.Text` of recognition, or nothing. */
export const textOf = (event: EventEnvelope): string | undefined => {
  const text = dataOf(event, 'Text')
  return typeof text === 'string' ? text : undefined
}

/** `Data.Confidence`, or nothing. */
export const confidenceOf = (event: EventEnvelope): number | undefined => {
  const confidence = dataOf(event, 'Confidence')
  return typeof confidence === 'number' ? confidence : undefined
}

/** Whether `Data.Text` contains what was folded by `foldCase`, in any letter case. */
export const textContains = (event: EventEnvelope, folded: string): boolean => {
  const text = textOf(event)
  return text !== undefined && foldCase(text).includes(folded)
}

/** A table that has nothing but these names, to stand in a list: a name that is unknown makes the whole no such table. */
export const tableWith = <Model>(
  codec: t.Type<Model, unknown>,
  names: readonly string[],
  expected: string,
): t.Type<Model, unknown> => {
  const is = (value: unknown): value is Model =>
    isJsonObject(value) && Object.keys(value).every((name) => names.includes(name)) && codec.is(value)
  return new t.Type<Model, unknown>(
    expected,
    is,
    (input, context) => (is(input) ? t.success(input) : t.failure(input, context)),
    (value) => value,
  )
}
