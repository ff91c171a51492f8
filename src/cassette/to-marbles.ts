import type { Timestamp } from 'rxjs'
import type { SessionEvent } from '../protocol/session-event.js'
import type { Cassette } from './cassette.js'
import { chartOfCassette } from './chart-of-cassette.js'
import { chartOfEvents } from './chart-of-events.js'
import { drawSvg } from './draw-svg.js'
import { drawText } from './draw-text.js'

export interface ToMarblesOptions {
  /** Default `text`. */
  readonly as?: 'text' | 'svg'
  /** Columns of a text, 60 to 400, default 100; pixels of an SVG, 480 to 10,000, default 1200. */
  readonly width?: number
}

/**
 * Draws a session to be looked at: lanes for connections, control, audio, speech, partials, milestones and finals over
 * one axis of time, and a list of what was said. Of a cassette, or of events as `timestamp()` gives them.
 *
 * Speech stands where its audio was sent, all else where it was said or heard. The SVG loads nothing and has no script;
 * what the session said is escaped in it.
 */
export const toMarbles = (
  session: Cassette | readonly Timestamp<SessionEvent>[],
  { as = 'text', ...options }: ToMarblesOptions = {},
): string => {
  const chart = 'header' in session ? chartOfCassette(session) : chartOfEvents(session)
  return as === 'svg' ? drawSvg(chart, options) : drawText(chart, options)
}
