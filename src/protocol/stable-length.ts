import type { PartialEvent } from './session-event.js'

/**
 * The field of a partial with this text (PROTOCOL 4.2). A length that the text cannot have counts as absent, like every field of
 * a result that cannot be read.
 */
export const stablePart = (text: string, stableLength = 0): Pick<PartialEvent, 'stableLength'> =>
  stableLength > 0 && stableLength <= text.length ? { stableLength } : {}
