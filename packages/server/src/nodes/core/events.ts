import type { EventEnvelope } from 'rxspeech/internal/protocol/dataflow-events'
import { isJsonObject } from 'rxspeech/internal/protocol/json-object'
import { ownValue } from 'rxspeech/internal/protocol/parse-json'
import { foldCase } from 'rxspeech/internal/protocol/fold-words'
import type { NodeItem } from './node.js'

/** The channel number of events that belong to all channels (PROTOCOL 3.3). */
export const allChannels = -2

/** An event on the node's first event port. */
export const eventItem = (event: EventEnvelope): NodeItem => ({ type: 'event', event })

/** An event of all channels and without times, as nodes report what happens to themselves. */
export const reportItem = (name: string, data: Readonly<Record<string, string | number>>): NodeItem =>
  eventItem({ name, channel: allChannels, startMs: -1, endMs: -1, data })

/**
 * Whether a name matches a pattern in which `*` stands for any characters, also none: `SR *`. Letter case counts. The
 * time is that of one search for each part between two stars.
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

/** Whether an event belongs to the channel; an event of all channels belongs to each of them. */
export const isOfChannel = (event: EventEnvelope, channel: number): boolean =>
  event.channel === channel || event.channel === allChannels

const dataField = (event: EventEnvelope, name: string): unknown =>
  isJsonObject(event.data) ? ownValue(event.data, name) : undefined

/** `Data.Confidence`, if it is a number. */
export const confidenceOf = (event: EventEnvelope): number | undefined => {
  const confidence = dataField(event, 'Confidence')
  return typeof confidence === 'number' ? confidence : undefined
}

/** Whether `Data.Text` contains, in any letter case, what was folded by `foldCase`. */
export const textContains = (event: EventEnvelope, folded: string): boolean => {
  const text = dataField(event, 'Text')
  return typeof text === 'string' && foldCase(text).includes(folded)
}
