import type { SessionEvent } from 'rxspeech/internal/protocol/session-event'
import { plainText } from '../view/plain-text.js'
import { clockText } from '../view/transcript-line.js'

/** Any value as one line; an event of a session by its type, its time and what matters most of it. */
export const eventText = (value: unknown): string =>
  isEvent(value)
    ? `${value.type.padEnd(titleColumns)}${plainText(detailOf(value))}`.trimEnd()
    : plainText(inline(value))

/** The longest type of an event, and a space. */
const titleColumns = 'connection '.length

const isEvent = (value: unknown): value is SessionEvent =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'

const inline = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))

/** The type begins the line, and the id of a recognition would fill it. */
const hidden: ReadonlySet<string> = new Set(['type', 'recognitionId'])

const rounded = (field: unknown): unknown => (typeof field === 'number' ? Number(field.toFixed(3)) : field)

const detailOf = (event: SessionEvent): string => {
  switch (event.type) {
    case 'partial':
    case 'milestone':
    case 'final': {
      const { channel, startMs, text } = event
      const place = [channel === undefined ? '' : `${channel}`, startMs === undefined ? '' : clockText(startMs)]
      return [...place.filter((part) => part !== ''), text.trim()].join(' ')
    }
    case 'audio':
      return `${event.bytes.length} bytes`
    default: {
      return Object.entries(event)
        .flatMap(([name, field]) =>
          field === undefined || hidden.has(name) ? [] : `${name}=${inline(rounded(field))}`,
        )
        .join(' ')
    }
  }
}
