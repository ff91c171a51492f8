import type { Timestamp } from 'rxjs'
import type { SessionEvent } from '../../protocol/session-event.js'
import { anything, checkOption, checkOptions, oneOf, optionsOf, wholeNumber } from '../../protocol/validation.js'
import type { Cassette } from '../format/cassette.js'
import { drawSvg, svgWidthPx } from './draw-svg.js'
import { drawText, textColumns } from './draw-text.js'
import { chartOfCassette, chartOfEvents } from './session-charts.js'

/** The kind and the size of the drawing. */
export interface ToMarblesOptions {
  /** A text for terminals, or an SVG. @default 'text' */
  readonly as?: 'text' | 'svg' | undefined
  /**
   * The columns of a text, 60 to 400, or the pixels of an SVG, 480 to 10,000.
   *
   * @default 100 for a text, 1200 for an SVG
   */
  readonly width?: number | undefined
}

const toMarblesOptions = optionsOf<ToMarblesOptions>()({}, { as: oneOf('text', 'svg'), width: anything })

/** The codec of the width of each kind of drawing. */
export const widthCodecs = { text: wholeNumber(textColumns), svg: wholeNumber(svgWidthPx) } as const

/**
 * Draws a session: rows for connections, control, audio, speech, partials, milestones and finals over one time axis, and
 * a list of the messages. The session is a cassette, or events with the times that `timestamp()` adds.
 *
 * Speech is drawn at the time when its audio was sent, everything else at the time when it was sent or received. The SVG
 * loads nothing and has no script; all texts of the session are escaped.
 *
 * @throws SpeechError `invalid-options`, such as for a width out of range
 * @example
 * console.log(toMarbles(await readCassette('call.jsonl')))
 */
export const toMarbles = (
  session: Cassette | readonly Timestamp<SessionEvent>[],
  options: ToMarblesOptions = {},
): string => {
  const { as = 'text', width } = checkOptions(toMarblesOptions, options)
  if (width !== undefined) checkOption('width', widthCodecs[as], width)
  const chart = 'header' in session ? chartOfCassette(session) : chartOfEvents(session)
  return as === 'svg' ? drawSvg(chart, width) : drawText(chart, width)
}
